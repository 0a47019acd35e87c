"""What intents say about each other: a request names a window that exists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitbot.documents.positions import Path, Positions, key_path, shown
from gitbot.documents.words import nearest
from gitbot.model.findings import Finding, Severity

WINDOW: Path = ("spec", "window")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A MaintenanceWindow's name, and the document of the request that names it."""

    name: str
    file: str
    positions: Positions


def unknown_windows(references: Iterable[Reference], windows: Iterable[str]) -> list[Finding]:
    """A finding for every reference to a window that no document declares."""
    known = sorted(windows)
    return [_unknown(reference, known) for reference in references if reference.name not in known]


def _unknown(reference: Reference, known: list[str]) -> Finding:
    near = nearest(reference.name, known)
    place = reference.positions.value(WINDOW)
    return Finding(
        code="intents/unknown-window",
        severity=Severity.ERROR,
        message=f"found {shown(reference.name)}, expected the name of a MaintenanceWindow "
        "of this cluster",
        file=reference.file,
        line=place.line,
        column=place.column,
        key_path=key_path(WINDOW),
        hint=f"did you mean {near}?" if near else "add the window, or remove the field",
    )
