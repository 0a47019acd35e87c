import pytest

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, labels_of
from gitbot.simulation.kubevirt.reconcile_result import VMI
from gitbot.simulation.port import MIGRATION
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.customapp import NAMESPACE, customapp

W1, W2, W3, W4, W5, W6 = ("kni-worker", *(f"kni-worker{index}" for index in range(2, 7)))


def places(cluster: SimulatedCluster) -> dict[str, list[str]]:
    """Nodes of the living pods of each workload; "" where a pod waits."""
    found: dict[str, list[str]] = {}
    for pod in cluster.list("Pod", NAMESPACE):
        if at(pod, "status", "phase") not in ("Succeeded", "Failed"):
            labels = labels_of(pod)
            workload = labels.get("kubevirt.io/domain") or labels["app"]
            found.setdefault(workload, []).append(at(pod, "spec", "nodeName", default=""))
    return {workload: sorted(nodes) for workload, nodes in found.items()}


STORY = [
    (1, {"mssql2016": [W2, W4, W6]}),
    (2, {"mssql2016": [W4, W6, W6]}),
    (3, {"mssql2016": [W4, W6, W6]}),
    (4, {"mssql2016": [W2, W4, W6]}),
    (5, {"mssql2016": [W2, W4, W6], "cache": [W1, W3, W5]}),
    (6, {"mssql2016": [W2, W4, W6], "cache": [W1, W3, W5], "blackbox": [W1, W3, W5]}),
    (7, {"mssql2016": [W2, W4, W6], "cache": [W2, W3, W5], "blackbox": [W2, W3, W5]}),
    (8, {"mssql2016": [W2, W4, W6], "cache": [W2, W3, W5], "blackbox": [W2, W3, W5]}),
    (9, {"mssql2016": [W2, W4, W6], "cache": [W1, W3, W5], "blackbox": [W1, W3, W5]}),
    (10, {"mssql2016": ["", W4, W6], "cache": [W1, W3, W5], "blackbox": [W1, W3, W5]}),
]


@pytest.mark.parametrize(("step", "expected"), STORY)
def test_customapp_goes_as_in_its_source(step: int, expected: dict[str, list[str]]) -> None:
    assert places(customapp(step=step, live_migratable=False)) == expected


@pytest.mark.parametrize(("step", "expected"), STORY[:6])
def test_with_vms_that_can_move_a_drain_moves_them_to_the_same_nodes(
    step: int, expected: dict[str, list[str]]
) -> None:
    cluster = customapp(step=step)
    assert places(cluster) == expected
    if step in (2, 3):
        ended = [at(item, "status", "phase") for item in cluster.list(MIGRATION)]
        assert ended == ["Succeeded"]


def test_a_movable_vm_whose_own_zone_rule_holds_it_stays_where_it_is() -> None:
    cluster = customapp(step=7)
    assert places(cluster)["cache"] == [W2, W3, W5]
    homes = {
        at(vmi, "status", "nodeName")
        for vmi in cluster.list("VirtualMachineInstance", NAMESPACE)
        if labels_of(vmi)["kubevirt.io/domain"] == "blackbox"
    }
    assert homes == {W1, W3, W5}
    events = [event["reason"] for event in cluster.list("Event", NAMESPACE)]
    assert "migrationTargetPodUnschedulable" in events


def test_the_pending_database_says_why_it_has_nowhere_to_go() -> None:
    cluster = customapp(step=10, live_migratable=False)
    waiting = [
        condition_of(pod, "PodScheduled")
        for pod in cluster.list("Pod", NAMESPACE)
        if not at(pod, "spec", "nodeName")
    ]
    expected = (
        "0/7 nodes are available: 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 2 node(s) didn't match pod anti-affinity rules, "
        "3 node(s) didn't match Pod's node affinity/selector."
    )
    assert [at(item, "message") for item in waiting] == [expected]


def test_the_jumpbox_starts_on_the_first_worker() -> None:
    vm = customapp(step=2, jumpbox=True).get("VirtualMachineInstance", "jumpbox", NAMESPACE)
    assert at(vm, "status", "nodeName") == W1


@pytest.mark.parametrize("step", [8, 9])
def test_after_the_uncordon_nothing_moves_any_more(step: int) -> None:
    cluster = customapp(step=step)
    cluster.settle()
    unfinished = [
        item
        for item in cluster.list(MIGRATION)
        if at(item, "status", "phase") not in ("Succeeded", "Failed")
    ]
    assert unfinished == []
    marks = [at(vmi, "status", "evacuationNodeName") for vmi in cluster.list(VMI)]
    assert set(marks) == {None}
    assert places(cluster)["blackbox"] == [W1, W3, W5]


def test_a_database_with_the_final_rules_cannot_leave_its_zone() -> None:
    cluster = customapp(step=10)
    homes = {at(vmi, "status", "nodeName") for vmi in cluster.list(VMI) if _is_database(vmi)}
    assert homes == {W2, W4, W6}


def _is_database(vmi: KubernetesObject) -> bool:
    return labels_of(vmi)["kubevirt.io/domain"] == "mssql2016"
