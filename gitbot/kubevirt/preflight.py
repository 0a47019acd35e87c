"""Checks before a live migration, except scheduling.

Each check has a name, an outcome and the evidence in words. `fail` means that KubeVirt would refuse
the migration or never start it. The constraints decide whether a node fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, name_of, uid_of
from gitbot.kubernetes.phases import FINAL_PHASES, is_final, phase_of
from gitbot.kubevirt.eviction import eviction_words
from gitbot.kubevirt.kubevirt_object import version_of
from gitbot.kubevirt.launcher_pod import backup_in_progress, hotplugged_volumes, is_deleting
from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.kubevirt.source_node import silence_of
from gitbot.kubevirt.target_pod import selector_collisions, vendor_guard_is_off, why_no_target
from gitbot.kubevirt.versions import OLDEST
from gitbot.model.plan.diagnosis import Check, failed, passed, warned
from gitbot.model.text.wording import counted

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
    updates: int = 0,
    change: str = "",
    classes: ClassObjects | None = None,
) -> tuple[Check, ...]:
    """All checks of one migration of this VMI, in a fixed order.

    `migrations` may be those of any VMI (the VMI's own unfinished ones count), `pods` are the
    active launcher pods of the VMI, `source_pod` the one in which it runs, `source_node` its node,
    `updates` the VMs that KubeVirt will migrate of its own accord (`updates_to_come`), and
    `change` why it will migrate this one (`changes_to_come`).
    """
    own = [item for item in migrations if _about(item, vmi)]
    return (
        _phase(vmi),
        *_identity(vmi),
        *_source(source_node, source_pod),
        _live_migratable(vmi),
        _in_flight(own),
        _one_pod(vmi, pods),
        _paused(vmi),
        _backup(vmi),
        _hotplug(vmi),
        _target_pod(vmi, kubevirt, source_node, source_pod, classes),
        *selector_checks(
            vmi,
            kubevirt=kubevirt,
            source_pod=source_pod,
            source_node=source_node,
            added_node_selector=added_node_selector or {},
        ),
        _eviction(vmi, kubevirt),
        _rollout(kubevirt, updates),
        *_own_change(change),
    )


def without_pins(kubevirt: KubernetesObject) -> str:
    """Why KubeVirt ignores or refuses addedNodeSelector; "" if it supports it."""
    version = version_of(kubevirt)
    if version is None or version >= OLDEST:
        return ""
    number = ".".join(map(str, version))
    return f"KubeVirt {number} has no addedNodeSelector, and refuses migrations to a chosen node"


def selector_checks(
    vmi: KubernetesObject,
    *,
    kubevirt: KubernetesObject,
    source_pod: KubernetesObject | None,
    source_node: KubernetesObject | None,
    added_node_selector: Mapping[str, str],
) -> tuple[Check, ...]:
    """The checks of `preflight` that depend on the target of the migration."""
    return (
        _selector(vmi, kubevirt, source_node, source_pod, added_node_selector),
        _cpu_vendor(added_node_selector),
    )


def _about(migration: KubernetesObject, vmi: KubernetesObject) -> bool:
    name = name_of(vmi)
    same = name_of(migration).namespace == name.namespace
    return same and at(migration, "spec", "vmiName") == name.name and not is_final(migration)


def _phase(vmi: KubernetesObject) -> Check:
    phase = phase_of(vmi) or "Pending"
    if is_deleting(vmi):
        return failed("running", "the VMI is being deleted")
    if phase in FINAL_PHASES:
        return failed("running", f"the VMI has ended: phase {phase}")
    if phase != "Running":
        return failed("running", f"the VMI does not run yet: phase {phase}")
    return passed("running", "the VMI runs")


def _identity(vmi: KubernetesObject) -> Iterator[Check]:
    """Objects from an API server have a UID; a person wrote or trimmed those without."""
    if not uid_of(vmi):
        text = "the VMI has no metadata.uid, by which gitbot would find its launcher pod"
        yield failed("uid", f"{text}; give the objects as kubectl prints them")


def _source(node: KubernetesObject | None, pod: KubernetesObject | None) -> Iterator[Check]:
    silence = silence_of(node, pod) if node is not None else ""
    if silence:
        yield failed("source-node", silence)


def _live_migratable(vmi: KubernetesObject) -> Check:
    """False means that the VM needs a restart; KubeVirt admits absent and Unknown."""
    condition = condition_of(vmi, "LiveMigratable")
    if condition is None:
        return warned(
            "live-migratable",
            "condition LiveMigratable is absent: the node has not said yet whether it can move",
        )
    status = str(condition.get("status", "Unknown"))
    if status == "True":
        return passed("live-migratable", "LiveMigratable is True")
    reason, message = condition.get("reason", ""), condition.get("message", "")
    said = (
        f"LiveMigratable is {status} ({reason}: {message})"
        if reason
        else (f"LiveMigratable is {status}")
    )
    if status == "False":
        return failed("live-migratable", f"{RESTART_NEEDED}: {said}")
    return warned("live-migratable", said)


def _in_flight(own: Sequence[KubernetesObject]) -> Check:
    if not own:
        return passed("in-flight", "no unfinished migration of this VMI")
    listed = ", ".join(sorted(f"{name_of(item).name} ({phase_of(item) or 'new'})" for item in own))
    return failed("in-flight", f"an unfinished migration of this VMI exists: {listed}")


def _one_pod(vmi: KubernetesObject, pods: Sequence[KubernetesObject]) -> Check:
    if len(pods) > 1:
        listed = ", ".join(sorted(name_of(pod).name for pod in pods))
        return warned("one-pod", f"the migration waits until one of these pods has ended: {listed}")
    return passed("one-pod", f"{name_of(vmi).name} has one launcher pod")


def _paused(vmi: KubernetesObject) -> Check:
    if at(condition_of(vmi, "Paused"), "status") == "True":
        return warned("paused", "the guest is paused; it moves and stays paused")
    return passed("paused", "the guest is not paused")


def _backup(vmi: KubernetesObject) -> Check:
    backup = backup_in_progress(vmi)
    if backup:
        return warned("backup", f"backup {backup} runs: the migration stays Pending until its end")
    return passed("backup", "no backup runs")


def _hotplug(vmi: KubernetesObject) -> Check:
    if hotplugged_volumes(vmi):
        return warned(
            "hotplug-volumes",
            "hotplugged volumes: the migration waits for an attachment pod on the target, "
            "and KubeVirt creates its target pod again every five minutes, without an error",
        )
    return passed("hotplug-volumes", "no hotplugged volumes")


def _target_pod(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None,
    classes: ClassObjects | None,
) -> Check:
    reason = why_no_target(vmi, kubevirt, source_node, source_pod)
    if classes is not None:
        reason = reason or classes.refusal(at(vmi, "spec", default={}))
    if reason:
        text = f"virt-controller cannot make a target pod, so it would stay Pending: {reason}"
        return failed("target-pod", text)
    return passed("target-pod", "virt-controller can make a target pod")


def _selector(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None,
    selector: Mapping[str, str],
) -> Check:
    if selector and (without := without_pins(kubevirt)):
        return failed("selector", without)
    found = selector_collisions(
        vmi=vmi,
        source_pod=source_pod,
        added_node_selector=selector,
        kubevirt=kubevirt,
        source_node=source_node,
    )
    if not found:
        return passed("selector", "no key of addedNodeSelector clashes with the VM's own")
    listed = "; ".join(f"{item.key}: asked {item.asked}, VM has {item.wins}" for item in found)
    text = f"KubeVirt would silently drop what was asked for: {listed}"
    return failed("selector", text)


def _cpu_vendor(selector: Mapping[str, str]) -> Check:
    if vendor_guard_is_off(selector):
        return failed(
            "cpu-vendor",
            "addedNodeSelector names a CPU vendor, which switches KubeVirt's own vendor check "
            "off: the guest could land on a CPU that it cannot run on",
        )
    return passed("cpu-vendor", "KubeVirt keeps the guest on its CPU vendor")


def _eviction(vmi: KubernetesObject, kubevirt: KubernetesObject) -> Check:
    return passed("eviction-strategy", eviction_words(vmi, kubevirt))


def _own_change(change: str) -> Iterator[Check]:
    if change:
        text = f"KubeVirt's workload updater is about to migrate it, as {change}"
        yield warned("own-change", f"{text}: one of both migrations waits for the other")


def _rollout(kubevirt: KubernetesObject, updates: int) -> Check:
    """An update of KubeVirt fails running migrations and then moves every VM itself."""
    status: Mapping[str, Any] = kubevirt.get("status") or {}
    phase = status.get("phase") or ""
    if phase and phase != "Deployed":
        return failed("kubevirt", f"KubeVirt is being rolled out: phase {phase}")
    if updates:
        text = f"KubeVirt is about to migrate {counted(updates, 'VM')} with an outdated launcher"
        return failed("kubevirt", text)
    return passed("kubevirt", "KubeVirt is deployed and moves nothing of its own accord")
