"""A whole, consistent read of a cluster: paged lists, all at one resourceVersion."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from gitbot.adapters.kubernetes.refusals import refuse
from gitbot.adapters.kubernetes.transport import Answer, Transport
from gitbot.errors import ClusterError, SnapshotError
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.objects import KubernetesObject
from gitbot.snapshot.decode import decode_page
from gitbot.snapshot.pages import KindReader, PageEnd
from gitbot.snapshot.resources import LISTED, Resource
from gitbot.snapshot.rows import Rows
from gitbot.snapshot.value import from_rows

PAGE = 200
"""Objects asked for at once: of the largest, nodes with their images, about 5 MB."""

RESTARTS = 3
"""How often a read starts from scratch where the server has forgotten its resourceVersion."""

_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


class _Gone(Exception):
    """410: the resourceVersion is compacted or the continue token expired."""


@dataclass(kw_only=True)
class _Reading:
    """What one attempt has read so far."""

    resource_version: str = ""
    taken_at: int = 0
    rows: dict[str, Rows] = field(default_factory=dict)


def read_cluster(transport: Transport, name: str) -> ClusterSnapshot:
    """The snapshot of a whole cluster.

    The first list is a consistent read; the others ask for the same resourceVersion. Raises
    SnapshotError rather than return a part, ClusterForbidden where a right is missing.
    """
    version = _kubernetes_version(transport)
    served = _served(transport)
    chosen = {resource.kind: _version(resource, served) for resource in LISTED}
    for _ in range(RESTARTS):
        try:
            reading = _read_all(transport, chosen)
        except _Gone:
            continue
        return from_rows(
            name,
            reading.rows,
            reading.taken_at,
            kubernetes_version=version,
            resource_version=reading.resource_version,
            absent_kinds=[kind for kind, chosen_version in chosen.items() if not chosen_version],
        )
    raise SnapshotError(
        f"cluster {name}: the API server forgot the state {RESTARTS} times while it was read",
        hint="the server is overloaded or slow; try again later",
    )


def list_all(
    transport: Transport, resource: Resource, version: str = ""
) -> tuple[KubernetesObject, ...]:
    """All objects of one resource, pruned, in the server's order."""
    for _ in range(RESTARTS):
        found: list[KubernetesObject] = []

        def take(body: bytes, found: list[KubernetesObject] = found) -> PageEnd:
            page = decode_page(resource.kind, body)
            found.extend(page.objects)
            return PageEnd(token=page.token, resource_version=page.resource_version)

        try:
            _list(transport, resource, version, _Reading(), take)
        except _Gone:
            continue
        return tuple(found)
    raise SnapshotError(f"the list of {resource.kind} expired {RESTARTS} times while it was read")


def _read_all(transport: Transport, chosen: dict[str, str]) -> _Reading:
    reading = _Reading()
    # nodes first: a small list that fixes the resourceVersion of all others
    for resource in sorted(LISTED, key=lambda each: each.kind != "Node"):
        version = chosen[resource.kind]
        if version:
            kind = KindReader(resource.kind)
            _list(transport, resource, version, reading, kind.add)
            reading.rows[resource.kind] = kind.rows()
    return reading


def _list(
    transport: Transport,
    resource: Resource,
    version: str,
    reading: _Reading,
    take: Callable[[bytes], PageEnd],
) -> None:
    """Give every page of a list to `take`."""
    query = {"limit": str(PAGE)}
    if resource.kind == "Pod":
        query["fieldSelector"] = _UNFINISHED
    exact = {"resourceVersion": reading.resource_version, "resourceVersionMatch": "Exact"}
    path = resource.path(version)
    answer = transport.read(path, query | exact if reading.resource_version else query)
    if answer.status == 400 and reading.resource_version:
        answer = transport.read(path, query)  # a server that keeps this resource elsewhere
    while True:
        _check(answer, resource)
        page = take(answer.body)
        if not reading.resource_version:
            reading.resource_version = page.resource_version
            reading.taken_at = _date(answer)
        if not page.token:
            return
        del answer  # one page at a time is held
        answer = transport.read(path, query | {"continue": page.token})


def _check(answer: Answer, resource: Resource) -> None:
    if answer.status == 410:
        raise _Gone
    if answer.status != 200:
        refuse(answer, resource, "list")


def _date(answer: Answer) -> int:
    if answer.date is None:
        raise ClusterError("the API server sent no Date header, so its clock is not known")
    return answer.date


def _kubernetes_version(transport: Transport) -> str:
    answer = transport.read("/version")
    try:
        return str(json.loads(answer.body)["gitVersion"])
    except (ValueError, KeyError, TypeError):
        raise ClusterError(
            f"/version: answer {answer.status} without gitVersion: no Kubernetes API server there"
        ) from None


def _served(transport: Transport) -> dict[str, list[str]]:
    """API group to the versions that the cluster serves."""
    answer = transport.read("/apis")
    try:
        return {
            group["name"]: [version["version"] for version in group["versions"]]
            for group in json.loads(answer.body)["groups"]
        }
    except (ValueError, KeyError, TypeError):
        raise ClusterError(f"/apis: answer {answer.status} is no list of API groups") from None


def _version(resource: Resource, served: dict[str, list[str]]) -> str:
    """The version to read a resource in; "" where an optional one is not served."""
    if not resource.group:
        return resource.versions[0]
    versions = served.get(resource.group, [])
    chosen = next((version for version in resource.versions if version in versions), "")
    # a required one is asked for anyway: the answer then says what is missing
    return chosen or (resource.versions[0] if resource.required else "")
