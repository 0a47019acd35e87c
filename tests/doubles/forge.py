"""A forge in memory over a MemoryRepository."""

import copy
from dataclasses import replace
from typing import Self

from gitbot.errors import ConflictError, ForgeError
from gitbot.execution.approval import PullReview
from gitbot.ports.clock import Clock
from gitbot.ports.forge import (
    CheckRun,
    Comment,
    CommitStatus,
    ForgeCapabilities,
    ForgeRequests,
    Issue,
    MergeMethod,
    PullRequest,
    PullState,
    is_marked,
)
from gitbot.ports.idempotence import is_up_to_date
from tests.doubles.repository import MemoryRepository


class MemoryForge:
    """The Forge port without a service. `writes` counts what changed anything."""

    def __init__(
        self,
        repository: MemoryRepository,
        clock: Clock,
        *,
        account: str = "gitbot",
        reviews_required: int = 0,
    ) -> None:
        self._repository = repository
        self._clock = clock
        self.account = account
        self._rules = {"reviews": reviews_required}
        self._pulls: dict[int, PullRequest] = {}
        self._comments: dict[int, list[Comment]] = {}
        self._statuses: dict[str, dict[str, CommitStatus]] = {}
        self._checks: dict[str, dict[str, CheckRun]] = {}
        self._listed: dict[int, tuple[PullRequest, PullRequest]] = {}  # whole, and as listed
        self.issues: list[Issue] = []
        self.readers: set[str] = set()
        self.teams: dict[str, frozenset[str]] = {}
        self.enforced = True  # False: people merge past the approvals, as administrators may
        self.clock_skew = 0
        self.requests = ForgeRequests()
        self.writes = 0

    @property
    def capabilities(self) -> ForgeCapabilities:
        return ForgeCapabilities()

    @property
    def bot(self) -> str:
        """The account that gitbot acts as."""
        return "gitbot"

    @property
    def reviews_required(self) -> int:
        """How many approvals the base branch asks for."""
        return self._rules["reviews"]

    def acting_as(self, account: str) -> Self:
        """The same forge in somebody else's hands; each hand counts its own `writes`."""
        other = copy.copy(self)
        other.account, other.writes = account, 0
        return other

    def copied(self, repository: MemoryRepository, clock: Clock) -> Self:
        """A forge of its own that begins as this one is, with a copy of its repository."""
        other = copy.copy(self)
        other._repository, other._clock = repository, clock
        other._rules, other._pulls = dict(self._rules), dict(self._pulls)
        other._comments = {number: list(items) for number, items in self._comments.items()}
        other._statuses = {commit: dict(items) for commit, items in self._statuses.items()}
        other._checks = {commit: dict(items) for commit, items in self._checks.items()}
        other._listed, other.issues = dict(self._listed), list(self.issues)
        other.readers, other.teams = set(self.readers), dict(self.teams)
        return other

    def require_reviews(self, count: int) -> None:
        """Ask for that many approvals before a merge."""
        self._rules["reviews"] = count

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        """Open a pull request for a pushed branch; an open one for that branch is returned."""
        for pull in self.list_pulls(state=PullState.OPEN, branch=branch):
            return pull
        head = self._repository.resolve(branch)
        if head is None:
            raise ForgeError(f"there is no branch {branch}")
        pull = PullRequest(
            number=len(self._pulls) + 1,
            title=title,
            body=body,
            author=self.account,
            branch=branch,
            base_branch=base_branch,
            head=head,
            state=PullState.OPEN,
            labels=tuple(sorted(set(labels))),
            created_at=self._clock.now(),
        )
        self._put(pull)
        return pull

    def get_pull(self, number: int) -> PullRequest:
        """One pull request, its head and the rights of its reviewers as they are now."""
        pull = self._present(number)
        if not pull.reviews:
            return pull
        can = [item.approved and self.can_write(item.reviewer) for item in pull.reviews]
        if can == [item.can_write for item in pull.reviews]:
            return pull
        reviews = zip(pull.reviews, can, strict=True)
        return replace(pull, reviews=tuple(replace(it, can_write=may) for it, may in reviews))

    def _present(self, number: int) -> PullRequest:
        if number not in self._pulls:
            raise ForgeError(f"there is no pull request {number}")
        pull = self._pulls[number]
        if pull.state is not PullState.OPEN:
            return pull
        head = self._repository.resolve(pull.branch) or pull.head
        return pull if head == pull.head else replace(pull, head=head)

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        """Pull requests by number; reviews and mergers are missing, as the port allows."""
        return tuple(
            self._bare(self._present(number))
            for number, pull in sorted(self._pulls.items())
            if number >= first
            and (state is None or pull.state is state)
            and (not branch or pull.branch == branch)
        )

    def _bare(self, pull: PullRequest) -> PullRequest:
        known = self._listed.get(pull.number)
        if known is None or known[0] is not pull:
            known = self._listed[pull.number] = (pull, replace(pull, reviews=(), merged_by=""))
        return known[1]

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        """Replace title and body."""
        pull = self.get_pull(number)
        if (pull.title, pull.body) != (title, body):
            self._put(replace(pull, title=title, body=body))

    def close_pull(self, number: int) -> None:
        """Close without merging."""
        pull = self.get_pull(number)
        if pull.state is PullState.OPEN:
            now = self._clock.now()
            self._put(replace(pull, state=PullState.CLOSED, closed_at=now))

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge the head into its base."""
        pull = self._mergeable(number, expected_head)
        base = self._repository.commit(pull.base_branch).id
        tree = self._repository.merge_trees(pull.base_branch, pull.head)
        if tree is None:
            raise ForgeError(f"pull request {number} conflicts with {pull.base_branch}")
        parents = (base, pull.head) if method is MergeMethod.MERGE else (base,)
        commit = self._repository.add_commit(
            self._repository.read_tree(tree),
            parents=parents,
            message=pull.title,
            time=self._clock.now(),
        )
        self._repository.branches[pull.base_branch] = commit
        merged = replace(
            pull,
            state=PullState.MERGED,
            merge_commit=commit,
            merged_head=pull.head,
            merged_by=self.account,
            merged_at=self._clock.now() + self.clock_skew,
            closed_at=self._clock.now(),
        )
        self._put(merged)
        return merged

    def _mergeable(self, number: int, expected_head: str) -> PullRequest:
        pull = self.get_pull(number)
        if pull.state is not PullState.OPEN:
            raise ForgeError(f"pull request {number} is {pull.state}, not open")
        if pull.head != expected_head:
            raise ConflictError(f"the head of pull request {number} moved", hint="look again")
        approvals = {
            review.reviewer
            for review in pull.reviews
            if review.approved and review.commit == pull.head and review.reviewer != pull.author
        }
        if self.enforced and len(approvals) < self.reviews_required:
            raise ForgeError(
                f"pull request {number} has {len(approvals)} of {self.reviews_required} approvals"
            )
        return pull

    def approve_pull(self, number: int, *, reviewer: str) -> None:
        """Record an approving review of the present head."""
        pull = self.get_pull(number)
        now = self._clock.now() + self.clock_skew
        review = PullReview(reviewer=reviewer, approved=True, commit=pull.head, time=now)
        self._put(replace(pull, reviews=(*pull.reviews, review)))

    def dismiss_reviews(self, number: int, *, reviewer: str) -> None:
        """Take somebody's approvals back, as whoever has the right to may do."""
        pull = self.get_pull(number)
        reviews = tuple(
            replace(item, approved=item.approved and item.reviewer != reviewer)
            for item in pull.reviews
        )
        self._put(replace(pull, reviews=reviews))

    def retarget_pull(self, number: int, *, base_branch: str) -> None:
        """Let a pull request go to another branch."""
        self._put(replace(self.get_pull(number), base_branch=base_branch))

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Replace the labels."""
        self._put(replace(self.get_pull(number), labels=tuple(sorted(set(labels)))))

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        """Comments, oldest first."""
        return tuple(self._comments.get(number, ()))

    def get_comment(self, number: int, comment: int) -> Comment:
        """One comment by its id."""
        for found in self.list_comments(number):
            if found.id == comment:
                return found
        raise ForgeError(f"there is no comment {comment} on pull request {number}")

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        """Write the one own comment that holds the hidden marker."""
        self.get_pull(number)
        comments = self._comments.setdefault(number, [])
        text = body if is_marked(body, marker) else f"{marker}\n{body}"
        now = self._clock.now()
        for index, comment in enumerate(comments):
            if is_marked(comment.body, marker) and comment.author == self.account:
                if not is_up_to_date(comment.body, text):
                    comments[index] = replace(comment, body=text, edited=now)
                    self.writes += 1
                return comments[index]
        comment = Comment(id=len(comments) + 1, author=self.account, body=text, time=now)
        comments.append(comment)
        self.writes += 1
        return comment

    def can_write(self, account: str) -> bool:
        """Everybody but the `readers`."""
        return account not in self.readers

    def has_pushed(self, account: str, head: str) -> bool:  # noqa: ARG002 - as the local forge
        """Pushes have no account."""
        return True

    def team_members(self, team: str) -> frozenset[str] | None:
        """The members of a team of `teams`; None if there is no such team."""
        return self.teams.get(team)

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        """Write the one own issue that holds the marker."""
        text = body if is_marked(body, marker) else f"{marker}\n{body}"
        for index, issue in enumerate(self.issues):
            if is_marked(issue.body, marker) and issue.author == self.account:
                wanted = replace(issue, title=title, body=text)
                if not is_up_to_date(issue, wanted):
                    self.issues[index] = wanted
                    self.writes += 1
                return self.issues[index]
        number = len(self.issues) + 1
        self.issues.append(Issue(number=number, title=title, body=text, author=self.account))
        self.writes += 1
        return self.issues[-1]

    def set_check(self, commit: str, check: CheckRun) -> bool:
        """Write a check run; an equal newest one is not written again."""
        known = self._checks.setdefault(commit, {})
        newest = known.get(check.name)
        if is_up_to_date(newest, check):
            return False
        known[check.name] = replace(check, time=self._clock.now())
        self.writes += 1
        return True

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:
        """The newest check run of each name, by name."""
        return tuple(check for _, check in sorted(self._checks.get(commit, {}).items()))

    def set_status(self, commit: str, status: CommitStatus) -> None:
        """Write a commit status; an equal newest one is not written again."""
        known = self._statuses.setdefault(commit, {})
        newest = known.get(status.context)
        if is_up_to_date(newest, status):
            return
        known[status.context] = status
        self.writes += 1

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """The newest state of each context, check runs included."""
        found = dict(self._statuses.get(commit, {}))
        for name, check in self._checks.get(commit, {}).items():
            found[name] = check.status
        return tuple(status for _, status in sorted(found.items()))

    def _put(self, pull: PullRequest) -> None:
        self._pulls[pull.number] = pull
        self.writes += 1
