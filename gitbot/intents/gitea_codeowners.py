r"""CODEOWNERS as Gitea reads it: the owners of all lines whose expression matches the path.

Source: Gitea 1.26, models/issues/pull.go (TokenizeCodeOwnersLine, ParseCodeOwnersLine) and
services/issue/pull.go. A path is searched for `^EXPRESSION$` as written, so that an alternative at
the top is not anchored at both ends. `!` takes the paths that do not match. A backslash only keeps
the next character from ending a word: `\.` becomes `.`, any character. Wrong lines are skipped.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache

PLACES = ("CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS")
_OWNER = re.compile(r"@?([A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?)")
_WORD = re.compile(r"(?:\\.|[^ \\])+")
_COMMENT = re.compile(r"((?:\\.|[^#\\])*)(?:#.*)?")


def gitea_codeowners(text: str, path: str) -> tuple[str, ...]:
    """The owners of a path, `@user` or `@org/team`, in the order of the file."""
    found = [
        owner
        for expression, inverted, owners in _lines(text)
        if (expression.search(path) is None) == inverted
        for owner in owners
    ]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=8)
def _lines(text: str) -> tuple[tuple[re.Pattern[str], bool, tuple[str, ...]], ...]:
    found = []
    for line in text.split("\n"):
        said = _COMMENT.match(line.strip().replace("\t", " "))
        words = [re.sub(r"\\(.)", r"\1", word) for word in _WORD.findall(said[1] if said else "")]
        owners = [f"@{owner[1]}" for word in words[1:] if (owner := _OWNER.fullmatch(word))]
        if not owners:
            continue
        pattern = words[0].removeprefix("!").removeprefix("/")
        try:
            with warnings.catch_warnings():  # about sets that another version may read otherwise
                warnings.simplefilter("ignore")
                expression = re.compile(f"^{pattern}$")
        except (re.error, OverflowError, RecursionError):
            continue
        found.append((expression, words[0].startswith("!"), tuple(owners)))
    return tuple(found)
