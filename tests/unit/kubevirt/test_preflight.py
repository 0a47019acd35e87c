from typing import Any

import pytest

from gitbot.kubevirt.preflight import preflight
from gitbot.model.plan.diagnosis import Outcome
from tests.unit.kubevirt.objects import KUBEVIRT, Object, condition, migration, node, vmi


def checks(obj: Object, **more: Any) -> dict[str, tuple[Outcome, str]]:
    arguments: dict[str, Any] = {"kubevirt": KUBEVIRT, "source_node": node()} | more
    found = preflight(obj, **arguments)
    return {check.name: (check.outcome, check.message) for check in found}


def test_a_healthy_vm_passes_every_check() -> None:
    found = checks(vmi(), added_node_selector={"kubernetes.io/hostname": "n2"})
    assert {outcome for outcome, _ in found.values()} == {Outcome.PASS}
    assert len(found) == 12


UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


def lost(**ready: str) -> Object:
    return {**node(), "status": {"conditions": [ready]}}


def release(version: str) -> Object:
    return {**KUBEVIRT, "status": {"observedKubeVirtVersion": version}}


PINNED = {"kubernetes.io/hostname": "n2"}
NO_CLASH = "no key of addedNodeSelector clashes with the VM's own"
STUCK = condition(
    "LiveMigratable", "False", "DisksNotLiveMigratable", "cannot migrate VMI: PVC a is not shared"
)
TABLE: list[tuple[str, Object, dict[str, Any], Outcome, str]] = [
    ("live-migratable", vmi(conditions=[STUCK]), {}, Outcome.FAIL,
     ("restart needed: LiveMigratable is False (DisksNotLiveMigratable: "
      "cannot migrate VMI: PVC a is not shared)")),
    ("live-migratable", vmi(conditions=[]), {}, Outcome.WARN,
     "condition LiveMigratable is absent: the node has not said yet whether it can move"),
    ("live-migratable", vmi(conditions=[condition("LiveMigratable", "Unknown")]), {}, Outcome.WARN,
     "LiveMigratable is Unknown"),
    ("source-node", vmi(),
     {"source_node": lost(type="Ready", status="Unknown", reason="NodeStatusUnknown",
      lastTransitionTime="2026-12-01T00:00:00Z"),
      "source_pod": {"spec": {"tolerations": [{"key": "node.kubernetes.io/unreachable",
      "tolerationSeconds": 300}]}}}, Outcome.FAIL,
     ("its node n1 does not answer: Ready is Unknown since 2026-12-01T00:00:00Z "
      "(NodeStatusUnknown); Kubernetes deletes its pod at 2026-12-01T00:05:00Z")),
    ("source-node", vmi(),
     {"source_node": lost(type="Ready", status="False", reason="KubeletNotReady")}, Outcome.FAIL,
     "its node n1 does not answer: Ready is False (KubeletNotReady)"),
    ("source-node", vmi(), {"source_node": {**node(), "spec": {"taints": [UNREACHABLE]}}},
     Outcome.FAIL, "its node n1 does not answer: taint node.kubernetes.io/unreachable"),
    ("source-node", vmi(), {"source_node": node(**{"kubevirt.io/schedulable": "false"})},
     Outcome.FAIL,
     ("virt-handler of its node n1 does not answer: label kubevirt.io/schedulable is false")),
    ("running", vmi(phase="Failed"), {}, Outcome.FAIL, "the VMI has ended: phase Failed"),
    ("running", vmi(phase="Scheduling"), {}, Outcome.FAIL,
     "the VMI does not run yet: phase Scheduling"),
    ("in-flight", vmi(),
     {"migrations": [migration("m2", phase="Running"), migration("m1", phase="Succeeded")]},
     Outcome.FAIL, "an unfinished migration of this VMI exists: m2 (Running)"),
    ("in-flight", vmi(), {"migrations": [migration("m2", vmi_name="other")]}, Outcome.PASS,
     "no unfinished migration of this VMI"),
    ("paused", vmi(conditions=[condition("LiveMigratable", "True"), condition("Paused", "True")]),
     {}, Outcome.WARN, "the guest is paused; it moves and stays paused"),
    ("backup", vmi(changedBlockTracking={"backupStatus": {"backupName": "nightly"}}), {},
     Outcome.WARN, "backup nightly runs: the migration stays Pending until its end"),
    ("hotplug-volumes", vmi(volumeStatus=[{"name": "extra", "hotplugVolume": {}}]), {},
     Outcome.WARN,
     ("hotplugged volumes: the migration waits for an attachment pod on the target, "
      "and KubeVirt creates its target pod again every five minutes, without an error")),
    ("target-pod", vmi(), {"source_node": None}, Outcome.FAIL,
     ("virt-controller cannot make a target pod, so it would stay Pending: "
      'node "n1" associated with vmi "db-1" does not exist')),
    ("target-pod", vmi(selinuxContext=""), {}, Outcome.FAIL,
     ("virt-controller cannot make a target pod, so it would stay Pending: "
      "SELinux context not set on VMI status")),
    ("selector", vmi(), {"added_node_selector": {"kubernetes.io/arch": "arm64"}}, Outcome.FAIL,
     ("KubeVirt would silently drop what was asked for: "
      "kubernetes.io/arch: asked arm64, VM has amd64")),
    ("selector", vmi(), {"added_node_selector": PINNED, "kubevirt": release("v1.5.2")},
     Outcome.FAIL,
     "KubeVirt 1.5.2 has no addedNodeSelector, and refuses migrations to a chosen node"),
    ("selector", vmi(), {"kubevirt": release("v1.5.2")}, Outcome.PASS, NO_CLASH),
    ("selector", vmi(), {"added_node_selector": PINNED, "kubevirt": release("v1.6.0")},
     Outcome.PASS, NO_CLASH),
    ("selector", vmi(), {"added_node_selector": PINNED, "kubevirt": release("devel")},
     Outcome.PASS, NO_CLASH),
    ("cpu-vendor", vmi(), {"added_node_selector": {"cpu-vendor.node.kubevirt.io/AMD": "true"}},
     Outcome.FAIL,
     ("addedNodeSelector names a CPU vendor, which switches KubeVirt's own vendor check "
      "off: the guest could land on a CPU that it cannot run on")),
    ("eviction-strategy", vmi(), {}, Outcome.PASS,
     "evictionStrategy None: a drain would stop its guest and start it elsewhere"),
    ("kubevirt", vmi(), {"kubevirt": {**KUBEVIRT, "status": {"phase": "Deploying"}}}, Outcome.FAIL,
     "KubeVirt is being rolled out: phase Deploying"),
    ("kubevirt", vmi(), {"updates": 7}, Outcome.FAIL,
     "KubeVirt is about to migrate 7 VMs with an outdated launcher"),
    ("kubevirt", vmi(), {"kubevirt": {"status": {"outdatedVirtualMachineInstanceWorkloads": 7}}},
     Outcome.PASS, "KubeVirt is deployed and moves nothing of its own accord"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "obj", "more", "outcome", "message"), TABLE)
def test_each_check_says_what_it_found(
    name: str, obj: Object, more: dict[str, Any], outcome: Outcome, message: str
) -> None:
    assert checks(obj, **more)[name] == (outcome, message)


def test_two_active_pods_make_it_wait() -> None:
    pods = [{"metadata": {"name": name}} for name in ("p2", "p1")]
    outcome, message = checks(vmi(), pods=pods)["one-pod"]
    assert outcome is Outcome.WARN
    assert message == "the migration waits until one of these pods has ended: p1, p2"


def test_a_vmi_without_uid_is_not_judged_as_if_it_had_no_pod() -> None:
    trimmed = vmi()
    del trimmed["metadata"]["uid"]
    outcome, message = checks(trimmed)["uid"]
    assert outcome is Outcome.FAIL
    assert message.startswith("the VMI has no metadata.uid, by which gitbot would find")


def test_a_vmi_that_is_being_deleted_does_not_move() -> None:
    gone = vmi()
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert checks(gone)["running"] == (Outcome.FAIL, "the VMI is being deleted")
