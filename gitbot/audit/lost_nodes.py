"""Nodes that do not answer, or that are gone, with their VMs; remediation; launchers that wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.audit.finding import AuditFinding, about
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, name_of
from gitbot.kubernetes.phases import phase_of
from gitbot.kubevirt.launcher_pod import is_launcher
from gitbot.kubevirt.source_node import POD_GOES, deletion_of, devices_missing, lost_of, silence_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Severity
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.model.text.wording import counted, first_of

_REMEDIES = {
    "node.kubernetes.io/out-of-service": "Kubernetes removes its pods without the kubelet's answer "
    "and detaches their volumes",
    "medik8s.io/remediation": "Self Node Remediation restarts it",
    "medik8s.io/fence-agents-remediation": "Fence Agents Remediation fences it",
}
"""Taints by key, and what their program does. The first is kubernetes' own
(pkg/controller/podgc), the others are those of medik8s."""
_NAMED = 5
_PATIENCE = 300  # seconds for which a launcher pod may start its containers


def lost_nodes(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    """Warnings, and notes about nodes without VMs."""
    instances = Instances.of(snapshot)
    for node in snapshot.of("Node"):
        vms = tuple(sorted(instances.on_node.get(name_of(node).name, ())))
        yield from _silent(instances, node, vms, snapshot.taken_at)
        yield from _remedied(node, vms)
    if instances.nodes:  # a dump without nodes says nothing about them
        yield from _vanished(instances)
    for pod in snapshot.of("Pod"):
        if is_launcher(pod) and phase_of(pod) == "Pending":
            yield from _pending(pod, snapshot.taken_at)


def _silent(
    instances: Instances, node: KubernetesObject, vms: Sequence[NamespacedName], now: int
) -> Iterator[AuditFinding]:
    lost, handler = lost_of(node), silence_of(node)
    if not lost and not (handler and vms):
        return  # a node for no VMs has no virt-handler that could answer
    if not lost:
        pod = instances.handlers.get(name_of(node).name)
        words, hint = devices_missing(node, pod, now)
        hint = hint or "no VM can leave it live"
        yield _about_node("audit/silent-node", node, vms, words or handler, hint)
        return
    ends = [deletion_of(node, instances[vm].source_pod) for vm in vms]
    first = min((end for end in ends if end), default=0)
    then = f"; Kubernetes deletes their pods from {format_instant(first)} on" if first else ""
    hint = f"a VM starts elsewhere only once its pod is gone: {POD_GOES}"
    yield _about_node("audit/silent-node", node, vms, f"it {lost}", hint, then=then)


def _remedied(node: KubernetesObject, vms: Sequence[NamespacedName]) -> Iterator[AuditFinding]:
    for taint in at(node, "spec", "taints", default=()):
        key = str(taint.get("key", ""))
        if key in _REMEDIES:
            words = f"taint {key}: {_REMEDIES[key]}"
            hint = "its VMs start elsewhere; plan again when the taint is gone"
            yield _about_node("audit/remediation", node, vms, words, hint)


def _about_node(
    code: str,
    node: KubernetesObject,
    vms: Sequence[NamespacedName],
    words: str,
    hint: str,
    *,
    then: str = "",
) -> AuditFinding:
    name = name_of(node)
    return about(
        code,
        Severity.WARNING if vms else Severity.NOTE,
        kind="Node",
        name=name,
        node=name.name,
        message=f"{words}; {_listed(vms)}{then if vms else ''}",
        hint=hint,
        vms=tuple(vms),
    )


def _listed(vms: Sequence[NamespacedName]) -> str:
    if not vms:
        return "no VM is there"
    return f"{counted(len(vms), 'VM')} there: {first_of([str(vm) for vm in vms], _NAMED)}"


def _vanished(instances: Instances) -> Iterator[AuditFinding]:
    """VMs of Nodes that are gone.

    Kubernetes' pod garbage collector removes their pods, and virt-controller then marks the VMIs as
    Failed (KubeVirt, pkg/virt-controller/watch/node/node.go).
    """
    left = ((item.node, name) for name, item in instances.items() if item.node)
    for node, vms in sorted(grouped(left).items()):
        if node not in instances.nodes:
            yield about(
                "audit/vanished-node",
                Severity.WARNING,
                kind="Node",
                name=NamespacedName(namespace="", name=node),
                node=node,
                message=f"the cluster has no such Node; {_listed(sorted(vms))}",
                hint="Kubernetes removes their pods, and KubeVirt starts the VMs elsewhere",
                vms=tuple(sorted(vms)),
            )


def _pending(pod: KubernetesObject, now: int) -> Iterator[AuditFinding]:
    """Nothing of a pod that the scheduler may still place, or whose containers start right now."""
    scheduled = condition_of(pod, "PodScheduled") or {}
    refused = scheduled.get("status") == "False"
    since = str(at(pod, "metadata", "creationTimestamp", default=""))
    if not refused and now - _seconds(since, now) < _PATIENCE:
        return
    node = str(at(pod, "spec", "nodeName", default=""))
    parts = (str(scheduled.get("reason") or ""), str(scheduled.get("message") or ""))
    why = ": ".join(part for part in parts if part)
    if not refused:
        why = f"its containers do not start on {node}" if node else "no scheduler looks at it"
    owners = at(pod, "metadata", "ownerReferences", default=())
    vm = next((str(item.get("name", "")) for item in owners), "")
    named = NamespacedName(namespace=name_of(pod).namespace, name=vm)
    yield about(
        "audit/pending-launcher",
        Severity.WARNING,
        kind="Pod",
        name=name_of(pod),
        node=node,
        message=f"Pending since {since or 'an unknown time'}; {why}",
        hint=f"gitbot explain vm/{vm} -n {named.namespace}" if vm else "kubectl describe it",
        vms=(named,) if vm else (),
    )


def _seconds(text: str, unknown: int) -> int:
    try:
        return parse_instant(text)
    except ValueError:
        return unknown
