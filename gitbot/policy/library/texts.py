"""Kubernetes' format and lists libraries: apiserver, pkg/cel/library/{format,lists}.go.

An optional value is a list here, empty for none: the engine makes no optional values of ours. The
checks are those of Kubernetes; the texts that say what is wrong are gitbot's.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from gitbot.policy.library.url import read_url
from gitbot.policy.library.values import CelFunction, Opaque, opaque, succeeds

FORMAT = "kubernetes.NamedFormat"
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})"
)


def _matches(pattern: str, most: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(pattern)

    def answer(text: str) -> bool:
        return compiled.fullmatch(text) is not None and (not most or len(text) <= most)

    return answer


def _prefix(check: Callable[[str], bool]) -> Callable[[str], bool]:
    """A prefix of names may end in a dash: the letter in its place stands for what follows."""
    return lambda text: check(f"{text[:-1]}a" if text.endswith("-") else text)


def _qualified(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    part = _matches(_NAME, 63)(name)
    return part and (not slash or _matches(rf"{_LABEL}(\.{_LABEL})*", 253)(prefix))


def _byte(text: str) -> bool:
    try:
        return bool(text) and base64.b64decode(text, validate=True) is not None
    except (binascii.Error, ValueError):
        return False


def _date(text: str) -> bool:
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is not None and succeeds(
        date.fromisoformat
    )(text)


def _datetime(text: str) -> bool:
    found = _TIME.fullmatch(text)
    return found is not None and succeeds(datetime.fromisoformat)(f"{text[:10]}T{text[11:19]}")


_SUBDOMAIN = _matches(rf"{_LABEL}(\.{_LABEL})*", 253)
_DNS_1035 = _matches(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63)
_DNS_1123 = _matches(_LABEL, 63)
FORMATS: Mapping[str, Callable[[str], bool]] = {
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
    "dns1035Label": _DNS_1035,
    "dns1035LabelPrefix": _prefix(_DNS_1035),
    "dns1123Label": _DNS_1123,
    "dns1123LabelPrefix": _prefix(_DNS_1123),
    "dns1123Subdomain": _SUBDOMAIN,
    "dns1123SubdomainPrefix": _prefix(_SUBDOMAIN),
    "labelValue": _matches(rf"({_NAME})?", 63),
    "qualifiedName": _qualified,
    "uri": succeeds(read_url),
    "uuid": _matches(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"),
}


def _named(name: str) -> Opaque | list[str]:
    return opaque("NamedFormat", name=name) if name in FORMATS else []


def _validate(form: Opaque, text: str) -> list[str]:
    return [] if FORMATS[form["name"]](text) else [f"is not a valid {form['name']}"]


def _constant(name: str) -> CelFunction:
    return CelFunction(
        id=f"format.{name}",
        function=f"format.{name}",
        parameters=(),
        gives=FORMAT,
        make=lambda: opaque("NamedFormat", name=name),
        member=False,
    )


def _alike(values: Sequence[Any]) -> Sequence[Any]:
    """Values that have an order. Raises ValueError for others."""
    kinds = {float if type(value) is int else type(value) for value in values}
    if len(kinds) > 1 or kinds & {dict, list, type(None)}:
        raise ValueError("no such overload")
    return values


def _sorted(values: Sequence[Any]) -> bool:
    return all(one <= other for one, other in zip(_alike(values), values[1:], strict=False))


def _least(values: Sequence[Any]) -> Any:
    if not values:
        raise ValueError("min called on empty list")
    return min(_alike(values))


def _most(values: Sequence[Any]) -> Any:
    if not values:
        raise ValueError("max called on empty list")
    return max(_alike(values))


def _sum(values: Sequence[Any]) -> Any:
    if any(isinstance(value, bool | str | bytes) for value in values):
        raise ValueError("no such overload")
    total = sum(_alike(values))
    if isinstance(total, int) and abs(total) > 2**63 - 1:
        raise ValueError("integer overflow")
    return total


def _index(values: Sequence[Any], item: Any) -> int:
    return next((n for n, value in enumerate(values) if _equal(value, item)), -1)


def _last_index(values: Sequence[Any], item: Any) -> int:
    found = [n for n, value in enumerate(values) if _equal(value, item)]
    return found[-1] if found else -1


def _equal(one: Any, other: Any) -> bool:
    """As CEL: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


_SUMMED = ("int", "double")  # the engine takes no times from functions over lists
_LEAST = (*_SUMMED, "bool", "string", "bytes")
_ORDERED = (*_LEAST, "duration", "timestamp")


def _over(
    name: str, types: Sequence[str], gives: str, make: Callable[..., Any]
) -> list[CelFunction]:
    return [
        CelFunction(
            id=f"list_{each}_{name}",
            function=name,
            parameters=(f"list({each})",),
            gives=gives or each,
            make=make,
        )
        for each in types
    ]


FUNCTIONS = (
    *map(_constant, FORMATS),
    CelFunction(
        id="format-named",
        function="format.named",
        parameters=("string",),
        gives=f"optional({FORMAT})",
        make=_named,
        member=False,
    ),
    CelFunction(
        id="format-validate",
        function="validate",
        parameters=(FORMAT, "string"),
        gives="optional(list(string))",
        make=_validate,
    ),
    *_over("isSorted", _ORDERED, "bool", _sorted),
    *_over("sum", _SUMMED, "", _sum),
    *_over("min", _LEAST, "", _least),
    *_over("max", _LEAST, "", _most),
    CelFunction(
        id="list_a_index_of_int",
        function="indexOf",
        parameters=("list(dyn)", "dyn"),
        gives="int",
        make=_index,
    ),
    CelFunction(
        id="list_a_last_index_of_int",
        function="lastIndexOf",
        parameters=("list(dyn)", "dyn"),
        gives="int",
        make=_last_index,
    ),
)
