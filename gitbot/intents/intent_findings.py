"""Findings at the places of intents."""

from __future__ import annotations

from gitbot.documents import Path, Position, finding_at
from gitbot.intents.intent import Intent
from gitbot.model.plan.findings import Finding, Severity


def error(intent: Intent, path: Path, code: str, message: str, hint: str = "") -> Finding:
    return _finding(intent, path, Severity.ERROR, code, (message, hint))


def warning(intent: Intent, path: Path, code: str, message: str, hint: str = "") -> Finding:
    return _finding(intent, path, Severity.WARNING, code, (message, hint))


def _finding(
    intent: Intent, path: Path, severity: Severity, code: str, words: tuple[str, str]
) -> Finding:
    file = intent.ref.file
    place = intent.positions.value(path) if file else Position(line=0, column=0)
    message, hint = words
    return finding_at(file, place, f"intents/{code}", message, hint, path=path, severity=severity)
