"""Whether a move is right about its VM, its nodes and its pin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import condition_of, labels_of
from gitbot.model.cluster.opt_out import opted_out
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move
from gitbot.model.plan.problem import ANYWHERE, Goal, MoveVms, Pin, Target


def move_findings(
    move: Move,
    instances: Instances,
    world: World,
    home: Mapping[NamespacedName, str],
    goal: Goal | None,
    *,
    final: bool,
) -> Iterator[Finding]:
    """`home`: the node of each VM when the move starts; `goal`: the goal of the move's request.

    `final`: whether it is the last move of the VM in that request.
    """
    name = move.vm.namespaced_name
    instance = instances.get(name)
    if instance is None or instance.vmi is None or name not in home:
        yield finding("unknown-vm", move, "no such VM runs")
        return
    if move.vm.uid != instance.uid:
        yield finding(
            "unknown-vm", move, f"the VMI has UID {instance.uid}, the plan saw {move.vm.uid}"
        )
        return
    if home[name] != move.source.node:
        yield finding("wrong-source", move, f"the VM runs on {home[name]} then")
    if reason := opted_out(labels_of(instance.vmi), move.request, named=_names(goal, name)):
        yield finding("opted-out", move, reason)
    condition = condition_of(instance.vmi, "LiveMigratable")
    if condition is None or condition.get("status") != "True":
        said = (condition or {}).get("message") or (condition or {}).get("reason") or "not reported"
        yield finding("not-migratable", move, f"LiveMigratable is not True: {said}")
    if world.node(move.to.node) is None:
        yield finding("unknown-node", move, f"there is no node {move.to.node}")
    if move.to.node == move.source.node:
        yield finding("no-move", move, "source and target are the same node")
    if move.to.node not in move.allowed_nodes:
        yield finding("landing", move, f"its target is not in allowedNodes {move.allowed_nodes}")
    # a VM that steps aside for the request, or waits for its place, goes wherever it may
    asked = goal.target if isinstance(goal, MoveVms) and name in goal.named else ANYWHERE
    # or to another place that the request permits, from where it leaves again to make room
    there = asked.added.items() <= dict(move.added_node_selector).items()
    target = asked if final or there else ANYWHERE
    yield from _pin(move, world, target)


def _names(goal: Goal | None, vm: NamespacedName) -> bool:
    return goal is not None and vm in goal.named


def pin_findings(move: Move, pod: Pod) -> Iterator[Finding]:
    """Keys of addedNodeSelector that the VM's own nodeSelector silently overrides."""
    for key, value in sorted(move.added_node_selector.items()):
        own = pod.node_selector.get(key)
        if own is not None and own != value:
            yield finding(
                "selector-collision",
                move,
                f"addedNodeSelector asks {key}={value}, the VM itself has {key}={own}, which wins",
            )


def _pin(move: Move, world: World, target: Target) -> Iterator[Finding]:
    """Check that the selector selects exactly what target and pin promise for the node."""
    node = world.node(move.to.node)
    if node is None:
        return
    for key, value in sorted(move.added_node_selector.items()):
        if node.labels.get(key) != value:
            found = node.labels.get(key, "none")
            yield finding("pin", move, f"the target has {key} {found}, the pin asks {value}")
    if move.pin is Pin.NODE and HOSTNAME not in move.added_node_selector:
        yield finding("pin", move, f"pin Node without {HOSTNAME} in addedNodeSelector")
    if move.pin is Pin.NODE and set(move.allowed_nodes) != {move.to.node}:
        yield finding("pin", move, f"pin Node with allowedNodes {', '.join(move.allowed_nodes)}")
    added = dict(move.added_node_selector)
    if not target.added.items() <= added.items():
        yield finding("pin", move, "addedNodeSelector lacks labels of the request's target")
    if move.pin is Pin.ZONE and not added:
        yield finding("pin", move, "pin Zone without addedNodeSelector")
    if move.pin is Pin.NONE and added != target.added:
        yield finding("pin", move, "pin None with addedNodeSelector")


def finding(code: str, move: Move, message: str, *, hint: str = "") -> Finding:
    """An error of one move; the code is `constraints/<code>`."""
    return Finding(
        code=f"constraints/{code}",
        severity=Severity.ERROR,
        message=f"move {move.id} of {move.vm.namespaced_name} from {move.source.node} to "
        f"{move.to.node}: {message}",
        file=move.intent.file,
        line=move.intent.line,
        hint=hint,
        move=(move.request, move.vm.namespaced_name),
    )
