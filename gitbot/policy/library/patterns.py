"""Kubernetes' regex library: apiserver, pkg/cel/library/regex.go, over what the engine extracts.

The engine's RE2 never runs away. Go's FindAllString decides which matches of nothing count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

# The text that the group of a pattern holds at its first match in a text; none without a match.
Extract = Callable[[str, str], list[str]]
_PIECE = re.compile(
    r"\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\(\?P?<\w+>|\((?!\?)", re.DOTALL
)


def uncaptured(pattern: str) -> str:
    """`(?:a(?:b))` of `a(b)`: the engine would give what a group holds, not the whole match."""
    return _PIECE.sub(
        lambda match: "(?:" if match.group().startswith("(") else match.group(), pattern
    )


def all_matches(text: str, pattern: str, most: int, extract: Extract) -> list[str]:
    """What matches, from the left; all of them where `most` is negative."""
    matches: list[str] = []
    for match in _matches(text, uncaptured(pattern), extract):
        if len(matches) == most:
            break
        matches.append(match)
    return matches


def _matches(text: str, pattern: str, extract: Extract) -> Iterator[str]:
    at, before = 0, -1
    while at <= len(text):
        # the lazy part before it makes the group the leftmost match that begins there or later
        here = "^" + "(?s:.{1000})" * (at // 1000) + f"(?s:.{{{at % 1000}}})"
        whole = extract(text, f"{here}((?s:.*?)(?:{pattern}))")
        if not whole:
            return
        (match,) = extract(text, f"{here}(?s:.*?)((?:{pattern}))")
        end = at + len(whole[0])
        if match or end != before:
            yield match
        before = end
        at = end if match else end + 1
