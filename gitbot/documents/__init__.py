"""YAML text and plain data, read with positions; the only door to yaml. Knows no intent."""

from __future__ import annotations

from gitbot.documents.budget import DEFAULT_BUDGET, Budget
from gitbot.documents.document import Document
from gitbot.documents.positions import Path, Position, Positions, Scalar, key_path, shown
from gitbot.documents.reader import read_documents
from gitbot.documents.writer import write_document, write_documents, write_shown

__all__ = [
    "DEFAULT_BUDGET",
    "Budget",
    "Document",
    "Path",
    "Position",
    "Positions",
    "Scalar",
    "key_path",
    "read_documents",
    "shown",
    "write_document",
    "write_documents",
    "write_shown",
]
