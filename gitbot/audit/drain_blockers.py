"""Blockers of a drain: VMs that cannot migrate, evictions that do not migrate, single points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitbot.audit.finding import AuditFinding, about, about_vm
from gitbot.constraints.audit_placement import PlacedPod
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, condition_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.kubevirt.eviction import Prediction, eviction_words, predict_eviction
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Severity
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import first_of

_PLATFORM = ("kube-system", "kubevirt", "cdi")
_PLATFORM_PREFIXES = ("openshift-", "kubevirt-")
_Workload = tuple[str, NamespacedName]
_REMEDIES = {
    "DisksNotLiveMigratable": "give its claims access mode ReadWriteMany",
    "InterfaceNotLiveMigratable": "bind the pod network by masquerade, or use a secondary network",
    "HostDeviceNotLiveMigratable": "take its host devices away",
    "CPUModeLiveMigratable": "name a CPU model that several nodes have, instead of the host's",
    "NoTSCFrequencyNotLiveMigratable": "let its nodes expose their TSC frequency",
    "HypervPassthroughNotLiveMigratable": "name the Hyper-V features instead of passing all on",
    "VirtIOFSNotLiveMigratable": "take its virtiofs file systems away",
    "HotplugNotLiveMigratable": "detach its hotplugged volumes",
    "SEVNotLiveMigratable": "only a restart without SEV",
    "TDXNotLiveMigratable": "only a restart without TDX",
    "SecureExecutionNotLiveMigratable": "only a restart without Secure Execution",
    "PersistentReservationNotLiveMigratable": "take its persistent reservations away",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Nodes that a window will empty soon, and its opening in words."""

    window: IntentRef
    nodes: tuple[str, ...]
    opens: str


def not_migratable(instances: Instances) -> Iterator[AuditFinding]:
    """VMs that KubeVirt reports as not migratable, and how to change that."""
    for item in instances.values():
        condition = condition_of(item.vmi, "LiveMigratable") if item.vmi and item.node else None
        if item.vmi is None or condition is None or condition.get("status") != "False":
            continue
        reason, text = str(condition.get("reason", "")), str(condition.get("message", ""))
        said = ": ".join(part for part in (reason, text) if part)
        remedy = _REMEDIES.get(reason, "remove the cause")
        yield about_vm(
            "audit/not-migratable",
            Severity.WARNING,
            item.name,
            node=item.node,
            message=f"it cannot migrate ({said}); {eviction_words(item.vmi, instances.kubevirt)}",
            hint=f"{remedy}; it takes effect with a restart",
        )


def evictions(instances: Instances, departures: Sequence[Departure]) -> Iterator[AuditFinding]:
    """VMs on nodes that a window empties, for which an eviction does not mean a migration.

    gitbot moves them by migration; the person who services the node evicts the remaining pods.
    """
    for departure in departures:
        for node in departure.nodes:
            for name in instances.on_node.get(node, ()):
                item = instances[name]
                if item.vmi is None:
                    continue
                prediction = predict_eviction(item.vmi, instances.kubevirt)
                if prediction is not Prediction.MIGRATE:
                    yield _at_odds(item, departure, instances, prediction)


def _at_odds(
    item: Instance, departure: Departure, instances: Instances, prediction: Prediction
) -> AuditFinding:
    assert item.vmi is not None, "BUG: a VM without a VMI on a node"
    severity = Severity.NOTE if prediction is Prediction.WAIT else Severity.WARNING
    words = eviction_words(item.vmi, instances.kubevirt)
    return about_vm(
        "audit/eviction-strategy",
        severity,
        item.name,
        node=item.node,
        message=f"{departure.window.id} empties {item.node} {departure.opens}; {words}",
        hint="give it evictionStrategy LiveMigrate, or move it before the window opens",
        rule=departure.window.id,
    )


def single_points(
    snapshot: ClusterSnapshot, pods: Sequence[PlacedPod], departures: Sequence[Departure]
) -> Iterator[AuditFinding]:
    """All replicas of the platform's workloads, and pods that a budget protects, on such nodes."""
    others = [placed for placed in pods if placed.vm is None] if departures else []
    total = Counter(_workload(placed) for placed in others)
    by_node = grouped((placed.node, placed) for placed in others)
    for departure in departures:
        for node in departure.nodes:
            here = by_node.get(node, ())
            yield from _whole_workloads(total, here, departure)
            yield from _budgets(snapshot, here, departure)


def _whole_workloads(
    total: Mapping[_Workload, int], here: Sequence[PlacedPod], departure: Departure
) -> Iterator[AuditFinding]:
    """Workloads of the platform with all their pods on the node."""
    for workload, mine in grouped((_workload(placed), placed) for placed in here).items():
        kind, name = workload
        if not kind or not _platform(name.namespace) or len(mine) != total[workload]:
            continue
        every = len(mine)
        what = (
            f"its only pod is on {mine[0].node}"
            if every == 1
            else (f"all {every} pods are on {mine[0].node}")
        )
        yield about(
            "audit/single-point",
            Severity.WARNING,
            kind=kind,
            name=name,
            node=mine[0].node,
            message=f"{what}, which {departure.window.id} empties {departure.opens}",
            hint="spread its replicas over nodes before the window opens",
            rule=departure.window.id,
        )


def _workload(placed: PlacedPod) -> _Workload:
    kind, name = placed.pod.owner
    return kind, NamespacedName(namespace=placed.pod.namespace, name=name)


def _platform(namespace: str) -> bool:
    return namespace in _PLATFORM or namespace.startswith(_PLATFORM_PREFIXES)


def _budgets(
    snapshot: ClusterSnapshot, here: Sequence[PlacedPod], departure: Departure
) -> Iterator[AuditFinding]:
    """Budgets that allow no disruption now, with pods on the node: a drain of it would wait."""
    for budget in snapshot.of("PodDisruptionBudget"):
        name, allowed = name_of(budget), at(budget, "status", "disruptionsAllowed")
        selector = LabelMatcher.of(at(budget, "spec", "selector"))
        mine = [
            placed
            for placed in here
            if placed.pod.namespace == name.namespace and selector.matches(placed.pod.labels)
        ]
        if not mine or allowed is None or int(allowed) > 0:
            continue
        listed = first_of([placed.pod.name.name for placed in mine], 3)
        yield about(
            "audit/single-point",
            Severity.WARNING,
            kind="PodDisruptionBudget",
            name=name,
            node=mine[0].node,
            message=f"it allows no disruption, and {listed} is on {mine[0].node}, which "
            f"{departure.window.id} empties {departure.opens}: a drain would wait",
            hint="run one replica more, or move the pod before the window opens",
            rule=departure.window.id,
        )
