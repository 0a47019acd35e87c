from __future__ import annotations

from typing import Any

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.model.text.instants import parse_instant
from gitbot.simulation.building import guest, kubevirt, machine, namespace, node
from gitbot.simulation.port import MIGRATION, SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.status_errors import ApiError
from tests.doubles.trouble import fail_next_migration, restart_machine

DB = NamespacedName(namespace="app", name="db")
MOVE = NamespacedName(namespace="app", name="move")


def cluster_with(
    *, dials: SimulationSettings | None = None, **configuration: Any
) -> SimulatedCluster:
    """Three nodes and one VM, db, on node a."""
    cluster = SimulatedCluster(dials=dials or SimulationSettings(prefer=("a",)))
    cluster.load([kubevirt(evictionStrategy="LiveMigrate", **configuration)])
    cluster.apply([node(name) for name in "abc"])
    cluster.apply([namespace("app")])
    spec = {"domain": guest(memory="4Gi")}
    cluster.apply([machine("db", namespace="app", labels={"app": "db"}, spec=spec)])
    cluster.settle()
    return cluster


def migration(*, name: str = "move", to: str = "b", vmi: str = "db") -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": MIGRATION,
        "metadata": {"name": name, "namespace": "app"},
        "spec": {"vmiName": vmi, "addedNodeSelector": {"kubernetes.io/hostname": to}},
    }


def home_of(cluster: SimulatedCluster) -> str:
    return str(at(cluster.get("VirtualMachineInstance", "db", "app"), "status", "nodeName"))


def phases(obj: KubernetesObject | None) -> list[str]:
    stamps = at(obj, "status", "phaseTransitionTimestamps", default=[])
    return [stamp["phase"] for stamp in stamps]


@pytest.mark.parametrize(("most", "seconds"), [("0", 64), ("16Mi", 256), ("1Gi", 64)])
def test_a_copy_is_no_faster_than_the_policy_of_the_vm(most: str, seconds: int) -> None:
    """4Gi at the dial's 64 MiB/s, or at what the policy allows."""
    cluster = cluster_with(dials=SimulationSettings(prefer=("a",), bandwidth=64 << 20))
    selectors = {"virtualMachineInstanceSelector": {"app": "db"}}
    policy = {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {"name": "slow"},
        "spec": {"selectors": selectors, "bandwidthPerMigration": most},
    }
    cluster.load([policy])
    port = SimulatedPort(cluster)
    port.create_migration(migration())
    port.sleep(300)
    state = at(cluster.get("VirtualMachineInstance", "db", "app"), "status", "migrationState")
    begun, ended = (parse_instant(state[f"{when}Timestamp"]) for when in ("start", "end"))
    assert ended - begun == seconds


def test_a_migration_lands_where_it_is_sent_and_changes_no_spec() -> None:
    cluster = cluster_with()
    port = SimulatedPort(cluster)
    before = {kind: cluster.list(kind) for kind in ("VirtualMachine", "VirtualMachineInstance")}
    assert home_of(cluster) == "a"
    port.create_migration(migration())
    port.sleep(60)
    done = port.get_migration(MOVE)
    assert phases(done) == [
        "Pending",
        "Scheduling",
        "Scheduled",
        "PreparingTarget",
        "TargetReady",
        "Running",
        "Succeeded",
    ]
    assert at(done, "status", "migrationState", "completed") is True
    assert home_of(cluster) == "b"
    for kind, objects in before.items():
        assert [obj["spec"] for obj in cluster.list(kind)] == [obj["spec"] for obj in objects]


def test_the_source_pod_ends_and_the_label_of_the_hand_off_goes() -> None:
    cluster = cluster_with()
    port = SimulatedPort(cluster)
    port.create_migration(migration())
    port.sleep(60)
    pods = cluster.list("Pod", "app")
    found = {pod["spec"]["nodeName"]: pod["status"]["phase"] for pod in pods}
    assert found == {"a": "Succeeded", "b": "Running"}
    instance = port.get_instance(DB)
    assert instance is not None
    assert labels_of(instance)["kubevirt.io/nodeName"] == "b"
    assert "kubevirt.io/migrationTargetNodeName" not in labels_of(instance)


def test_a_migration_that_is_to_fail_leaves_the_vm_at_home() -> None:
    cluster = cluster_with()
    port = SimulatedPort(cluster)
    fail_next_migration(cluster, "db", "app", reason="qemu lost its way")
    port.create_migration(migration())
    port.sleep(60)
    failed = port.get_migration(MOVE)
    assert at(failed, "status", "phase") == "Failed"
    assert at(failed, "status", "migrationState", "failureReason") == "qemu lost its way"
    assert home_of(cluster) == "a"
    port.create_migration(migration(name="again"))
    port.sleep(60)
    assert home_of(cluster) == "b"


def test_a_target_that_does_not_exist_is_given_up_after_the_timeout() -> None:
    cluster = cluster_with()
    port = SimulatedPort(cluster)
    port.create_migration(migration(to="nowhere"))
    port.sleep(290)
    assert at(port.get_migration(MOVE), "status", "phase") == "Scheduling"
    port.sleep(20)
    assert at(port.get_migration(MOVE), "status", "phase") == "Failed"
    assert home_of(cluster) == "a"


@pytest.mark.parametrize("seconds", [0, 1, 2, 3, 4])
def test_a_deleted_migration_ends_and_the_vm_runs_on(seconds: int) -> None:
    cluster = cluster_with(dials=SimulationSettings(prefer=("a",), copy_minimum=30))
    port = SimulatedPort(cluster)
    stored = port.create_migration(migration())
    port.sleep(seconds)
    assert port.delete_migration(MOVE, uid=stored["metadata"]["uid"])
    port.sleep(60)
    assert port.get_migration(MOVE) is None
    assert home_of(cluster) == "a"
    assert at(port.get_instance(DB), "status", "phase") == "Running"
    assert not port.delete_migration(MOVE, uid=stored["metadata"]["uid"])


def test_only_so_many_migrations_run_at_once() -> None:
    cluster = cluster_with(dials=SimulationSettings(copy_minimum=20))
    spec = {"domain": guest(memory="1Gi")}
    names = [f"vm-{index}" for index in range(12)]
    cluster.apply(machine(name, namespace="app", labels={}, spec=spec) for name in names)
    cluster.settle()
    port = SimulatedPort(cluster)
    for name in names:
        target = {"spec": {"vmiName": name}}
        port.create_migration({**migration(name=name), **target})
    running = 0
    for _ in range(600):
        port.sleep(1)
        moving = [
            item
            for item in port.list_migrations()
            if at(item, "status", "phase") not in (None, "Pending", "Succeeded", "Failed")
        ]
        running = max(running, len(moving))
    assert running == 5
    assert {at(item, "status", "phase") for item in port.list_migrations()} == {"Succeeded"}


def test_only_the_newest_five_finished_migrations_are_kept() -> None:
    cluster = cluster_with()
    port = SimulatedPort(cluster)
    for index in range(7):
        port.create_migration(migration(name=f"move-{index}", to="bc"[index % 2]))
        port.sleep(60)
    names = [item["metadata"]["name"] for item in port.list_migrations()]
    assert names == [f"move-{index}" for index in range(2, 7)]


def test_the_same_story_gives_the_same_bytes() -> None:
    def story() -> str:
        cluster = cluster_with()
        port = SimulatedPort(cluster)
        port.create_migration(migration())
        port.sleep(60)
        return port.snapshot().digest

    assert story() == story()


def test_a_restarted_vm_has_another_uid_and_its_migration_is_gone() -> None:
    cluster = cluster_with(dials=SimulationSettings(prefer=("a",), copy_minimum=30))
    port = SimulatedPort(cluster)
    port.create_migration(migration())
    port.sleep(3)
    before = port.get_instance(DB)
    restart_machine(cluster, "db", "app")
    port.sleep(60)
    after = port.get_instance(DB)
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert at(after, "status", "phase") == "Running"
    assert at(port.get_migration(MOVE), "status", "phase") in (None, "Failed")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x" * 64, "must be no more than 63 characters"),
        ("a b", "a valid label must be an empty string or consist of alphanumeric characters"),
    ],
)
def test_a_name_that_is_no_label_cannot_be_migrated(name: str, words: str) -> None:
    with pytest.raises(ApiError) as refused:
        cluster_with().api.create(migration(vmi=name))
    assert refused.value.code == 422
    assert "metadata.labels" in str(refused.value)
    assert words in str(refused.value)
