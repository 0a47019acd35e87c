"""The forge: pull requests, and comments, checks and statuses on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from gitbot.execution.approval import PullReview


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeCapabilities:
    """What a forge can do, as far as a workflow depends on it. The defaults suit any forge.

    `own_clock`: it stamps comments and reviews with its own time, so nothing may be published for
    another present. `plans_by_itself`: its CI checks and shows every pull request; without it, a
    person types `gitbot check`. `merges_by_command`: it has no page, so a person types
    `gitbot merge`. `status_characters` is the longest line of a check or status,
    `text_bytes` the longest text of a check. `codeowners` names its grammar (intents.CODEOWNERS).
    `files` is where its page of a repository shows the files of {commit}; "" if it has no page.
    """

    own_clock: bool = False
    plans_by_itself: bool = False
    merges_by_command: bool = False
    status_characters: int = 140
    text_bytes: int = 65_000
    codeowners: str = "github"
    files: str = ""


class PullState(StrEnum):
    """Open, closed or merged."""

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
    """How to merge a pull request."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


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
    """One commit status. A context has one newest state per commit."""

    context: str
    state: CheckState
    description: str
    time: int = 0
    target_url: str = ""


class AnnotationLevel(StrEnum):
    """The severity of an annotation, in GitHub's words."""

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
    """A verdict on a commit with room for detail; `title` is one line, as for a status.

    On a forge that refuses check runs from this account, it becomes a commit status of that name
    with the title as description. `summary` and `text` are Markdown, at most 65,535 characters
    each.
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
        """The commit status that replaces it if only statuses are possible."""
        return CommitStatus(
            context=self.name,
            state=self.state,
            description=self.title,
            time=self.time,
            target_url=self.url,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One issue that is not a pull request."""

    number: int
    title: str
    body: str
    author: str
    is_open: bool = True
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """One pull request. Commits are full hex ids, times seconds UTC (0: not yet).

    `reviews` and `merged_by` are certain only in the answer of `get_pull`. The `branch` of another
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
    reviews: tuple[PullReview, ...] = ()
    merge_commit: str = ""
    merged_head: str = ""
    merged_by: str = ""
    merged_at: int = 0
    created_at: int = 0
    closed_at: int = 0
    url: str = ""


def is_marked(body: str, marker: str) -> bool:
    """Whether a hidden marker is in the first line.

    Further lines may quote other texts, markers included.
    """
    return marker in body.partition("\n")[0]


def marked(body: str, marker: str) -> str:
    """A text with the hidden marker in its first line."""
    return body if is_marked(body, marker) else f"{marker}\n{body}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeRequests:
    """Requests that went to the forge, and how many it takes until its limit; None if unknown."""

    sent: int = 0
    remaining: int | None = None


class Forge(Protocol):
    """Where pull requests live. Raises ForgeError; ConflictError if a head moved first."""

    @property
    def capabilities(self) -> ForgeCapabilities:
        """What workflows may expect of it; the same for the life of this value."""

    @property
    def bot(self) -> str:
        """The account that gitbot acts as."""

    @property
    def reviews_required(self) -> int:
        """How many approvals the base branch needs."""

    @property
    def clock_skew(self) -> int:
        """Seconds that its clock was ahead of ours at its last answer; 0 without its own clock."""

    @property
    def requests(self) -> ForgeRequests:
        """Since this value was opened."""

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        """Open a pull request for a pushed branch, or return the open one for that branch."""

    def get_pull(self, number: int) -> PullRequest: ...

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        """Pull requests by number, oldest first; `reviews` and `merged_by` may be missing.

        All numbers are at least `first`; lower ones are not even requested.
        """

    def edit_pull(self, number: int, *, title: str, body: str) -> None: ...

    def close_pull(self, number: int) -> None:
        """Close without merging. Closing a closed pull request succeeds."""

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge. Raises ConflictError if the head is another one."""

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Replace the labels."""

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        """Comments, oldest first."""

    def get_comment(self, number: int, comment: int) -> Comment: ...

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        """Write the one sticky comment with the hidden marker, in place if it exists.

        Only our own comment with the marker in its first line matches, even if others write the
        marker.
        """

    def can_write(self, account: str) -> bool:
        """Whether an account may write to the repository now: write, maintain or admin."""

    def has_pushed(self, account: str, head: str) -> bool:
        """Whether this account pushed this commit; true for a forge whose pushes have no account.

        Git's author and committer are what anyone writes: only the forge knows who pushed.
        """

    def team_members(self, team: str) -> frozenset[str] | None:
        """The accounts of `@org/team`, its child teams' too; None if the forge shows no such team.

        Raises ForgeError if it cannot be read.
        """

    def set_check(self, commit: str, check: CheckRun) -> bool:
        """Write a check run, or a commit status if check runs are not allowed.

        An equal one is not written again. Returns whether it wrote. The forge sets `time`.
        """

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:
        """The newest check run of each name with its annotations, by name. Excludes statuses."""

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        """Write our one issue with the hidden marker, in place if it exists.

        A closed one is edited and stays closed.
        """

    def set_status(self, commit: str, status: CommitStatus) -> None:
        """Write a commit status; an equal newest one is not written again."""

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """The newest state of each context, by context: statuses and check runs alike."""
