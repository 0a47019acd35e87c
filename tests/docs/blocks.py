"""Blocks of a Markdown page that a test carries out.

A comment on the line before a block says what becomes of it:

- `<!-- runnable -->`, `<!-- runnable: exit 1 -->`: sh or console; runs, and ends with that code
- `<!-- file: PATH -->`: is written to PATH in the folder where the commands before it ended
- `<!-- serve -->`: starts a cluster that the blocks after it use

In a console block lines with `$ ` are commands, and the others stand in their output, in this
order; … at the end of a line stands for the rest of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[a-z]+)(?:: (?P<argument>[^>]*?))? -->\n)?"
    r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block. `mark` is "" where nothing is to be done with it."""

    line: int
    mark: str
    argument: str
    language: str
    text: str

    @property
    def exit_code(self) -> int:
        """What a runnable block ends with."""
        return int(self.argument.removeprefix("exit ") or 0)

    @property
    def commands(self) -> str:
        """What is typed."""
        if self.language == "sh":
            return self.text
        lines = [line for line in self.text.splitlines() if line.startswith("$ ")]
        return "".join(line.removeprefix("$ ") + "\n" for line in lines)

    @property
    def output(self) -> tuple[str, ...]:
        """What is shown, line by line; nothing of a block that shows commands alone."""
        if self.language != "console":
            return ()
        lines = self.text.splitlines()
        return tuple(line for line in lines if line.strip() not in ("", "…") and line[:2] != "$ ")


def blocks(page: Path) -> Iterator[Block]:
    """All fenced blocks of a page, in order."""
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        yield Block(
            line=text.count("\n", 0, match.start("text")),
            mark=match["mark"] or "",
            argument=match["argument"] or "",
            language=match["language"],
            text=match["text"],
        )


def plain(line: str) -> str:
    """A line without what differs from run to run: times, digests, widths of columns."""
    line = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", line)
    line = re.sub(r"[0-9a-f]{10,}", "HEX", line)
    return " ".join(line.split())


def absent(expected: tuple[str, ...], printed: str) -> list[str]:
    """Expected lines that do not stand, in their order, in what was printed."""
    rest = iter([plain(line) for line in printed.splitlines()])
    return [line for line in expected if not any(_shows(plain(line), found) for found in rest)]


def _shows(expected: str, found: str) -> bool:
    if expected.endswith("…"):
        return found.startswith(expected.removesuffix("…").rstrip())
    return expected == found
