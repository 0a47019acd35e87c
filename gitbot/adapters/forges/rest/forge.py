"""What the Forge ports of servers with a REST API do alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Generic, TypeVar

from gitbot.adapters.forges.rest.answers import reads_answers, text_of
from gitbot.adapters.forges.rest.api import RestApi
from gitbot.adapters.forges.rest.budget import BudgetSpent, Priority
from gitbot.errors import ForgeError
from gitbot.ports.forge import ForgeRequests, PullRequest, PullState

A = TypeVar("A", bound=RestApi)


@reads_answers
class RestForge(ABC, Generic[A]):
    """One account on one repository. `account` is "" until the server has said who it is."""

    named = "login"  # the field with an account's name

    def __init__(self, api: A, *, account: str = "") -> None:
        self.api = api
        self._account = account

    @property
    def bot(self) -> str:
        if not self._account:
            who = self.api.get("read who gitbot is", "/user", priority=Priority.SAFETY)
            self._account = text_of(who.body, self.named)
        return self._account

    @property
    def clock_skew(self) -> int:
        return self.api.skew

    @property
    def requests(self) -> ForgeRequests:
        left = self.api.budget.remaining if self.api.budget.limit else None
        return ForgeRequests(sent=self.api.sent, remaining=left)

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        """The server refuses a second one for a branch, so none is duplicated."""
        present = self._open_of(branch)
        if present is None:
            present = self._create(branch, base_branch, title, body)
        missing = sorted({*labels} - {*present.labels})
        if not missing:
            return present
        try:
            self.set_labels(present.number, (*present.labels, *missing))
        except BudgetSpent:
            return present  # labels are only for people: the pull request is open without them
        return replace(present, labels=tuple(sorted({*present.labels, *labels})))

    def _open_of(self, branch: str) -> PullRequest | None:
        found = self.list_pulls(state=PullState.OPEN, branch=branch)
        return found[0] if found else None

    def _check_approvals(self, number: int) -> None:
        """Raises ForgeError unless enough accounts approved the head that it has now."""
        pull, needed = self.get_pull(number), self.reviews_required
        newest = {review.reviewer: review for review in pull.reviews}
        counted = [
            review
            for review in newest.values()
            if review.can_write and review.commit == pull.head and review.reviewer != pull.author
        ]
        if len(counted) < needed:
            raise ForgeError(
                f"pull request {number} has {len(counted)} of {needed} approvals of {pull.head}"
            )

    @property
    @abstractmethod
    def reviews_required(self) -> int: ...

    @abstractmethod
    def get_pull(self, number: int) -> PullRequest: ...

    @abstractmethod
    def _create(self, branch: str, base_branch: str, title: str, body: str) -> PullRequest: ...

    @abstractmethod
    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]: ...

    @abstractmethod
    def set_labels(self, number: int, labels: tuple[str, ...]) -> None: ...
