"""YAML text and plain data, read with positions. Only this room imports yaml.

This is the room's face, with `fields` (typed values), `formats` and `schemas` (forms of text).
"""

from __future__ import annotations

from gitbot.documents.decoding import by_field, report_nothing
from gitbot.documents.document import DEFAULT_BUDGET, Budget, ParsedDocument
from gitbot.documents.envelope import envelope_is_known
from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml, scalar_places
from gitbot.documents.positions import TOP, Path, Position, Positions, key_path, shown
from gitbot.documents.reader import read_documents
from gitbot.documents.removal import without
from gitbot.documents.report import Report, finding_at, value_at
from gitbot.documents.text import refused_in
from gitbot.documents.writer import write_document, write_documents, write_shown

__all__ = [
    "DEFAULT_BUDGET",
    "TOP",
    "Budget",
    "ParsedDocument",
    "Path",
    "Position",
    "Positions",
    "Report",
    "by_field",
    "envelope_is_known",
    "finding_at",
    "key_path",
    "read_documents",
    "read_kubernetes_yaml",
    "refused_in",
    "report_nothing",
    "scalar_places",
    "shown",
    "value_at",
    "without",
    "write_document",
    "write_documents",
    "write_shown",
]
