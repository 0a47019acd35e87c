"""Who may write, who pushed, and how many approvals the base branch asks for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import quote

from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.rest.answers import login, reads_answers
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.memory import Memory
from gitbot.adapters.forges.rest.refusals import RestRefusal

_WRITERS = frozenset({"owner", "admin", "write"})
_PUSHES = 1_000  # activities of the repository, the newest first


@reads_answers
@dataclass(slots=True, kw_only=True)
class Rights:
    """Rights on one repository. `required` is the configured count; None: ask Gitea."""

    api: GiteaApi
    root: str
    branch: str
    required: int | None = None
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.memory = Memory(clock=self.api.clock)

    def can_write(self, account: str) -> bool:
        return self.memory.of(("write", account), lambda: self._may_write(account))

    def _may_write(self, account: str) -> bool:
        path = f"{self.root}/collaborators/{quote(account, safe='')}/permission"
        try:
            answer = self.api.get(f"read what {account} may do", path, priority=Priority.SAFETY)
        except RestRefusal as error:
            if error.status == 404:  # an account that is gone
                return False
            if error.status != 403:
                raise
            return self._is_listed(account)
        return str(answer.body.get("permission") or "none") in _WRITERS

    def _is_listed(self, account: str) -> bool:
        """Gitea tells the rights of others to administrators of the repository only.

        All who may be assigned in a person's repository may write to it (models/repo,
        GetRepoAssignees). An organization's list has readers too, so there it proves nothing.
        """
        owner = self.api.get("read the repository", self.root, priority=Priority.SAFETY)
        name = quote(login(owner.body.get("owner")), safe="")
        try:
            self.api.get("read the owner", f"/orgs/{name}", priority=Priority.SAFETY)
        except RestRefusal as error:
            if error.status != 404:
                raise
        else:
            raise RestRefusal(
                f"Gitea does not tell gitbot whether {account} may write to the repository",
                status=403,
                said="",
                hint="in an organization's repository, make gitbot's account an administrator of "
                "the repository",
            )
        listed = self.api.pages(
            "read who may write", f"{self.root}/assignees", priority=Priority.SAFETY
        )
        return account.lower() in {login(user).lower() for user in listed}

    def has_pushed(self, account: str, head: str) -> bool:
        """Gitea's activities of the repository; a push to a fork is not among them."""
        key = ("pushed", account, head)
        return self.memory.of(key, lambda: self._is_among_pushes(account, head))

    def _is_among_pushes(self, account: str, head: str) -> bool:
        found = self.api.pages(
            f"read what {account} pushed",
            f"{self.root}/activities/feeds",
            priority=Priority.SAFETY,
        )
        return any(
            value.get("op_type") == "commit_repo"
            and login(value.get("act_user")).lower() == account.lower()
            and head in _pushed(value.get("content"))
            for value in islice(found, _PUSHES)
        )

    def team_members(self, team: str) -> frozenset[str] | None:
        return self.memory.of(("team", team), lambda: self._members(team))

    def _members(self, team: str) -> frozenset[str] | None:
        """Needs `read:organization`, and an account that may see the team."""
        organization, _, name = team.removeprefix("@").partition("/")
        try:
            teams = self.api.pages(
                f"find the team {team}",
                f"/orgs/{quote(organization, safe='')}/teams",
                priority=Priority.SAFETY,
            )
            same = [each for each in teams if str(each["name"]).lower() == name.lower()]
            if not same:
                return None
            members = self.api.pages(
                f"read the members of {team}",
                f"/teams/{int(same[0]['id'])}/members",
                priority=Priority.SAFETY,
            )
            return frozenset(login(member) for member in members)
        except RestRefusal as error:
            if error.status in (403, 404):  # vanished, hidden, or the right is missing
                return None
            raise

    def reviews_required(self) -> int:
        if self.required is not None:
            return self.required
        return self.memory.of(
            ("reviews", self.branch), lambda: int(self.base().get("required_approvals") or 0)
        )

    def base(self) -> Any:
        """The base branch, with its protection as everyone may read it."""
        path = f"{self.root}/branches/{quote(self.branch, safe='')}"
        return self.api.get(f"read the branch {self.branch}", path, priority=Priority.SAFETY).body


def _pushed(content: Any) -> frozenset[str]:
    """The commits of an activity: its head and the newest that it lists."""
    try:
        said = json.loads(content or "{}")
    except ValueError:
        return frozenset()
    heads = [said.get("HeadCommit")] if isinstance(said, dict) else []
    return frozenset(str(each.get("Sha1")) for each in heads if isinstance(each, dict))
