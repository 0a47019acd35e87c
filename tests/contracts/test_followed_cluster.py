"""A cluster that is listed once and then watched: its snapshots are those of a fresh list.

The simulated cluster changes at random behind its HTTP face; the synthetic API has streams that
are silent, late, out of order, replayed, cut and closed, and servers that know no bookmarks.
"""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.kubernetes import (
    FollowedKubernetesCluster,
    KubernetesCluster,
    Transport,
    snapshot_reader,
)
from gitbot.adapters.kubernetes import unfinished_migrations as module
from gitbot.adapters.kubernetes.cluster_view import FRESH, ClusterView, _version
from gitbot.adapters.kubernetes.kind_stream import Marker
from gitbot.adapters.kubernetes.named_revisions import MOST
from gitbot.adapters.kubernetes.unfinished_migrations import unfinished_migrations
from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.simulation import building
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.simulation.http.tables import COLUMNS
from gitbot.simulation.port import SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.bench.synthetic_api import SyntheticApi
from tests.contracts.cluster_scene import migration, real_cluster, small_cluster
from tests.controlplane.waiting import eventually

NEVER = 3_600.0


@dataclass
class Followed:
    """A followed cluster beside one that lists, and what the first one said. `now` is its clock."""

    view: ClusterView
    listing: KubernetesCluster
    said: list[str]
    now: list[float]

    def look(self) -> ClusterSnapshot:
        return self.view.look()

    def shows_what_a_list_shows(self) -> bool:
        seen, listed = self.look(), self.listing.snapshot()
        return (seen.digest, seen.objects, seen.denied_kinds, seen.absent_kinds) == (
            listed.digest,
            listed.objects,
            listed.denied_kinds,
            listed.absent_kinds,
        )


@contextmanager
def following(url: str, folder: Path, *, at_once: bool = True) -> Iterator[Followed]:
    """At the end no thread is left."""
    file = str(write_kubeconfig(folder / "kubeconfig", server=url, context="prod"))
    with followed_by(file, at_once=at_once) as found:
        yield found


@contextmanager
def followed_by(file: str, *, at_once: bool = True) -> Iterator[Followed]:
    """The cluster of a kubeconfig."""
    before = set(threading.enumerate())
    said: list[str] = []
    now = [1_000.0]
    reading = Transport(kubeconfig=file, sleep=lambda _: None)
    streaming = Transport(kubeconfig=file, sleep=lambda _: None)
    view = ClusterView(
        "prod",
        reading,
        streaming,
        say=said.append,
        clock=lambda: now[0],
        mark_every=NEVER,
        at_once=at_once,
    )
    listing = KubernetesCluster(kubeconfig=file, name="prod")
    try:
        yield Followed(view=view, listing=listing, said=said, now=now)
    finally:
        view.close()
        ours = {each.name for each in set(threading.enumerate()) - before}
        listing.close()
        reading.close()
        assert not {name for name in ours if name.startswith("watch ") or name == "marks"}


# The same snapshot as a fresh list


def _machine(name: str, revision: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {
            "runStrategy": "Halted",
            "instancetype": {"name": "large", "revisionName": revision},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }


def _revision(name: str, data: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "apps"}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata} | {
        "revision": 0,
        "data": data,
    }


STORED = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterInstancetype",
    "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
}


@pytest.mark.parametrize("count", [2, MOST + 5])
def test_revisions_without_labels_are_read_by_name(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any]] = []
    read = Transport.read

    def counted(self: Transport, path: str, query: Any = None, **more: Any) -> Any:
        if "controllerrevisions" in path:
            asked.append((path, query))
        return read(self, path, query, **more)

    cluster = small_cluster()
    names = [f"r{number:02}" for number in range(count)]
    cluster.load([_revision("web-5c", {"spec": {"template": []}}), _revision("db-1", [1])])
    cluster.load([_revision(name, STORED) for name in names])
    cluster.load([_machine(f"vm-{name}", name) for name in names])
    cluster.load([_machine("vm-x", "r99,metadata.name=x"), _machine("vm-y", "web-5c")])
    with ApiServer(cluster) as face, following(face.url, tmp_path) as followed:
        assert followed.shows_what_a_list_shows()
        monkeypatch.setattr(Transport, "read", counted)
        followed.view.look()
        assert asked == []  # they never change
        cluster.load([_revision("late", STORED), _machine("vm-late", "late")])
        followed.now[0] += 1  # or the last look would be new enough
        followed.view.distrust("VirtualMachine")
        found = followed.view.look().of("ControllerRevision")
        assert [name_of(item).name for item in found] == ["late", *names]
        assert [path for path, _ in asked] == ["/apis/apps/v1/namespaces/apps/controllerrevisions"]
        asked.clear()
        followed.listing.snapshot()
        assert len(asked) == (2 if count > MOST else 1 + count + 2)  # and late, and vm-y's


def _change(draw: random.Random, cluster: SimulatedCluster, number: int) -> None:
    """One of the things that happen to a cluster."""
    port = SimulatedPort(cluster)
    match draw.randrange(6):
        case 0:
            cluster.load([building.node(f"extra-{number}")])
        case 1:
            port.set_unschedulable("n2", draw.random() < 0.5, {})
        case 2:
            cluster.load([_pod(f"pod-{number}", draw.choice(["n1", "n2"]))])
        case 3:
            for pod in cluster.list("Pod")[:1]:
                cluster.api.delete("Pod", (pod["metadata"]["namespace"], pod["metadata"]["name"]))
        case 4:
            if not any(_is_running(item) for item in port.list_migrations()):
                port.create_migration(migration(f"move-{number}"))
        case _:
            cluster.advance(draw.choice([1, 30, 300]))


def _is_running(item: Any) -> bool:
    return item.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def _pod(name: str, node: str, phase: str = "Running") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "apps", "labels": {"app": name}},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}],
            "tolerations": [{"key": name, "operator": "Exists"}],
        },
        "status": {"phase": phase},
    }


@pytest.mark.parametrize("seed", range(4))
def test_view_is_a_fresh_list_after_random_changes(tmp_path: Path, seed: int) -> None:
    draw, cluster = random.Random(seed), small_cluster()
    with ApiServer(cluster) as face, following(face.url, tmp_path) as followed:
        assert followed.shows_what_a_list_shows()
        for round_ in range(4):
            with face.lock:
                for number in range(draw.randrange(1, 8)):
                    _change(draw, cluster, 10 * round_ + number)
            eventually(followed.shows_what_a_list_shows)


@pytest.mark.controlplane
def test_view_is_a_fresh_list_of_a_real_api_server(request: pytest.FixtureRequest) -> None:
    """With the rights of deploy/rbac and no other."""
    names = ("admin", "kubelets", "namespace", "kubevirt", "gitbot_kubeconfig")
    admin, kubelets, namespace, _, file = (request.getfixturevalue(name) for name in names)
    real_cluster(admin, kubelets, namespace)
    draw, pods = random.Random(1), f"/api/v1/namespaces/{namespace}/pods"
    with followed_by(str(file)) as followed:
        eventually(followed.shows_what_a_list_shows)  # controllers write between the two reads
        for number in range(12):
            if draw.random() < 0.7:
                pod = _pod(f"pod-{number}", draw.choice(["n1", "n2"]))
                pod["metadata"]["namespace"] = namespace
                pod["spec"]["containers"][0]["image"] = "registry.example/launcher:1"
                admin.request("POST", pods, pod)
            else:
                found = [each["metadata"]["name"] for each in admin.request("GET", pods)["items"]]
                admin.request("DELETE", f"{pods}/{draw.choice(found)}")
            if number % 4 == 3:
                eventually(followed.shows_what_a_list_shows)
        assert followed.said == []


# The synthetic API


def _metadata(name: str, namespace: str = "") -> dict[str, Any]:
    return {"name": name, "uid": f"uid-{name}"} | ({"namespace": namespace} if namespace else {})


def _node(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name),
        "spec": spec,
        "status": {"allocatable": {"cpu": "8"}},
    }


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(name)}


@contextmanager
def api(*, bookmark_seconds: float = NEVER) -> Iterator[SyntheticApi]:
    objects = [_namespace("apps"), _node("n1"), _node("n2"), _pod("web", "n1")]
    with SyntheticApi(objects, bookmark_seconds=bookmark_seconds) as found:
        yield found


def _lists(server: SyntheticApi) -> int:
    """Whole lists so far; a mark reads one namespace."""
    return sum(count for kind, count in server.lists.items() if kind != "Namespace")


def _shown(followed: Followed, count: int) -> Callable[[], bool]:
    return lambda: len(followed.look().of("Node")) == count


def test_idle_looks_list_nothing(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        first = followed.look()
        server.reset()
        for _ in range(5):
            assert followed.look().digest == first.digest
        assert _lists(server) == 0
        assert server.sent.total() < 20_000


def test_who_looks_once_watches_nothing(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path, at_once=False) as followed:
        followed.look()
        assert not any(what.startswith("watch") for what in server.requests)


def test_second_look_watches_from_the_version_of_the_first(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path, at_once=False) as followed:
        followed.look()
        server.put(_node("n3"))
        server.reset()
        eventually(_shown(followed, 3))
        assert _lists(server) == 0
        assert followed.shows_what_a_list_shows()


def test_who_waits_after_the_first_look_hears_what_happened_since(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path, at_once=False) as followed:
        followed.look()
        server.put(_node("n3"))
        server.reset()
        eventually(lambda: len(followed.view.rows("Node") or ()) == 3)
        assert _lists(server) == 0


def test_change_arrives_without_a_list_and_decodes_nothing_else(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        before = followed.look()
        first = before.of("Node")[0]
        server.reset()
        server.put(_node("n3"))
        eventually(_shown(followed, 3))
        after = followed.look()
        assert _lists(server) == 0
        assert after.objects["Pod"] is before.objects["Pod"]
        assert after.of("Node")[0] is first
        assert len(before.of("Node")) == 2


def test_finished_pod_leaves(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        followed.look()
        server.put(_pod("web", "n1", "Succeeded"))
        eventually(lambda: not followed.look().of("Pod"))
        assert followed.shows_what_a_list_shows()


def test_forgotten_version_lists_only_that_kind_again(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        followed.look()
        with server.changed:
            server.put(_node("n3"))
            server.kinds["Node"].log.clear()
            server.kinds["Node"].since = server.version
            server.changed.notify_all()
        server.reset()
        eventually(_shown(followed, 3))
        assert _lists(server) == server.lists["Node"] == 1


def test_silent_kind_is_listed_again_when_it_is_too_old(tmp_path: Path) -> None:
    """Its stream is open, and says nothing of what happens."""

    def silent(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if kind != "Node")

    with api() as server, following(server.url, tmp_path) as followed:
        server.trouble = silent
        followed.look()
        server.put(_node("n3"))
        followed.now[0] += FRESH / 2
        assert len(followed.look().of("Node")) == 2
        server.put(_namespace("other"))  # the stream of another kind goes on
        followed.now[0] += FRESH / 2 + 1
        assert len(followed.look().of("Node")) == 3


def test_bookmark_shows_that_a_quiet_kind_is_current(tmp_path: Path) -> None:
    with api(bookmark_seconds=0.05) as server, following(server.url, tmp_path) as followed:
        followed.look()
        for _ in range(4):
            followed.now[0] += FRESH / 2
            server.put(_namespace("other"))
            newest = str(server.version)  # which the bookmarks reach
            eventually(partial(_has_version, followed, newest))
        assert server.lists["StorageClass"] == 1


def _has_version(followed: Followed, version: str) -> bool:
    return followed.look().resource_version == version


def _replayed(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line
        if kind == "Node":
            yield line


def _half(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Every second node is missing, then the stream is out of order."""
    held: list[bytes] = []
    for line in lines:
        if kind != "Node":
            yield line
            continue
        held.append(line)
        if len(held) == 2:
            yield from reversed(held)
            held.clear()


def _cut(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Each event breaks off in its middle the first time."""
    for line in lines:
        if kind == "Node" and _first(line):
            yield line[: len(line) // 2]
            yield b""
        yield line


_SEEN: set[bytes] = set()


def _first(line: bytes) -> bool:
    is_new = line not in _SEEN
    _SEEN.add(line)
    return is_new


def _closed(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Every stream of nodes ends after its first event."""
    for line in lines:
        yield line
        if kind == "Node":
            return


def _error(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    """An ERROR that is no 410 comes before the first event."""
    for line in lines:
        if kind == "Node" and _first(b"error " + line):
            status = {"kind": "Status", "code": 500, "metadata": {}}
            yield json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
            return
        yield line


def _damaged(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield b"{}\n" if kind == "Node" else line


@pytest.mark.parametrize("trouble", [_replayed, _half, _cut, _closed, _error, _damaged])
def test_bad_stream_shows_nothing_wrong_in_the_end(
    tmp_path: Path, trouble: Callable[[str, Iterator[bytes]], Iterator[bytes]]
) -> None:
    _SEEN.clear()
    with api() as server, following(server.url, tmp_path) as followed:
        server.trouble = trouble
        followed.look()
        for number in range(3, 7):
            server.put(_node(f"n{number}"))
        server.remove("Node", ("", "n1"))
        server.put(_node("n2", unschedulable=True))
        eventually(followed.shows_what_a_list_shows)
        assert followed.said == []


@pytest.mark.parametrize("status", [404, 405, 429, 500, 504])
def test_kind_that_cannot_be_watched_is_listed(tmp_path: Path, status: int) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        server.refused["Node"] = status
        followed.look()
        server.put(_node("n3"))
        followed.now[0] += FRESH + 1
        eventually(followed.shows_what_a_list_shows)
        assert followed.said == []


def test_forbidden_watch_lists_as_before_and_says_so_once(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        server.refused["Pod"] = 403
        followed.look()
        eventually(lambda: [followed.look(), followed.said][1])
        server.put(_node("n3"))
        for _ in range(2):
            assert len(followed.look().of("Node")) == 3
        (said,) = followed.said
        assert said.startswith("the account may not watch pods: every look lists the whole")


def test_restored_store_is_listed_as_a_whole(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        for number in range(3, 9):
            server.put(_node(f"n{number}"))
        followed.look()
        with server.changed:
            server.version = 4
            del server.kinds["Node"].objects[("", "n8")]
            for kind in server.kinds.values():
                kind.log.clear()
        server.reset()
        assert len(followed.look().of("Node")) == 7
        assert server.lists["Pod"] == 1


def test_distrusted_kind_is_current_at_the_next_look(tmp_path: Path) -> None:
    def silent(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if kind != "Node")

    with api() as server, following(server.url, tmp_path) as followed:
        server.trouble = silent
        followed.look()
        server.put(_node("n3"))
        followed.now[0] += 1
        followed.view.distrust("Node")
        followed.now[0] += 1
        assert len(followed.look().of("Node")) == 3


def test_look_that_decides_may_ask_for_newer_kinds(tmp_path: Path) -> None:
    def silent(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if kind != "Node")

    with api() as server, following(server.url, tmp_path) as followed:
        server.trouble = silent
        followed.look()
        server.put(_node("n3"))
        followed.now[0] += 91
        assert len(followed.look().of("Node")) == 2
        followed.view.require(90)
        assert len(followed.look().of("Node")) == 3


def test_closed_view_lists_again(tmp_path: Path) -> None:
    with api() as server, following(server.url, tmp_path) as followed:
        followed.look()
        followed.view.close()
        server.put(_node("n3"))
        assert len(followed.look().of("Node")) == 3


def test_sleep_of_the_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the machine sleeps, streams hear nothing, and a monotonic clock may stand still."""
    count = time.clock_gettime

    def silent(kind: str, lines: Iterator[bytes]) -> Iterator[bytes]:
        return (line for line in lines if kind != "Node")

    with api() as server, port_of(server, tmp_path) as port:
        server.trouble = silent
        port.snapshot()
        server.put(_node("n3"))
        assert len(port.snapshot().of("Node")) == 2
        monkeypatch.setattr(time, "clock_gettime", lambda which: count(which) + 3_600)
        assert len(port.snapshot().of("Node")) == 3


@contextmanager
def port_of(server: SyntheticApi, folder: Path) -> Iterator[FollowedKubernetesCluster]:
    file = str(write_kubeconfig(folder / "kubeconfig", server=server.url, context="prod"))
    port = FollowedKubernetesCluster(
        name="prod",
        transport=Transport(kubeconfig=file),
        streaming=Transport(kubeconfig=file),
        say=lambda _: None,
    )
    with closing(port):
        yield port


def test_port_reads_what_an_effect_rests_on(tmp_path: Path) -> None:
    with api() as server, port_of(server, tmp_path) as port:
        snapshot = port.snapshot()
        assert port.get_node("n1") == snapshot.of("Node")[0]
        assert port.get_node("n9") is None
        assert port.pods_on("n1") == tuple(snapshot.of("Pod"))
        assert port.pods_on("n2") == port.migrations_seen() == ()


def test_port_counts_what_the_server_counts_its_streams_too(tmp_path: Path) -> None:
    with api() as server, port_of(server, tmp_path) as port:
        port.snapshot()
        listed = port.traffic
        server.put(_node("n3"))
        eventually(lambda: len(port.snapshot().of("Node")) == 3)

        def is_counted() -> bool:
            traffic = port.traffic
            return (traffic.sent, traffic.received) == (
                server.requests.total(),
                server.sent.total(),
            )

        eventually(is_counted)
        assert port.traffic.received > listed.received > 0


@pytest.mark.parametrize("printed", [True, False])
def test_port_reads_unfinished_migrations_without_the_finished_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: bool
) -> None:
    """In pages; and from the objects themselves if the server prints no columns of its own."""
    monkeypatch.setattr(snapshot_reader, "PAGE", 2)
    if not printed:
        monkeypatch.setitem(COLUMNS, "VirtualMachineInstanceMigration", ())
    cluster = small_cluster()
    cluster.load([_migration(number, phase) for number, phase in enumerate(PHASES)])
    with ApiServer(cluster) as face:
        file = str(write_kubeconfig(tmp_path / "kubeconfig", server=face.url, context="prod"))
        with closing(Transport(kubeconfig=file)) as transport:
            found = unfinished_migrations(transport)
    assert found == (("move-0", "vm-0"), ("move-1", "vm-1"), ("move-4", "vm-4"))


@pytest.mark.controlplane
def test_real_api_server_prints_unfinished_migrations(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("admin", "kubelets", "namespace", "kubevirt", "gitbot_kubeconfig")
    admin, kubelets, namespace, _, file = (request.getfixturevalue(name) for name in names)
    real_cluster(admin, kubelets, namespace)
    path = f"/apis/kubevirt.io/v1/namespaces/{namespace}/virtualmachineinstancemigrations"
    monkeypatch.setattr(module, "_whole", lambda _: pytest.fail("the server printed no columns"))
    admin.request("POST", path, migration("first", namespace=namespace))
    with closing(Transport(kubeconfig=str(file))) as transport:
        assert unfinished_migrations(transport) == (("first", "db-1"),)
        admin.request("DELETE", f"{path}/first")
        eventually(lambda: unfinished_migrations(transport) == ())


PHASES = ("", "Pending", "Succeeded", "Failed", "Running")


def _migration(number: int, phase: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": f"move-{number}", "namespace": "apps"},
        "spec": {"vmiName": f"vm-{number}"},
        "status": {"phase": phase} if phase else {},
    }


def test_port_that_may_not_watch_hears_of_no_migration(tmp_path: Path) -> None:
    with api() as server, port_of(server, tmp_path) as port:
        server.refused["Pod"] = 403
        port.snapshot()
        eventually(lambda: [port.snapshot(), port.migrations_seen()][1] is None)


def test_marks_go_on_after_a_damaged_answer() -> None:
    asked, stopping = [0], threading.Event()

    def damaged() -> None:
        asked[0] += 1
        if asked[0] == 3:
            stopping.set()
        raise SnapshotError("not JSON")

    marker = Marker(damaged, stopping, 0.01, lambda: 0.0)
    marker.start()
    marker.join(10)
    assert asked == [3]


def test_list_without_a_version_that_is_a_number_is_refused() -> None:
    with pytest.raises(SnapshotError, match="expected a number"):
        _version("yesterday")
    assert _version("12") == 12
