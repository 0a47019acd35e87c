"""The field tree: the fields of a Kubernetes object that a snapshot keeps, and their types.

Each kind has one tree. Masking, the checks of hand-written objects, and the types that decode an
API server's pages all use it. Fields outside the tree are never decoded: environment variables,
commands, user data, secrets, images' pull secrets, managed fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import GenericAlias
from typing import Any, TypeAlias

from gitbot.kubevirt.names import HEARTBEAT


class FieldTreatment(Enum):
    """How a branch is decoded and stored."""

    WHOLE = "kept as it is, even fields that the tree does not name; the named fields are checked"
    SHARED = "most objects of the kind have it in common: rows keep it once for all of them"
    ALIKE = "pruned, it is equal in many objects: what is read from a file keeps it once"
    AS_SENT = "rows keep the JSON text that the server sent"
    ALWAYS = "held to its type even if the API server sent it: the reader itself uses it"
    OR_TEXT = "may be a text instead"
    FILTERED = "annotations: only ANNOTATIONS and ANNOTATION_PREFIXES are kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A tree with a treatment."""

    how: FieldTreatment
    tree: Tree


Tree: TypeAlias = "type | GenericAlias | Branch | list[Tree] | Mapping[str, Tree] | None"
"""ANY: the value as it is. A type: the value as it is, of that type if objects are checked.
A list: the tree of its items. A mapping: these fields and no others."""

Fields: TypeAlias = Mapping[str, Tree]

ANY = None
TEXTS = dict[str, str]
AMOUNTS = dict[str, Any]
"""Quantities are parsed only when they are used."""


def keep(*names: str, of: Tree = ANY) -> dict[str, Tree]:
    return dict.fromkeys(names, of)


def whole(tree: Tree) -> Branch:
    """A value that is kept unchanged. Fields that rules read are checked."""
    return Branch(how=FieldTreatment.WHOLE, tree=tree)


def shared(tree: Tree) -> Branch:
    """A value that most objects of a kind share."""
    return Branch(how=FieldTreatment.SHARED, tree=tree)


def alike(tree: Tree) -> Branch:
    """A value that differs in a server's response, and is often equal once it is pruned."""
    return Branch(how=FieldTreatment.ALIKE, tree=tree)


def or_text(tree: Tree) -> Branch:
    """A value that some objects hold as an encoded text."""
    return Branch(how=FieldTreatment.OR_TEXT, tree=tree)


HOOK_SIDECARS = "hooks.kubevirt.io/hookSidecars"
"""Kept as a list of images only: each sidecar has requests, and its arguments are private."""

ANNOTATIONS = frozenset(
    {
        HOOK_SIDECARS,
        "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity",
        "argocd.argoproj.io/tracking-id",
        HEARTBEAT,  # only of nodes whose virt-handler is silent: it changes every minute
        "descheduler.alpha.kubernetes.io/evict",
        "descheduler.alpha.kubernetes.io/eviction-in-progress",
        "descheduler.alpha.kubernetes.io/prefer-no-eviction",
        "descheduler.alpha.kubernetes.io/request-evict-only",
        "k8s.v1.cni.cncf.io/resourceName",
        "kubevirt.io/allow-pod-bridge-network-live-migration",
        "kubevirt.io/domain",
        "kubevirt.io/eviction-source",
        "kubevirt.io/evacuationMigration",
        "kubevirt.io/memory-overhead-bytes",
        "kubevirt.io/migrationJobName",
        "kubevirt.io/migrationPendingPodTimeoutSeconds",
        "kubevirt.io/migrationTransportUnix",
        "kubevirt.io/migrationUnschedulablePodTimeoutSeconds",
        "kubevirt.io/nonroot",
        "kubevirt.io/workloadUpdateMigration",
        "node-labeller.kubevirt.io/skip-node",
        "pv.kubernetes.io/bind-completed",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.kubevirt.io/is-default-virt-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
ANNOTATION_PREFIXES = ("placement.gitbot.dev/",)

METADATA: Fields = {
    **keep("name", "namespace", of=Branch(how=FieldTreatment.ALWAYS, tree=str)),
    "uid": str,
    "labels": Branch(how=FieldTreatment.AS_SENT, tree=TEXTS),
    "annotations": Branch(how=FieldTreatment.FILTERED, tree=TEXTS),
    "creationTimestamp": ANY,
    "deletionTimestamp": str,
    **keep("generation", "finalizers"),
    "ownerReferences": [
        {**keep("apiVersion", "kind", "name", "uid", of=str), "controller": bool},
    ],
}
TEMPLATE_METADATA: Fields = {
    "labels": ANY,
    "annotations": Branch(how=FieldTreatment.FILTERED, tree=AMOUNTS),
}
CONDITIONS: Tree = [
    {**keep("type", "status", "reason", of=str), **keep("message", "lastTransitionTime")}
]
QUANTITIES: Fields = keep("requests", "limits", of=AMOUNTS)
