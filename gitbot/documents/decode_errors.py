"""Errors of a decoder in words, at their places.

Takes pydantic's error records (`type`, `loc`, `ctx`) as plain mappings, and the kind's JSON Schema,
which has the names and types of fields. See `fields.decode`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitbot.documents.field_names import FieldNames, Json
from gitbot.documents.finding_report import Report, value_at
from gitbot.documents.positions import Path, key_path, shown
from gitbot.model.plan.findings import Finding, Refusal
from gitbot.model.text.wording import ALIKE, nearest, one_of

_WANTED = {
    "string_type": "text",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def report_errors(
    report: Report, errors: Iterable[Mapping[str, Any]], schema: Callable[[], Json]
) -> None:
    """Report every decoder error of one document in words, at its place."""
    fields = FieldNames(schema)
    for error in errors:
        path = _path(error["loc"])
        value = value_at(report.document.value, path)
        if report.silent(path) or path in report.nothing:
            continue
        if error["type"] == "too_short" and (value or path in report.document.holes):
            continue  # its items have their own errors; their number is right
        if error["type"] == "missing" and path[:-1] in report.document.holes:
            continue  # it may exist under a refused key
        _one(report, path, error, fields)


def report_nothing(report: Report, schema: Callable[[], Json]) -> None:
    """Report every key and item without a value. Call this before `report_errors`.

    A decoder may read null as absent, but people who leave a key without value meant to write one.
    """
    fields = FieldNames(schema)
    for path in report.document.empty:
        if not report.silent(path):
            report.nothing.add(path)
            report.at_value(
                path,
                "type",
                f"found nothing, expected {fields.wanted(path)[0]}",
                "write a value, or remove the key",
            )


def by_field(
    findings: Iterable[Finding], report: Report, schema: Callable[[], Json]
) -> list[Finding]:
    """The reader's findings about plain words and dates, with the expectations of their fields.

    The reader has no schema: it advises to quote `yes` even if the field is a number, and a bare
    date even if it is a time.
    """
    places = {
        (report.file, key_path(path), report.document.positions.value(path).line): path
        for path in report.document.reported
    }
    fields = FieldNames(schema)
    return [
        _for_field(item, fields.at(places[place])) if place in places else item
        for item in findings
        for place in [(item.file, item.key_path, item.line)]
    ]


def _for_field(finding: Finding, field: Json) -> Finding:
    found = finding.message.removeprefix("found ").partition(" unquoted")[0]
    example = next(iter(field.get("examples", ())), "")
    if finding.code == "documents/boolean-word" and field.get("type") == "integer":
        message = f"found {found}, expected an integer"
        return replace(finding, message=message, hint="write a number in digits")
    if re.fullmatch(_DATE, found) and not re.fullmatch(field.get("pattern", ""), found):
        return replace(finding, hint=f'write it as "{example}", in quotes') if example else finding
    return finding


_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def _path(loc: Sequence[str | int]) -> Path:
    return tuple(loc[:-1]) if loc and loc[-1] == "[key]" else tuple(loc)


def _one(report: Report, path: Path, error: Mapping[str, Any], fields: FieldNames) -> None:
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "missing":
        expected, hint = fields.wanted(path)
        report.at_parent(path, "missing-field", f"found nothing, expected {expected}", hint)
        return
    if kind == "extra_forbidden":
        message, hint = fields.unknown(path)
        report.at_key(path, "unknown-field", message, hint)
        return
    value = value_at(report.document.value, path)
    plain = report.document.positions.plain.get(path, "")
    found = _found(value, plain)
    if error["loc"] and error["loc"][-1] == "[key]":
        refusal = context.get("error")
        expected, hint, code = _refused(refusal)
        message = f"found the key {shown(path[-1])}, expected {expected}"
        report.at_key(path, code, message, hint)
        return
    if isinstance(context.get("error"), Refusal):
        expected, hint, code = _refused(context["error"])
        report.at_value(path, code, f"found {found}, expected {expected}", hint)
        return
    expected, hint, code = _expectation(kind, context, value, plain)
    report.at_value(path, code, f"found {found}, expected {expected}", hint)


def _found(value: Any, plain: str) -> str:
    """Text as messages show text; other plain scalars as in the file."""
    if isinstance(value, str) or value is None or not plain:
        return shown(value)
    return plain[:60]


def _refused(refusal: Any) -> tuple[str, str, str]:
    if isinstance(refusal, Refusal):
        return refusal.expected, refusal.hint, refusal.code
    return "another value", "", "value"


def _expectation(
    kind: str, context: Mapping[str, Any], value: Any, plain: str
) -> tuple[str, str, str]:
    """The expectation, the fix, and the finding's code."""
    if kind == "literal_error":
        return _choice(str(context["expected"]), value)
    if kind in _WANTED:
        return _WANTED[kind], _type_hint(_WANTED[kind], value, plain), "type"
    match kind:
        case "greater_than_equal":
            return f"at least {context['ge']}", "", "range"
        case "less_than_equal":
            return f"at most {context['le']}", "", "range"
        case "too_short":
            return "at least one item", "add an item, or remove the field", "empty"
        case "too_long":
            return f"at most {context['max_length']} items", "", "range"
        case "string_too_short":
            return "text of at least one character", "", "empty"
        case "string_too_long":
            return f"at most {context['max_length']} characters", "shorten it", "range"
        case _:
            return "another value", "", "value"


def _choice(expected: str, value: Any) -> tuple[str, str, str]:
    words = re.findall(r"'([^']*)'", expected)
    near = nearest(value, words, cutoff=ALIKE) if isinstance(value, str) else None
    return one_of(words), f"did you mean {near}?" if near else "", "choice"


def _type_hint(wanted: str, value: Any, plain: str) -> str:
    if value is None:
        return "write a value, or remove the key"
    if wanted == "text" and plain:
        import json  # noqa: PLC0415 - only where something is wrong

        return f"quote it: {json.dumps(plain[:60], ensure_ascii=False)}"
    if isinstance(value, str):
        if wanted == "an integer" and re.fullmatch(r"-?[0-9]{1,18}", value):
            return f"remove the quotes: {int(value)}"
        if wanted == "an integer" and value.endswith("%"):
            return "write a number, not a share"
        if wanted == "true or false" and not plain and value in {"true", "false"}:
            return f"remove the quotes: {value}"
        if wanted == "true or false" and value.lower() in {"yes", "on", "no", "off"}:
            return f"write {'true' if value.lower() in {'yes', 'on'} else 'false'}"
    if wanted == "text" and isinstance(value, dict | list):
        return "if text is meant, quote it"
    if wanted == "a list" and not isinstance(value, dict):
        return "write each item on its own line, beginning with -"
    return ""
