"""A whole, consistent read of a cluster: paged lists, all at one resourceVersion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from gitbot.adapters.kubernetes.api_refusals import refuse, refuse_path
from gitbot.adapters.kubernetes.named_revisions import REVISION, NamedRevisions
from gitbot.adapters.kubernetes.transport import JSON, HttpAnswer, Transport
from gitbot.errors import Bug, ClusterError, ClusterForbidden, SnapshotError
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubevirt.instance_types import OBJECT_KIND, stores_type
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.snapshot import (
    LISTED,
    RESOURCES,
    KindReader,
    PageEnd,
    Resource,
    Rows,
    from_sorted,
    plain_json,
)

PAGE = 200
"""Objects in one page: about 5 MB for the largest kind, nodes with their images."""

MOST_PAGES = 5_000  # a million objects of one kind
RESTARTS = 3
"""How often a read starts again if the server has dropped its resourceVersion."""

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


class ListExpired(Exception):
    """410: the resourceVersion is compacted or the continue token expired."""


Kept = TypeVar("Kept")


@dataclass(kw_only=True)
class ListsRead(Generic[Kept]):
    """Lists of all kinds at one resourceVersion; `versions` are those that each list says."""

    resource_version: str = ""
    taken_at: int = 0
    kinds: dict[str, Kept] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)


class TakesPages(Protocol):
    """What is made of the pages of one kind."""

    def add(self, data: bytes, /) -> PageEnd: ...


Reader = TypeVar("Reader", bound=TakesPages)


def read_cluster(transport: Transport, name: str) -> ClusterSnapshot:
    """The snapshot of a whole cluster.

    The first list is a consistent read; the others ask for the same resourceVersion. Raises
    SnapshotError instead of returning a part, ClusterForbidden if a needed right is missing.
    """
    version, chosen = kubernetes_version(transport), chosen_versions(transport)
    reading = read_all(transport, name, chosen, KindReader, KindReader.rows)
    return from_sorted(
        name,
        NamedRevisions(partial(list_revisions, transport)).complete(reading.kinds),
        reading.taken_at,
        kubernetes_version=version,
        resource_version=reading.resource_version,
        absent_kinds=[kind for kind, chosen_version in chosen.items() if not chosen_version],
        denied_kinds=reading.denied,
    )


def list_all(
    transport: Transport, resource: Resource, query: Mapping[str, str] | None = None
) -> tuple[KubernetesObject, ...]:
    for _ in range(RESTARTS):
        kind = KindReader(resource.kind)
        try:
            list_pages(transport, resource, "", ListsRead[Rows](), kind.add, more=query)
        except ListExpired:
            continue
        return tuple(kind.rows())
    raise SnapshotError(f"the list of {resource.kind} expired {RESTARTS} times while it was read")


def list_revisions(
    transport: Transport, query: Mapping[str, str], namespace: str
) -> list[KubernetesObject]:
    """ControllerRevisions with a type, labelled or not, as the server sent them."""
    for _ in range(RESTARTS):
        found = list[KubernetesObject]()

        def take(body: bytes, found: list[KubernetesObject] = found) -> PageEnd:
            page = plain_json(body)
            found.extend(filter(stores_type, page["items"]))
            return PageEnd(token=at(page, "metadata", "continue", default=""), resource_version="")

        with suppress(ListExpired):
            list_pages(
                transport,
                RESOURCES[REVISION],
                "",
                ListsRead[None](),
                take,
                more=query,
                namespace=namespace,
            )
            return found
    raise SnapshotError(f"the list of {REVISION} expired {RESTARTS} times while it was read")


def chosen_versions(transport: Transport) -> dict[str, str]:
    """The version to read of each kind; "" if the cluster does not serve it and need not."""
    served = _served(transport)
    chosen = {resource.kind: _version(resource, served) for resource in LISTED}
    for resource in LISTED:
        # OpenShift serves these groups whether or not this kind's operator is installed
        if resource.shared and not _lists(transport, resource, chosen[resource.kind]):
            chosen[resource.kind] = ""
    return chosen


def _lists(transport: Transport, resource: Resource, version: str) -> bool:
    """Whether a served version of a group has the resource."""
    if not version:
        return False
    path = f"/apis/{resource.group}/{version}"
    answer = transport.read(path)
    refuse_path(answer, path)
    try:
        return resource.plural in {each["name"] for each in plain_json(answer.body)["resources"]}
    except (SnapshotError, KeyError, TypeError):
        raise ClusterError(f"{path}: answer {answer.status} is not a list of resources") from None


def read_all(
    transport: Transport,
    name: str,
    chosen: Mapping[str, str],
    new: Callable[[str], Reader],
    finish: Callable[[Reader], Kept],
) -> ListsRead[Kept]:
    """Lists of all kinds of `chosen`; each is read by what `new` makes for its kind."""
    for _ in range(RESTARTS):
        try:
            return _read_once(transport, chosen, new, finish)
        except ListExpired:
            continue
    raise SnapshotError(
        f"cluster {name}: the API server forgot the state {RESTARTS} times while it was read",
        hint="the server is overloaded or slow; try again later",
    )


def _read_once(
    transport: Transport,
    chosen: Mapping[str, str],
    new: Callable[[str], Reader],
    finish: Callable[[Reader], Kept],
) -> ListsRead[Kept]:
    reading = ListsRead[Kept]()
    # Nodes first: a small list that determines the resourceVersion of all others.
    for resource in sorted(LISTED, key=lambda each: each.kind != "Node"):
        version = chosen[resource.kind]
        if version:
            kind = new(resource.kind)
            try:
                said = list_pages(transport, resource, version, reading, kind.add)
            except ClusterForbidden:
                if resource.needed:
                    raise
                reading.denied.append(resource.kind)
            else:
                reading.kinds[resource.kind] = finish(kind)
                reading.versions[resource.kind] = said
    return reading


def list_pages(
    transport: Transport,
    resource: Resource,
    version: str,
    reading: ListsRead[Any],
    take: Callable[[bytes], PageEnd],
    *,
    more: Mapping[str, str] | None = None,
    namespace: str = "",
    accept: str = JSON,
) -> str:
    """Read one list at the resourceVersion of `reading`, or the newest; returns its version.

    `more` takes the place of the kind's selectors. `accept` is the form that `take` reads. Raises
    ListExpired.
    """
    query = {"limit": str(PAGE)} | dict(selectors(resource) if more is None else more)
    exact = {"resourceVersion": reading.resource_version, "resourceVersionMatch": "Exact"}
    path, said = resource.path(version, namespace), ""
    exactly = query | exact if reading.resource_version else query
    answer = transport.read(path, exactly, accept=accept)
    if answer.status == 400 and reading.resource_version:
        # a server that serves this resource at another path
        answer = transport.read(path, query, accept=accept)
    for number in count(1):
        _check(answer, resource)
        page = take(answer.body)
        said = said or page.resource_version
        if not reading.resource_version:
            reading.resource_version = page.resource_version
            reading.taken_at = answer.date
        if not page.token:
            return said
        if number == MOST_PAGES:
            hint = "no cluster has so many: see what answers at the API server's address"
            raise SnapshotError(f"a list of {resource.kind} has {number} pages and more", hint=hint)
        del answer  # only one page at a time is in memory
        rest = query | {"continue": page.token}
        answer = transport.read(path, rest, accept=accept)  # noqa: F841 - next turn
    raise Bug("BUG: a list without an end")


def selectors(resource: Resource) -> dict[str, str]:
    """The query for the objects of a kind that a snapshot holds."""
    if resource.kind == "Pod":
        return {"fieldSelector": UNFINISHED}
    if resource.kind == REVISION:
        return {"labelSelector": OBJECT_KIND}  # those of DaemonSets and StatefulSets are many
    return {}


def _check(answer: HttpAnswer, resource: Resource) -> None:
    if answer.status == 410:
        raise ListExpired
    if answer.status != 200:
        refuse(answer, resource, "list")


def kubernetes_version(transport: Transport) -> str:
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
