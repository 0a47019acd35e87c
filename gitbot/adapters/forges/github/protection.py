"""Who may write, and how many approvals the base branch asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import quote

from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.rest.answers import login, reads_answers
from gitbot.adapters.forges.rest.budget import Priority
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.errors import ForgeError
from gitbot.model.text.names import CONFIGURATION_FILE

_WRITERS = frozenset({"admin", "maintain", "write"})
REMEMBERED = 60  # seconds for which an answer about an account's permission is used
_PUSHES = 1_000  # of one account, the newest first: an older head needs another owner's review
_UNPROTECTED = "branch not protected"


@reads_answers
@dataclass(slots=True, kw_only=True)
class Protection:
    """Permissions on one repository. `required` is the configured count; None: ask GitHub."""

    api: GitHubApi
    root: str
    branch: str
    required: int | None = None
    _rights: dict[str, tuple[int, bool]] = field(default_factory=dict)
    _reviews: tuple[int, int] | None = None
    _teams: dict[str, tuple[int, frozenset[str] | None]] = field(default_factory=dict)
    _pushed: dict[tuple[str, str], tuple[int, bool]] = field(default_factory=dict)

    def can_write(self, account: str) -> bool:
        now = self.api.clock.now()
        known = self._rights.get(account)
        if known is not None and now - known[0] < REMEMBERED:
            return known[1]
        may = self._permission(account) in _WRITERS
        self._rights[account] = (now, may)
        return may

    def _permission(self, account: str) -> str:
        """admin, write, read or none (maintain counts as write, triage as read)."""
        path = f"{self.root}/collaborators/{quote(account, safe='')}/permission"
        try:
            answer = self.api.get(f"read what {account} may do", path, priority=Priority.SAFETY)
        except RestRefusal as error:
            if error.status == 404:  # an account that is gone, or an App: no collaborator
                return "none"
            raise
        return str(answer.body.get("permission") or "none")

    def has_pushed(self, account: str, head: str) -> bool:
        """GitHub's activities of the repository; a push to a fork is not among them."""
        now = self.api.clock.now()
        known = self._pushed.get((account, head))
        if known is None or not (known[1] or now - known[0] < REMEMBERED):
            known = self._pushed[account, head] = (now, self._is_among_pushes(account, head))
        return known[1]  # what was pushed stays pushed

    def _is_among_pushes(self, account: str, head: str) -> bool:
        found = self.api.pages(
            f"read what {account} pushed",
            f"{self.root}/activity",
            parameters={"actor": account},
            priority=Priority.SAFETY,
        )
        try:
            return any(item.get("after") == head for item in islice(found, _PUSHES))
        except RestRefusal as error:
            if error.status in (403, 404, 422):  # no such account, or an older GitHub
                return False
            raise

    def team_members(self, team: str) -> frozenset[str] | None:
        """Needs Members: read of the organization, which GITHUB_TOKEN cannot have."""
        now = self.api.clock.now()
        known = self._teams.get(team)
        if known is None or now - known[0] >= REMEMBERED:
            known = self._teams[team] = (now, self._members(team))
        return known[1]

    def _members(self, team: str) -> frozenset[str] | None:
        names = [quote(name, safe="") for name in team.removeprefix("@").split("/", 1)]
        try:
            found = self.api.pages(
                f"read the members of {team}",
                f"/orgs/{names[0]}/teams/{names[-1]}/members",
                priority=Priority.SAFETY,
            )
            return frozenset(login(member) for member in found)
        except RestRefusal as error:
            if error.status in (403, 404):  # vanished, hidden, or the right is missing
                return None
            raise

    def reviews_required(self) -> int:
        """Approvals that a merge into the base branch needs: rulesets and classic protection.

        Raises ForgeError if GitHub does not say, because then no approval can be judged.
        """
        if self.required is not None:
            return self.required
        now = self.api.clock.now()
        if self._reviews is None or now - self._reviews[0] >= REMEMBERED:
            ruled = self.by_rulesets()
            self._reviews = (now, max(ruled or 0, self._by_protection(ruled)))
        return self._reviews[1]

    def by_rulesets(self) -> int | None:
        """None: this GitHub has no rulesets, or hides them."""
        rules = self.api.pages(
            f"read the rules of {self.branch}",
            f"{self.root}/rules/branches/{quote(self.branch, safe='')}",
            priority=Priority.SAFETY,
        )
        try:
            return max((_approvals(rule) for rule in rules), default=0)
        except RestRefusal as error:
            if error.status == 404 or _is_not_offered(error):  # 404: an older Enterprise Server
                return None
            raise

    def _by_protection(self, ruled: int | None) -> int:
        branch = self.api.get(
            f"read the branch {self.branch}",
            f"{self.root}/branches/{quote(self.branch, safe='')}",
            priority=Priority.SAFETY,
        ).body
        if not branch.get("protected"):
            return 0
        # rulesets alone make a branch `protected` too; `enabled` tells of classic protection
        if (branch.get("protection") or {}).get("enabled") is False:
            if ruled is None:
                raise ForgeError(
                    f"a ruleset protects {self.branch}, and GitHub does not show its rules",
                    hint="try again; if it stays so, give gitbot's account Metadata: read",
                )
            return 0
        try:
            return self.by_protection()
        except RestRefusal as error:
            raise ForgeError(
                f"{self.branch} has classic branch protection, and how many approvals it asks for "
                "cannot be read",
                hint="replace it by a ruleset, give the App Administration: read, or set "
                f"forge.requiredReviews in {CONFIGURATION_FILE}",
            ) from error

    def by_protection(self) -> int:
        """Approvals that the classic branch protection asks for. Needs Administration: read."""
        path = f"{self.root}/branches/{quote(self.branch, safe='')}/protection"
        try:
            body = self.api.get(
                f"read the protection of {self.branch}", path, priority=Priority.SAFETY
            ).body
        except RestRefusal as error:
            unprotected = error.status == 404 and _UNPROTECTED in error.said.lower()
            if unprotected or _is_not_offered(error):
                return 0
            raise
        asked = body.get("required_pull_request_reviews") or {}
        return int(asked.get("required_approving_review_count") or 0)


def _is_not_offered(error: RestRefusal) -> bool:
    """Whether this plan of GitHub has no such rules (private repositories of free accounts)."""
    return error.status == 403 and "upgrade to" in error.said.lower()


def _approvals(rule: Any) -> int:
    if rule.get("type") != "pull_request":
        return 0
    return int((rule.get("parameters") or {}).get("required_approving_review_count") or 0)
