from typing import Any

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.model.text.instants import parse_instant
from gitbot.simulation.building import guest, kubevirt, machine, namespace, node
from gitbot.simulation.port import MIGRATION, SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.status_errors import ApiError
from tests.doubles.trouble import fail_next_migration

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
