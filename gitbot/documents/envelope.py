"""What every document of gitbot's begins with: apiVersion and kind."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.documents.decoding import Report
from gitbot.documents.positions import shown
from gitbot.documents.words import nearest, one_of


def envelope_is_known(report: Report, api_version: str, kinds: Sequence[str]) -> bool:
    """Whether a document is of a known kind and version; reports why it is not.

    A document of another version is never read "as well as possible".
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
        _is_one_of(report, value, "apiVersion", [api_version]),
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
    if field == "apiVersion" and str(word).partition("/")[0] == api_group(expected):
        hint = f"this gitbot reads {expected[0]} only"
    if len(expected) > 1 and not near:
        hint = "`gitbot schema` lists them"
    code = "version" if field == "apiVersion" else "kind"
    report.at_value(path, code, f"found {shown(word)}, expected {one_of(expected)}", hint)
    return False


def api_group(api_versions: Sequence[str]) -> str:
    """The group of an apiVersion: what stands before the slash."""
    return api_versions[0].partition("/")[0]
