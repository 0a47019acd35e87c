"""Required and preferred terms of VMs and pods, judged as if they had to be placed now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gitbot.audit.broken_rules import started_at
from gitbot.audit.finding import INSTANCE, AuditFinding, about
from gitbot.constraints.audit_placement import Misplacement, PlacedPod, misplaced, placed_pods
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.domains import (
    deprecated_in,
    limited_keys,
    missing_labels,
    replaced_by,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Severity
from gitbot.model.text.names import LIMIT_HARD_ANTI_AFFINITY
from gitbot.model.text.wording import counted, first_of

_CODES = {
    "NodeAffinity": "audit/node-affinity",
    "InterPodAffinity": "audit/pod-affinity",
    "PodTopologySpread": "audit/topology-spread",
}


def unmet_terms(snapshot: ClusterSnapshot, pods: Sequence[PlacedPod]) -> Iterator[AuditFinding]:
    """Required terms as errors, preferred ones as warnings."""
    for item in misplaced(snapshot, pods):
        yield _unmet(item)


def unmet_vms(snapshot: ClusterSnapshot) -> frozenset[NamespacedName]:
    """The VMs with a required term that does not hold where they run."""
    found = misplaced(snapshot, placed_pods(snapshot), wishes=False)
    return frozenset(each.placed.vm for each in found if each.placed.vm)


def _unmet(item: Misplacement) -> AuditFinding:
    placed, said = item.placed, "; ".join(item.rejection.details or item.rejection.reasons)
    kind, name = (INSTANCE, placed.vm) if placed.vm else ("Pod", placed.pod.name)
    message = f"on {placed.node}: {said}"
    if item.weight:
        message = f"a wish of weight {item.weight} is not met on {placed.node}: {said}"
    return about(
        _CODES[item.rejection.plugin],
        Severity.WARNING if item.weight else Severity.ERROR,
        kind=kind,
        name=name,
        message=message,
        hint=_hint(placed),
        node=placed.node,
        vms=(placed.vm,) if placed.vm else (),
        since=started_at(placed.obj),
    )


def _hint(placed: PlacedPod) -> str:
    if placed.vm is None:
        return "gitbot moves VMs only: its owner may delete the pod"
    return f"gitbot explain vm/{placed.vm.name} -n {placed.vm.namespace} shows where it could run"


def missing_keys(snapshot: ClusterSnapshot, pods: Sequence[PlacedPod]) -> Iterator[AuditFinding]:
    """Topology keys of VMs' required terms that some nodes for VMs lack."""
    domains = Instances.of(snapshot).domains
    able = {name for name, node in domains.nodes.items() if SCHEDULABLE in node.labels}
    for key, vms in _asking(pods, _keys):
        for line in missing_labels(domains, key, among=able or None):
            words = f"{line}; {counted(len(vms), 'VM')} ask for it"
            yield _about_key("audit/topology-key", key, vms, words, hint="label the nodes")


def deprecated_keys(pods: Sequence[PlacedPod]) -> Iterator[AuditFinding]:
    """Deprecated labels of nodes in any of VMs' own terms: one warning for each label."""
    for key, vms in _asking(pods, deprecated_in):
        who = f"the terms of {counted(len(vms), 'VM')} read it"
        words = f"{key} is deprecated, and nodes may lose it; {who}"
        hint = f"write {replaced_by(key)} in the VMs"
        yield _about_key("audit/deprecated-key", key, vms, words, hint=hint)


def refused_keys(snapshot: ClusterSnapshot) -> Iterator[AuditFinding]:
    """Required anti-affinity that the old admission plugin may refuse when the VMs next start."""
    if any(limited_keys(pod.get("spec") or {}) for pod in snapshot.of("Pod")):
        return  # the plugin would have refused it
    asking = grouped(
        (key, vm)
        for vm, item in Instances.of(snapshot).items()
        for key in limited_keys(
            at(item.vmi, "spec") or at(item.vm, "spec", "template", "spec", default={})
        )
    )
    for key, vms in sorted(asking.items()):
        words = (
            f"{counted(len(vms), 'VM')} must be apart by {key}, and no pod has such a term: if "
            f"admission plugin {LIMIT_HARD_ANTI_AFFINITY} is on, it refuses theirs"
        )
        hint = "leave the plugin off, or keep them apart by kubernetes.io/hostname"
        yield _about_key("audit/limited-key", key, sorted(vms), words, hint=hint)


def _asking(
    pods: Sequence[PlacedPod], keys: Callable[[Pod], Iterable[str]]
) -> list[tuple[str, list[NamespacedName]]]:
    """The keys in their order, each with the VMs whose pods have it, sorted."""
    pairs = ((key, each.vm) for each in pods if each.vm is not None for key in keys(each.pod))
    return sorted((key, sorted(vms)) for key, vms in grouped(pairs).items())


def _about_key(
    code: str, key: str, vms: Sequence[NamespacedName], words: str, *, hint: str
) -> AuditFinding:
    return about(
        code,
        Severity.WARNING,
        kind="Node",
        name=NamespacedName(namespace="", name=key),
        message=f"{words}: {first_of([vm.name for vm in vms], 3)}",
        hint=hint,
        vms=tuple(vms),
    )


def _keys(pod: Pod) -> set[str]:
    terms = (*pod.affinity.required_pods, *pod.affinity.required_anti)
    return {
        *(term.topology_key for term in terms),
        *(one.topology_key for one in pod.spread if one.hard),
    }
