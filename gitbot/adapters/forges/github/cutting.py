"""Cutting Markdown to what GitHub takes: whatever is open where it is cut is closed."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_DETAILS = re.compile(r"<(/?)details\b", re.IGNORECASE)
_CLOSED = "\n</details>"
_ROOM = 200  # characters kept for what closes
_LONGEST_FENCE = 40  # a longer one is cut away whole


def cut_markdown(text: str, limit: int, end: str) -> str:
    """At most `limit` characters, the last of them `end`; the text itself where it fits."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(end) - _ROOM]
    newline = kept.rfind("\n")
    if newline > len(kept) * 15 // 16:  # no more than that is given up to cut between lines
        kept = kept[:newline]
    fence, start, depth = _left_open(kept)
    if len(fence) > _LONGEST_FENCE:
        kept, fence = kept[:start], ""
    closing = f"\n{fence}" if fence else ""
    room = limit - len(end) - len(kept) - len(closing)
    return kept + closing + _CLOSED * min(depth, room // len(_CLOSED)) + end


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
