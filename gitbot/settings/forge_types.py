"""What `forge.repository` may name, by type of forge. `wiring.forges` opens the same types."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gitbot.documents import shown

_OWNER_AND_NAME = r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRule:
    """How one type of forge names a repository.

    `wanted` is for the field's description. `problem` takes the name as written, "" for none, and
    returns what it found and what to do; None if the name is right. `has_address`: the server's
    address is configured, because each owner runs their own.
    """

    wanted: str
    problem: Callable[[str], tuple[str, str] | None]
    has_address: bool = False


def is_github_repository(text: str) -> bool:
    """Whether the text is `owner/name` by GitHub's rules for both."""
    return re.fullmatch(_OWNER_AND_NAME, text) is not None


def _local(name: str) -> tuple[str, str] | None:
    """No address: it may hold a password."""
    if "://" not in name.removeprefix("file://"):
        return None
    found = "found an address, expected the path or the remote of a bare repository"
    return found, "give a path, or write type: github"


def _github(name: str) -> tuple[str, str] | None:
    if name in ("", "origin") or is_github_repository(name):
        return None
    return f"found {shown(name)}, expected owner/name as on GitHub, or origin", "mend it"


def is_gitea_repository(text: str) -> bool:
    """Whether the text is `owner/name` by Gitea's rules (modules/validation, 1.26)."""
    return re.fullmatch(r"[A-Za-z0-9][\w.-]*/(?!\.{1,2}$)[\w.-]{1,100}", text, re.ASCII) is not None


def _gitea(name: str) -> tuple[str, str] | None:
    if name in ("", "origin") or is_gitea_repository(name):
        return None
    return f"found {shown(name)}, expected owner/name as on Gitea, or origin", "mend it"


def is_gitlab_repository(text: str) -> bool:
    """Whether the text is `group/project`, in groups of any depth, by GitLab's rules for paths."""
    step = r"[A-Za-z0-9_](?:[\w.-]*[\w-])?"
    return re.fullmatch(rf"(?:{step}/){{1,20}}{step}", text, re.ASCII) is not None


def _gitlab(name: str) -> tuple[str, str] | None:
    if name in ("", "origin") or is_gitlab_repository(name):
        return None
    return f"found {shown(name)}, expected group/project as on GitLab, or origin", "mend it"


DEFAULT_FORGE = "local"
REPOSITORY_RULES = {
    DEFAULT_FORGE: RepositoryRule(wanted="path or remote of a bare repository", problem=_local),
    "github": RepositoryRule(wanted="owner/name or origin", problem=_github),
    "gitea": RepositoryRule(wanted="owner/name or origin", problem=_gitea, has_address=True),
    "gitlab": RepositoryRule(
        wanted="group/project, in groups of any depth, or origin", problem=_gitlab, has_address=True
    ),
}
