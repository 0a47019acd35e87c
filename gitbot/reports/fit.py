"""Sections of a text cut to a limit: the least important items go first, the summary never."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report: `head`, as many of `items` as fit, `foot`.

    `rank` 0 is never cut; of the others, lower ranks get their room first. `noun` names what was
    cut. A section with items of which none fits is left out, but for the line that says so.
    """

    head: str
    items: tuple[str, ...] = ()
    foot: str = ""
    rank: int = 0
    noun: str = "line"


def fit(sections: Iterable[Section], *, limit: int) -> str:
    """The sections as one text of at most `limit` bytes in UTF-8, in the order given."""
    parts = list(sections)
    texts = {index: _whole(part) for index, part in enumerate(parts)}
    rest = limit - sum(_size(texts[i]) for i, part in enumerate(parts) if part.rank == 0)
    cuts = [(part.rank, index) for index, part in enumerate(parts) if part.rank > 0]
    rest -= sum(_size(_note(len(parts[index].items), parts[index])) for _, index in cuts)
    for _, index in sorted(cuts):
        texts[index] = _cut(parts[index], max(0, rest))
        rest -= _size(texts[index])
    return "".join(texts[index] for index in range(len(parts)))


def _whole(section: Section) -> str:
    return section.head + "".join(section.items) + section.foot


def _cut(section: Section, room: int) -> str:
    whole = _whole(section)
    if _size(whole) <= room:
        return whole
    taken: list[str] = []
    used = _size(section.head) + _size(section.foot)
    for item in section.items:
        used += _size(item)
        if used > room:
            break
        taken.append(item)
    note = _note(len(section.items) - len(taken), section)
    return section.head + "".join(taken) + section.foot + note if taken else note


def _note(missing: int, section: Section) -> str:
    noun = section.noun if missing == 1 else f"{section.noun}s"
    return f"\n_{missing} more {noun} left out here; the command line has all (`-o json`)._\n\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
