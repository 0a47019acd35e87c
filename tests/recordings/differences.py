"""The first difference between two JSON values, with the path to it; the verdict on a record."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What was recorded under a path of an object, and what the simulator made of it."""

    name: str
    field: str
    recorded: Any
    ours: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a replay says about one record: equal (no difference), or the first difference.

    `notes` are sentences about an equal record: why times differ, what was arbitrary.
    """

    record: str
    difference: Difference | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """One line of the report."""
        line: dict[str, Any] = {"record": self.record, "equal": self.difference is None}
        if self.difference is not None:
            line["difference"] = asdict(self.difference)
        if self.notes:
            line["notes"] = list(self.notes)
        return line


def first_difference(name: str, recorded: Any, ours: Any, field: str = "") -> Difference | None:
    """The first difference in the order of sorted keys; None where the values are equal.

    An absent key, null, and an empty list or mapping count as the same.
    """
    if isinstance(recorded, Mapping) and isinstance(ours, Mapping):
        return _in_mapping(name, recorded, ours, field)
    if isinstance(recorded, list) and isinstance(ours, list):
        return _in_list(name, recorded, ours, field)
    if recorded == ours or (_is_empty(recorded) and _is_empty(ours)):
        return None
    return Difference(name=name, field=field, recorded=recorded, ours=ours)


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (list, Mapping)) and not value)


def _in_mapping(
    name: str, recorded: Mapping[str, Any], ours: Mapping[str, Any], field: str
) -> Difference | None:
    for key in sorted({*recorded, *ours}):
        path = _below(field, key)
        found = first_difference(name, recorded.get(key), ours.get(key), path)
        if found is not None:
            return found
    return None


def _below(field: str, key: str) -> str:
    """Keys with dots of their own (labels, resources) stand in brackets."""
    if "." in key or "/" in key or not key:
        return f"{field}[{key}]"
    return f"{field}.{key}" if field else key


def _in_list(name: str, recorded: list[Any], ours: list[Any], field: str) -> Difference | None:
    for index in range(max(len(recorded), len(ours))):
        left = recorded[index] if index < len(recorded) else None
        right = ours[index] if index < len(ours) else None
        found = first_difference(name, left, right, f"{field}[{index}]")
        if found is not None:
            return found
    return None
