"""CODEOWNERS as GitLab reads it: in each section the last line that matches a path.

Source: docs.gitlab.com, "Syntax of CODEOWNERS file" and "Advanced CODEOWNERS configuration". Each
section has owners of its own, and each asks for an approval; lines before the first section are one
too. A heading may name default owners, for lines without any. `^[Section]` asks for nothing, unless
the same section is required elsewhere. `!` takes a path out of its section, whatever follows.
gitbot asks for one approval for a section, even if its heading asks for more. A role, such as
`@@maintainer`, is nobody's account. A word after ` #` does not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

PLACES = ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_HEADING = re.compile(r"(\^?)\[([^\]]+)\](?:\[\d*\])?(?:[ \t]+(.*))?")
_WORD = re.compile(r"(?:\\.|[^\\ \t])+")
_OWNER = re.compile(r"@@?[A-Za-z0-9_][\w.-]*(/[A-Za-z0-9_][\w.-]*)*|[^@\s]+@[^@\s]+")
_STEP = re.compile(r"\*\*/|\*+|\?|\[[!^]?[^\]]+\]|\\.|.")


@dataclass(slots=True)
class _Section:
    """`lines` have expression and owners; None instead of owners takes the path out."""

    required: bool = False
    lines: list[tuple[re.Pattern[str], tuple[str, ...] | None]] = field(default_factory=list)

    def owners(self, path: str) -> tuple[str, ...]:
        found: tuple[str, ...] = ()
        for expression, owners in self.lines:
            if expression.fullmatch(path):
                if owners is None:
                    return ()
                found = owners
        return found


def gitlab_codeowners(text: str, path: str) -> tuple[tuple[str, ...], ...]:
    """The owners of a path for each section that asks for one, in the order of the file."""
    found = (section.owners(f"/{path}") for section in _sections(text) if section.required)
    return tuple(dict.fromkeys(owners for owners in found if owners))


@lru_cache(maxsize=8)
def _sections(text: str) -> tuple[_Section, ...]:
    section = _Section(required=True)
    found = {"": section}
    default: tuple[str, ...] = ()
    for line in text.split("\n"):
        said = re.split(r"(?:^|[ \t])#", line.strip(" \t\r"))[0].strip(" \t")
        heading = _HEADING.fullmatch(said)
        if heading is not None:
            section = found.setdefault(heading[2].strip().lower(), _Section())
            section.required |= not heading[1]
            default = _owners((heading[3] or "").split())
        elif said:
            section.lines += _line(said, default)
    return tuple(found.values())


def _line(
    said: str, default: tuple[str, ...]
) -> list[tuple[re.Pattern[str], tuple[str, ...] | None]]:
    words = _WORD.findall(said)
    if not words:  # a single backslash
        return []
    try:
        expression = re.compile(_expression(words[0].removeprefix("!")), re.DOTALL)
    except (re.error, OverflowError, RecursionError):
        return []
    excluded = words[0].startswith("!")
    return [(expression, None if excluded else _owners(words[1:]) or default)]


def _owners(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if _OWNER.fullmatch(word)))


def _expression(pattern: str) -> str:
    """As File.fnmatch of Ruby with FNM_PATHNAME and FNM_DOTMATCH: `**/` is any folders or none."""
    whole = "/**/*" if pattern == "*" else pattern
    whole = whole if whole.startswith("/") else f"/**/{whole}"
    whole += "**/*" if whole.endswith("/") else ""
    return "".join(_step(step) for step in _STEP.findall(whole))


def _step(step: str) -> str:
    if step == "**/":
        return "(?:[^/]+/)*"
    if step[0] == "*":
        return "[^/]*"
    if step == "?":
        return "[^/]"
    if len(step) > 1 and step[0] == "[":
        inner = step[1:-1]
        turned = inner[0] in "!^"
        return f"[{'^' if turned else ''}{re.escape(inner[turned:]).replace(chr(92) + '-', '-')}]"
    return re.escape(step[-1])
