"""The newest commits of a few branches of a remote, without their history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gitbot.adapters.git.branches import FETCH, ONE_HEAD, not_answered
from gitbot.adapters.git.process import Access, Git, address_of, check_ref, no_access
from gitbot.adapters.git.repository import GitRepository
from gitbot.errors import RepositoryError


def fetch_tips(
    remote: str,
    directory: Path,
    *,
    branches: Sequence[str],
    access: Callable[[], Access] = no_access,
) -> GitRepository:
    """One fetch into a bare repository in an empty `directory`, to read from.

    A name with `*` at its end may match nothing. Raises RepositoryError if another branch does not
    exist, and UnreachableError if the remote does not answer.
    """
    directory.mkdir(parents=True, exist_ok=True)
    Git(directory).run(["init", "--bare", "--quiet", "--template="])
    remote, access = address_of(remote, access)
    git = Git(directory, access=access)
    specs = [f"+refs/heads/{name}:refs/heads/{name}" for name in branches]
    try:
        git.within(ONE_HEAD, [*FETCH, "--depth=1", "--end-of-options", remote, *specs])
    except RepositoryError as error:
        raise not_answered(error) or error from error
    return GitRepository(git, remote=remote, name="", email="")


def copy_fetched(root: Path, remote: str, directory: Path) -> None:
    """The last fetched branches of a remote in the clone at `root`, as branches of a bare copy.

    Raises RepositoryError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    git = Git(directory)
    git.run(["init", "--bare", "--quiet", "--template="])
    here = f"refs/remotes/{check_ref(remote)}"
    specs = [f"+{here}/*:refs/heads/*", f"^{here}/HEAD"]
    clone = Git.of_work_tree(root)
    git.within(ONE_HEAD, [*FETCH, "--end-of-options", str(clone.directory), *specs])
