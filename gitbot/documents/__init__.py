"""YAML text to plain data with positions, and back. Only this room imports yaml.

Other rooms import from here, `fields` (typed values), `formats` and `schemas` (forms of text).
"""

from __future__ import annotations

from gitbot.documents.decode_errors import by_field, report_nothing
from gitbot.documents.document import DEFAULT_BUDGET, Budget, ParsedDocument
from gitbot.documents.envelope import envelope_is_known
from gitbot.documents.finding_report import Report, finding_at, value_at
from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml, scalar_places
from gitbot.documents.positions import TOP, Path, Position, Positions, key_path, shown
from gitbot.documents.reader import read_documents
from gitbot.documents.source_text import refused_in
from gitbot.documents.writer import write_document, write_documents, write_shown
from gitbot.documents.yaml_edit import remove_key

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
    "remove_key",
    "report_nothing",
    "scalar_places",
    "shown",
    "value_at",
    "write_document",
    "write_documents",
    "write_shown",
]
