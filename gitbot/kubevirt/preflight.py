"""What can be said about a live migration before it is asked for, scheduling aside.

Each check is a name, an outcome and the evidence in words; `fail` means that KubeVirt would refuse
or never start it. Whether a node fits is the business of the constraints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitbot.kubevirt.eviction import Prediction, eviction_strategy, predict_eviction
from gitbot.kubevirt.limits import is_final, phase_of
from gitbot.kubevirt.migration_scene import backup_in_progress, has_hotplug_volumes
from gitbot.kubevirt.pods import is_deleting
from gitbot.kubevirt.reconcile import FINAL_PHASES
from gitbot.kubevirt.target_creation import why_no_target
from gitbot.kubevirt.target_pod import selector_collisions, vendor_guard_is_off
from gitbot.model.objects import KubernetesObject, at, condition_of, name_of
from gitbot.model.plan import Check, Outcome

RESTART_NEEDED = "restart needed"


def preflight(
    vmi: KubernetesObject,
    *,
    kubevirt: KubernetesObject,
    migrations: Iterable[KubernetesObject] = (),
    source_pod: KubernetesObject | None = None,
    source_node: KubernetesObject | None = None,
    added_node_selector: Mapping[str, str] | None = None,
    pods: Sequence[KubernetesObject] = (),
) -> tuple[Check, ...]:
    """All checks of one migration of this VMI, in a fixed order.

    `migrations` are those of any VMI (the VMI's own unfinished ones count), `pods` the active
    launcher pods of the VMI, `source_pod` the one in which it runs, `source_node` its node.
    """
    own = [item for item in migrations if _about(item, vmi)]
    selector = added_node_selector or {}
    return (
        _phase(vmi),
        _live_migratable(vmi),
        _in_flight(own),
        _one_pod(vmi, pods),
        _paused(vmi),
        _backup(vmi),
        _hotplug(vmi),
        _target_pod(vmi, kubevirt, source_node, source_pod),
        _collisions(vmi, kubevirt, source_node, source_pod, selector),
        _cpu_vendor(selector),
        _eviction(vmi, kubevirt),
        _rollout(kubevirt),
    )


def _about(migration: KubernetesObject, vmi: KubernetesObject) -> bool:
    name = name_of(vmi)
    same = name_of(migration).namespace == name.namespace
    return same and at(migration, "spec", "vmiName") == name.name and not is_final(migration)


def _pass(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.PASS, message=message)


def _warn(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.WARN, message=message)


def _fail(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.FAIL, message=message)


def _phase(vmi: KubernetesObject) -> Check:
    phase = phase_of(vmi) or "Pending"
    if is_deleting(vmi):
        return _fail("running", "the VMI is being deleted")
    if phase in FINAL_PHASES:
        return _fail("running", f"the VMI has ended: phase {phase}")
    if phase != "Running":
        return _fail("running", f"the VMI does not run yet: phase {phase}")
    return _pass("running", "the VMI runs")


def _live_migratable(vmi: KubernetesObject) -> Check:
    """False needs a restart elsewhere instead; absent and Unknown are let in by KubeVirt."""
    condition = condition_of(vmi, "LiveMigratable")
    if condition is None:
        return _warn(
            "live-migratable",
            "condition LiveMigratable is absent: the node has not said yet whether it can move",
        )
    status = str(condition.get("status", "Unknown"))
    if status == "True":
        return _pass("live-migratable", "LiveMigratable is True")
    reason, message = condition.get("reason", ""), condition.get("message", "")
    said = (
        f"LiveMigratable is {status} ({reason}: {message})"
        if reason
        else (f"LiveMigratable is {status}")
    )
    if status == "False":
        return _fail("live-migratable", f"{RESTART_NEEDED}: {said}")
    return _warn("live-migratable", said)


def _in_flight(own: Sequence[KubernetesObject]) -> Check:
    if not own:
        return _pass("in-flight", "no unfinished migration of this VMI")
    listed = ", ".join(sorted(f"{name_of(item).name} ({phase_of(item) or 'new'})" for item in own))
    return _fail("in-flight", f"an unfinished migration of this VMI exists: {listed}")


def _one_pod(vmi: KubernetesObject, pods: Sequence[KubernetesObject]) -> Check:
    if len(pods) > 1:
        listed = ", ".join(sorted(name_of(pod).name for pod in pods))
        return _warn("one-pod", f"the migration waits until one of these pods has ended: {listed}")
    return _pass("one-pod", f"{name_of(vmi).name} has one launcher pod")


def _paused(vmi: KubernetesObject) -> Check:
    if at(condition_of(vmi, "Paused"), "status") == "True":
        return _warn("paused", "the guest is paused; it moves and stays paused")
    return _pass("paused", "the guest is not paused")


def _backup(vmi: KubernetesObject) -> Check:
    backup = backup_in_progress(vmi)
    if backup:
        return _warn("backup", f"backup {backup} runs: the migration stays Pending until its end")
    return _pass("backup", "no backup runs")


def _hotplug(vmi: KubernetesObject) -> Check:
    if has_hotplug_volumes(vmi):
        return _warn(
            "hotplug-volumes",
            "hotplugged volumes: the migration waits for an attachment pod on the target, "
            "and KubeVirt makes its target pod anew every five minutes without ever failing",
        )
    return _pass("hotplug-volumes", "no hotplugged volumes")


def _target_pod(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None,
) -> Check:
    reason = why_no_target(vmi, kubevirt, source_node, source_pod)
    if reason:
        text = f"virt-controller cannot make a target pod, so it would stay Pending: {reason}"
        return _fail("target-pod", text)
    return _pass("target-pod", "virt-controller can make a target pod")


def _collisions(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None,
    selector: Mapping[str, str],
) -> Check:
    found = selector_collisions(
        vmi=vmi,
        source_pod=source_pod,
        added_node_selector=selector,
        kubevirt=kubevirt,
        source_node=source_node,
    )
    if not found:
        return _pass("selector", "no key of addedNodeSelector clashes with the VM's own")
    listed = "; ".join(f"{item.key}: asked {item.asked}, VM has {item.wins}" for item in found)
    text = f"KubeVirt would silently drop what was asked for: {listed}"
    return _fail("selector", text)


def _cpu_vendor(selector: Mapping[str, str]) -> Check:
    if vendor_guard_is_off(selector):
        return _fail(
            "cpu-vendor",
            "addedNodeSelector names a CPU vendor, which switches KubeVirt's own vendor check "
            "off: the guest could land on a CPU that it cannot run on",
        )
    return _pass("cpu-vendor", "KubeVirt keeps the guest on its CPU vendor")


def _eviction(vmi: KubernetesObject, kubevirt: KubernetesObject) -> Check:
    strategy = eviction_strategy(vmi, kubevirt)
    words = {
        Prediction.MIGRATE: "a drain would migrate it",
        Prediction.RESTART: "a drain would stop its guest and start it elsewhere",
        Prediction.BLOCK: "it would block a drain for good",
    }[predict_eviction(vmi, kubevirt)]
    return _pass("eviction-strategy", f"evictionStrategy {strategy}: {words}")


def _rollout(kubevirt: KubernetesObject) -> Check:
    """An update of KubeVirt fails the migrations in flight and then moves every VM itself."""
    status: Mapping[str, Any] = kubevirt.get("status") or {}
    phase = status.get("phase") or ""
    if phase and phase != "Deployed":
        return _fail("kubevirt", f"KubeVirt is being rolled out: phase {phase}")
    outdated = int(status.get("outdatedVirtualMachineInstanceWorkloads") or 0)
    methods = at(kubevirt, "spec", "workloadUpdateStrategy", "workloadUpdateMethods", default=[])
    if outdated and "LiveMigrate" in methods:
        text = f"KubeVirt is migrating {outdated} VMs with an outdated launcher"
        return _fail("kubevirt", text)
    return _pass("kubevirt", "KubeVirt is deployed and moves nothing of its own accord")
