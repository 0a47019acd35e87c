"""Findings: what lint, plan, policy and replay have to say, each with its place.

Codes are `<room>/<kebab-case>`, listed in docs/reference/findings.md, never renamed, equal to
SARIF's ruleId.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How much a finding weighs. Errors give exit code 1; warnings only with --fail-on=warning."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. Line and column count from 1 in characters; 0 means "no place known"."""

    code: str
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    key_path: str = ""
    hint: str = ""

    @property
    def where(self) -> str:
        """`file:line:column`, shortened by what is not known."""
        numbers = [str(number) for number in (self.line, self.column) if number]
        return ":".join([self.file or "-", *numbers])

    def __str__(self) -> str:
        path = f"{self.key_path}: " if self.key_path else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{self.where}: {path}{self.message}{hint}"


def sort_key(finding: Finding) -> tuple[str, int, int, str, str, str, str, str]:
    """The order of every list of findings: by place, then by code, text, severity and hint."""
    return (
        finding.file,
        finding.line,
        finding.column,
        finding.code,
        finding.key_path,
        finding.message,
        finding.severity,
        finding.hint,
    )


def has_errors(findings: tuple[Finding, ...]) -> bool:
    """Whether any finding is an error."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def finding_json(finding: Finding) -> dict[str, Any]:
    """One finding as plain data with camelCase names; what is not known is absent."""
    fields: dict[str, Any] = {
        "code": finding.code,
        "severity": str(finding.severity),
        "message": finding.message,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "keyPath": finding.key_path,
        "hint": finding.hint,
    }
    return {key: value for key, value in fields.items() if value}
