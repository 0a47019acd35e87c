"""The ids of requests and of occurrences of windows: the only place that reads and prints them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.text.names import IntentRef

_CLUSTER = "Cluster"  # in place of a namespace; no namespace has a capital letter
_DIGITS = 12  # hex digits of the approved digest, or of a commit, that an id ends in

UNMERGED = "unmerged"
"""Stands for the occurrence of a window without schedule before a commit has merged it."""


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
    def drain(self) -> DrainId:
        return DrainId(occurrence=self)

    @property
    def homecoming(self) -> ReturnId:
        return ReturnId(occurrence=self)

    @property
    def open_ended(self) -> bool:
        """Whether its window has no schedule: then the id is not an instant."""
        return not self.id.endswith("Z")


class RequestId(str):
    """The id of a request. Its class says what the request is; it sorts and is written as text."""

    __slots__ = ()

    @classmethod
    def read(cls, text: str) -> RequestId:
        """Read a ledger id or a planned one. Raises ValueError if it is neither."""
        found = parse_request_id(text)
        if found is not None:
            return found
        raise ValueError(f"found {text!r}, expected an id of a request as request/NAMESPACE/NAME")

    @property
    def planned(self) -> RequestId:
        """The id under which it is planned: a healing's without its digest."""
        return self

    def approved(self, digest: str) -> RequestId:  # noqa: ARG002 - a healing's has it
        """The ledger id: a healing's ends in 12 hex digits of the approved digest."""
        return self

    def merged(self, commit: str) -> RequestId:  # noqa: ARG002 - a drain's has it
        """The id once a commit has merged its file: then a window without schedule is open."""
        return self

    def __reduce__(self) -> tuple[Callable[[str], RequestId], tuple[str]]:
        return RequestId.read, (str(self),)


class MigrationRequestId(RequestId):
    """The moves of one MigrationRequest."""

    __slots__ = ()

    def __new__(cls, *, namespace: str, name: str) -> Self:
        return super().__new__(cls, f"request/{namespace}/{name}")

    @classmethod
    def of(cls, intent: IntentRef) -> MigrationRequestId:
        return cls(namespace=intent.namespace, name=intent.name)

    @property
    def namespace(self) -> str:
        return self.split("/")[1]

    @property
    def name(self) -> str:
        return self.split("/")[2]


class _OfOccurrence(RequestId):
    __slots__ = ()

    @property
    def occurrence(self) -> OccurrenceId:
        return OccurrenceId.parse(self.partition("/")[2])


class DrainId(_OfOccurrence):
    """Emptying the nodes of one occurrence."""

    __slots__ = ()

    def __new__(cls, *, occurrence: OccurrenceId) -> Self:
        return super().__new__(cls, f"drain/{occurrence}")

    def merged(self, commit: str) -> DrainId:
        if self.occurrence.id != UNMERGED:
            return self
        return OccurrenceId(window=self.occurrence.window, id=commit[:_DIGITS]).drain


class ReturnId(_OfOccurrence):
    """Moving the VMs of one occurrence back to their home nodes."""

    __slots__ = ()

    def __new__(cls, *, occurrence: OccurrenceId) -> Self:
        return super().__new__(cls, f"return/{occurrence}")


class HealId(RequestId):
    """One healing of a rule. The namespace is "" for kinds without one, written `Cluster`."""

    __slots__ = ()

    def __new__(cls, *, namespace: str, kind: str, name: str, digest: str = "") -> Self:
        planned = f"heal/{namespace or _CLUSTER}/{kind}/{name}"
        return super().__new__(cls, f"{planned}/{digest}" if digest else planned)

    @classmethod
    def of(cls, rule: IntentRef) -> Self:
        return cls(namespace=rule.namespace, kind=rule.kind, name=rule.name)

    @property
    def namespace(self) -> str:
        return self.split("/")[1].replace(_CLUSTER, "")

    @property
    def kind(self) -> str:
        return self.split("/")[2]

    @property
    def name(self) -> str:
        return self.split("/")[3]

    @property
    def planned(self) -> HealId:
        return self.approved("")

    def approved(self, digest: str) -> HealId:
        digits = digest.removeprefix("sha256:")[:_DIGITS]
        return HealId(namespace=self.namespace, kind=self.kind, name=self.name, digest=digits)


class ObservedId(RequestId):
    """The migrations of one VM by other movers."""

    __slots__ = ()

    def __new__(cls, *, vm: NamespacedName) -> Self:
        return super().__new__(cls, f"observed/{vm}")


@lru_cache(maxsize=4096)
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


def request_called(text: str, known: Iterable[RequestId]) -> RequestId | None:
    """The known request of that id; else the only one of that name, as `move-db` or `shop/move-db`.

    The name of a drain is that of its window. None if no request is called so, or several are.
    """
    every = list(known)
    exact = parse_request_id(text)
    if exact is not None:
        return exact if exact in every else None
    found = [item for item in every if text in _names(item)]
    return found[0] if len(found) == 1 else None


def _names(request: RequestId) -> tuple[str, ...]:
    match request:
        case MigrationRequestId(namespace=namespace, name=name):
            return name, f"{namespace}/{name}", f"request/{name}"
        case DrainId(occurrence=occurrence):
            return occurrence.window, f"window/{occurrence.window}", f"drain/{occurrence.window}"
    return ()
