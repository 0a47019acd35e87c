"""Plain scalars by the YAML 1.2 core schema, integers in plain decimal only.

Scalars that readers of YAML 1.1 and 1.2 interpret differently (`no`, `22:30`, `010`, `1_000`, a
bare date) are refused with the advice to quote them, so that all tools read the same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.model.text.wording import shortened

MAX_DIGITS = 18
_SHOWN = 40
CORE_WORDS: Mapping[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("~", "null", "Null", "NULL", ""), None),
}
"""The plain scalars of the core schema that mean neither text nor a number."""

_YES_1_1 = frozenset({"yes", "Yes", "YES", "on", "On", "ON"})
_NO_1_1 = frozenset({"no", "No", "NO", "off", "Off", "OFF"})
_WORDS = CORE_WORDS.keys() | _YES_1_1 | _NO_1_1
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_OTHER_INTEGER = re.compile(r"[-+]?(?:0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_UNDERSCORED_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedScalar:
    """A refused plain scalar: what was found, what was expected, what to do."""

    code: str
    found: str
    expected: str
    hint: str


Resolved = str | int | float | bool | None | RefusedScalar


def resolve(text: str) -> Resolved:
    if text in _WORDS:
        return _word(text)
    if text[0] in "-+.0123456789":
        return _number(text)
    return text


def _word(text: str) -> Resolved:
    if text in CORE_WORDS:
        return CORE_WORDS[text]
    return RefusedScalar(
        code="documents/boolean-word",
        found=f"{text} unquoted, which other readers take for a boolean",
        expected="text in quotes, or true or false",
        hint=f'quote it: "{text}", or write {"true" if text in _YES_1_1 else "false"}',
    )


def _number(text: str) -> Resolved:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _OTHER_INTEGER.fullmatch(text):
        return RefusedScalar(
            code="documents/integer",
            found=shortened(text, _SHOWN),
            expected="an integer in plain decimal, or text in quotes",
            hint=_decimal_hint(text),
        )
    if _SEXAGESIMAL.fullmatch(text) or _DATE.fullmatch(text):
        return RefusedScalar(
            code="documents/unquoted-time",
            found=f"{shortened(text, _SHOWN)} unquoted",
            expected="text in quotes",
            hint=f'quote it: "{shortened(text, _SHOWN)}"',
        )
    if _NOT_FINITE.fullmatch(text):
        return RefusedScalar(
            code="documents/number",
            found=text,
            expected="a finite number, or text in quotes",
            hint=f'if text is meant, quote it: "{text}"',
        )
    if _UNDERSCORED_FLOAT.fullmatch(text) and "_" in text:
        return RefusedScalar(
            code="documents/number",
            found=shortened(text, _SHOWN),
            expected="a number without underscores, or text in quotes",
            hint=f'if text is meant, quote it: "{shortened(text, _SHOWN)}"',
        )
    return _float(text) if _FLOAT.fullmatch(text) else text


def _integer(text: str) -> Resolved:
    digits = len(text.lstrip("-"))
    if digits > MAX_DIGITS:
        return RefusedScalar(
            code="documents/integer",
            found=f"an integer of {digits} digits",
            expected=f"at most {MAX_DIGITS} digits",
            hint="if text is meant, quote it",
        )
    return int(text)


def _float(text: str) -> Resolved:
    if len(text) <= 400 and math.isfinite(value := float(text)):
        return value
    return RefusedScalar(
        code="documents/number",
        found=shortened(text, _SHOWN),
        expected="a number within the range of a double",
        hint="if text is meant, quote it",
    )


def _decimal_hint(text: str) -> str:
    digits = text.lstrip("+-").replace("_", "")
    sign = "-" if text.startswith("-") else ""
    base = {"0o": 8, "0x": 16, "0b": 2}.get(digits[:2], 10)
    if len(digits) > MAX_DIGITS or digits in {"0o", "0x", "0b"}:
        return "if text is meant, quote it"
    if base == 10 and len(digits) > 1 and digits[0] == "0":
        return f'write {sign}{int(digits)}, or quote it if text is meant: "{text}"'
    return f'write {sign}{int(digits, base)}, or quote it if text is meant: "{text}"'
