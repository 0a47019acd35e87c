"""A whole, consistent read of a cluster: paged lists, all at one resourceVersion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from gitbot.adapters.kubernetes.api_refusals import refuse, refuse_path
from gitbot.adapters.kubernetes.transport import HttpAnswer, Transport
from gitbot.errors import ClusterError, ClusterForbidden, SnapshotError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.instance_types import OBJECT_KIND
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.snapshot import LISTED, KindReader, PageEnd, Resource, Rows, from_sorted, plain_json

PAGE = 200
"""Objects in one page: about 5 MB for the largest kind, nodes with their images."""

MOST_PAGES = 5_000  # a million objects of one kind
RESTARTS = 3
"""How often a read starts again if the server has dropped its resourceVersion."""

_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


class _ListExpired(Exception):
    """410: the resourceVersion is compacted or the continue token expired."""


@dataclass(kw_only=True)
class _Attempt:
    resource_version: str = ""
    taken_at: int = 0
    rows: dict[str, Rows] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)


def read_cluster(transport: Transport, name: str) -> ClusterSnapshot:
    """The snapshot of a whole cluster.

    The first list is a consistent read; the others ask for the same resourceVersion. Raises
    SnapshotError instead of returning a part, ClusterForbidden if a needed right is missing.
    """
    version = _kubernetes_version(transport)
    served = _served(transport)
    chosen = {resource.kind: _version(resource, served) for resource in LISTED}
    for _ in range(RESTARTS):
        try:
            reading = _read_all(transport, chosen)
        except _ListExpired:
            continue
        return from_sorted(
            name,
            reading.rows,
            reading.taken_at,
            kubernetes_version=version,
            resource_version=reading.resource_version,
            absent_kinds=[kind for kind, chosen_version in chosen.items() if not chosen_version],
            denied_kinds=reading.denied,
        )
    raise SnapshotError(
        f"cluster {name}: the API server forgot the state {RESTARTS} times while it was read",
        hint="the server is overloaded or slow; try again later",
    )


def list_all(transport: Transport, resource: Resource) -> tuple[KubernetesObject, ...]:
    for _ in range(RESTARTS):
        kind = KindReader(resource.kind)
        try:
            _list(transport, resource, "", _Attempt(), kind.add)
        except _ListExpired:
            continue
        return tuple(kind.rows())
    raise SnapshotError(f"the list of {resource.kind} expired {RESTARTS} times while it was read")


def _read_all(transport: Transport, chosen: dict[str, str]) -> _Attempt:
    reading = _Attempt()
    # Nodes first: a small list that determines the resourceVersion of all others.
    for resource in sorted(LISTED, key=lambda each: each.kind != "Node"):
        version = chosen[resource.kind]
        if version:
            kind = KindReader(resource.kind)
            try:
                _list(transport, resource, version, reading, kind.add)
            except ClusterForbidden:
                if resource.needed:
                    raise
                reading.denied.append(resource.kind)
            else:
                reading.rows[resource.kind] = kind.rows()
    return reading


def _list(
    transport: Transport,
    resource: Resource,
    version: str,
    reading: _Attempt,
    take: Callable[[bytes], PageEnd],
) -> None:
    query = {"limit": str(PAGE)}
    if resource.kind == "Pod":
        query["fieldSelector"] = _UNFINISHED
    if resource.kind == "ControllerRevision":
        query["labelSelector"] = OBJECT_KIND  # those of DaemonSets and StatefulSets are many
    exact = {"resourceVersion": reading.resource_version, "resourceVersionMatch": "Exact"}
    path = resource.path(version)
    answer = transport.read(path, query | exact if reading.resource_version else query)
    if answer.status == 400 and reading.resource_version:
        answer = transport.read(path, query)  # a server that serves this resource at another path
    for number in count(1):
        _check(answer, resource)
        page = take(answer.body)
        if not reading.resource_version:
            reading.resource_version = page.resource_version
            reading.taken_at = answer.date
        if not page.token:
            return
        if number == MOST_PAGES:
            hint = "no cluster has so many: see what answers at the API server's address"
            raise SnapshotError(f"a list of {resource.kind} has {number} pages and more", hint=hint)
        del answer  # only one page at a time is in memory
        answer = transport.read(path, query | {"continue": page.token})  # noqa: F841 - next turn


def _check(answer: HttpAnswer, resource: Resource) -> None:
    if answer.status == 410:
        raise _ListExpired
    if answer.status != 200:
        refuse(answer, resource, "list")


def _kubernetes_version(transport: Transport) -> str:
    answer = transport.read("/version")
    refuse_path(answer, "/version")
    try:
        return str(plain_json(answer.body)["gitVersion"])
    except (SnapshotError, KeyError, TypeError):
        raise ClusterError(
            f"/version: answer {answer.status} without gitVersion: no Kubernetes API server there"
        ) from None


def _served(transport: Transport) -> dict[str, list[str]]:
    """API group to the versions that the cluster serves."""
    answer = transport.read("/apis")
    refuse_path(answer, "/apis")
    try:
        return {
            group["name"]: [version["version"] for version in group["versions"]]
            for group in plain_json(answer.body)["groups"]
        }
    except (SnapshotError, KeyError, TypeError):
        raise ClusterError(f"/apis: answer {answer.status} is not a list of API groups") from None


def _version(resource: Resource, served: dict[str, list[str]]) -> str:
    """The version to read of a resource; "" if an optional one is not served."""
    if not resource.group:
        return resource.versions[0]
    versions = served.get(resource.group, [])
    chosen = next((version for version in resource.versions if version in versions), "")
    # A required one is requested anyway: the response then says what is missing.
    return chosen or (resource.versions[0] if resource.required else "")
