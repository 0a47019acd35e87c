"""The reader: a file to plain data with positions, within budgets.

Files in the plainest form are read line by line (`plain_blocks`); all others, and whatever a
finding is about, by the YAML parser (`parsed`), which is imported only then.
"""

from __future__ import annotations

from gitbot.documents.budget import DEFAULT_BUDGET, Budget
from gitbot.documents.document import Document
from gitbot.documents.plain_blocks import read_plain
from gitbot.documents.text import decode
from gitbot.model.findings import Finding


def read_documents(
    data: bytes, file: str, *, budget: Budget = DEFAULT_BUDGET
) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """All readable documents of a file, and all findings about its text, sorted by place.

    A document with a syntax error is left out; one with a refused scalar, key or construct is
    returned without it (see Document.reported). Never raises for bad input.
    """
    characters, problem = decode(data[: budget.bytes] if len(data) > budget.bytes else data, file)
    if len(data) > budget.bytes:
        from gitbot.documents.parsed import too_large  # noqa: PLC0415

        return (), (too_large(data, file, budget),)
    if problem is not None:
        return (), (problem,)
    plain = read_plain(characters, budget, lambda: _long_way(characters, file, budget)[0])
    return (plain, ()) if plain is not None else _long_way(characters, file, budget)


def _long_way(
    characters: str, file: str, budget: Budget
) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    from gitbot.documents.parsed import read_parsed  # noqa: PLC0415 - the parser only where used

    return read_parsed(characters, file, budget)
