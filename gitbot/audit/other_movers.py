"""Other movers of VMs in this cluster, as the snapshot shows them. All findings are notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gitbot.audit.descheduler import PREDICTIVE
from gitbot.audit.descheduler_policy import policies_in
from gitbot.audit.finding import AuditFinding, about
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.labels import APP_NAME, MANAGED_BY, UNSCHEDULABLE
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, labels_of, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.eviction import eviction_strategy
from gitbot.kubevirt.limits import remote_end
from gitbot.kubevirt.names import CREATED_BY, mover_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Severity
from gitbot.model.text.names import CORDON_LABEL
from gitbot.model.text.wording import counted, first_of

_DRAINERS = {
    "ToBeDeletedByClusterAutoscaler": "the cluster autoscaler takes it away",
    "DeletionCandidateOfClusterAutoscaler": "the cluster autoscaler may take it away",
    "karpenter.sh/disrupted": "Karpenter takes it away",
    "node.cluster.x-k8s.io/uninitialized": "Cluster API sets it up",
    "node.cluster.x-k8s.io/outdated-revision": "Cluster API replaces it",
    "UpdateInProgress": "the Machine Config Operator updates it",
    "medik8s.io/drain": "NodeMaintenance drains it",
    "kubevirt.io/drain": "KubeVirt evacuates it",
    UNSCHEDULABLE: "somebody cordoned it",
}
"""Taints by key, and the program that sets them."""
_OPERATORS = "openshift-kube-descheduler-operator"  # the namespace of the operator


def other_movers(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    yield from _migrations(snapshot)
    yield from _updater(snapshot)
    yield from _descheduler(snapshot)
    yield from _operator(snapshot)
    for node in snapshot.of("Node"):
        keys = [taint.get("key", "") for taint in at(node, "spec", "taints", default=())]
        does, hint = _DRAINERS, "no VM is planned onto it"
        if UNSCHEDULABLE in keys and CORDON_LABEL in labels_of(node):
            does = {**_DRAINERS, UNSCHEDULABLE: "gitbot cordoned it for a window"}
            hint += f"; once that is over or cancelled: kubectl uncordon {name_of(node).name}"
        said = [does[key] for key in keys if key in does]
        if said:
            yield _note("Node", name_of(node), "; ".join(said), hint)


def _migrations(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    """Unfinished foreign migrations: they take slots, and start first."""
    for migration in snapshot.of("VirtualMachineInstanceMigration"):
        if is_final(migration) or labels_of(migration).get(MANAGED_BY) == "gitbot":
            continue
        vmi, phase = at(migration, "spec", "vmiName"), at(migration, "status", "phase")
        yield _note(
            "VirtualMachineInstanceMigration",
            name_of(migration),
            f"{mover_of(migration)} migrates {vmi}{remote_end(migration)} ({phase or 'new'})",
            "it takes a slot, and gitbot's migrations queue behind it",
        )


def _updater(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    instances = Instances.of(snapshot)
    updates, changes = instances.updates_to_come, instances.changes_to_come
    if updates:
        words = f"its workload updater moves {counted(updates, 'VM')} with an outdated launcher"
        yield _note("KubeVirt", name_of(instances.kubevirt), words, "gitbot waits until it is done")
    for vm, change in changes.items():
        words = f"KubeVirt's workload updater is about to migrate it, as {change}"
        hint = "it takes a slot, and gitbot's migrations queue behind it"
        yield _note("VirtualMachineInstance", vm, words, hint)


def _descheduler(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    """A running descheduler, and the effect of its evictions on VMs."""
    found = [
        name_of(pod)
        for pod in snapshot.of("Pod")
        for labels in (labels_of(pod),)
        if "descheduler" in (labels.get("app"), labels.get(APP_NAME)) and CREATED_BY not in labels
    ]
    if not found:
        return
    more = ""
    if snapshot.unread("KubeDescheduler") and any(pod.namespace == _OPERATORS for pod in found):
        more = "; its mode was not read: `kubectl get kubedeschedulers -A -o yaml` adds it"
    kubevirt = next(iter(snapshot.of("KubeVirt")), {})
    strategies = Counter(
        eviction_strategy(vmi, kubevirt) for vmi in snapshot.of("VirtualMachineInstance")
    )
    listed = first_of([f"{count} {name}" for name, count in sorted(strategies.items())], 4)
    yield _note(
        "Pod",
        found[0],
        f"a descheduler runs here; by evictionStrategy its evictions meet VMs so: {listed}",
        "LiveMigrate moves a VM, None stops its guest; gitbot may undo what it does, and it may "
        f"undo what gitbot does, but for VMs whose template has prefer-no-eviction{more}",
    )


def _operator(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    """The settings of the cluster's own KubeDescheduler for VMs."""
    policies = policies_in(snapshot)
    for obj in snapshot.of("KubeDescheduler"):
        seconds = at(obj, "spec", "deschedulingIntervalSeconds")
        every = f", every {seconds} s" if seconds else ""
        mode = at(obj, "spec", "mode", default=PREDICTIVE)
        does = "it evicts nothing" if mode == PREDICTIVE else "it evicts"
        for policy in policies:
            if policy.acts and policy.cooldown:
                does += f"; {policy.name} evicts a VM again {policy.cooldown} after its migration"
        hint = "gitbot audit --load classifies the nodes as it does"
        yield _note(
            "KubeDescheduler",
            name_of(obj),
            f"the descheduler is in mode {mode}{every}: {does}",
            hint,
        )


def _note(kind: str, name: NamespacedName, message: str, hint: str) -> AuditFinding:
    return about(
        "audit/other-mover", Severity.NOTE, kind=kind, name=name, message=message, hint=hint
    )
