"""Webhooks, and what each of them gets, when."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot.documents.fields import DnsLabel, Value
from gitbot.model.plan.findings import Refusal
from gitbot.model.text.names import DailyNotice, NoticeEvent, NoticeSeverity
from gitbot.settings.owners import NamespacePattern, OwnerName

PERSON: tuple[NoticeEvent, ...] = (
    "BreakerOpened",
    "Failed",
    "NodeReady",
    "NotApproved",
    "Proposed",
    "Resumed",
    "RuleBroken",
    "Stopped",
    "WindowAtRisk",
)
"""The default: what a person must do, or has lost."""
OTHERS: tuple[DailyNotice, ...] = (
    "Approved",
    "Moved",
    "NodeReturned",
    "WindowBegun",
    "WindowSoon",
)
"""What else happened: once a day in one notice, to those who chose no events."""
Weekday = Literal["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
_WEEK: tuple[Weekday, ...] = get_args(Weekday)
_SEVERITIES: tuple[NoticeSeverity, ...] = get_args(NoticeSeverity)  # the least first


_CLOCK_TIME = "^([01][0-9]|2[0-3]):[0-5][0-9]$"


def _clock_time(text: str) -> str:
    if re.fullmatch(_CLOCK_TIME, text) is None:
        hint = 'write it in quotes, as "22:00" or "07:30"'
        raise Refusal("value", "a time of day from 00:00 to 23:59", hint)
    return text


ClockTime = Annotated[
    str,
    AfterValidator(_clock_time),
    WithJsonSchema({"type": "string", "pattern": _CLOCK_TIME}),
]


class NoticeHours(Value):
    """Hours of the day in the cluster's time zone. If `end` is not after `start`, it is tomorrow's.

    `days` are those on which they start.
    """

    start: ClockTime = Field(description='When they start, as "18:00".')
    end: ClockTime = Field(description='When they end, as "08:00".')
    days: tuple[Weekday, ...] = Field(
        default=_WEEK, strict=False, min_length=1, description="The days on which they start."
    )
    outside: Literal["Wait", "Drop"] = Field(
        default="Wait",
        description="Wait: what happens outside is sent when they start. Drop: it is not sent.",
    )

    def contain(self, local: datetime) -> bool:
        now, day = local.strftime("%H:%M"), local.weekday()
        if self.start < self.end:
            return self.start <= now < self.end and _WEEK[day] in self.days
        if now >= self.start:
            return _WEEK[day] in self.days
        return now < self.end and _WEEK[day - 1] in self.days


class NoticeSettings(Value):
    """One webhook. Its address and key are variables of the environment, never in the file."""

    name: DnsLabel = Field(
        description="Names the variables GITBOT_NOTIFY_<NAME>_URL and GITBOT_NOTIFY_<NAME>_KEY."
    )
    events: tuple[NoticeEvent, ...] = Field(
        default=PERSON, strict=False, min_length=1, description="What gitbot sends to it at once."
    )
    daily: tuple[DailyNotice, ...] | None = Field(
        default=None,
        strict=False,
        description="What gitbot sends to it once a day, in one notice; "
        "default: without `events`, the other events of the table.",
    )
    daily_at: ClockTime = Field(
        default="08:00", description="When, in the cluster's time zone. Weekly comes then, too."
    )
    severity: NoticeSeverity = Field(default="Info", description="The least severity that it gets.")
    namespaces: tuple[NamespacePattern, ...] = Field(
        default=("*",),
        strict=False,
        min_length=1,
        description="Send only moves of these namespaces; `*` matches any letters.",
    )
    owners: tuple[OwnerName, ...] = Field(
        default=(),
        strict=False,
        description="Send only moves in namespaces of these teams, by `spec.owners`.",
    )
    hours: NoticeHours | None = Field(
        default=None, description="Send at once only in these hours; default: always."
    )

    @property
    def told_daily(self) -> tuple[DailyNotice, ...]:
        """The events of its daily notice, without those that it gets at once."""
        chosen = self.daily
        if chosen is None:
            chosen = OTHERS if self.events == PERSON else ()
        return tuple(event for event in chosen if event not in self.events)

    def concerns(self, severity: NoticeSeverity, namespace: str, teams: Collection[str]) -> bool:
        """Whether it gets a notice about a VM there, of these owners.

        Namespace is "" if the notice is about no VM: then only its severity counts.
        """
        if _SEVERITIES.index(severity) < _SEVERITIES.index(self.severity):
            return False
        if not namespace:
            return True
        if self.owners and not set(self.owners) & set(teams):
            return False
        return any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)
