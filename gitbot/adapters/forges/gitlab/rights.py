"""Who may write, who pushed, how many approvals a merge needs, and how the project merges."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from gitbot.adapters.forges.gitlab.api import GitLabApi, encoded
from gitbot.adapters.forges.rest.answers import login, reads_answers
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.memory import Memory
from gitbot.adapters.forges.rest.refusals import RestRefusal

DEVELOPER = 30  # the lowest access level that may push (docs.gitlab.com, "Members API")
_PUSHES = 1_000  # pushes to the project, the newest first


@reads_answers
@dataclass(slots=True, kw_only=True)
class Rights:
    """Rights on one project. `required` is the configured count; None: ask GitLab."""

    api: GitLabApi
    root: str
    branch: str
    required: int | None = None
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.memory = Memory(clock=self.api.clock)

    def can_write(self, account: str) -> bool:
        return self.memory.of(("write", account), lambda: self.level(account) >= DEVELOPER)

    def level(self, account: str) -> int:
        """The access level, inherited ones and those of invited groups included; 0 for none."""
        users = self.api.get(
            f"find the account {account}",
            "/users",
            parameters={"username": account},
            priority=Priority.SAFETY,
        ).body
        same = [user for user in users if login(user).lower() == account.lower()]
        if not same or same[0].get("state") != "active":
            return 0
        path = f"{self.root}/members/all/{int(same[0]['id'])}"
        try:
            member = self.api.get(f"read what {account} may do", path, priority=Priority.SAFETY)
        except RestRefusal as error:
            if error.status == 404 and self.project():
                return 0
            raise
        return int(member.body["access_level"])

    def has_pushed(self, account: str, head: str) -> bool:
        """GitLab's events of the project; a push to a fork is not among them."""
        key = ("pushed", account, head)
        return self.memory.of(key, lambda: self._is_among_pushes(account, head))

    def _is_among_pushes(self, account: str, head: str) -> bool:
        found = self.api.pages(
            f"read what {account} pushed",
            f"{self.root}/events",
            parameters={"action": "pushed"},
            priority=Priority.SAFETY,
        )
        return any(
            str(value.get("author_username")).lower() == account.lower()
            and (value.get("push_data") or {}).get("commit_to") == head
            for value in islice(found, _PUSHES)
        )

    def team_members(self, team: str) -> frozenset[str] | None:
        return self.memory.of(("team", team), lambda: self._members(team))

    def _members(self, team: str) -> frozenset[str] | None:
        """Direct members of the group, as GitLab's own code owners are."""
        group = encoded(team.removeprefix("@"))
        try:
            members = self.api.pages(
                f"read the members of {team}", f"/groups/{group}/members", priority=Priority.SAFETY
            )
            return frozenset(login(each) for each in members if each.get("state") == "active")
        except RestRefusal as error:
            if error.status in (403, 404):  # vanished, hidden, or the right is missing
                return None
            raise

    def reviews_required(self) -> int:
        if self.required is not None:
            return self.required
        return self.memory.of(("reviews", self.branch), lambda: self.by_rules() or 0)

    def by_rules(self) -> int | None:
        """Approvals that the largest rule for the base branch asks for; None without rules.

        GitLab has approval rules in its paid tiers only. It enforces each of them by itself.
        """
        path = f"{self.root}/approval_rules"
        try:
            rules = list(self.api.pages("read the approval rules", path, priority=Priority.SAFETY))
        except RestRefusal as error:
            if error.status in (403, 404) and self.project():
                return None
            raise
        return max((self._asked(rule) for rule in rules), default=0)

    def _asked(self, rule: Any) -> int:
        names = {str(each.get("name")) for each in rule.get("protected_branches") or ()}
        here = not names or self.branch in names or rule.get("applies_to_all_protected_branches")
        return int(rule.get("approvals_required") or 0) if here else 0

    def project(self) -> Any:
        """The project; raises RestRefusal if a 404 is about it, not about an object in it."""
        return self.memory.of(
            ("project",),
            lambda: self.api.get("read the project", self.root, priority=Priority.SAFETY).body,
        )

    def base(self) -> Any:
        """The base branch, with what everyone may read of its protection."""
        path = f"{self.root}/repository/branches/{encoded(self.branch)}"
        return self.api.get(f"read the branch {self.branch}", path, priority=Priority.SAFETY).body
