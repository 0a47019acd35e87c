"""Findings at the places of intents."""

from __future__ import annotations

from gitbot.documents.positions import Path, key_path
from gitbot.intents.intent import Intent
from gitbot.model.findings import Finding, Severity


def error(intent: Intent, path: Path, code: str, message: str, hint: str = "") -> Finding:
    """An error at the value under a path of an intent."""
    return _finding(intent, path, Severity.ERROR, code, (message, hint))


def warning(intent: Intent, path: Path, code: str, message: str, hint: str = "") -> Finding:
    """A warning there."""
    return _finding(intent, path, Severity.WARNING, code, (message, hint))


def _finding(
    intent: Intent, path: Path, severity: Severity, code: str, words: tuple[str, str]
) -> Finding:
    place = intent.positions.value(path)
    return Finding(
        code=f"intents/{code}",
        severity=severity,
        message=words[0],
        file=intent.ref.file,
        line=place.line if intent.ref.file else 0,
        column=place.column if intent.ref.file else 0,
        key_path=key_path(path),
        hint=words[1],
    )
