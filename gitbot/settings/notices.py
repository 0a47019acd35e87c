"""Webhooks, and the events that each of them gets."""

from __future__ import annotations

from fnmatch import fnmatchcase

from pydantic import Field

from gitbot.documents.fields import DnsLabel, Value
from gitbot.model.text.names import NoticeEvent
from gitbot.settings.owners import NamespacePattern

PERSON: tuple[NoticeEvent, ...] = ("Failed", "NodeReady", "Proposed", "Resumed", "Stopped")
"""The default: what a person must do, or has lost."""


class NoticeSettings(Value):
    """One webhook. Its address and key are variables of the environment, never in the file."""

    name: DnsLabel = Field(
        description="Names the variables GITBOT_NOTIFY_<NAME>_URL and GITBOT_NOTIFY_<NAME>_KEY."
    )
    events: tuple[NoticeEvent, ...] = Field(
        default=PERSON, strict=False, min_length=1, description="What gitbot sends to it."
    )
    namespaces: tuple[NamespacePattern, ...] = Field(
        default=("*",),
        strict=False,
        min_length=1,
        description="Send only moves of these namespaces; `*` matches any letters.",
    )

    def wants(self, event: str, namespace: str) -> bool:
        """Whether to send an event to it; namespace is "" if the event is about no VM."""
        if event not in self.events:
            return False
        return not namespace or any(fnmatchcase(namespace, each) for each in self.namespaces)
