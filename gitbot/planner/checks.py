"""What KubeVirt itself would say of a migration, asked before it is planned."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.kubevirt.preflight import preflight
from gitbot.model.names import NamespacedName
from gitbot.model.objects import condition_of
from gitbot.model.plan import Check, Outcome
from gitbot.planner.board import Board
from gitbot.planner.obstacle import Obstacle
from gitbot.planner.step import Step
from gitbot.planner.timing import OVERHEAD_SECONDS, estimate

_CODES = {
    "running": "not-running",
    "live-migratable": "restart-needed",
    "in-flight": "in-flight",
    "target-pod": "no-target-pod",
    "selector": "selector-collision",
    "cpu-vendor": "selector-collision",
    "kubevirt": "kubevirt-update",
}
_HINTS = {
    "restart-needed": "gitbot never restarts a VM; its owner may, or may remove the cause",
    "in-flight": "plan again when it has ended",
    "kubevirt-update": "plan again when KubeVirt is deployed",
}


def kubevirt_checks(
    board: Board, vm: NamespacedName, selector: Mapping[str, str] | None = None
) -> tuple[Check, ...]:
    """The preflight checks of a VM that has a VMI."""
    instance = board.transit.instances[vm]
    pods = [pod for pod in (instance.source_pod, *instance.others) if pod is not None]
    return preflight(
        board.facts.vmis[vm],
        kubevirt=board.transit.instances.kubevirt,
        migrations=board.facts.migrations_of(vm),
        source_pod=instance.source_pod,
        source_node=board.facts.nodes.get(instance.node),
        added_node_selector=selector,
        pods=pods,
    )


def refused(board: Board, vm: NamespacedName) -> Obstacle | None:
    """What makes KubeVirt refuse any migration of the VM; None where nothing does.

    LiveMigratable absent or Unknown is let in by KubeVirt; gitbot waits until it is True.
    """
    for check in kubevirt_checks(board, vm):
        if check.outcome is Outcome.FAIL:
            code = _CODES.get(check.name, check.name)
            return Obstacle(code=code, reason=check.message, hint=_HINTS.get(code, ""))
    condition = condition_of(board.facts.vmis[vm], "LiveMigratable")
    if condition is None or condition.get("status") != "True":
        reason = "KubeVirt has not said yet whether this VM is live-migratable"
        return Obstacle(code="not-migratable", reason=reason, hint="plan again when it has")
    return None


def checks_of(board: Board, step: Step) -> tuple[Check, ...]:
    """All checks of a planned move: KubeVirt's, then what the planner made sure of."""
    facts = board.facts
    where = step.node if len(step.landings) == 1 else f"each of {len(step.landings)} allowed nodes"
    kept = [rule.ref.id for rule in facts.rules_over(step.vm) if rule.required]
    rules = f"kept at every instant: {', '.join(sorted(set(kept)))}" if kept else "none is about it"
    seconds = estimate(facts.memory(step.vm), facts.problem.bandwidth)
    return (
        *kubevirt_checks(board, step.vm, step.selector),
        *_quota(board, step.vm),
        *_predicted(board, step.vm),
        _pass("scheduling", f"the scheduler takes the target pod on {where}, source pod counted"),
        _pass("rules", rules),
        _pass(
            "estimate",
            f"{seconds} s: memory once at {_rate(facts.problem.bandwidth)},"
            f" and {OVERHEAD_SECONDS} s for target pod and hand-over",
        ),
    )


def _quota(board: Board, vm: NamespacedName) -> tuple[Check, ...]:
    """Nothing is planned where a quota has no room, so where there is one it has."""
    if vm.namespace not in board.transit.instances.quotas:
        return ()
    return (_pass("quota", "the quotas have room for the target pod beside the running one"),)


def _predicted(board: Board, vm: NamespacedName) -> tuple[Check, ...]:
    """What makes it less than certain that the target pod is judged as here."""
    pod = board.transit.target_pod(vm)
    found = []
    if pod.scheduler != "default-scheduler":
        text = f"scheduler {pod.scheduler} decides: the prediction is not guaranteed"
        found.append(_warn("scheduler", text))
    if pod.estimated:
        text = "no running pod to look at: its requests are estimated from the VM"
        found.append(_warn("estimated-requests", text))
    return tuple(found)


def _warn(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.WARN, message=message)


def _pass(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.PASS, message=message)


def _rate(bandwidth: int) -> str:
    mib, rest = divmod(bandwidth, 1024 * 1024)
    return f"{bandwidth} B/s" if rest else f"{mib} MiB/s"
