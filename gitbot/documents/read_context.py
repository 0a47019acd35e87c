"""One file during reading: its text, its budget, and the findings so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitbot.documents.document import Budget, ParsedDocument
from gitbot.documents.finding_report import finding_at
from gitbot.documents.positions import Path, Position
from gitbot.documents.source_text import RefusedCharacters, SourceText
from gitbot.model.plan.findings import Finding


class BudgetExceeded(Exception):
    """The budget is used up. Nothing more of this file is read."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """One file during reading.

    `started` counts the documents begun, readable or not; `nodes` counts against the budget.
    """

    file: str
    text: SourceText
    budget: Budget
    documents: list[ParsedDocument] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    quoted_spans: list[tuple[int, int]] = field(default_factory=list)
    started: int = 0
    nodes: int = 0
    refused: RefusedCharacters = field(init=False)

    def __post_init__(self) -> None:
        self.refused = RefusedCharacters(self.text.refused)

    def report(
        self, code: str, place: Position, message: str, *, hint: str = "", path: Path = ()
    ) -> None:
        found = finding_at(self.file, place, code, message, path=path, hint=hint)
        self.findings.append(found)
