"""KubeVirt's own checks of a migration, run before it is planned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gitbot.constraints.load.measures import strained
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at, condition_of
from gitbot.kubevirt.preflight import preflight, selector_checks
from gitbot.kubevirt.source_node import (
    POD_GOES,
    deletion_of,
    devices_missing,
    handler_is_lost_at,
    lost_of,
)
from gitbot.model.plan.diagnosis import Check, Outcome, passed, warned
from gitbot.model.text.wording import first_of
from gitbot.planner.plan_types import Blocker, Step
from gitbot.planner.state.plan_state import PlanState

OVER_UTILISED = "nodeutilization.descheduler.openshift.io/overutilized"
"""The PreferNoSchedule taint of the soft-tainter (openshift/cluster-kube-descheduler-operator)."""
SILENT = "source-unreachable"
_CODES = {
    "running": "not-running",
    "live-migratable": "restart-needed",
    "in-flight": "in-flight",
    "source-node": SILENT,
    "target-pod": "no-target-pod",
    "selector": "selector-collision",
    "cpu-vendor": "selector-collision",
    "kubevirt": "kubevirt-update",
}
_HINTS = {
    "restart-needed": "gitbot never restarts a VM; its owner may, or may remove the cause",
    "in-flight": "plan again when it has ended",
    "kubevirt-update": "plan again when KubeVirt is done",
    SILENT: "plan again when the node answers",
}


def kubevirt_checks(
    board: PlanState, vm: NamespacedName, selector: Mapping[str, str] | None = None
) -> tuple[Check, ...]:
    facts, instance = board.facts, board.transit.instances[vm]
    vmi, kubevirt = facts.vmis[vm], board.transit.instances.kubevirt
    source, node = instance.source_pod, facts.nodes.get(instance.node)
    known = facts.checked.get(vm)
    if known is None:
        known = facts.checked[vm] = preflight(
            vmi,
            kubevirt=kubevirt,
            migrations=facts.migrations_of(vm),
            source_pod=source,
            source_node=node,
            pods=[pod for pod in (source, *instance.others) if pod is not None],
            updates=board.transit.instances.updates_to_come,
            change=board.transit.instances.changes_to_come.get(vm, ""),
            classes=board.transit.instances.classes,
        )
    if not selector:
        return known
    sent = selector_checks(
        vmi, kubevirt=kubevirt, source_pod=source, source_node=node, added_node_selector=selector
    )
    by_name = {check.name: check for check in sent}
    return tuple(by_name.get(check.name, check) for check in known)


def refused(
    board: PlanState, vm: NamespacedName, selector: Mapping[str, str] | None = None
) -> Blocker | None:
    """What makes KubeVirt refuse any migration of the VM with that selector; None if nothing does.

    KubeVirt admits LiveMigratable absent or Unknown; gitbot waits until it is True.
    """
    for check in kubevirt_checks(board, vm, selector):
        if check.outcome is Outcome.FAIL:
            code = _CODES.get(check.name, check.name)
            found = Blocker(code=code, reason=check.message, hint=_HINTS.get(code, ""))
            return _lost(board, vm, found) if code == SILENT else found
    condition = condition_of(board.facts.vmis[vm], "LiveMigratable")
    if condition is None or condition.get("status") != "True":
        reason = "KubeVirt has not said yet whether this VM is live-migratable"
        return Blocker(code="not-migratable", reason=reason, hint="plan again when it has")
    return None


def _lost(board: PlanState, vm: NamespacedName, found: Blocker) -> Blocker:
    """With what happens to the VM if its node stays silent, and when.

    Until virt-handler is given up, it may be restarting. Until Kubernetes deletes the
    pod, the node may come back with the VM. The kubelet would have to confirm the deletion, so the
    pod stays, and KubeVirt starts no second one.
    """
    instance = board.transit.instances[vm]
    node = board.facts.nodes.get(instance.node, {})
    now = board.facts.problem.now
    if not lost_of(node):
        handler = board.transit.instances.handlers.get(instance.node)
        ends = handler_is_lost_at(node, handler)
        reason, hint = devices_missing(node, handler, now)
        found = replace(found, reason=reason or found.reason, hint=hint or found.hint)
        return replace(found, until=ends if ends > now else 0)
    ends = deletion_of(node, instance.source_pod)
    hint = f"{found.hint}; the VM starts elsewhere only once its pod is gone: {POD_GOES}"
    return replace(found, hint=hint, until=ends if ends > now else 0)


def checks_of(board: PlanState, step: Step) -> tuple[Check, ...]:
    facts = board.facts
    where = step.node if len(step.landings) == 1 else f"each of {len(step.landings)} allowed nodes"
    kept = [rule.ref.id for rule in facts.rules_over(step.vm) if rule.required]
    rules = (
        f"kept at every instant: {', '.join(sorted(set(kept)))}"
        if kept
        else "no required rule covers this VM"
    )
    return (
        *kubevirt_checks(board, step.vm, step.selector),
        *_quota(board, step.vm),
        *_predicted(board, step.vm),
        passed("scheduling", f"the scheduler takes the target pod on {where}, source pod counted"),
        passed("rules", rules),
        *_preference(board, step),
        *_strained(board, step),
        *_over_utilised(board, step),
        *facts.copy(step.vm).checks(),
    )


def _strained(board: PlanState, step: Step) -> Iterator[Check]:
    """Load and pressure of nodes where the move may land. The scheduler looks at none of it."""
    problem = board.facts.problem
    for name in step.landings:
        node, values = board.facts.nodes.get(name, {}), problem.load.of(name)
        said = strained(node, values, now=problem.now, limit=problem.pressure_limit)
        if words := "; ".join(said):
            yield warned("pressure", f"{name} {words}")
        if values:
            measured = ", ".join(values[metric].words(problem.now) for metric in values)
            yield passed("load", f"{name}: {measured}")


def _over_utilised(board: PlanState, step: Step) -> Iterator[Check]:
    """Landings that the cluster's descheduler marks, so that it may evict the VM again."""
    for name in step.landings:
        taints = at(board.facts.nodes.get(name, {}), "spec", "taints", default=())
        if any(taint.get("key") == OVER_UTILISED for taint in taints):
            words = f"{name} is over-utilised for the cluster's descheduler (taint {OVER_UTILISED})"
            yield warned("over-utilised", f"{words}, which may evict the VM again")


def _preference(board: PlanState, step: Step) -> Iterator[Check]:
    """The VM's own preferences for nodes that hold where it is, and not where it may land."""
    nodes = board.transit.world
    here = nodes.node(step.source)
    for wish in board.transit.target_pod(step.vm).affinity.preferred_nodes:
        met = here is not None and wish.term.matches(here.labels, here.name)
        there = (nodes.node(name) for name in step.landings)
        missed = [
            n.name for n in there if n is not None and not wish.term.matches(n.labels, n.name)
        ]
        if met and missed and not wish.term.empty:
            wanted = " and ".join(
                item.words for item in (*wish.term.expressions, *wish.term.fields)
            )
            words = f"the VM prefers {wanted} (weight {wish.weight}): {step.source} has that"
            yield warned("preference", f"{words}, {first_of(missed, 3)} not")


def missed_wishes(
    board: PlanState, steps: Sequence[Step]
) -> Mapping[NamespacedName, tuple[Check, ...]]:
    """Warnings by VM, for wishes about pods that hold before all steps and not after them.

    `board` is the one before them, `steps` are in the order in which they start.
    """
    sources = {step.vm: step.source for step in reversed(steps)}
    landings = {
        step.vm: step.landings for step in steps if board.transit.wishes_about_pods(step.vm)
    }
    missed = {vm: board.transit.missed_wishes(vm, (sources[vm],)).keys() for vm in landings}
    if not landings:
        return {}
    with board.trial(steps):
        after = {vm: board.transit.missed_wishes(vm, nodes) for vm, nodes in landings.items()}
    return {
        vm: tuple(
            warned("preference", text) for key, text in found.items() if key not in missed[vm]
        )
        for vm, found in after.items()
    }


def _quota(board: PlanState, vm: NamespacedName) -> tuple[Check, ...]:
    """The planner plans no move that a quota refuses, so an existing quota has room."""
    if vm.namespace not in board.transit.instances.quotas:
        return ()
    return (passed("quota", "the quotas have room for the target pod beside the running one"),)


def _predicted(board: PlanState, vm: NamespacedName) -> tuple[Check, ...]:
    """What makes the prediction of the target pod less certain."""
    pod = board.transit.target_pod(vm)
    found = []
    if pod.scheduler != "default-scheduler":
        text = f"scheduler {pod.scheduler} decides: the prediction is not guaranteed"
        found.append(warned("scheduler", text))
    if pod.estimated:
        text = "no running pod to look at: its requests are estimated from the VM"
        found.append(warned("estimated-requests", text))
    return tuple(found)
