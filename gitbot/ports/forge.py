"""The forge: pull requests and what is said on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class PullState(StrEnum):
    """State of a pull request."""

    OPEN = "open"
    MERGED = "merged"
    CLOSED = "closed"  # without a merge


class CheckState(StrEnum):
    """State of a check or commit status. Waiting for a window is PENDING, never a failure."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"
    ERROR = "error"


class MergeMethod(StrEnum):
    """How a pull request is merged."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """One review. Only an approval of the newest head by somebody with write permission counts."""

    reviewer: str
    approved: bool
    commit: str
    time: int
    can_write: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment on a pull request."""

    id: int
    author: str
    body: str
    time: int
    edited: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStatus:
    """One commit status; a context has one newest state for each commit."""

    context: str
    state: CheckState
    description: str
    time: int = 0
    target_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """One pull request. Commits are full hex ids, times seconds UTC (0: not yet)."""

    number: int
    title: str
    body: str
    author: str
    branch: str
    base_branch: str
    head: str
    state: PullState
    labels: tuple[str, ...] = ()
    reviews: tuple[Review, ...] = ()
    merge_commit: str = ""
    merged_head: str = ""
    merged_by: str = ""
    merged_at: int = 0
    created_at: int = 0
    closed_at: int = 0
    url: str = ""


class Forge(Protocol):
    """Where pull requests live. Raises ForgeError; ConflictError where a head moved first."""

    @property
    def bot(self) -> str:
        """The account that gitbot acts as."""

    @property
    def reviews_required(self) -> int:
        """How many approvals the base branch asks for."""

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        """Open a pull request for a pushed branch; an open one for that branch is returned."""

    def get_pull(self, number: int) -> PullRequest:
        """One pull request."""

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = ""
    ) -> tuple[PullRequest, ...]:
        """Pull requests by number, oldest first."""

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        """Replace title and body."""

    def close_pull(self, number: int) -> None:
        """Close without merging; closing a closed one is fine."""

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge; refused (ConflictError) where the head is another one."""

    def approve_pull(self, number: int, *, reviewer: str) -> None:
        """Record an approving review of the present head."""

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Replace the labels."""

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        """Comments, oldest first."""

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        """Write the one sticky comment that holds the hidden marker, in place where it exists."""

    def set_status(self, commit: str, status: CommitStatus) -> None:
        """Write a commit status; an equal newest one is not written again."""

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """The newest status of each context, by context."""
