"""The Forge port on one Gitea repository."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.decoding import heads_of, pull_of, reviews_of
from gitbot.adapters.forges.gitea.diagnosis import diagnose
from gitbot.adapters.forges.gitea.rights import Rights
from gitbot.adapters.forges.gitea.setup import CAPABILITIES
from gitbot.adapters.forges.rest.answers import reads_answers
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.conversation import Conversation
from gitbot.adapters.forges.rest.forge import RestForge
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.statuses import Statuses
from gitbot.errors import ConflictError, ForgeError
from gitbot.model.plan.diagnosis import Check
from gitbot.ports.forge import (
    CheckRun,
    CommitStatus,
    MergeMethod,
    PullRequest,
    PullState,
)

_LOOKS = 4  # Gitea works on a push after it has answered Git
_LABEL = "#5319e7"


@reads_answers
class GiteaForge(RestForge[GiteaApi]):
    """The Forge port over Gitea's REST API. `repository` is `owner/name`."""

    capabilities = CAPABILITIES

    def __init__(self, api: GiteaApi, *, repository: str, base_branch: str) -> None:
        super().__init__(api)
        self.repository = repository
        self._root = f"/repos/{repository}"
        self.rights = Rights(api=api, root=self._root, branch=base_branch)
        self._statuses = Statuses(api=api, root=self._root, account=lambda: self.bot, key="status")
        self._conversation = Conversation(
            api=api, root=self._root, account=lambda: self.bot, labelled=False
        )
        # Methods of the port, implemented by these.
        self.can_write = self.rights.can_write
        self.has_pushed = self.rights.has_pushed
        self.team_members = self.rights.team_members
        self.list_statuses = self._statuses.list_statuses
        self.list_comments = self._conversation.list_comments
        self.get_comment = self._conversation.get_comment
        self.upsert_comment = self._conversation.upsert_comment
        self.upsert_issue = self._conversation.upsert_issue

    def require_reviews(self, count: int | None) -> None:
        self.rights.required = count

    def diagnose(self) -> tuple[Check, ...]:
        return diagnose(self.api, root=self._root, repository=self.repository, rights=self.rights)

    @property
    def reviews_required(self) -> int:
        return self.rights.reviews_required()

    # Pull requests

    def _create(self, branch: str, base_branch: str, title: str, body: str) -> PullRequest:
        def found() -> PullRequest | None:
            return self._open_of(branch)

        if not self._has_branch(branch):
            raise ForgeError(f"there is no branch {branch}", hint="push it first")
        try:
            value = self.api.write(
                f"open a pull request for {branch}",
                "POST",
                f"{self._root}/pulls",
                {"title": title, "head": branch, "base": base_branch, "body": body},
                resolve=found,
            )
        except RestRefusal as error:
            present = found() if error.status == 409 else None
            if present is None:
                raise
            value = present
        return value if isinstance(value, PullRequest) else pull_of(value, kept={})

    def _has_branch(self, branch: str) -> bool:
        path = f"{self._root}/branches/{quote(branch, safe='')}"
        try:
            self.api.get(f"read the branch {branch}", path)
        except RestRefusal as error:
            if error.status == 404 and self._repository():
                return False
            raise
        return True

    def get_pull(self, number: int) -> PullRequest:
        value = self._read(number)
        kept = {} if value.get("state") == "open" else self._kept(number)
        reviews = self.api.pages(
            f"read the reviews of pull request {number}",
            f"{self._root}/pulls/{number}/reviews",
            priority=Priority.SAFETY,
        )
        said = reviews_of(reviews, can_write=self.can_write)
        return replace(pull_of(value, kept=kept), reviews=said)

    def _read(self, number: int) -> Any:
        path = f"{self._root}/pulls/{number}"
        try:
            return self.api.get(f"read pull request {number}", path, priority=Priority.SAFETY).body
        except RestRefusal as error:
            if error.status == 404 and self._repository():
                raise ForgeError(f"there is no pull request {number}") from error
            raise

    def _kept(self, number: int | None = None) -> Mapping[int, str]:
        """`refs/pull/N/head` of one pull request, or of all."""
        path = f"{self._root}/git/refs/pull" + (f"/{number}/head" if number else "")
        try:
            answer = self.api.get("read heads of pull requests", path, priority=Priority.SAFETY)
        except RestRefusal as error:
            if error.status == 404 and self._repository():
                return {}
            raise
        return heads_of(answer.body)

    def _repository(self) -> Any:
        """Raises RestRefusal if a 404 is about the repository, not about an object in it."""
        return self.api.get(f"read {self.repository}", self._root).body

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        asked = {None: "all", PullState.OPEN: "open"}.get(state, "closed")
        # By creation: what is opened or changed meanwhile makes no page lose one. Newest first
        # (the order without `sort`) it can end early.
        order = {"sort": "oldest"} if first <= 1 else {}
        values: Iterable[Any] = self.api.pages(
            "list pull requests",
            f"{self._root}/pulls",
            parameters={"state": asked, **order},
            priority=Priority.SAFETY,
        )
        if first > 1:
            values = itertools.takewhile(lambda value: int(value["number"]) >= first, values)
        try:
            read = list(values)
        except RestRefusal as error:
            if error.status == 404 and self._repository().get("empty"):
                return ()  # no commit yet, or Gitea has not worked on the first push
            raise
        kept = {} if all(value.get("state") == "open" for value in read) else self._kept()
        pulls = {int(value["number"]): pull_of(value, kept=kept) for value in read}
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
        def found() -> Any:
            value = self._read(number)
            same = all((value.get(key) or "") == text for key, text in wanted.items())
            return value if same else None

        self.api.write(what, "PATCH", f"{self._root}/pulls/{number}", wanted, resolve=found)

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge, once Gitea has worked on the newest push.

        Until then the pull request would keep its previous head after the merge. Gitea dismisses
        the approvals of that head even later (services/pull, AddTestPullRequestTask), so gitbot
        counts those of the newest head itself.
        """
        what = f"merge pull request {number}"

        def found() -> PullRequest | None:
            pull = self.get_pull(number)
            return pull if pull.state is PullState.MERGED else None

        for look in range(_LOOKS):
            self._wait_mergeable(number, expected_head)
            self._check_approvals(number)
            try:
                self.api.write(
                    what,
                    "POST",
                    f"{self._root}/pulls/{number}/merge",
                    {"Do": str(method), "head_commit_id": expected_head},
                    resolve=found,
                )
            except RestRefusal as error:
                value = self._read(number)
                if value["head"]["sha"] != expected_head:
                    raise _moved(number, value) from error
                if error.status == 409:
                    raise _conflicting(number) from error
                # 405 also means that a new check for conflicts has begun. Nothing was done.
                if error.status != 405 or look == _LOOKS - 1:
                    raise
                self.api.clock.sleep(1)
            else:
                return self.get_pull(number)
        raise ForgeError(f"Gitea did not let gitbot {what}", hint="try again later")

    def _wait_mergeable(self, number: int, expected_head: str) -> None:
        for look in range(_LOOKS):
            value = self._read(number)
            if value.get("state") != "open":
                state = self.get_pull(number).state
                raise ForgeError(f"pull request {number} is {state}, not open")
            if value["head"]["sha"] != expected_head:
                raise _moved(number, value)
            if value.get("mergeable") and self._kept(number).get(number) == expected_head:
                return
            self.api.clock.sleep(1 + look)
        raise _conflicting(number)

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        path = f"{self._root}/issues/{number}/labels"
        wanted = sorted(set(labels))

        def found() -> Any:
            present = {str(item["name"]) for item in self.api.pages("read labels", path)}
            return sorted(present) if sorted(present) == wanted else None

        known = self._labels()
        for name in wanted:
            if name not in known:
                self._create_label(name)
        known = self._labels()
        self.api.write(
            f"label pull request {number}",
            "PUT",
            path,
            {"labels": [known[name] for name in wanted]},
            resolve=found,
            priority=Priority.COSMETIC,
        )

    def _labels(self) -> dict[str, int]:
        """The lowest id of each name: Gitea lets two labels have one name."""
        known: dict[str, int] = {}
        for value in self.api.pages("read the labels", f"{self._root}/labels"):
            name, number = str(value["name"]), int(value["id"])
            known[name] = min(number, known.get(name, number))
        return known

    def _create_label(self, name: str) -> None:
        self.api.write(
            f"create the label {name}",
            "POST",
            f"{self._root}/labels",
            {"name": name, "color": _LABEL},
            resolve=lambda: self._labels().get(name),
            priority=Priority.COSMETIC,
        )

    # Comments, statuses

    def set_status(self, commit: str, status: CommitStatus) -> None:
        self._statuses.set_status(commit, status)

    def set_check(self, commit: str, check: CheckRun) -> bool:
        """Gitea has no check runs; the comment has their details."""
        return self._statuses.set_status(commit, check.status)

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:  # noqa: ARG002
        return ()


def _moved(number: int, value: Any) -> ConflictError:
    return ConflictError(f"the head of pull request {number} is {value['head']['sha']} now")


def _conflicting(number: int) -> ForgeError:
    return ForgeError(
        f"pull request {number} conflicts with its base branch, or Gitea still checks it",
        hint="see its page; if it conflicts, merge the base branch into it",
    )
