"""The shapes between pure reconcilers and whoever runs them (a simulated store, a real API server).

A reconciler is a function `(view, one object, now) -> Reconciled`. It reads the caller's cache
through `View`, changes nothing, and answers with writes in the order in which they must be made
and the seconds after which it wants to be asked again even if nothing changes. The caller must run
it again whenever an object changes that it may have read, and its view must contain its own
earlier writes: then no expectations (virt-controller's guard against a stale cache) are needed.

Objects in `Update` and `Delete` carry the `resourceVersion` or UID with which they were read: on a
conflict the caller drops the remaining writes of that answer and asks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject


class View(Protocol):
    """What a reconciler may read: the caller's cache, nothing else.

    Kinds are Kubernetes' own words (`Pod`, `VirtualMachineInstanceMigration`). Names of
    cluster-scoped objects have namespace "".
    """

    def get(self, kind: str, name: NamespacedName) -> KubernetesObject | None:
        """One object, None where there is none."""

    def list(self, kind: str, namespace: str = "") -> Sequence[KubernetesObject]:
        """All objects of a kind, of one namespace where one is given; sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create this object. `metadata.generateName` without `name` asks the server for a name.

    `on_refused` is the object about which an Event `FailedCreate` is written where the server
    refuses; the caller asks the reconciler again later (virt-controller: doubling delays).
    """

    object: KubernetesObject
    on_refused: KubernetesObject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Replace this object.

    `subresource` is "" (metadata and spec; for kinds without a status subresource, such as
    VirtualMachineInstance, the status too) or "status" (the status alone).
    """

    object: KubernetesObject
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete the object if it still has that UID; gone or another UID is no error."""

    kind: str
    name: NamespacedName
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEvent:
    """Write an Event about an object; `type` is Normal or Warning."""

    object: KubernetesObject
    type: str
    reason: str
    message: str


Write = Create | Update | Delete | RecordEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """What a reconciler wants: writes in order, and when to ask again (seconds, None = on change).

    `waits_for` says in words why nothing goes on, "" where something does: for people and tests.
    """

    writes: tuple[Write, ...] = ()
    requeue_after: int | None = None
    waits_for: str = ""


NOTHING = Reconciled()
