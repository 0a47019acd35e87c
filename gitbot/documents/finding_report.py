"""Findings about one document, each at the place of a key path."""

from __future__ import annotations

from typing import Any

from gitbot.documents.document import ParsedDocument
from gitbot.documents.positions import Path, Position, key_path
from gitbot.model.plan.findings import Finding, Severity


def finding_at(
    file: str,
    place: Position,
    code: str,
    message: str,
    hint: str = "",
    *,
    path: Path = (),
    severity: Severity = Severity.ERROR,
) -> Finding:
    return Finding(
        code=code,
        severity=severity,
        message=message,
        file=file,
        line=place.line,
        column=place.column,
        key_path=key_path(path),
        hint=hint,
    )


class Report:
    """Findings about one document, placed by key path. `room` begins every code."""

    def __init__(self, *, document: ParsedDocument, file: str, room: str) -> None:
        self.document = document
        self.file = file
        self.room = room
        self.findings: list[Finding] = []
        self.nothing: set[Path] = set()

    def at_value(self, path: Path, code: str, message: str, hint: str = "") -> None:
        """An error at the first character of a value."""
        self._add(self.document.positions.value(path), path, (code, message, hint))

    def at_key(self, path: Path, code: str, message: str, hint: str = "") -> None:
        """An error at a key (for `()`: at the document's first character)."""
        self._add(self.document.positions.key(path), path, (code, message, hint))

    def at_parent(self, path: Path, code: str, message: str, hint: str = "") -> None:
        """An error about a missing field, at the key of the mapping that lacks it."""
        self._add(self.document.positions.key(path[:-1]), path, (code, message, hint))

    def warn(self, path: Path, code: str, message: str, hint: str = "") -> None:
        place = self.document.positions.key(path)
        self._add(place, path, (code, message, hint), Severity.WARNING)

    def add_foreign(
        self,
        place: Position,
        path: Path,
        *,
        code: str,
        severity: Severity,
        message: str,
        hint: str = "",
    ) -> None:
        found = finding_at(self.file, place, code, message, path=path, hint=hint, severity=severity)
        self.findings.append(found)

    def silent(self, path: Path) -> bool:
        """Whether the value under a path (or above it) is a finding already."""
        if not self.document.reported:
            return False
        steps = range(len(path) + 1)
        return any(path[:length] in self.document.reported for length in steps)

    def _add(
        self,
        place: Position,
        path: Path,
        words: tuple[str, str, str],
        severity: Severity = Severity.ERROR,
    ) -> None:
        code, message, hint = words
        self.add_foreign(
            place,
            path,
            code=f"{self.room}/{code}",
            severity=severity,
            message=message,
            hint=hint,
        )


def value_at(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return None
    return value
