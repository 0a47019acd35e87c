"""One budget of requests for a whole run: VM safety comes before cosmetics.

GitHub's limits: 5,000 requests an hour for a token (15,000 for some Apps), and secondary ones, of
which 80 content writes a minute and 500 an hour concern us (docs.github.com, "Rate limits for the
REST API"). A refusal says when to try again. Gitea announces no limits; a proxy before it may.
GitLab names the headers without `x-` (docs.gitlab.com, "User and IP rate limits").
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from gitbot.errors import ForgeError
from gitbot.model.text.instants import FOREVER, format_instant

WRITES_A_MINUTE = 60  # of 80: other programs write with the same account
WRITES_AN_HOUR = 400  # of 500
MAX_WAIT = 120  # seconds that one request may wait before the run gives up until the next one
SECONDARY_PAUSE = 60  # seconds, if the forge does not say
_MINUTE, _HOUR = 60, 3600
_DIGITS = 9  # of a number of seconds; more digits mean never


class Priority(IntEnum):
    """What a request is for, most important first."""

    SAFETY = 0  # decides whether something may move, or reports on moves
    NORMAL = 1  # plans, proposals and their comments
    COSMETIC = 2  # labels, dashboard: skipped if the budget runs low


_KEPT = {Priority.SAFETY: 0.0, Priority.NORMAL: 0.1, Priority.COSMETIC: 0.25}


class BudgetSpent(ForgeError):
    """The request was not sent: the budget is used up, or kept for more important requests."""


class RequestBudget:
    """The remaining requests, from the last answers of `forge`. Times in seconds UTC."""

    def __init__(self, forge: str = "GitHub") -> None:
        self.forge = forge
        self.limit = 0  # 0: not yet known
        self.remaining = 0
        self.reset = 0
        self.blocked_until = 0
        self._writes: list[int] = []

    def wait_for(self, priority: Priority, *, write: bool, now: int) -> int:
        """Seconds to wait before a request may be sent. Raises BudgetSpent if that is too long."""
        until = self._free_at(priority, write=write, now=now)
        if until <= now:
            return 0
        if priority is Priority.COSMETIC or until - now > MAX_WAIT:
            raise BudgetSpent(
                f"{self.forge}'s rate limit leaves nothing for this until {format_instant(until)}",
                hint="the next run goes on where this one stopped",
            )
        return until - now

    def wrote(self, now: int) -> None:
        self._writes.append(now)

    def learn(self, headers: Mapping[str, str]) -> None:
        try:
            limit = int(float(_limit(headers, "limit")))
            remaining = int(float(_limit(headers, "remaining")))
            reset = int(float(_limit(headers, "reset")))
        except (ValueError, OverflowError):
            return
        self.limit, self.remaining, self.reset = limit, remaining, min(reset, FOREVER)

    def refused(self, status: int, headers: Mapping[str, str], body: str, *, now: int) -> bool:
        """Whether a response refuses for too many requests. If so, `wait_for` waits for it."""
        if status not in (403, 429):
            return False
        said = headers.get("retry-after", "")
        spent = _limit(headers, "remaining") == "0"
        secondary = "secondary rate limit" in body or "abuse detection" in body
        if not (said.isdecimal() or spent or secondary or status == 429):
            return False
        if said.isdecimal():
            self.blocked_until = now + int(said[:_DIGITS])
        elif spent:
            self.blocked_until = max(self.reset, now + 1)
        else:
            self.blocked_until = now + SECONDARY_PAUSE
        return True

    def _free_at(self, priority: Priority, *, write: bool, now: int) -> int:
        until = self.blocked_until
        if self.limit and now < self.reset and self.remaining <= self.limit * _KEPT[priority]:
            until = max(until, self.reset)
        if write and priority is not Priority.SAFETY:
            self._writes = [time for time in self._writes if now - time < _HOUR]
            minute = [time for time in self._writes if now - time < _MINUTE]
            if len(minute) >= WRITES_A_MINUTE:
                until = max(until, minute[0] + _MINUTE)
            if len(self._writes) >= WRITES_AN_HOUR:
                until = max(until, self._writes[0] + _HOUR)
        return until


def _limit(headers: Mapping[str, str], name: str) -> str:
    return headers.get(f"x-ratelimit-{name}") or headers.get(f"ratelimit-{name}") or ""
