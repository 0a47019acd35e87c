"""The interface between pure reconcilers and their callers (a simulated store, a real API server).

A reconciler is a function `(view, one object, now) -> Reconciled`. It reads the caller's cache
through `ObjectView`, changes nothing, and returns writes in the order in which to make them, and
the seconds after which to call it again even if nothing changes. The caller must run it again
whenever an object changes that it may have read, and its view must contain its own earlier writes:
then no expectations (virt-controller's guard against a stale cache) are needed.

Objects in `Update` and `Delete` have the `resourceVersion` or UID with which they were read: on a
conflict the caller drops the remaining writes of that answer and calls again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt import names

VMI = "VirtualMachineInstance"
MIGRATION = "VirtualMachineInstanceMigration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A way to find objects of one kind by a text that `key` computes from each of them."""

    kind: str
    name: str
    key: Callable[[KubernetesObject], str]


def _created_by(pod: KubernetesObject) -> str:
    return labels_of(pod).get(names.CREATED_BY, "")


def _node_of(vmi: KubernetesObject) -> str:
    return str(at(vmi, "status", "nodeName", default=""))


def _migrates(migration: KubernetesObject) -> str:
    namespace = at(migration, "metadata", "namespace", default="")
    return f"{namespace}/{at(migration, 'spec', 'vmiName', default='')}"


def _unfinished(migration: KubernetesObject) -> str:
    return "" if is_final(migration) else "unfinished"


PODS_OF_VMI = Index(kind="Pod", name="created-by", key=_created_by)  # value: the VMI's UID
VMIS_ON_NODE = Index(kind=VMI, name="node", key=_node_of)  # value: the node's name
MIGRATIONS_OF_VMI = Index(kind=MIGRATION, name="vmi", key=_migrates)  # value: namespace/name
UNFINISHED = Index(kind=MIGRATION, name="unfinished", key=_unfinished)  # value: "unfinished"
INDEXES = (PODS_OF_VMI, VMIS_ON_NODE, MIGRATIONS_OF_VMI, UNFINISHED)


class ObjectView(Protocol):
    """What a reconciler may read: the caller's cache, nothing else.

    Kinds are Kubernetes' own words (`Pod`, `VirtualMachineInstanceMigration`). Names of
    cluster-scoped objects have namespace "".
    """

    def get(self, kind: str, name: NamespacedName) -> KubernetesObject | None: ...

    def list(self, kind: str, namespace: str = "") -> Sequence[KubernetesObject]:
        """All objects of a kind, or of one namespace if given; sorted by name."""

    def select(self, index: Index, value: str) -> Sequence[KubernetesObject]:
        """The objects of `index.kind` whose key is that value, sorted by (namespace, name).

        Filtering `list` is correct; a caller with many objects keeps the `INDEXES` up to date.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create this object. `metadata.generateName` without `name` asks the server for a name.

    `event` is written after it was created; `{name}` in its message becomes the given name. If the
    server refuses, the caller passes its message to `refused` and makes the writes that come back
    (None: just try again); it calls the reconciler again after `requeue_after`.
    """

    object: KubernetesObject
    event: RecordEvent | None = None
    refused: Callable[[str], Reconciled] | None = None


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
    """Delete the object if it still has that UID; gone or another UID is not an error."""

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
    """What a reconciler wants: writes in order, and when to call again (seconds, None = on change).

    `waits_for` says for people and tests why nothing goes on, "" if something does.
    """

    writes: tuple[Write, ...] = ()
    requeue_after: int | None = None
    waits_for: str = ""


NOTHING = Reconciled()
