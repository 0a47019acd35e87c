"""The ids of requests and of occurrences of windows: the only place that reads and prints them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.names import IntentRef

_DIGITS = 12  # hex digits of the approved digest that a healing's id ends in


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class OccurrenceId:
    """One occurrence of a MaintenanceWindow, `window/id`.

    The id is the start (`20261206T210000Z`), or 12 digits of the commit that merged a window
    without schedule.
    """

    window: str
    id: str

    def __str__(self) -> str:
        return f"{self.window}/{self.id}"

    @classmethod
    def parse(cls, text: str) -> Self:
        window, _, occurrence = text.partition("/")
        return cls(window=window, id=occurrence)

    @property
    def drain(self) -> str:
        return str(DrainId(occurrence=self))

    @property
    def homecoming(self) -> str:
        return str(ReturnId(occurrence=self))

    @property
    def open_ended(self) -> bool:
        """Whether its window has no schedule: then the id is not an instant."""
        return not self.id.endswith("Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationRequestId:
    """The moves of one MigrationRequest."""

    namespace: str
    name: str

    @classmethod
    def of(cls, intent: IntentRef) -> MigrationRequestId:
        return cls(namespace=intent.namespace, name=intent.name)

    def __str__(self) -> str:
        return f"request/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainId:
    """Emptying the nodes of one occurrence."""

    occurrence: OccurrenceId

    def __str__(self) -> str:
        return f"drain/{self.occurrence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnId:
    """Bringing the VMs of one occurrence home."""

    occurrence: OccurrenceId

    def __str__(self) -> str:
        return f"return/{self.occurrence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealId:
    """One healing of a rule. A planned one has no `digest` yet."""

    namespace: str  # "" for kinds without a namespace
    kind: str
    name: str
    digest: str = ""

    def __str__(self) -> str:
        planned = f"heal/{self.namespace}/{self.kind}/{self.name}"
        return f"{planned}/{self.digest}" if self.digest else planned

    @classmethod
    def of(cls, rule: IntentRef) -> Self:
        return cls(namespace=rule.namespace, kind=rule.kind, name=rule.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedId:
    """The migrations of one VM that somebody else made."""

    vm: NamespacedName

    def __str__(self) -> str:
        return f"observed/{self.vm}"


RequestId = MigrationRequestId | DrainId | ReturnId | HealId | ObservedId


def parse_request_id(text: str) -> RequestId | None:
    """Read a ledger id or a planned one; None if it is neither."""
    match text.split("/"):
        case ["request", namespace, name]:
            return MigrationRequestId(namespace=namespace, name=name)
        case ["drain", window, occurrence]:
            return DrainId(occurrence=OccurrenceId(window=window, id=occurrence))
        case ["return", window, occurrence]:
            return ReturnId(occurrence=OccurrenceId(window=window, id=occurrence))
        case ["heal", namespace, kind, name]:
            return HealId(namespace=namespace, kind=kind, name=name)
        case ["heal", namespace, kind, name, digest]:
            return HealId(namespace=namespace, kind=kind, name=name, digest=digest)
        case ["observed", namespace, name]:
            return ObservedId(vm=NamespacedName(namespace=namespace, name=name))
        case _:
            return None


def planned_id(request: str) -> str:
    """The id under which a request is planned: a healing's without its digest."""
    known = parse_request_id(request)
    return str(replace(known, digest="")) if isinstance(known, HealId) else request


def ledger_id(planned: str, digest: str) -> str:
    """The ledger id of a planned request: a healing gets 12 hex digits of the approved digest."""
    known = parse_request_id(planned)
    if isinstance(known, HealId):
        return str(replace(known, digest=digest.removeprefix("sha256:")[:_DIGITS]))
    return planned
