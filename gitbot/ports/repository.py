"""The intents repository: blobs at commits, never a checkout; commits pushed compare-and-swap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit: full hex ids, time in seconds UTC."""

    id: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: int
    message: str


class Repository(Protocol):
    """A Git repository as gitbot uses it. Raises RepositoryError; ConflictError for a lost race.

    A `rev` is a branch, tag or commit id. It is refused if Git could take it for an option.
    """

    def fetch(self) -> None:
        """Update all branches from the remote."""

    def fetch_commit(self, commit: str) -> None:
        """Fetch one commit that may be on no branch: the head of a pull request.

        Anybody may have made it, so time and size are bounded. Raises RepositoryError if that
        fails; branches stay usable.
        """

    def resolve(self, rev: str) -> str | None:
        """The commit id of a rev; None if it does not exist."""

    def commit(self, rev: str) -> Commit: ...

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether `ancestor` is reachable from `descendant` (a commit is its own ancestor)."""

    def merge_base(self, left: str, right: str) -> str | None:
        """The best common ancestor."""

    def read_tree(self, rev: str, prefix: str = "", *, bounded: bool = True) -> Mapping[str, bytes]:
        """Path to content of every blob below the prefix, sorted by path.

        Raises RepositoryError that names the path for symlinks, submodules and executable files
        below the prefix, and, if `bounded`, for a tree over its budget of bytes or files. Only a
        branch that gitbot alone writes is read without a bound: a person must always be able to
        take a hold back.
        """

    def read_blob(self, rev: str, path: str) -> bytes | None:
        """One file at a rev; None if it does not exist."""

    def merge_trees(self, base: str, head: str) -> str | None:
        """The tree or commit id of merging `head` into `base` in memory; None on a text conflict.

        read_tree and read_blob accept the result as a rev.
        """

    def introduced_by(self, branch: str, path: str) -> str | None:
        """The first-parent commit of the branch that last added the path (the merge)."""

    def log(self, branch: str, *, path: str = "", limit: int = 0) -> tuple[Commit, ...]:
        """First-parent history of a branch, newest first."""

    def write_commit(
        self,
        *,
        branch: str,
        expected: str | None,
        files: Mapping[str, bytes | None],
        message: str,
        time: int,
        parents: tuple[str, ...] | None = None,
        orphan: bool = False,
    ) -> str:
        """Commit files (None removes) on top of `expected` and push it, compare-and-swap.

        `expected` is the id that the remote branch must have now (None: must not exist; then the
        tree starts as that of the first of `parents`, if there are any). With
        `orphan` the commit has no parent and holds only `files` and replaces the branch. Raises
        ConflictError if somebody else was first; after a lost answer the remote is read.
        Returns the new commit id.
        """

    def delete_branch(self, branch: str, *, expected: str) -> None:
        """Delete a remote branch if it is still at `expected`."""
