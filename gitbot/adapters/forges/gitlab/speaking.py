"""gitbot's notes, dashboard and statuses on GitLab."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gitbot.adapters.forges.gitlab.decoding import (
    WORDS,
    commit_status_of,
    dashboard_of,
    note_of,
    without_quick_actions,
)
from gitbot.adapters.forges.rest.conversation import Conversation
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.statuses import Statuses
from gitbot.ports.forge import CheckState, Comment, CommitStatus, Issue


class Notes(Conversation):
    """Notes of merge requests. Comments exclude what GitLab notes by itself."""

    _edits = "PUT"
    _text = "description"

    def _comments(self, number: int) -> str:
        return f"{self.root}/merge_requests/{number}/notes"

    def _comment(self, number: int, comment: int) -> str:
        return f"{self._comments(number)}/{comment}"

    def _read_comments(self, values: Iterable[Any]) -> Iterable[Comment]:
        return (note_of(value) for value in values if not value.get("system"))

    def _read_issue(self, value: Any) -> Issue:
        return dashboard_of(value)

    def _own(self) -> dict[str, str]:
        return {"author_username": self.account(), "scope": "all", "state": "all"}

    def _fitting(self, text: str) -> str:
        return super()._fitting(without_quick_actions(text))


class PipelineStatuses(Statuses):
    """Statuses, which GitLab keeps as jobs of an external pipeline of the commit."""

    _words = WORDS

    def _listed(self, commit: str) -> str:
        return f"{self.root}/repository/commits/{commit}/statuses"

    def _read(self, value: Any) -> CommitStatus:
        return commit_status_of(value)

    def _write(self, commit: str, wanted: CommitStatus) -> None:
        """A status that waits can be ended, but not be set to waiting again (400).

        End it, then begin a new one. In between it is in error, which permits nothing.
        """
        try:
            super()._write(commit, wanted)
        except RestRefusal as error:
            if error.status != 400 or "transition" not in error.said.lower():
                raise
            super()._write(commit, replace(wanted, state=CheckState.ERROR))
            super()._write(commit, wanted)
