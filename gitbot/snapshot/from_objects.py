"""ClusterSnapshot from Kubernetes objects: prune, sort, digest."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from operator import lt

from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.instance_types import stores_type
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.grouping import grouped
from gitbot.model.lazy_fields import with_later
from gitbot.snapshot.decode import prune, sorted_json
from gitbot.snapshot.packed_rows import Rows
from gitbot.snapshot.resources import RESOURCES

_PIECE = 1000  # objects that are encoded at once
_REVISION = "ControllerRevision"
HOLD_NAME = NamespacedName(namespace="gitbot", name="gitbot-hold")


def from_objects(
    cluster: str,
    objects: Iterable[KubernetesObject],
    taken_at: int,
    *,
    kubernetes_version: str = "",
    resource_version: str = "",
    absent_kinds: Iterable[str] = (),
    denied_kinds: Iterable[str] = (),
    missing_kinds: Iterable[str] = (),
    checked: bool = False,
) -> ClusterSnapshot:
    """A snapshot of plain objects. Other kinds are ignored.

    `taken_at` is in seconds UTC. Finished pods are left out, as in kube-scheduler
    (newPodInformer). Raises SnapshotError for an object without a name, a duplicate, or a field
    with another shape; `checked` also checks the types of fields that are kept unchanged.
    """
    found = grouped(
        (kind, prune(kind, obj, checked=checked))
        for obj in objects
        if (kind := kind_of(obj))
        and (kind != _REVISION or stores_type(obj))  # other controllers store other data
    )
    return from_sorted(
        cluster,
        {kind: in_order(kind, found[kind]) for kind in found},
        taken_at,
        kubernetes_version=kubernetes_version,
        resource_version=resource_version,
        absent_kinds=absent_kinds,
        denied_kinds=denied_kinds,
        missing_kinds=missing_kinds,
    )


def from_sorted(
    cluster: str,
    objects: Mapping[str, Sequence[KubernetesObject]],
    taken_at: int,
    *,
    kubernetes_version: str = "",
    resource_version: str = "",
    absent_kinds: Iterable[str] = (),
    denied_kinds: Iterable[str] = (),
    missing_kinds: Iterable[str] = (),
    digest: Callable[[], str] | None = None,
) -> ClusterSnapshot:
    """Like `from_objects`, for objects in order. The digest is computed on first access.

    `digest` knows it, if these objects had one before.
    """
    kept = {kind: objects[kind] for kind in sorted(objects) if objects[kind]}
    snapshot = ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        objects=kept,
        kubernetes_version=kubernetes_version,
        resource_version=resource_version,
        absent_kinds=tuple(sorted(absent_kinds)),
        denied_kinds=tuple(sorted(denied_kinds)),
        missing_kinds=tuple(sorted(missing_kinds)),
    )
    return with_later(snapshot, digest=digest or (lambda: digest_of(cluster, kept)))


def digest_of(cluster: str, objects: Mapping[str, Iterable[KubernetesObject]]) -> str:
    """`sha256:` over cluster, kinds and objects; not over time, versions or kinds that are missing.

    It is the digest of the sorted JSON of each kind's objects as one list, computed piece by piece.
    """
    state = hashlib.sha256(sorted_json(cluster))
    for kind in sorted(objects):
        state.update(b"{%s:[" % sorted_json(kind))
        held = objects[kind]
        rest = iter(held.passing() if isinstance(held, Rows) else held)
        begun = False
        while piece := list(islice(rest, _PIECE)):
            state.update((b"," if begun else b"") + sorted_json(piece)[1:-1])
            begun = True
        state.update(b"]}")
    return "sha256:" + state.hexdigest()


def kind_of(obj: KubernetesObject) -> str:
    """The kind if a snapshot keeps it and the API group matches, else ""."""
    kind = obj.get("kind")
    resource = RESOURCES.get(kind) if isinstance(kind, str) else None
    if resource is None:
        return ""
    version = obj.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return resource.kind if group == resource.group else ""


def in_order(kind: str, items: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
    """The objects of a kind that a snapshot keeps, sorted. Raises SnapshotError as from_objects."""
    named: dict[NamespacedName, KubernetesObject] = {}
    for obj in items:
        name = name_of(obj)
        if not name.name:
            raise SnapshotError(
                f"{kind} without metadata.name: a snapshot holds objects as a cluster stores them",
                hint="give it a name",
            )
        if not belongs(kind, obj, name):
            continue
        if name in named:
            shown = str(name) if name.namespace else name.name
            raise SnapshotError(f"{kind} {shown} occurs twice", hint="keep one of the two objects")
        named[name] = obj
    names = list(named)
    if all(map(lt, names, islice(names, 1, None))):  # sorted, as gitbot's own files are
        return tuple(named.values())
    return tuple(named[name] for name in sorted(named))


def belongs(kind: str, obj: KubernetesObject, name: NamespacedName) -> bool:
    """Whether a snapshot keeps this object: only one ConfigMap, no finished pod, stored types."""
    if kind == "ConfigMap":
        return name == HOLD_NAME
    if kind == _REVISION:
        return stores_type(obj)
    if kind == "Pod":
        return not is_final(obj)
    return True
