"""The Cluster port's contract: the adapter over HTTP, and the simulator's port in process.

The adapter looks at the simulated cluster (so does the port in process, so that the double cannot
lie) and, in tier controlplane, at a real API server with exactly the rights of deploy/rbac.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.errors import Bug, ClusterError, ClusterRefused
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import annotations_of, at, labels_of, name_of, uid_of
from gitbot.ports.cluster import EVENT_SOURCE, Cluster
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.simulation.port import SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.snapshot import write_snapshot
from gitbot.workflows.ask.object_events import ObjectEvent
from tests.contracts.cluster_scene import migration, on_call, real_cluster, small_cluster
from tests.controlplane.fixtures import RBAC

CLOCKS = 5  # seconds that two looks at clocks may lie apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A cluster behind the port, the namespace of its pods, and what time it is there.

    `holder` is the same for a person on call, who may set the stop flag.
    """

    cluster: Cluster
    holder: Cluster
    namespace: str
    now: Callable[[], int]

    def named(self, name: str) -> NamespacedName:
        return NamespacedName(namespace=self.namespace, name=name)


@pytest.fixture
def simulated() -> SimulatedCluster:
    return small_cluster()


@contextmanager
def double(way: str, simulated: SimulatedCluster, folder: Path) -> Iterator[Scene]:
    """The simulated cluster, by the adapter or by the port in process."""
    if way == "simulator":
        port: Cluster = SimulatedPort(simulated)
        yield Scene(cluster=port, holder=port, namespace="apps", now=simulated.now)
        return
    with ApiServer(simulated) as face:
        file = write_kubeconfig(folder / "kubeconfig", server=face.url, context="prod")
        port = KubernetesCluster(kubeconfig=str(file))
        yield Scene(cluster=port, holder=port, namespace="apps", now=simulated.now)


@pytest.fixture(params=["adapter", "simulator"])
def doubled(
    request: pytest.FixtureRequest, simulated: SimulatedCluster, tmp_path: Path
) -> Iterator[Cluster]:
    """The simulated cluster, by both."""
    with double(request.param, simulated, tmp_path) as scene:
        yield scene.cluster


@pytest.fixture
def real(request: pytest.FixtureRequest) -> Scene:
    """The same objects on a real API server."""
    names = ("admin", "kubelets", "namespace", "kubevirt", "gitbot_kubeconfig")
    admin, kubelets, namespace, _, file = (request.getfixturevalue(name) for name in names)
    real_cluster(admin, kubelets, namespace)
    from tests.controlplane.kubevirt.installation import put_at  # noqa: PLC0415

    plane = request.getfixturevalue("plane")
    put_at(admin, f"{RBAC}/namespaces/gitbot/rolebindings", on_call("oncall"))
    return Scene(
        cluster=KubernetesCluster(kubeconfig=str(file), name="prod"),
        holder=KubernetesCluster(kubeconfig=str(plane.kubeconfig("oncall")), name="prod"),
        namespace=namespace,
        now=lambda: int(time.time()),  # noqa: TID251
    )


@pytest.fixture(
    params=["adapter", "simulator", pytest.param("real", marks=pytest.mark.controlplane)]
)
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    """All three."""
    if request.param == "real":
        yield request.getfixturevalue("real")
        return
    with double(request.param, small_cluster(), tmp_path) as scene:
        yield scene


@pytest.fixture
def cluster(scene: Scene) -> Cluster:
    return scene.cluster


def test_a_snapshot_is_complete_and_minimal(scene: Scene) -> None:
    snapshot = scene.cluster.snapshot()
    assert snapshot.cluster == scene.cluster.name == "prod"
    assert abs(snapshot.taken_at - scene.now()) <= CLOCKS
    assert snapshot.kubernetes_version.startswith("v1.")
    assert snapshot.resource_version.isdecimal()
    assert [node["metadata"]["name"] for node in snapshot.of("Node")] == ["n1", "n2"]
    pods = [
        pod
        for pod in snapshot.of("Pod")
        if name_of(pod).namespace == scene.namespace and "kubevirt.io" not in labels_of(pod)
    ]
    assert [pod["metadata"]["name"] for pod in pods] == ["web"]
    assert len(snapshot.of("KubeVirt")) == 1
    assert {scene.namespace, "gitbot"} <= {
        each["metadata"]["name"] for each in snapshot.of("Namespace")
    }


def test_both_ways_to_read_give_the_same_file(
    doubled: Cluster, simulated: SimulatedCluster
) -> None:
    read, direct = doubled.snapshot(), SimulatedPort(simulated).snapshot()
    assert read.objects == direct.objects
    assert write_snapshot(read) == write_snapshot(direct)


def test_the_clock_is_the_servers(doubled: Cluster, simulated: SimulatedCluster) -> None:
    before = doubled.server_time()
    simulated.advance(90)
    assert doubled.server_time() == before + 90 == simulated.now()


def test_the_server_tells_the_time(scene: Scene) -> None:
    assert abs(scene.cluster.server_time() - scene.now()) <= CLOCKS


def test_instances_and_migrations_that_do_not_exist(cluster: Cluster) -> None:
    nobody = NamespacedName(namespace="nowhere", name="nobody")
    assert cluster.get_instance(nobody) is None
    assert cluster.get_migration(nobody) is None
    assert nobody not in [name_of(each) for each in cluster.list_migrations()]
    assert cluster.list_events(nobody) == ()
    assert cluster.delete_migration(nobody, uid="x") is False


def test_an_instance(scene: Scene) -> None:
    instance = scene.cluster.get_instance(scene.named("db-1"))
    assert instance is not None
    assert at(instance, "status", "nodeName") == "n1"
    assert labels_of(instance)["tier"] == "db"


def test_a_migration_is_created_read_and_deleted(scene: Scene) -> None:
    cluster, one = scene.cluster, scene.named("one")
    stored = cluster.create_migration(migration("one", namespace=scene.namespace))
    assert uid_of(stored)
    assert at(stored, "spec", "addedNodeSelector") == {"kubernetes.io/hostname": "n2"}
    found = cluster.get_migration(one)
    assert found is not None
    assert uid_of(found) == uid_of(stored)
    assert annotations_of(found)["placement.gitbot.dev/request"] == "request/apps/one"
    listed = [each for each in cluster.list_migrations() if name_of(each) == one]
    assert [uid_of(each) for each in listed] == [uid_of(stored)]
    assert cluster.delete_migration(one, uid="of-another-one") is False
    assert cluster.get_migration(one) is not None
    assert cluster.delete_migration(one, uid=uid_of(stored)) is True


def test_a_dry_run_stores_nothing(scene: Scene) -> None:
    scene.cluster.create_migration(migration("one", namespace=scene.namespace), dry_run=True)
    assert scene.cluster.get_migration(scene.named("one")) is None


def test_a_second_of_the_same_name_is_refused(scene: Scene) -> None:
    wanted = migration("one", namespace=scene.namespace)
    scene.cluster.create_migration(wanted)
    with pytest.raises(ClusterRefused) as caught:
        scene.cluster.create_migration(wanted)
    assert caught.value.code in (400, 409)  # in flight, or already there


def test_an_unknown_field_is_refused(scene: Scene) -> None:
    wrong = migration("one", namespace=scene.namespace)
    wrong["spec"]["addedNodeSelectors"] = {}
    with pytest.raises(ClusterRefused) as caught:
        scene.cluster.create_migration(wrong)
    assert caught.value.code == 400
    assert "addedNodeSelectors" in caught.value.message
    assert scene.cluster.get_migration(scene.named("one")) is None


def test_node_labels_are_set_and_removed(cluster: Cluster) -> None:
    key = "placement.gitbot.dev/state"
    cluster.patch_node_labels("n1", {key: "draining"})
    assert labels_of(cluster.snapshot().of("Node")[0])[key] == "draining"
    cluster.patch_node_labels("n1", {key: None})
    labels = labels_of(cluster.snapshot().of("Node")[0])
    assert key not in labels
    assert labels["topology.kubernetes.io/zone"] == "a"


def test_labels_of_others_are_never_touched(cluster: Cluster) -> None:
    with pytest.raises((Bug, ClusterError)):
        cluster.patch_node_labels("n1", {"topology.kubernetes.io/zone": "b"})
    zone = labels_of(cluster.snapshot().of("Node")[0])["topology.kubernetes.io/zone"]
    assert zone == "a"


def test_a_node_that_does_not_exist(cluster: Cluster) -> None:
    with pytest.raises(ClusterRefused) as caught:
        cluster.patch_node_labels("n9", {"placement.gitbot.dev/state": "draining"})
    assert caught.value.code == 404


def test_cordon_and_uncordon(cluster: Cluster) -> None:
    mark = "placement.gitbot.dev/cordon"
    cluster.set_unschedulable("n1", unschedulable=True, labels={mark: "o1"})
    node = cluster.snapshot().of("Node")[0]
    assert at(node, "spec", "unschedulable") is True
    assert labels_of(node)[mark] == "o1"
    cluster.set_unschedulable("n1", unschedulable=False, labels={mark: None})
    node = cluster.snapshot().of("Node")[0]
    assert not at(node, "spec", "unschedulable")
    assert mark not in labels_of(node)
    with pytest.raises((Bug, ClusterError)):
        cluster.set_unschedulable("n1", True, {"topology.kubernetes.io/zone": "b"})


def test_the_hold_flag(scene: Scene) -> None:
    cluster, holder = scene.cluster, scene.holder
    assert cluster.hold_flag() is None
    holder.set_hold_flag("storage trouble")
    assert cluster.hold_flag() == "storage trouble"
    flag, seconds = cluster.flag_and_time()
    assert (flag, abs(seconds - scene.now()) <= CLOCKS) == ("storage trouble", True)
    holder.set_hold_flag("still")
    assert cluster.hold_flag() == holder.hold_flag() == "still"
    holder.set_hold_flag(None)
    assert cluster.hold_flag() is None
    holder.set_hold_flag(None)


def test_the_anchor_of_the_ledger(scene: Scene) -> None:
    anchored = scene.cluster
    assert anchored.ledger_anchors().get("east") is None
    anchored.set_ledger_anchor("east", "1 sha256:a")
    assert anchored.ledger_anchors().get("west") is None
    anchored.set_ledger_anchor("west", "7 sha256:c")
    anchored.set_ledger_anchor("east", "2 sha256:b")
    assert anchored.ledger_anchors().get("east") == "2 sha256:b"
    assert anchored.ledger_anchors().get("west") == "7 sha256:c"
    assert anchored.hold_flag() is None


def test_an_event_is_written_once(scene: Scene) -> None:
    """Real: by the optional role, as the account of the base has no right for it."""
    one = ObjectEvent(
        about={
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "namespace": scene.namespace,
            "name": "db-1",
            "uid": "u",
        },
        key="request/x/1",
        time=1_796_590_800,
        type="Normal",
        reason="PlacementMoved",
        message="moved from n1 to n2",
    )
    for event in (one.manifest, {**one.manifest, "message": "again"}):
        scene.cluster.create_event(event)
    (found,) = (
        each
        for each in scene.cluster.list_events(scene.named("db-1"))
        if at(each, "source", "component") == EVENT_SOURCE
    )
    assert (found["reason"], found["message"]) == ("PlacementMoved", "moved from n1 to n2")


def test_a_cluster_is_known_by_its_system_namespace(scene: Scene) -> None:
    uid = scene.cluster.cluster_uid()
    namespaces = scene.cluster.snapshot().of("Namespace")
    assert uid
    assert [uid] == [uid_of(item) for item in namespaces if name_of(item).name == "kube-system"]
    assert scene.cluster.cluster_uid() == uid


def test_nothing_writes_to_a_virtual_machine(scene: Scene) -> None:
    before = scene.cluster.get_instance(scene.named("db-1"))
    assert before is not None
    scene.cluster.create_migration(migration("one", namespace=scene.namespace))
    scene.cluster.set_unschedulable("n2", unschedulable=True, labels={})
    after = scene.cluster.get_instance(scene.named("db-1"))
    assert after is not None
    assert after["spec"] == before["spec"]
    methods = [name for name in dir(Cluster) if not name.startswith("_")]
    assert [name for name in methods if "instance" in name or "machine" in name] == ["get_instance"]
