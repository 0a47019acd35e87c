"""The Forge port on one GitHub repository."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.github.checks import Checks
from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.decoding import pull_of, reviews_of
from gitbot.adapters.forges.github.diagnosis import DiagnosisTarget, diagnose
from gitbot.adapters.forges.github.protection import Protection
from gitbot.adapters.forges.github.setup import CAPABILITIES
from gitbot.adapters.forges.rest.answers import reads_answers, text_of
from gitbot.adapters.forges.rest.api import PAGE
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.conversation import Conversation
from gitbot.adapters.forges.rest.forge import RestForge
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.statuses import Statuses
from gitbot.errors import ConflictError, ForgeError, UsageError
from gitbot.model.plan.diagnosis import Check
from gitbot.ports.clock import Clock
from gitbot.ports.forge import (
    CommitStatus,
    MergeMethod,
    PullRequest,
    PullState,
)
from gitbot.settings import is_github_repository


@reads_answers
class GitHubForge(RestForge[GitHubApi]):
    """The Forge port over GitHub's REST API. `repository` is `owner/name`."""

    capabilities = CAPABILITIES

    def __init__(self, api: GitHubApi, *, repository: str, base_branch: str) -> None:
        super().__init__(api, account=api.credentials.account)
        self.repository = repository
        self._root = f"/repos/{repository}"
        self.protection = Protection(api=api, root=self._root, branch=base_branch)
        self._statuses = Statuses(api=api, root=self._root, account=lambda: self.bot)
        self._checks = Checks(
            api=api,
            root=self._root,
            allowed=api.credentials.writes_checks,
            account=lambda: self.bot,
            statuses=self._statuses,
        )
        self._conversation = Conversation(api=api, root=self._root, account=lambda: self.bot)
        # Methods of the port, implemented by these.
        self.can_write = self.protection.can_write
        self.has_pushed = self.protection.has_pushed
        self.team_members = self.protection.team_members
        self.set_check = self._checks.set_check
        self.list_checks = self._checks.list_checks
        self.list_statuses = self._checks.list_statuses
        self.list_comments = self._conversation.list_comments
        self.get_comment = self._conversation.get_comment
        self.upsert_comment = self._conversation.upsert_comment
        self.upsert_issue = self._conversation.upsert_issue

    @classmethod
    def of(
        cls,
        credentials: Credentials,
        *,
        repository: str,
        base_branch: str,
        clock: Clock,
    ) -> GitHubForge:
        check_repository(repository)
        return cls(
            GitHubApi.connect(installed(credentials, repository, clock), clock),
            repository=repository,
            base_branch=base_branch,
        )

    def require_reviews(self, count: int | None) -> None:
        self.protection.required = count

    def diagnose(self) -> tuple[Check, ...]:
        return diagnose(
            DiagnosisTarget(
                api=self.api,
                root=self._root,
                repository=self.repository,
                protection=self.protection,
            )
        )

    @property
    def reviews_required(self) -> int:
        return self.protection.reviews_required()

    # Pull requests

    def _create(self, branch: str, base_branch: str, title: str, body: str) -> PullRequest:
        def found() -> PullRequest | None:
            return self._open_of(branch)

        try:
            value = self.api.write(
                f"open a pull request for {branch}",
                "POST",
                f"{self._root}/pulls",
                {"title": title, "head": branch, "base": base_branch, "body": body},
                resolve=found,
            )
        except RestRefusal as error:
            if error.status != 422:
                raise
            present = found()  # it exists, though the first list did not have it yet
            if present is None:
                raise self._not_opened(branch, base_branch, error) from error
            value = present
        return value if isinstance(value, PullRequest) else pull_of(value)

    def _not_opened(self, branch: str, base_branch: str, error: RestRefusal) -> ForgeError:
        if "PullRequest head invalid" in error.said:
            return ForgeError(f"there is no branch {branch}", hint="push it first")
        if "No commits between" in error.said:
            return ForgeError(f"{branch} has nothing that {base_branch} lacks")
        return error

    def get_pull(self, number: int) -> PullRequest:
        path = f"{self._root}/pulls/{number}"
        try:
            value = self.api.get(f"read pull request {number}", path, priority=Priority.SAFETY).body
        except RestRefusal as error:
            if error.status == 404 and self._is_reachable():
                raise ForgeError(f"there is no pull request {number}") from error
            raise
        reviews = self.api.pages(
            f"read the reviews of pull request {number}",
            f"{path}/reviews",
            priority=Priority.SAFETY,
        )
        said = reviews_of(list(reviews), can_write=self.can_write)
        return replace(pull_of(value), reviews=said)

    def _is_reachable(self) -> bool:
        """Whether a 404 is about the object, and not about permission to see the repository."""
        self.api.get(f"read {self.repository}", self._root)
        return True

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        asked = {None: "all", PullState.OPEN: "open"}.get(state, "closed")
        owner = self.repository.partition("/")[0]
        head = {"head": f"{owner}:{branch}"} if branch else {}
        # By creation: what is opened or changed meanwhile makes no page lose one. Oldest first the
        # full pages stay as they are and are not paid for twice; newest first it can end early.
        order = {"sort": "created", "direction": "asc" if first <= PAGE else "desc"}
        values = self.api.pages(
            "list pull requests",
            f"{self._root}/pulls",
            parameters={"state": asked, **order, **head},
            priority=Priority.SAFETY,
        )
        if first > PAGE:
            values = itertools.takewhile(lambda value: int(value["number"]) >= first, values)
        pulls = {int(value["number"]): pull_of(value) for value in values}  # pages may overlap
        return tuple(
            pull
            for _, pull in sorted(pulls.items())
            if pull.number >= first and state in (None, pull.state) and branch in ("", pull.branch)
        )

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        self._patch(number, f"edit pull request {number}", {"title": title, "body": body})

    def close_pull(self, number: int) -> None:
        if self.get_pull(number).state is PullState.OPEN:
            self._patch(number, f"close pull request {number}", {"state": "closed"})

    def _patch(self, number: int, what: str, wanted: dict[str, Any]) -> None:
        path = f"{self._root}/pulls/{number}"

        def found() -> Any:
            value = self.api.get(what, path).body
            same = all((value.get(key) or "") == text for key, text in wanted.items())
            return value if same else None

        self.api.write(what, "PATCH", path, wanted, resolve=found)

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        what = f"merge pull request {number}"

        def found() -> PullRequest | None:
            pull = self.get_pull(number)
            return pull if pull.state is PullState.MERGED else None

        try:
            self.api.write(
                what,
                "PUT",
                f"{self._root}/pulls/{number}/merge",
                {"sha": expected_head, "merge_method": str(method)},
                resolve=found,
            )
        except RestRefusal as error:
            raise self._not_merged(number, expected_head, error) from error
        for look in range(3):  # merged, but the pull request may show it only later
            pull = self.get_pull(number)
            if pull.state is PullState.MERGED:
                return pull
            self.api.clock.sleep(1 + look)
        raise ForgeError(f"GitHub merged pull request {number} but does not show it", hint="wait")

    def _not_merged(self, number: int, expected_head: str, error: RestRefusal) -> Exception:
        pull = self.get_pull(number)
        if pull.state is not PullState.OPEN:
            return ForgeError(f"pull request {number} is {pull.state}, not open")
        if error.status == 409 or pull.head != expected_head:
            return ConflictError(f"the head of pull request {number} is {pull.head} now")
        return error

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        path = f"{self._root}/issues/{number}/labels"
        wanted = sorted(set(labels))

        def found() -> Any:
            present = [str(item["name"]) for item in self.api.pages("read labels", path)]
            return present if sorted(present) == wanted else None

        self.api.write(
            f"label pull request {number}",
            "PUT",
            path,
            {"labels": wanted},
            resolve=found,
            priority=Priority.COSMETIC,
        )

    # Comments, checks, issues

    def set_status(self, commit: str, status: CommitStatus) -> None:
        self._statuses.set_status(commit, status)


def check_repository(repository: str) -> str:
    if not is_github_repository(repository):
        raise UsageError(
            f"{repository!r} is not a repository on GitHub",
            hint="set forge.repository to owner/name",
        )
    return repository


def installed(credentials: Credentials, repository: str, clock: Clock) -> Credentials:
    """An App's credentials with its installation on the repository and its bot's name."""
    if credentials.kind is not CredentialKind.APP:
        return credentials
    if credentials.installation and credentials.account:
        return credentials
    app = GitHubApi.connect(replace(credentials, installation=0), clock)
    account = credentials.account or f"{text_of(app.get('read the App', '/app').body, 'slug')}[bot]"
    installation = credentials.installation
    if not installation:
        path = f"/repos/{repository}/installation"
        installation = int(app.get(f"find the App on {repository}", path).body["id"])
    return replace(credentials, installation=installation, account=account)
