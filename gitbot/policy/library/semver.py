"""Kubernetes' semver library: apiserver, pkg/cel/library/semverlib.go."""

from __future__ import annotations

import re

from gitbot.policy.library.values import CelFunction, Opaque, opaque, succeeds

SEMVER = "kubernetes.Semver"
_NUMBER = r"(0|[1-9][0-9]*)"
_VERSION = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?"
)
_UINT64 = 2**64 - 1


def _semver(text: str, normalize: bool = False) -> Opaque:
    match = _VERSION.fullmatch(_normalized(text) if normalize else text)
    if match is None:
        raise ValueError(f"{text!r} is not a semantic version (as 1.2.3)")
    numbers = [int(number) for number in match.groups()[:3]]
    before = (match[4] or "").split(".") if match[4] is not None else []
    build = match[5].split(".") if match[5] is not None else []
    zeros = [part for part in before if part.isdigit() and len(part) > 1 and part[0] == "0"]
    if max(numbers) > _UINT64 or zeros or "" in before or "" in build:
        raise ValueError(f"{text!r} is not a semantic version (as 1.2.3)")
    # the build is left out: versions that differ in it alone are equal
    return opaque("Semver", numbers=numbers, before=before)


def _normalized(text: str) -> str:
    """Without `v` and leading zeros, with minor and patch."""
    parts = text.removeprefix("v").split(".", 2)
    for number, part in enumerate(parts):
        if len(part) > 1:
            left = part.lstrip("0")
            parts[number] = left if left and left[0].isdigit() and left[0].isascii() else f"0{left}"
    if len(parts) < 3 and any(char in parts[-1] for char in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _key(value: Opaque) -> tuple[object, ...]:
    before = tuple(
        (0, int(part), "") if part.isdigit() else (1, 0, part) for part in value["before"]
    )
    return (*value["numbers"], not before, before)


def _compare(one: Opaque, other: Opaque) -> int:
    left, right = _key(one), _key(other)
    return (left > right) - (left < right)


def _part(number: int, name: str) -> CelFunction:
    return CelFunction(
        id=f"semver_{name}",
        function=name,
        parameters=(SEMVER,),
        gives="int",
        make=lambda value: value["numbers"][number],
    )


_TWO = (SEMVER, SEMVER)
FUNCTIONS = (
    CelFunction(
        id="string_to_semver",
        function="semver",
        parameters=("string",),
        gives=SEMVER,
        make=_semver,
        member=False,
    ),
    CelFunction(
        id="string_bool_to_semver",
        function="semver",
        parameters=("string", "bool"),
        gives=SEMVER,
        make=_semver,
        member=False,
    ),
    CelFunction(
        id="is_semver_string",
        function="isSemver",
        parameters=("string",),
        gives="bool",
        make=succeeds(_semver),
        member=False,
    ),
    CelFunction(
        id="is_semver_string_bool",
        function="isSemver",
        parameters=("string", "bool"),
        gives="bool",
        make=succeeds(_semver),
        member=False,
    ),
    CelFunction(
        id="semver_is_greater_than",
        function="isGreaterThan",
        parameters=_TWO,
        gives="bool",
        make=lambda one, other: _compare(one, other) > 0,
    ),
    CelFunction(
        id="semver_is_less_than",
        function="isLessThan",
        parameters=_TWO,
        gives="bool",
        make=lambda one, other: _compare(one, other) < 0,
    ),
    CelFunction(
        id="semver_compare_to", function="compareTo", parameters=_TWO, gives="int", make=_compare
    ),
    _part(0, "major"),
    _part(1, "minor"),
    _part(2, "patch"),
)
