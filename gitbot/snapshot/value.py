"""ClusterSnapshot of Kubernetes objects: prune, sort, digest."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from gitbot.errors import SnapshotError
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.later import with_later
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at, name_of
from gitbot.snapshot.decode import prune, sorted_json
from gitbot.snapshot.pages import FINISHED
from gitbot.snapshot.resources import RESOURCES
from gitbot.snapshot.rows import Rows

HOLD_NAME = NamespacedName(namespace="gitbot", name="gitbot-hold")


def from_objects(
    cluster: str,
    objects: Iterable[KubernetesObject],
    taken_at: int,
    *,
    kubernetes_version: str = "",
    resource_version: str = "",
    absent_kinds: Iterable[str] = (),
    checked: bool = False,
) -> ClusterSnapshot:
    """A snapshot of plain objects; kinds that a snapshot does not hold are left out.

    `taken_at` in seconds UTC. Finished pods are left out, as kube-scheduler leaves them out
    (1.36, newPodInformer). Raises SnapshotError for an object without a name, one that occurs
    twice, or one whose fields have another shape; `checked` also holds fields to their types
    that are kept as they are.
    """
    found: dict[str, list[KubernetesObject]] = {}
    for obj in objects:
        kind = kind_of(obj)
        if kind:
            found.setdefault(kind, []).append(prune(kind, obj, checked=checked))
    return from_pruned(
        cluster,
        found,
        taken_at,
        kubernetes_version=kubernetes_version,
        resource_version=resource_version,
        absent_kinds=absent_kinds,
    )


def from_pruned(
    cluster: str,
    objects: Mapping[str, Iterable[KubernetesObject]],
    taken_at: int,
    *,
    kubernetes_version: str = "",
    resource_version: str = "",
    absent_kinds: Iterable[str] = (),
) -> ClusterSnapshot:
    """The same of objects by kind that are pruned already."""
    sorted_objects = {kind: _sorted(kind, objects[kind]) for kind in sorted(objects)}
    kept = {kind: items for kind, items in sorted_objects.items() if items}
    return ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        objects=kept,
        digest=digest_of(cluster, kept),
        kubernetes_version=kubernetes_version,
        resource_version=resource_version,
        absent_kinds=tuple(sorted(absent_kinds)),
    )


def from_rows(
    cluster: str,
    rows: Mapping[str, Rows],
    taken_at: int,
    *,
    kubernetes_version: str = "",
    resource_version: str = "",
    absent_kinds: Iterable[str] = (),
) -> ClusterSnapshot:
    """The same of what was read page by page; its digest is taken when it is first asked for."""
    kept: dict[str, Sequence[KubernetesObject]] = {
        kind: rows[kind] for kind in sorted(rows) if rows[kind]
    }
    snapshot = ClusterSnapshot(
        cluster=cluster,
        taken_at=taken_at,
        objects=kept,
        kubernetes_version=kubernetes_version,
        resource_version=resource_version,
        absent_kinds=tuple(sorted(absent_kinds)),
    )
    return with_later(snapshot, digest=lambda: digest_of(cluster, kept))


def digest_of(cluster: str, objects: Mapping[str, Iterable[KubernetesObject]]) -> str:
    """`sha256:` over cluster, kinds and objects; not over time, versions or absent kinds.

    It is that of the sorted JSON of each kind's objects as one list, taken piece by piece.
    """
    state = hashlib.sha256(sorted_json(cluster))
    for kind in sorted(objects):
        state.update(b"{%s:[" % sorted_json(kind))
        held = objects[kind]
        for number, obj in enumerate(held.passing() if isinstance(held, Rows) else held):
            state.update((b"," if number else b"") + sorted_json(obj))
        state.update(b"]}")
    return "sha256:" + state.hexdigest()


def kind_of(obj: KubernetesObject) -> str:
    """The kind if a snapshot holds it and the API group is the right one, else ""."""
    kind = obj.get("kind")
    resource = RESOURCES.get(kind) if isinstance(kind, str) else None
    if resource is None:
        return ""
    version = obj.get("apiVersion")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return resource.kind if group == resource.group else ""


def _sorted(kind: str, items: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
    named: dict[tuple[str, str], KubernetesObject] = {}
    for obj in items:
        name = name_of(obj)
        if not name.name:
            raise SnapshotError(
                f"{kind} without metadata.name: a snapshot holds objects as a cluster stores them",
                hint="give it a name",
            )
        if not belongs(kind, obj, name):
            continue
        if (name.namespace, name.name) in named:
            raise SnapshotError(
                f"{kind} {_shown(name)} occurs twice", hint="keep one of the two objects"
            )
        named[name.namespace, name.name] = obj
    return tuple(named[key] for key in sorted(named))


def belongs(kind: str, obj: KubernetesObject, name: NamespacedName) -> bool:
    """Whether a snapshot holds this one: no ConfigMap but one, no pod that has ended."""
    if kind == "ConfigMap":
        return name == HOLD_NAME
    if kind == "Pod":
        return at(obj, "status", "phase", default="") not in FINISHED
    return True


def _shown(name: NamespacedName) -> str:
    return str(name) if name.namespace else name.name
