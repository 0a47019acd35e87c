"""CODEOWNERS as GitHub reads it: the last line whose pattern matches a path names its owners.

Source: GitHub, "About code owners": gitignore's patterns without `!`, `[ ]` and an escaped `#`;
`docs/*` does not match deeper, `docs/` does; a line without owners takes them away; wrong lines are
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

from gitbot.intents.gitea_codeowners import PLACES as GITEA_PLACES
from gitbot.intents.gitea_codeowners import gitea_codeowners
from gitbot.intents.gitlab_codeowners import PLACES as GITLAB_PLACES
from gitbot.intents.gitlab_codeowners import gitlab_codeowners

Groups = tuple[tuple[str, ...], ...]
PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
MAX_BYTES = 3 * 1024 * 1024  # a larger file counts as absent, on GitHub too
_OWNER = re.compile(r"@[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?|[^@\s]+@[^@\s]+")


def codeowners(text: str, path: str) -> tuple[str, ...]:
    """The owners of a path: `@user`, `@org/team` or a mail address; empty if nobody owns it."""
    if len(text.encode()) > MAX_BYTES:
        return ()
    found: tuple[str, ...] = ()
    for pattern, owners in _lines(text):
        if pattern.fullmatch(path):
            found = owners
    return found


@lru_cache(maxsize=8)
def _lines(text: str) -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    found = []
    for line in text.split("\n"):  # Unicode has other ends of lines, which no review shows
        words = _WORD.findall(line.partition("#")[0].strip(" \t\r"))
        if not words or re.search(r"[!\[\]]|\\$", words[0]) or words[0].strip("/") == "":
            continue
        owners = tuple(words[1:])
        if all(_OWNER.fullmatch(owner) for owner in owners):
            found.append((re.compile(_expression(words[0])), owners))
    return tuple(found)


def _expression(pattern: str) -> str:
    steps = pattern.strip("/").split("/")
    if not pattern.startswith("/") and len(steps) == 1:
        steps.insert(0, "**")  # a single step matches at any depth
    if pattern.endswith("/"):
        steps.append("**")
    made = ""
    for number, step in enumerate(steps):
        last = number == len(steps) - 1
        if step == "**":
            made += ".+" if last else "(?:.+/)?"
            continue
        made += "".join(_SIGNS.get(sign, re.escape(sign[-1])) for sign in _SIGN.findall(step))
        if not last:
            made += "/"
        elif step != "*" or (len(steps) == 2 and steps[0] == "**"):
            made += "(?:/.*)?"  # a folder holds what is below it
    return made


_WORD = re.compile(r"(?:\\.|[^ \t])+")  # a backslash before a space keeps the path together
_SIGN = re.compile(r"\\.|.")
_SIGNS = {"*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeownersGrammar:
    """Where the file may be (the first one counts), and how to read a path's owners from it.

    `owners` takes text and path, and returns groups of owners: one of each group must approve.
    """

    places: tuple[str, ...]
    owners: Callable[[str, str], Groups]


def _one_group(owners: Callable[[str, str], tuple[str, ...]], text: str, path: str) -> Groups:
    found = owners(text, path)
    return (found,) if found else ()


CODEOWNERS = {
    "github": CodeownersGrammar(places=PLACES, owners=partial(_one_group, codeowners)),
    "gitea": CodeownersGrammar(places=GITEA_PLACES, owners=partial(_one_group, gitea_codeowners)),
    "gitlab": CodeownersGrammar(places=GITLAB_PLACES, owners=gitlab_codeowners),
}
