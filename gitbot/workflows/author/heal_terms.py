"""Which VMs to move so that required terms in their own specs hold again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gitbot.audit import unmet_vms
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of, with_value
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import ANYWHERE, MoveVms, Pin, Request
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from gitbot.workflows.core.revision import Revision
from gitbot.workflows.core.revision_engine import RevisionEngine

MOST = 20
"""VMs that are tried; each takes a whole plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsHealing:
    """`moved` are the VMs whose moves heal terms, `staying` the others, each with why it stays."""

    moved: tuple[NamespacedName, ...]
    staying: tuple[tuple[NamespacedName, str], ...]


def healing_of_terms(
    revision: Revision, snapshot: ClusterSnapshot, vms: Sequence[NamespacedName], *, now: int
) -> TermsHealing:
    """Choose VMs one by one: each move leaves fewer VMs with an unmet term than there were.

    If two VMs may not be on one node, the move of either heals both.
    """
    engine, moved = RevisionEngine(revision=revision), list[NamespacedName]()
    staying: list[tuple[NamespacedName, str]] = []
    unmet = unmet_vms(snapshot)
    for number, vm in enumerate(vms):
        if vm not in unmet:
            continue
        if number >= MOST:
            staying.append((vm, f"gitbot tries {MOST} VMs at a time: run it again after the merge"))
            continue
        problem, _ = engine.compile(snapshot, now=now, goals=(_goal(vm),))
        plan = make_plan(problem)
        after = _moved(snapshot, plan)
        left = unmet_vms(after)
        if plan.holds or not plan.moves:
            staying.append((vm, plan.holds[0].reason if plan.holds else "no move was found"))
        elif len(plan.moves) > 1 or len(left) >= len(unmet):
            staying.append((vm, "its move alone mends nothing"))
        else:
            moved.append(vm)
            snapshot, unmet = after, left
    return TermsHealing(moved=tuple(moved), staying=tuple(staying))


def _goal(vm: NamespacedName) -> MoveVms:
    ref = IntentRef(kind="MigrationRequest", namespace=vm.namespace, name="heal")
    request = Request(id=MigrationRequestId.of(ref), intent=ref)
    return MoveVms(request=request, vms=(vm,), target=ANYWHERE, pin=Pin.NODE)


def _moved(snapshot: ClusterSnapshot, plan: PlacementPlan) -> ClusterSnapshot:
    """The cluster with the VMs and their launcher pods on their targets."""
    instances = Instances.of(snapshot)
    ends = {move.vm.namespaced_name: move.to.node for move in plan.moves}
    pods = {instances.source_pod_of(vm): node for vm, node in ends.items()}

    def there(obj: KubernetesObject, node: str | None, *path: str) -> KubernetesObject:
        return obj if node is None else with_value(obj, node, *path)

    changed = {
        "Pod": tuple(
            there(obj, pods.get(name_of(obj)), "spec", "nodeName") for obj in snapshot.of("Pod")
        ),
        "VirtualMachineInstance": tuple(
            there(obj, ends.get(name_of(obj)), "status", "nodeName")
            for obj in snapshot.of("VirtualMachineInstance")
        ),
    }
    return replace(snapshot, objects={**snapshot.objects, **changed})
