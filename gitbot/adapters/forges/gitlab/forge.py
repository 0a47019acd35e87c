"""The Forge port on one GitLab project."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gitbot.adapters.forges.gitlab.api import GitLabApi, encoded
from gitbot.adapters.forges.gitlab.decoding import (
    approval_moments,
    pull_of,
    reviews_of,
    without_quick_actions,
)
from gitbot.adapters.forges.gitlab.diagnosis import diagnose
from gitbot.adapters.forges.gitlab.rights import Rights
from gitbot.adapters.forges.gitlab.setup import CAPABILITIES
from gitbot.adapters.forges.gitlab.speaking import Notes, PipelineStatuses
from gitbot.adapters.forges.rest.answers import reads_answers
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.forge import RestForge
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.errors import ConflictError, ForgeError
from gitbot.execution.approval import PullReview
from gitbot.model.plan.diagnosis import Check
from gitbot.ports.forge import CheckRun, CommitStatus, MergeMethod, PullRequest, PullState

_LOOKS = 5  # GitLab works on a push, and looks for conflicts, after it has answered Git
_WAITS = frozenset({"unchecked", "checking", "preparing", "approvals_syncing", "locked_paths"})
_SAYS = {
    "conflict": "conflicts with its base branch: merge the base branch into it",
    "broken_status": "conflicts with its base branch: merge the base branch into it",
    "need_rebase": "needs a rebase, which makes a new head: rebase it, then approve that head",
    "not_approved": "lacks an approval that a rule of the project asks for",
    "ci_must_pass": "needs a pipeline that passes",
    "ci_still_running": "waits for its pipeline",
    "draft_status": "is a draft: mark it as ready",
    "discussions_not_resolved": "has threads that are not resolved",
}


@reads_answers
class GitLabForge(RestForge[GitLabApi]):
    """The Forge port over GitLab's REST API. `repository` is `group/project`, at any depth."""

    capabilities = CAPABILITIES
    named = "username"

    def __init__(self, api: GitLabApi, *, repository: str, base_branch: str) -> None:
        super().__init__(api)
        self.repository = repository
        self._root = f"/projects/{encoded(repository)}"
        self.rights = Rights(api=api, root=self._root, branch=base_branch)
        self._statuses = PipelineStatuses(api=api, root=self._root, account=lambda: self.bot)
        self._notes = Notes(api=api, root=self._root, account=lambda: self.bot, labelled=False)
        # Methods of the port, implemented by these.
        self.can_write = self.rights.can_write
        self.has_pushed = self.rights.has_pushed
        self.team_members = self.rights.team_members
        self.list_statuses = self._statuses.list_statuses
        self.list_comments = self._notes.list_comments
        self.get_comment = self._notes.get_comment
        self.upsert_comment = self._notes.upsert_comment
        self.upsert_issue = self._notes.upsert_issue

    def require_reviews(self, count: int | None) -> None:
        self.rights.required = count

    def diagnose(self) -> tuple[Check, ...]:
        return diagnose(self.api, root=self._root, repository=self.repository, rights=self.rights)

    @property
    def reviews_required(self) -> int:
        return self.rights.reviews_required()

    # Merge requests

    def _create(self, branch: str, base_branch: str, title: str, body: str) -> PullRequest:
        def found() -> PullRequest | None:
            return self._open_of(branch)

        if not self._has_branch(branch):
            raise ForgeError(f"there is no branch {branch}", hint="push it first")
        wanted = {
            "source_branch": branch,
            "target_branch": base_branch,
            "title": title,
            "description": without_quick_actions(body),
        }
        path = f"{self._root}/merge_requests"
        try:
            value = self.api.write(
                f"open a merge request for {branch}", "POST", path, wanted, resolve=found
            )
        except RestRefusal as error:
            present = found() if error.status == 409 else None
            if present is None:
                raise
            value = present
        return value if isinstance(value, PullRequest) else pull_of(value)

    def _has_branch(self, branch: str) -> bool:
        path = f"{self._root}/repository/branches/{encoded(branch)}"
        try:
            self.api.get(f"read the branch {branch}", path)
        except RestRefusal as error:
            if error.status == 404 and self.rights.project():
                return False
            raise
        return True

    def get_pull(self, number: int) -> PullRequest:
        return replace(pull_of(self._read(number)), reviews=self._reviews(number))

    def _at(self, number: int, more: str = "") -> str:
        return f"{self._root}/merge_requests/{number}{more}"

    def _read(self, number: int) -> Any:
        what = f"read merge request {number}"
        try:
            return self.api.get(what, self._at(number), priority=Priority.SAFETY).body
        except RestRefusal as error:
            if error.status == 404 and self.rights.project():
                raise ForgeError(f"there is no pull request {number}") from error
            raise

    def _reviews(self, number: int) -> tuple[PullReview, ...]:
        what = f"read the approvals of merge request {number}"
        asked = self.api.get(what, self._at(number, "/approvals"), priority=Priority.SAFETY)
        given = list(asked.body["approved_by"])
        if not given:
            return ()
        versions = self.api.pages(what, self._at(number, "/versions"), priority=Priority.SAFETY)
        noted = {}
        if not all(each.get("approved_at") for each in given):
            notes = self.api.pages(what, self._at(number, "/notes"), priority=Priority.SAFETY)
            noted = approval_moments(notes)
        return reviews_of(given, versions=versions, noted=noted, can_write=self.can_write)

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        words = {None: "all", PullState.OPEN: "opened"}
        # By creation: what is opened or changed meanwhile makes no page lose one. Newest first it
        # can end early.
        values: Iterable[Any] = self.api.pages(
            "list merge requests",
            f"{self._root}/merge_requests",
            parameters={
                "state": words.get(state, str(state)),
                "order_by": "created_at",
                "sort": "asc" if first <= 1 else "desc",
                **({"source_branch": branch} if branch and ":" not in branch else {}),
            },
            priority=Priority.SAFETY,
        )
        if first > 1:
            values = itertools.takewhile(lambda value: int(value["iid"]) >= first, values)
        pulls = {pull.number: pull for pull in map(pull_of, values)}
        return tuple(
            pull
            for _, pull in sorted(pulls.items())
            if pull.number >= first and state in (None, pull.state) and branch in ("", pull.branch)
        )

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        wanted = {"title": title, "description": without_quick_actions(body)}
        self._put(number, f"edit merge request {number}", wanted, wanted)

    def close_pull(self, number: int) -> None:
        if pull_of(self._read(number)).state is PullState.OPEN:
            what = f"close merge request {number}"
            self._put(number, what, {"state_event": "close"}, {"state": "closed"})

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """GitLab makes a label that the project does not have."""
        wanted = sorted(set(labels))
        self._put(
            number,
            f"label merge request {number}",
            {"labels": ",".join(wanted)},
            {"labels": wanted},
            priority=Priority.COSMETIC,
        )

    def _put(
        self,
        number: int,
        what: str,
        asked: dict[str, Any],
        result: dict[str, Any],
        *,
        priority: Priority = Priority.NORMAL,
    ) -> None:
        """Ask for a change; `result` has the fields as they are afterwards."""

        def found() -> Any:
            value = self._read(number)
            shown = {**value, "labels": sorted(value.get("labels") or ())}
            return (
                value
                if all((shown.get(key) or "") == said for key, said in result.items())
                else None
            )

        self.api.write(what, "PUT", self._at(number), asked, resolve=found, priority=priority)

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge as the project does; SQUASH squashes before that.

        REBASE is only for projects that fast-forward: elsewhere GitLab makes a merge commit.
        gitbot counts the approvals of the expected head itself, because GitLab counts them in its
        paid tiers only, and by default not by head.
        """
        self._check_method(method)
        what = f"merge merge request {number}"

        def found() -> PullRequest | None:
            pull = self.get_pull(number)
            return pull if pull.state is PullState.MERGED else None

        for look in range(_LOOKS):
            self._wait_mergeable(number, expected_head)
            self._check_approvals(number)
            squash = method is MergeMethod.SQUASH
            body = {"sha": expected_head, **({"squash": True} if squash else {})}
            try:
                self.api.write(what, "PUT", self._at(number, "/merge"), body, resolve=found)
            except RestRefusal as error:
                value = self._read(number)
                if value["sha"] != expected_head:
                    raise _moved(number, value) from error
                # 405 and 422 also mean that a new check for conflicts has begun. Nothing was done.
                if error.status not in (405, 422) or look == _LOOKS - 1:
                    raise
                self.api.clock.sleep(1)
            else:
                return self.get_pull(number)
        raise ForgeError(f"GitLab did not let gitbot {what}", hint="try again later")

    def _check_method(self, method: MergeMethod) -> None:
        project = self.rights.project()
        if project.get("merge_trains_enabled"):
            raise ForgeError(
                f"{self.repository} merges by merge trains",
                hint="add the merge request to the train on its page",
            )
        if method is MergeMethod.REBASE and project["merge_method"] != "ff":
            raise ForgeError(
                f"{self.repository} merges with a merge commit, not by rebase",
                hint="the merge method is a setting of the project",
            )

    def _wait_mergeable(self, number: int, expected_head: str) -> None:
        status = ""
        for look in range(_LOOKS):
            value = self._read(number)
            pull = pull_of(value)
            if pull.state is not PullState.OPEN:
                raise ForgeError(f"pull request {number} is {pull.state}, not open")
            if pull.head != expected_head:
                raise _moved(number, value)
            status = _status(value)
            if status == "mergeable":
                return
            if status not in _WAITS:
                break
            self.api.clock.sleep(1 + look)
        said = _SAYS.get(status, f"cannot be merged now, says GitLab: {status}")
        self._check_approvals(number)  # says which are missing
        raise ForgeError(f"pull request {number} {said}")

    # Statuses

    def set_status(self, commit: str, status: CommitStatus) -> None:
        self._statuses.set_status(commit, status)

    def set_check(self, commit: str, check: CheckRun) -> bool:
        """GitLab has no check runs; the comment has their details."""
        return self._statuses.set_status(commit, check.status)

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:  # noqa: ARG002
        return ()


def _status(value: Any) -> str:
    """`detailed_merge_status`, which GitLab has since 15.6; before, it said less."""
    if said := value.get("detailed_merge_status"):
        return str(said)
    old = {"can_be_merged": "mergeable", "cannot_be_merged": "conflict"}
    return old.get(str(value.get("merge_status")), "checking")


def _moved(number: int, value: Any) -> ConflictError:
    return ConflictError(f"the head of pull request {number} is {value['sha']} now")
