from typing import Any

import pytest

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, condition_of
from gitbot.simulation.building import guest, kubevirt, machine, namespace, node
from gitbot.simulation.kubectl_drain import drain
from gitbot.simulation.port import MIGRATION, SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import key_of
from tests.doubles.trouble import evict_instance, fail_next_migration, lose_node, return_node
from tests.doubles.workloads import deployment

WEB: dict[str, Any] = {"containers": [{"name": "web", "image": "web"}]}


def cluster_with(*objects: dict[str, Any], strategy: str = "LiveMigrate") -> SimulatedCluster:
    cluster = SimulatedCluster(dials=SimulationSettings(prefer=("a",)))
    cluster.load([kubevirt(evictionStrategy=strategy)])
    cluster.apply([node(name) for name in "abc"])
    cluster.apply([namespace("app"), *objects])
    cluster.settle()
    return cluster


def vm(name: str = "db") -> dict[str, Any]:
    return machine(name, namespace="app", labels={}, spec={"domain": guest(memory="1Gi")})


def web(replicas: int = 2) -> dict[str, Any]:
    return deployment("web", namespace="app", replicas=replicas, labels={"app": "web"}, spec=WEB)


def home(cluster: SimulatedCluster, name: str = "db") -> str:
    found = cluster.get("VirtualMachineInstance", name, "app")
    return str(at(found, "status", "nodeName", default=""))


def test_a_deployment_replaces_what_is_deleted_and_scales() -> None:
    cluster = cluster_with(web())
    first = cluster.list("Pod", "app")[0]
    cluster.delete("Pod", first["metadata"]["name"], "app")
    cluster.settle()
    pods = cluster.list("Pod", "app")
    assert len(pods) == 2
    assert first["metadata"]["uid"] not in [pod["metadata"]["uid"] for pod in pods]
    cluster.apply([web(3)])
    cluster.settle()
    found = cluster.get("Deployment", "web", "app")
    assert at(found, "status", "readyReplicas") == 3
    cluster.delete("Deployment", "web", "app")
    cluster.settle()
    assert cluster.list("Pod", "app") == ()
    assert cluster.list("ReplicaSet", "app") == ()


def test_a_namespace_takes_everything_in_it_along() -> None:
    cluster = cluster_with(web(), vm())
    cluster.delete("Namespace", "app")
    cluster.settle()
    kinds = ("Pod", "Deployment", "ReplicaSet", "VirtualMachine", "VirtualMachineInstance")
    assert [obj for kind in kinds for obj in cluster.list(kind, "app")] == []


def test_a_lost_node_is_noticed_and_its_pods_move_after_five_minutes() -> None:
    cluster = cluster_with(web(1))
    lose_node(cluster, "a")
    cluster.advance(39)
    assert at(condition_of(cluster.list("Node")[0], "Ready"), "status") == "True"
    cluster.advance(2)
    assert at(condition_of(cluster.list("Node")[0], "Ready"), "status") == "Unknown"
    cluster.advance(290)
    assert len(cluster.list("Pod", "app")) == 1
    cluster.advance(20)
    pods = {at(pod, "spec", "nodeName"): pod for pod in cluster.list("Pod", "app")}
    assert set(pods) == {"a", "b"}
    assert at(pods["a"], "metadata", "deletionTimestamp")


def test_a_node_that_comes_back_after_a_reboot_is_ready_and_empty() -> None:
    cluster = cluster_with(vm())
    before = cluster.list("Node")[0]
    assert home(cluster) == "a"
    uid = at(cluster.get("VirtualMachineInstance", "db", "app"), "metadata", "uid")
    lose_node(cluster, "a")
    cluster.advance(60)
    return_node(cluster, "a")
    cluster.settle()
    after = cluster.list("Node")[0]
    assert at(condition_of(after, "Ready"), "status") == "True"
    assert at(after, "spec", "taints") is None
    assert at(after, "status", "nodeInfo", "bootID") != at(before, "status", "nodeInfo", "bootID")
    vmi = cluster.get("VirtualMachineInstance", "db", "app")
    assert at(vmi, "status", "phase") == "Running"
    assert at(vmi, "metadata", "uid") != uid


def test_a_migration_whose_target_dies_fails_and_the_vm_runs_on() -> None:
    cluster = cluster_with(vm())
    cluster.set_dials(copy_minimum=120)
    move = {
        "apiVersion": "kubevirt.io/v1",
        "kind": MIGRATION,
        "metadata": {"name": "move", "namespace": "app"},
        "spec": {"vmiName": "db", "addedNodeSelector": {"kubernetes.io/hostname": "b"}},
    }
    SimulatedPort(cluster).create_migration(move)
    cluster.advance(10)
    lose_node(cluster, "b")
    cluster.advance(300)
    assert at(cluster.get(MIGRATION, "move", "app"), "status", "phase") == "Failed"
    assert home(cluster) == "a"


@pytest.mark.parametrize(
    ("strategy", "left", "phase"), [("LiveMigrate", 0, "Succeeded"), ("None", 0, None)]
)
def test_a_drain_moves_or_restarts_by_strategy(strategy: str, left: int, phase: str | None) -> None:
    cluster = cluster_with(vm(), strategy=strategy)
    before = at(cluster.get("VirtualMachineInstance", "db", "app"), "metadata", "uid")
    assert len(drain(cluster, "a")) == left
    cluster.settle()
    assert home(cluster) in ("b", "c")
    after = at(cluster.get("VirtualMachineInstance", "db", "app"), "metadata", "uid")
    assert (before == after) is (strategy == "LiveMigrate")
    moved = cluster.list(MIGRATION, "app")
    assert [at(item, "status", "phase") for item in moved] == ([phase] if phase else [])


def test_a_vm_that_cannot_move_blocks_the_drain() -> None:
    cluster = SimulatedCluster(dials=SimulationSettings(prefer=("a",), live_migratable=False))
    cluster.load([kubevirt(evictionStrategy="LiveMigrate")])
    cluster.apply([node(name) for name in "ab"])
    cluster.apply([namespace("app"), vm()])
    cluster.settle()
    assert len(drain(cluster, "a", limit=60)) == 1
    assert home(cluster) == "a"


def test_a_foreign_evacuation_at_an_instant() -> None:
    cluster = cluster_with(vm())
    answers: list[str] = []
    cluster.at(cluster.now() + 30, lambda: answers.append(evict_instance(cluster, "db", "app")))
    cluster.advance(29)
    assert cluster.list(MIGRATION) == ()
    cluster.advance(60)
    assert "Eviction triggered evacuation" in answers[0]
    assert home(cluster) in ("b", "c")


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [({"minAvailable": 2}, False), ({"minAvailable": 1}, True), ({"maxUnavailable": "50%"}, True),
     ({"maxUnavailable": 0}, False), ({"minAvailable": "100%"}, False)],
)  # fmt: skip
def test_disruption_budgets_hold_evictions(budget: dict[str, Any], allowed: bool) -> None:
    pdb = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "app"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **budget},
    }
    cluster = cluster_with(web(), pdb)
    pod = cluster.list("Pod", "app")[0]
    if allowed:
        cluster.api.evict(key_of(pod), {})
        return
    with pytest.raises(ApiError) as refused:
        cluster.api.evict(key_of(pod), {})
    assert refused.value.code == 429


@pytest.mark.parametrize(
    ("hard", "reason"),
    [
        ({"pods": "1"}, "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
        ({"requests.memory": "2Gi"}, "exceeded quota: q, requested: requests.memory="),
    ],
)
def test_a_quota_holds_a_migration_and_says_so_on_the_vm(hard: dict[str, str], reason: str) -> None:
    cluster = cluster_with(vm())
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "app"},
        "spec": {"hard": hard},
    }
    cluster.apply([quota])
    evict_instance(cluster, "db", "app")
    cluster.advance(60)
    events = SimulatedPort(cluster).list_events(NamespacedName(namespace="app", name="db"))
    failed = [event for event in events if event["reason"] == "FailedCreate"]
    assert reason in failed[0]["message"]
    assert home(cluster) == "a"
    cluster.delete("ResourceQuota", "q", "app")
    cluster.settle()
    assert home(cluster) in ("b", "c")


@pytest.mark.parametrize(
    ("hard", "message"),
    [
        ({"limits.cpu": "9"}, "failed quota: q: must specify limits.cpu for: web"),
        ({"cpu": "1", "requests.memory": "1Gi"}, "specify cpu for: web; requests.memory for: web"),
        ({"count/pods": "0"}, "exceeded quota: q, requested: count/pods=1, used: count/pods=0"),
        ({"count/services": "0", "pods": "1"}, ""),
    ],
)
def test_quotas_on_plain_pods(hard: dict[str, str], message: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "app"},
        "spec": {"hard": hard},
    }
    cluster = cluster_with(quota)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "app"}}
    if not message:
        cluster.apply([{**pod, "spec": WEB}])
        return
    with pytest.raises(ApiError) as refused:
        cluster.apply([{**pod, "spec": WEB}])
    assert refused.value.code == 403
    assert message in refused.value.message


def test_without_webhooks_nothing_is_created_and_deletes_still_work() -> None:
    cluster = cluster_with(vm())
    evict_instance(cluster, "db", "app")
    cluster.set_dials(webhooks_down=True)
    move = cluster.list(MIGRATION, "app")[0]
    cluster.delete(MIGRATION, key_of(move)[1], "app")
    with pytest.raises(ApiError) as refused:
        cluster.api.create(
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": MIGRATION,
                "metadata": {"name": "m", "namespace": "app"},
                "spec": {"vmiName": "db"},
            }
        )
    assert refused.value.code == 500
    pod = next(pod for pod in cluster.list("Pod", "app"))
    with pytest.raises(ApiError) as refused:
        cluster.api.evict(key_of(pod), {})
    assert refused.value.code == 500
    cluster.set_dials(webhooks_down=False)
    cluster.advance(600)
    assert home(cluster) in ("b", "c")


def test_events_about_a_vm_are_told_oldest_first() -> None:
    cluster = cluster_with(vm())
    port = SimulatedPort(cluster)
    fail_next_migration(cluster, "db", "app", reason="no")
    evict_instance(cluster, "db", "app")
    cluster.advance(60)
    failed = [
        item["metadata"]["name"]
        for item in cluster.list(MIGRATION, "app")
        if at(item, "status", "phase") == "Failed"
    ]
    events = port.list_events(NamespacedName(namespace="app", name=failed[0]))
    assert [event["reason"] for event in events][-1] == "FailedMigration"
    times = [event["firstTimestamp"] for event in events]
    assert times == sorted(times)


@pytest.mark.parametrize("born", ["before", "after"])
def test_what_a_lost_owner_had_goes_whenever_it_was_made(born: str) -> None:
    cluster = cluster_with()
    owner: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "owner", "namespace": "app"},
    }
    cluster.apply([owner])
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": cluster.store.get("ConfigMap", ("app", "owner"))["metadata"]["uid"],
    }
    child = {
        **owner,
        "metadata": {"name": "child", "namespace": "app", "ownerReferences": [reference]},
    }
    if born == "before":
        cluster.apply([child])
    cluster.delete("ConfigMap", "owner", "app")
    cluster.settle()
    if born == "after":
        cluster.apply([child])
    cluster.settle()
    assert [item["metadata"]["name"] for item in cluster.list("ConfigMap", "app")] == []
