"""The first fields of every gitbot document: apiVersion and kind."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.documents.finding_report import Report
from gitbot.documents.positions import shown
from gitbot.model.text.names import API_VERSION
from gitbot.model.text.wording import nearest, one_of

_GROUP = API_VERSION.partition("/")[0]


def envelope_is_known(report: Report, kinds: Sequence[str]) -> bool:
    """Whether a document has one of the kinds and the known version; reports why not.

    A document of another version is never read on a best-effort basis.
    """
    value = report.document.value
    if not isinstance(value, dict):
        if not report.silent(()):
            report.at_value(
                (),
                "type",
                f"found {shown(value)}, expected a mapping",
                "write apiVersion, kind, metadata and spec",
            )
        return False
    known = [
        _is_one_of(report, value, "apiVersion", [API_VERSION]),
        _is_one_of(report, value, "kind", kinds),
    ]
    return all(known)


def _is_one_of(
    report: Report, value: dict[str, object], field: str, expected: Sequence[str]
) -> bool:
    path = (field,)
    if field not in value:
        found = next((key for key in value if key.lower() == field.lower()), None)
        hint = f"did you mean {field} for {found}?" if found else f"add {field}: {expected[0]}"
        if len(expected) > 1 and not found:
            hint = f"add {field}"
        report.at_parent(path, "missing-field", f"found nothing, expected {one_of(expected)}", hint)
        return False
    word = value[field]
    if word in expected:
        return True
    if report.silent(path):
        return False
    near = nearest(word, expected) if isinstance(word, str) else None
    hint = f"did you mean {near}?" if near else f"write {field}: {expected[0]}"
    if field == "apiVersion" and str(word).partition("/")[0] == _GROUP:
        hint = f"this gitbot reads {expected[0]} only"
    if len(expected) > 1 and not near:
        hint = "`gitbot schema` lists them"
    code = "version" if field == "apiVersion" else "kind"
    report.at_value(path, code, f"found {shown(word)}, expected {one_of(expected)}", hint)
    return False
