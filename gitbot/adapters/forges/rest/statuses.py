"""Commit statuses on one repository, the newest of each context."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from gitbot.adapters.forges.rest.answers import login, reads_answers, status_of
from gitbot.adapters.forges.rest.api import RestApi
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.model.text.canonical import digest
from gitbot.model.text.wording import shortened
from gitbot.ports.forge import CheckState, CommitStatus
from gitbot.ports.idempotence import is_up_to_date

MAX_DESCRIPTION = 140  # characters of a status on GitHub


@reads_answers
@dataclass(slots=True, kw_only=True)
class Statuses:
    """`account` is gitbot's account, `key` the field of an answer that has the state."""

    api: RestApi
    root: str
    account: Callable[[], str]
    key: str = "state"
    _written: dict[tuple[str, str], str] = field(default_factory=dict)

    # What a forge names otherwise

    _words: ClassVar[Mapping[CheckState, str]] = {}  # states that have another word

    def _listed(self, commit: str) -> str:
        return f"{self.root}/commits/{commit}/statuses"

    def _read(self, value: Any) -> CommitStatus:
        return status_of(value, key=self.key)

    def set_status(self, commit: str, status: CommitStatus) -> bool:
        """Write a commit status unless the newest one is equal. Returns whether it wrote."""
        wanted = replace(status, description=shortened(status.description, MAX_DESCRIPTION))
        key = (commit, status.context)
        identity = digest([str(wanted.state), wanted.description, wanted.target_url])
        if is_up_to_date(self._written.get(key), identity) or self._stands(commit, wanted):
            self._written[key] = identity
            return False
        self._write(commit, wanted)
        self._written[key] = identity
        return True

    def _write(self, commit: str, wanted: CommitStatus) -> None:
        body = {
            "state": self._words.get(wanted.state, str(wanted.state)),
            "context": wanted.context,
            "description": wanted.description,
            **({"target_url": wanted.target_url} if wanted.target_url else {}),
        }
        self.api.write(
            f"set the status {wanted.context}",
            "POST",
            f"{self.root}/statuses/{commit}",
            body,
            resolve=lambda: {} if self._stands(commit, wanted) else None,
            priority=Priority.SAFETY,
        )

    def _stands(self, commit: str, wanted: CommitStatus) -> bool:
        return any(is_up_to_date(status, wanted) for status in self.list_statuses(commit))

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """Only gitbot's own: all who may write can set a status of any name."""
        own = self.account().lower()
        newest: dict[str, tuple[int, CommitStatus]] = {}
        values = self.api.pages(
            f"read the statuses of {commit[:12]}",
            self._listed(commit),
            priority=Priority.SAFETY,
        )
        for value in values:
            status, number = self._read(value), int(value.get("id") or 0)
            if login(value.get("creator") or value.get("author")).lower() != own:
                continue
            known = newest.get(status.context)
            # Gitea orders by whole seconds, and its two orders by index are the wrong way round.
            if known is None or number > known[0]:
                newest[status.context] = (number, status)
        return tuple(status for _, (_, status) in sorted(newest.items()))
