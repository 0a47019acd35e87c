"""Stories on the small cluster where order decides: races, back-off, the life of owners."""

import itertools
from typing import Any

import pytest

from gitbot.kubernetes.objects import annotations_of, at, name_of, with_value
from gitbot.kubevirt.admission import Refused
from gitbot.kubevirt.eviction import admit_eviction
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.kubevirt.virt_handler import HandlerTimes
from tests.unit.kubevirt.objects import vmi_spec
from tests.unit.simulation.kubevirt.cluster import Cluster, Object

QUICK = HandlerTimes(prepare=0, start=0, copy=1, settle=0, leave=1)
NODES = ("n1", "n2", "n3")


def cluster(**configuration: Any) -> Cluster:
    made = Cluster({"configuration": configuration}, namespace="shop")
    for name in NODES:
        made.add({"kind": "Node", "metadata": {"name": name, "labels": {}}, "spec": {}})
    made.times = lambda _: QUICK
    made.pod_script = lambda pod: to(next_node(made, pod))
    return made


def to(node: str) -> list[tuple[int, str, str]]:
    return [(100, "bind", node), (300, "running", "")]


def next_node(made: Cluster, pod: Object) -> str:
    """Anywhere but where the VM is now."""
    domain = annotations_of(pod)["kubevirt.io/domain"]
    here = at(made.objects[VMI, "shop", domain], "status", "nodeName", default="")
    return next(name for name in NODES if name != here)


def running_vmi(made: Cluster, name: str = "db", strategy: str = "None") -> None:
    made.add(
        {
            "kind": VMI,
            "apiVersion": "kubevirt.io/v1",
            "metadata": {
                "name": name,
                "finalizers": ["kubevirt.io/foregroundDeleteVirtualMachine"],
                "annotations": {},
            },
            "spec": vmi_spec(strategy),
            "status": {"phase": "Pending"},
        }
    )
    made.run_until(made.millis + 3000)
    assert at(made.objects[VMI, "shop", name], "status", "phase") == "Running"


def put(made: Cluster, name: str, vmi_name: str = "db") -> None:
    """A migration that has passed admission already."""
    metadata = {
        "name": name,
        "labels": {"kubevirt.io/vmi-name": vmi_name},
        "finalizers": ["kubevirt.io/migrationJobFinalize"],
    }
    made.add({"kind": MIGRATION, "metadata": metadata, "spec": {"vmiName": vmi_name}})


def phase(made: Cluster, name: str) -> str:
    return str(at(made.objects[MIGRATION, "shop", name], "status", "phase"))


def test_a_vm_boots_on_its_pod() -> None:
    made = cluster()
    running_vmi(made)
    found = made.objects[VMI, "shop", "db"]
    assert at(found, "status", "nodeName") == "n1"
    assert found["metadata"]["labels"] == {"kubevirt.io/nodeName": "n1"}
    pod = made.objects["Pod", "shop", "virt-launcher-db-p1"]
    assert pod["metadata"]["labels"]["kubevirt.io/nodeName"] == "n1"


def test_of_three_that_passed_admission_together_none_fails_and_the_vm_moves_three_times() -> None:
    made = cluster()
    running_vmi(made)
    for name in ("a", "b", "c"):
        put(made, name)
    made.run_until(60_000)
    assert [phase(made, name) for name in ("a", "b", "c")] == ["Succeeded"] * 3
    assert made.most_at_once == 1
    assert at(made.objects[VMI, "shop", "db"], "status", "nodeName") == "n2"  # n1, n2, n1, n2


def test_a_second_active_pod_holds_the_next_migration() -> None:
    made = cluster()
    made.times = lambda _: HandlerTimes(prepare=0, start=0, copy=1, settle=0, leave=20)
    running_vmi(made)
    put(made, "a")
    made.run_until(8_000)
    assert phase(made, "a") == "Succeeded"
    put(made, "b")
    made.run_until(15_000)
    assert phase(made, "b") == "Pending"
    made.run_until(40_000)
    assert phase(made, "b") == "Succeeded"


def evict(made: Cluster, pod: str) -> Refused:
    obj = made.objects["Pod", "shop", pod]
    domain = annotations_of(obj)["kubevirt.io/domain"]
    vmi = made.objects[VMI, "shop", domain]
    verdict = admit_eviction(obj, vmi=vmi, kubevirt=made.list("KubeVirt")[0])
    assert isinstance(verdict, Refused)
    for effect in verdict.effects:
        made.replace(dict(effect))
    return verdict


def failed_at(made: Cluster, name: str) -> int:
    stamps = at(made.objects[MIGRATION, "shop", name], "status", "phaseTransitionTimestamps")
    assert stamps[-1]["phase"] == "Failed"
    return int(stamps[-1]["phaseTransitionTimestamp"][14:16]) * 60 + int(
        stamps[-1]["phaseTransitionTimestamp"][17:19]
    )


def test_failing_evacuations_pause_twenty_seconds_and_then_twice_as_long() -> None:
    made = cluster()
    running_vmi(made, strategy="LiveMigrate")
    made.pod_script = lambda _: [(100, "bind", "n2"), (300, "failed", "")]
    evict(made, "virt-launcher-db-p1")
    made.run_until(200_000)
    failures = [failed_at(made, f"kubevirt-evacuation-m{n}") for n in (1, 2, 3, 4)]
    pauses = [later - earlier for earlier, later in itertools.pairwise(failures)]
    assert pauses == [20, 40, 80]
    backoffs = {message for *_, reason, message in made.events if reason == "MigrationBackoff"}
    assert backoffs == {"backoff migrating vmi shop/db"}


def test_a_success_takes_the_mark_away() -> None:
    made = cluster()
    running_vmi(made, strategy="LiveMigrate")
    evict(made, "virt-launcher-db-p1")
    assert at(made.objects[VMI, "shop", "db"], "status", "evacuationNodeName") == "n1"
    made.run_until(20_000)
    found = made.objects[VMI, "shop", "db"]
    assert at(found, "status", "nodeName") == "n2"
    assert at(found, "status", "evacuationNodeName") is None
    assert len(made.list(MIGRATION)) == 1


def test_a_backup_keeps_a_migration_pending_until_its_end() -> None:
    made = cluster()
    running_vmi(made)
    path = ("status", "changedBlockTracking")
    edit(made, {"backupStatus": {"backupName": "nightly"}}, *path)
    put(made, "a")
    made.run_until(30_000)
    found = made.objects[MIGRATION, "shop", "a"]
    assert phase(made, "a") == "Pending"
    blocked = at(found, "status", "conditions")[0]
    assert blocked["type"] == "migrationBlockedByBackup"
    assert blocked["message"] == "Waiting for backup nightly to complete"
    edit(made, {"backupStatus": {"backupName": "nightly", "completed": True}}, *path)
    made.run_until(60_000)
    assert phase(made, "a") == "Succeeded"


def test_utility_volumes_keep_a_migration_pending_for_a_while() -> None:
    made = cluster()
    running_vmi(made)
    edit(made, [{"name": "backup"}], "spec", "utilityVolumes")
    put(made, "a")
    made.run_until(100_000)
    found = made.objects[MIGRATION, "shop", "a"]
    assert phase(made, "a") == "Pending"
    blocked = at(found, "status", "conditions")[0]
    assert blocked["type"] == "migrationBlockedByUtilityVolumes"
    text = "Migration is waiting for utility volumes to detach. Will timeout in 150 seconds."
    assert blocked["message"] == text
    made.run_until(140_000)
    assert phase(made, "a") == "Pending"
    made.run_until(200_000)
    assert phase(made, "a") == "Failed"


def test_a_migration_goes_on_when_utility_volumes_are_gone() -> None:
    made = cluster()
    running_vmi(made)
    edit(made, [{"name": "backup"}], "spec", "utilityVolumes")
    put(made, "a")
    made.run_until(30_000)
    edit(made, [], "spec", "utilityVolumes")
    made.run_until(60_000)
    assert phase(made, "a") == "Succeeded"
    conditions = at(made.objects[MIGRATION, "shop", "a"], "status", "conditions", default=[])
    assert [item["type"] for item in conditions] == []


def edit(made: Cluster, value: Any, *path: str) -> None:
    made.replace(with_value(made.objects[VMI, "shop", "db"], value, *path))


def test_hotplugged_volumes_need_a_pod_of_their_own_on_the_target() -> None:
    more = {"type": "hotplug-disk", "resources": {"requests": {"memory": "9M"}}}
    made = cluster(supportContainerResources=[more])
    script = made.pod_script
    made.pod_script = lambda pod: (
        to("n2") if pod["metadata"]["name"].startswith("hp-volume") else script(pod)
    )
    running_vmi(made)
    claim = {"claimName": "extra", "hotpluggable": True}
    volumes = [{"name": "extra", "persistentVolumeClaim": claim}]
    edit(made, volumes, "spec", "volumes")
    put(made, "a")
    made.run_until(30_000)
    assert phase(made, "a") == "Succeeded"
    (holder,) = [p for p in made.list("Pod") if name_of(p).name.startswith("hp-volume")]
    assert holder["spec"]["volumes"] == [
        {"name": "extra", "persistentVolumeClaim": {"claimName": "extra"}}
    ]
    (asked,) = (at(item, "resources", "requests") for item in holder["spec"]["containers"])
    assert asked == {"cpu": "10m", "memory": "9M"}
    tolerated = {item["key"] for item in holder["spec"]["tolerations"]}
    assert {"node.kubernetes.io/unschedulable", "node.kubernetes.io/pid-pressure"} <= tolerated
    messages = {message for *_, message in made.events}
    assert "Created attachment pod hp-volume-p1" in messages


def owner(kind: str, name: str, spec: Object) -> Object:
    return {
        "kind": kind,
        "apiVersion": "kubevirt.io/v1",
        "metadata": {"name": name, "annotations": {}},
        "spec": spec,
    }


TEMPLATE: Object = {"metadata": {"labels": {"app": "db"}}, "spec": vmi_spec("None")}


@pytest.mark.parametrize(
    ("strategy", "after"), [("Always", 1), ("RerunOnFailure", 1), ("Once", 1), ("Halted", 0)]
)
def test_a_run_strategy_starts_a_vm_or_not(strategy: str, after: int) -> None:
    made = cluster()
    spec = {"runStrategy": strategy, "template": TEMPLATE}
    made.add(owner("VirtualMachine", "db", spec))
    made.run_until(5_000)
    vmis = made.list(VMI)
    assert len(vmis) == after
    if vmis:
        assert at(vmis[0], "status", "phase") == "Running"
        assert vmis[0]["metadata"]["labels"]["app"] == "db"
        assert at(made.objects["VirtualMachine", "shop", "db"], "status", "ready") is True


@pytest.mark.parametrize(
    ("strategy", "comes_back"),
    [("Always", True), ("RerunOnFailure", True), ("Once", False), ("Manual", False)],
)
def test_a_vm_whose_pod_dies_comes_back_if_its_strategy_says_so(
    strategy: str, comes_back: bool
) -> None:
    made = cluster()
    made.add(owner("VirtualMachine", "db", {"runStrategy": "Always", "template": TEMPLATE}))
    made.run_until(5_000)
    vm = made.objects["VirtualMachine", "shop", "db"]
    made.replace({**vm, "spec": {**vm["spec"], "runStrategy": strategy}})
    made.run_until(6_000)
    first = made.objects[VMI, "shop", "db"]["metadata"]["uid"]
    made.delete("Pod", "virt-launcher-db-p1")
    made.run_until(60_000)
    now = made.objects.get((VMI, "shop", "db"))
    back = now is not None and now["metadata"]["uid"] != first
    assert back is comes_back
    if back:
        assert at(now, "status", "phase") == "Running"


def test_a_guest_that_never_ran_is_started_again_after_a_pause() -> None:
    made = cluster()
    made.pod_script = lambda _: [(100, "bind", "n1"), (300, "failed", "")]
    made.add(owner("VirtualMachine", "db", {"runStrategy": "Always", "template": TEMPLATE}))
    made.run_until(9_000)
    vm = made.objects["VirtualMachine", "shop", "db"]
    assert at(vm, "status", "printableStatus") == "CrashLoopBackOff"
    assert at(vm, "status", "startFailure", "consecutiveFailCount") == 1
    made.run_until(15_000)
    vm = made.objects["VirtualMachine", "shop", "db"]
    assert at(vm, "status", "startFailure", "consecutiveFailCount") == 2


def test_a_replica_set_replaces_what_is_deleted_and_scales() -> None:
    made = cluster()
    spec = {"replicas": 3, "selector": {}, "template": TEMPLATE}
    made.add(owner("VirtualMachineInstanceReplicaSet", "db", spec))
    made.run_until(5_000)
    assert [name_of(vmi).name for vmi in made.list(VMI)] == ["db1", "db2", "db3"]
    made.delete(VMI, "db2")
    made.run_until(10_000)
    assert [name_of(vmi).name for vmi in made.list(VMI)] == ["db1", "db3", "db4"]
    owner_key = ("VirtualMachineInstanceReplicaSet", "shop", "db")
    assert at(made.objects[owner_key], "status", "readyReplicas") == 3
    found = made.objects[owner_key]
    made.replace({**found, "spec": {**found["spec"], "replicas": 1}})
    made.run_until(15_000)
    assert len(made.list(VMI)) == 1


def test_a_pool_numbers_its_vms() -> None:
    made = cluster()
    machine = {"spec": {"runStrategy": "Always", "template": TEMPLATE}}
    spec = {"replicas": 2, "virtualMachineTemplate": machine}
    made.add(owner("VirtualMachinePool", "web", spec))
    made.run_until(5_000)
    assert [name_of(vm).name for vm in made.list("VirtualMachine")] == ["web-0", "web-1"]
    assert len(made.list(VMI)) == 2
    made.delete("VirtualMachine", "web-0")
    made.run_until(10_000)
    assert [name_of(vm).name for vm in made.list("VirtualMachine")] == ["web-0", "web-1"]
