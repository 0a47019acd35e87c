"""A revision of the repository that a person stands in."""

from __future__ import annotations

from pathlib import Path

from gitbot.adapters.git.process import Git, check_ref, is_commit_id
from gitbot.errors import RepositoryError


def resolve_here(root: Path, rev: str) -> str:
    """The commit id of a branch, tag, remote branch, HEAD or full id in a working repository."""
    git = Git(root)
    check_ref(rev)
    if is_commit_id(rev) or rev == "HEAD":
        names = [rev]
    else:
        names = [f"refs/{kind}/{rev}" for kind in ("heads", "tags", "remotes")]
    for name in names:
        code, output = git.status(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"],
            accept=(0, 1, 128),
        )
        if code == 0:
            return output.decode("ascii").split()[-1]
    raise RepositoryError(
        f"there is no commit {rev!r} in {root}", hint="give a branch, a tag, HEAD or a full id"
    )
