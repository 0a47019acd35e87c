"""Texts cut to a limit: sections by importance, Markdown with its fences and details closed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report: `head`, as many of `items` as fit, `foot`.

    `rank` 0 is never cut; of the others, lower ranks get their room first. `noun` names what was
    cut. If no item fits, only a line that says so remains.
    """

    head: str
    items: tuple[str, ...] = ()
    foot: str = ""
    rank: int = 0
    noun: str = "line"


def fit(sections: Iterable[Section], *, limit: int) -> str:
    """The sections as one text of at most `limit` bytes in UTF-8, in the order given."""
    return "".join(fit_each(sections, limit=limit))


def fit_each(sections: Iterable[Section], *, limit: int) -> list[str]:
    """The sections as texts of at most `limit` bytes in UTF-8 together."""
    parts = list(sections)
    texts = {index: _whole(part) for index, part in enumerate(parts)}
    rest = limit - sum(_size(texts[i]) for i, part in enumerate(parts) if part.rank == 0)
    cuts = [(part.rank, index) for index, part in enumerate(parts) if part.rank > 0]
    rest -= sum(_size(_note(len(parts[index].items), parts[index])) for _, index in cuts)
    for _, index in sorted(cuts):
        texts[index] = _cut(parts[index], max(0, rest))
        rest -= _size(texts[index])
    return [texts[index] for index in range(len(parts))]


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


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_DETAILS = re.compile(r"<(/?)details\b", re.IGNORECASE)
_CLOSED = "\n</details>"
_ROOM = 200  # characters kept for the closing marks
_LONGEST_FENCE = 40  # a longer fence is cut away completely


def cut_markdown(text: str, limit: int, end: str) -> str:
    """At most `limit` characters, ending in `end`; the text itself if it fits."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(end) - _ROOM]
    newline = kept.rfind("\n")
    if newline > len(kept) * 15 // 16:  # at most this share is given up to cut between lines
        kept = kept[:newline]
    fence, start, depth = _left_open(kept)
    if len(fence) > _LONGEST_FENCE:
        kept, fence = kept[:start], ""
    closing = f"\n{fence}" if fence else ""
    room = limit - len(end) - len(kept) - len(closing)
    return kept + closing + _CLOSED * min(depth, room // len(_CLOSED)) + end


def leaves_open(text: str) -> bool:
    """Whether what follows the text is inside a fence or a fold."""
    fence, _, depth = _left_open(text)
    return bool(fence or depth)


def _left_open(text: str) -> tuple[str, int, int]:
    """The fence that is open at the end ("" for none), where it began, and open details."""
    fence, start, depth, place = "", 0, 0, 0
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line)
        if fence:
            closes = found is not None and not found[2].strip() and found[1].startswith(fence)
            fence = "" if closes else fence
        elif found is not None and not ("`" in found[1] and "`" in found[2]):
            fence, start = found[1], place
        else:
            for tag in _DETAILS.finditer(line):
                depth = max(0, depth - 1 if tag[1] else depth + 1)
        place += len(line) + 1
    return fence, start, depth
