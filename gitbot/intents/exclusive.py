"""Fields that exclude each other."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.documents.decoding import Report, value_at
from gitbot.documents.positions import Path
from gitbot.documents.words import one_of


def exactly_one(
    report: Report, path: Path, fields: Sequence[str], *, optional: bool = False
) -> None:
    """Report a mapping that has not exactly one of the fields, at its key.

    `optional`: none of them is fine as well.
    """
    value = value_at(report.document.value, path)
    if not isinstance(value, dict) or report.silent(path):
        return
    present = [field for field in fields if field in value]
    if len(present) > 1:
        report.at_key(
            path,
            "exclusive",
            f"found {_and(present)}, expected exactly one of {one_of(fields)}",
            f"keep one and remove the other{'s' if len(present) > 2 else ''}",
        )
    elif not present and not optional and path not in report.document.holes:
        report.at_key(
            path,
            "exclusive",
            f"found none of {one_of(fields)}, expected exactly one",
            f"add {one_of(fields)}",
        )


def _and(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
