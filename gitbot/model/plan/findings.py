"""Findings of lint, plan, policy and replay, each with its place.

Codes are `<room>/<kebab-case>`, listed in docs/reference/findings.md, never renamed, equal to
SARIF's ruleId.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from gitbot.kubernetes.names import NamespacedName


class Severity(StrEnum):
    """The weight of a finding. Errors give exit code 1; warnings only with --fail-on=warning."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. Line and column count from 1 in characters; 0 means "no place known".

    `move` is the request and the VM of the move that the replay refutes.
    """

    code: str
    severity: Severity
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    key_path: str = ""
    hint: str = ""
    move: tuple[str, NamespacedName] | None = field(default=None, compare=False, repr=False)

    @property
    def where(self) -> str:
        """`file:line:column`, without the parts that are unknown."""
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
    return any(finding.severity is Severity.ERROR for finding in findings)


class Refusal(ValueError):
    """A text that its field does not accept: a finding's code, the expectation, the fix."""

    def __init__(self, code: str, expected: str, hint: str) -> None:
        super().__init__(f"expected {expected}; {hint}")
        self.code = code
        self.expected = expected
        self.hint = hint
