"""Parts of a comment in Markdown: tables, folded lists, lines of text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gitbot.reports import escape
from gitbot.reports.diff import Diff
from gitbot.reports.truncate import Section


def table(
    title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], rank: int, noun: str
) -> Iterator[Section]:
    if not rows:
        return
    heading = f"**{title}**\n\n" if title else ""
    ruler = "|".join(["---"] * len(columns))
    yield Section(
        head=f"{heading}| {' | '.join(columns)} |\n|{ruler}|\n",
        items=tuple(f"| {' | '.join(row)} |\n" for row in rows),
        foot="\n",
        rank=rank,
        noun=noun,
    )


def folded(title: str, items: list[str], rank: int, noun: str) -> Iterator[Section]:
    if not items:
        return
    yield Section(
        head=f"<details><summary>{title}</summary>\n\n",
        items=tuple(items),
        foot="\n</details>\n\n",
        rank=rank,
        noun=noun,
    )


def line(text: str) -> str:
    """A line's text, with what stands between backticks as code."""
    parts = text.split("`")
    return "".join(
        escape.code(part) if index % 2 else _spaced(part) for index, part in enumerate(parts)
    )


def says_owners(body: str, diff: Diff) -> bool:
    """Whether a comment says of every owner's approval what it is now."""
    return all(line(consent.line) in body for consent in diff.consents or ())


def _spaced(text: str) -> str:
    """Inert text; spaces and times of day stay as they are."""
    parts = re.split(r"(\s|\b[0-9]{2}:[0-9]{2}(?::[0-9]{2})?\b)", text)
    return "".join(part if index % 2 else escape.markdown(part) for index, part in enumerate(parts))
