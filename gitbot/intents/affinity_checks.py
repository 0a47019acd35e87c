"""What Kubernetes refuses in affinity and spread beyond the types of their fields."""

from __future__ import annotations

from typing import Any

from gitbot.documents import Path, Report, shown, value_at
from gitbot.intents.affinity import PREFERRED, REQUIRED
from gitbot.intents.selectors import check_expressions, check_repetition, check_selector


def _items(report: Report, path: Path) -> list[tuple[Path, dict[str, Any]]]:
    items = value_at(report.document.value, path)
    return [
        ((*path, index), item)
        for index, item in enumerate(items if isinstance(items, list) else [])
        if isinstance(item, dict)
    ]


def check_not_empty(report: Report, path: Path) -> None:
    value = value_at(report.document.value, path)
    if not isinstance(value, dict) or set(value) - {REQUIRED, PREFERRED}:
        return
    if not value.get(REQUIRED) and not value.get(PREFERRED):
        report.at_value(
            path,
            "empty",
            f"found an empty {path[-1]}, expected {REQUIRED} or {PREFERRED}",
            "add one, or remove the field",
        )


def check_node_affinity(report: Report, path: Path) -> None:
    """Node selector terms: operators and their values, metadata.name only in matchFields."""
    if value_at(report.document.value, path) is None:
        return
    check_not_empty(report, path)
    terms = [place for place, _ in _items(report, (*path, REQUIRED, "nodeSelectorTerms"))]
    terms += [(*place, "preference") for place, _ in _items(report, (*path, PREFERRED))]
    for place in terms:
        value = value_at(report.document.value, place)
        if value == {}:
            report.warn(
                place,
                "no-effect",
                "found an empty term, expected a condition",
                "it matches no node",
            )
        check_expressions(report, (*place, "matchExpressions"))


def check_affinity(report: Report, path: Path) -> None:
    """Pod affinity terms: selectors, and label keys that appear twice or without a selector."""
    if value_at(report.document.value, path) is None:
        return
    check_not_empty(report, path)
    terms = [place for place, _ in _items(report, (*path, REQUIRED))]
    terms += [(*place, "podAffinityTerm") for place, _ in _items(report, (*path, PREFERRED))]
    for place in terms:
        value = value_at(report.document.value, place)
        if not isinstance(value, dict):
            continue
        check_selector(report, (*place, "labelSelector"), empty=True)
        check_selector(report, (*place, "namespaceSelector"), empty=True)
        check_repetition(report, (*place, "namespaces"))
        _check_label_keys(report, place, value)


def _check_label_keys(report: Report, path: Path, term: dict[str, Any]) -> None:
    match, mismatch = term.get("matchLabelKeys"), term.get("mismatchLabelKeys")
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        check_repetition(report, (*path, field))
        if keys and "labelSelector" not in term:
            report.at_key(
                (*path, field),
                "selector",
                f"found {field} without labelSelector, expected both",
                "add labelSelector",
            )
    if not isinstance(match, list) or not isinstance(mismatch, list):
        return
    for index, key in enumerate(mismatch):
        if key in match:
            report.at_value(
                (*path, "mismatchLabelKeys", index),
                "selector",
                f"found {shown(key)} in matchLabelKeys as well, expected it in one of the two",
                "remove one",
            )


def check_spread(report: Report, path: Path) -> None:
    """Topology spread: minDomains with DoNotSchedule only, every key and mode once."""
    if value_at(report.document.value, path) == []:
        report.at_value(
            path, "empty", "found an empty list, expected at least one item", "remove the field"
        )
    seen: set[tuple[str, str]] = set()
    for place, item in _items(report, path):
        check_selector(report, (*place, "labelSelector"), empty=True)
        check_repetition(report, (*place, "matchLabelKeys"))
        if "minDomains" in item and item.get("whenUnsatisfiable") == "ScheduleAnyway":
            report.at_key(
                (*place, "minDomains"),
                "exclusive",
                "found minDomains with ScheduleAnyway, expected it with DoNotSchedule only",
                "remove it",
            )
        identity = (str(item.get("topologyKey")), str(item.get("whenUnsatisfiable")))
        if identity in seen and None not in (
            item.get("topologyKey"),
            item.get("whenUnsatisfiable"),
        ):
            report.at_value(
                (*place, "topologyKey"),
                "duplicate",
                f"found {shown(identity[0])} with {identity[1]} again, expected it once",
                "remove one of the two",
            )
        seen.add(identity)
