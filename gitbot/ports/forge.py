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


class AnnotationLevel(StrEnum):
    """How loud an annotation is, in GitHub's words."""

    NOTICE = "notice"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """A message at a line of a file of the pull request. Lines count from 1."""

    path: str
    line: int
    level: AnnotationLevel
    message: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """A verdict on a commit with room for detail; `title` is its one line, as of a status.

    Where a forge takes no check runs from this account, it is a commit status of that name with
    the title as description. `summary` and `text` are Markdown, at most 65,535 characters each.
    """

    name: str
    state: CheckState
    title: str
    summary: str = ""
    text: str = ""
    annotations: tuple[Annotation, ...] = ()
    url: str = ""
    time: int = 0

    @property
    def status(self) -> CommitStatus:
        """What it says where only states are listed."""
        return CommitStatus(
            context=self.name,
            state=self.state,
            description=self.title,
            time=self.time,
            target_url=self.url,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue that is no pull request."""

    number: int
    title: str
    body: str
    author: str
    is_open: bool = True
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """One pull request. Commits are full hex ids, times seconds UTC (0: not yet).

    `reviews` and `merged_by` are sure only in the answer of `get_pull`. The `branch` of another
    repository is `owner:name`.
    """

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


def is_marked(body: str, marker: str) -> bool:
    """Whether a hidden marker stands in the first line.

    Further down somebody's words may be quoted, markers among them.
    """
    return marker in body.partition("\n")[0]


class Forge(Protocol):
    """Where pull requests live. Raises ForgeError; ConflictError where a head moved first."""

    @property
    def bot(self) -> str:
        """The account that gitbot acts as."""

    @property
    def reviews_required(self) -> int:
        """How many approvals the base branch asks for."""

    @property
    def clock_skew(self) -> int:
        """Seconds that its clock was ahead of ours at its last answer; 0 where it has none."""

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        """Open a pull request for a pushed branch; an open one for that branch is returned."""

    def get_pull(self, number: int) -> PullRequest:
        """One pull request."""

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        """Pull requests by number, oldest first; `reviews` and `merged_by` may be missing.

        None has a lower number than `first`: those before it are not even asked for.
        """

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        """Replace title and body."""

    def close_pull(self, number: int) -> None:
        """Close without merging; closing a closed one is fine."""

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge; refused (ConflictError) where the head is another one."""

    def approve_pull(self, number: int, *, reviewer: str) -> None:
        """Record an approving review of the present head.

        ForgeError where this account cannot speak for the reviewer.
        """

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Replace the labels."""

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        """Comments, oldest first."""

    def get_comment(self, number: int, comment: int) -> Comment:
        """One comment on a pull request by its id."""

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        """Write the one sticky comment with the hidden marker, in place where it exists.

        Only an own comment with the marker in its first line is taken for it, whoever else writes
        the marker.
        """

    def can_write(self, account: str) -> bool:
        """Whether an account may write to the repository now: write, maintain or admin."""

    def set_check(self, commit: str, check: CheckRun) -> bool:
        """Write a check run, or a commit status where no check run is allowed.

        One that says the same already is not written again. Whether it was written. `time` is the
        forge's own.
        """

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:
        """The newest check run of each name with its annotations, by name; statuses are not."""

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        """Write the one own issue that holds the hidden marker, in place where it exists.

        A closed one is edited and stays closed.
        """

    def set_status(self, commit: str, status: CommitStatus) -> None:
        """Write a commit status; an equal newest one is not written again."""

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """The newest state of each context, by context: statuses and check runs alike."""
