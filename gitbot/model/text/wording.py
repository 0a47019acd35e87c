"""Wording for people: the nearest valid word, and texts and lists cut to the length of a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST = 64
ALIKE = 0.73  # gitea and gitlab are as near as 0.727, and are two forges


def nearest(word: str, words: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The valid word that a person most likely meant; None if none is near.

    The same letters in another case win; then difflib's ratio of at least `cutoff`.
    """
    known = list(words)
    if not word or len(word) > LONGEST:
        return None
    bare = _bare(word)
    for candidate in known:
        if _bare(candidate) == bare:
            return candidate
    from difflib import get_close_matches  # noqa: PLC0415 - only where a word is wrong

    by_lower = {candidate.lower(): candidate for candidate in reversed(known)}
    close = get_close_matches(word.lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[close[0]] if close else None


def meant(word: str, words: Iterable[str], *, known: str = "known") -> str:
    """`did you mean b?`, else the words: the end of an error about an unknown name."""
    every = list(words)
    near = nearest(word, every)
    return f"did you mean {near}?" if near else f"{known}: {first_of(every, 8) or 'none'}"


def one_of(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *most, last = list(words)
    return f"{', '.join(most)} or {last}" if most else last


def _bare(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters; a shortened text ends with `…`."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def first_of(items: Sequence[object], most: int) -> str:
    """`a, b and 3 more`: the first `most` items, and the number of the others."""
    shown = ", ".join(str(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
