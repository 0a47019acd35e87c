"""The Cluster port's contract: the real adapter over HTTP, and the simulator's port in process.

Both look at the same simulated cluster, so that the double cannot lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.kubernetes.cluster import KubernetesCluster
from gitbot.errors import Bug, ClusterError, ClusterRefused
from gitbot.model.names import NamespacedName
from gitbot.model.objects import annotations_of, at, labels_of, uid_of
from gitbot.ports.cluster import Cluster
from gitbot.simulation.cluster import SimulatedCluster
from gitbot.simulation.http import serve, write_kubeconfig
from gitbot.simulation.port import SimulatedPort
from gitbot.snapshot import write_snapshot
from tests.contracts.cluster_scene import START, migration, small_cluster

ONE = NamespacedName(namespace="apps", name="one")
DB = NamespacedName(namespace="apps", name="db-1")


@pytest.fixture
def simulated() -> SimulatedCluster:
    return small_cluster()


@pytest.fixture(params=["adapter", "simulator"])
def cluster(
    request: pytest.FixtureRequest, simulated: SimulatedCluster, tmp_path: Path
) -> Iterator[Cluster]:
    if request.param == "simulator":
        yield SimulatedPort(simulated)
        return
    face = serve(simulated)
    try:
        file = write_kubeconfig(tmp_path / "kubeconfig", server=face.url, context="prod")
        yield KubernetesCluster(kubeconfig=str(file))
    finally:
        face.stop()


def test_a_snapshot_is_complete_and_minimal(cluster: Cluster) -> None:
    snapshot = cluster.snapshot()
    assert snapshot.cluster == cluster.name == "prod"
    assert snapshot.taken_at == START
    assert snapshot.kubernetes_version.startswith("v1.")
    assert snapshot.resource_version.isdecimal()
    assert [node["metadata"]["name"] for node in snapshot.of("Node")] == ["n1", "n2"]
    assert [pod["metadata"]["name"] for pod in snapshot.of("Pod")] == ["web"]
    assert len(snapshot.of("KubeVirt")) == 1
    assert {"apps", "gitbot"} <= {each["metadata"]["name"] for each in snapshot.of("Namespace")}


def test_both_ways_to_read_give_the_same_file(
    cluster: Cluster, simulated: SimulatedCluster
) -> None:
    read, direct = cluster.snapshot(), SimulatedPort(simulated).snapshot()
    assert read.objects == direct.objects
    assert write_snapshot(read) == write_snapshot(direct)


def test_the_clock_is_the_servers(cluster: Cluster, simulated: SimulatedCluster) -> None:
    simulated.advance(90)
    assert cluster.server_time() == START + 90


def test_instances_and_migrations_that_do_not_exist(cluster: Cluster) -> None:
    nobody = NamespacedName(namespace="nowhere", name="nobody")
    assert cluster.get_instance(nobody) is None
    assert cluster.get_migration(nobody) is None
    assert cluster.list_migrations() == ()
    assert cluster.list_events(nobody) == ()
    assert cluster.delete_migration(nobody, uid="x") is False


def test_an_instance(cluster: Cluster) -> None:
    instance = cluster.get_instance(DB)
    assert instance is not None
    assert at(instance, "status", "nodeName") == "n1"
    assert labels_of(instance)["tier"] == "db"


def test_a_migration_is_created_read_and_deleted(cluster: Cluster) -> None:
    stored = cluster.create_migration(migration("one"))
    assert uid_of(stored)
    assert at(stored, "spec", "addedNodeSelector") == {"kubernetes.io/hostname": "n2"}
    found = cluster.get_migration(ONE)
    assert found is not None
    assert uid_of(found) == uid_of(stored)
    assert annotations_of(found)["placement.gitbot.dev/request"] == "request/apps/one"
    assert [uid_of(each) for each in cluster.list_migrations()] == [uid_of(stored)]
    assert cluster.delete_migration(ONE, uid="of-another-one") is False
    assert cluster.get_migration(ONE) is not None
    assert cluster.delete_migration(ONE, uid=uid_of(stored)) is True


def test_a_dry_run_stores_nothing(cluster: Cluster) -> None:
    cluster.create_migration(migration("one"), dry_run=True)
    assert cluster.get_migration(ONE) is None


def test_a_second_of_the_same_name_is_refused(cluster: Cluster) -> None:
    cluster.create_migration(migration("one"))
    with pytest.raises(ClusterRefused) as caught:
        cluster.create_migration(migration("one"))
    assert caught.value.code in (400, 409)  # in flight, or already there


def test_an_unknown_field_is_refused(cluster: Cluster) -> None:
    wrong = migration("one")
    wrong["spec"]["addedNodeSelectors"] = {}
    with pytest.raises(ClusterRefused) as caught:
        cluster.create_migration(wrong)
    assert caught.value.code == 400
    assert "addedNodeSelectors" in caught.value.message
    assert cluster.get_migration(ONE) is None


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
    cluster.set_unschedulable("n1", unschedulable=True)
    assert at(cluster.snapshot().of("Node")[0], "spec", "unschedulable") is True
    cluster.set_unschedulable("n1", unschedulable=False)
    assert not at(cluster.snapshot().of("Node")[0], "spec", "unschedulable")


def test_the_hold_flag(cluster: Cluster) -> None:
    assert cluster.hold_flag() is None
    cluster.set_hold_flag("storage trouble")
    assert cluster.hold_flag() == "storage trouble"
    cluster.set_hold_flag("still")
    assert cluster.hold_flag() == "still"
    cluster.set_hold_flag(None)
    assert cluster.hold_flag() is None
    cluster.set_hold_flag(None)


def test_nothing_writes_to_a_virtual_machine(cluster: Cluster, simulated: SimulatedCluster) -> None:
    before = simulated.get("VirtualMachineInstance", "db-1", "apps")
    assert before is not None
    cluster.create_migration(migration("one"))
    cluster.set_unschedulable("n2", unschedulable=True)
    after = simulated.get("VirtualMachineInstance", "db-1", "apps")
    assert after is not None
    assert after["spec"] == before["spec"]
    methods = [name for name in dir(Cluster) if not name.startswith("_")]
    assert [name for name in methods if "instance" in name or "machine" in name] == ["get_instance"]
