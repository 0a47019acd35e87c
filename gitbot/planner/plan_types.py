"""The values that the planner's parts exchange: wishes, tasks, steps, and drafts of goals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint, after_move, worsened
from gitbot.model.plan.plan import Drained, Hold, OptimalityProof
from gitbot.model.plan.problem import ANYWHERE, Pin, Request, Target

Closed = Mapping[str, str]
"""Nodes that take no VM, each with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPolicy:
    """Where a VM may go: nodes of the target that are not closed, enforced by the pin.

    `closed` maps a node that is not a target to the reason.
    """

    target: Target = ANYWHERE
    pin: Pin = Pin.NODE
    closed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One migration as the planner sees it.

    `node` is where it will land, by pin or by prediction; `landings` are all nodes where it may.
    `room_for`: the VM for which this one steps aside.
    """

    vm: NamespacedName
    source: str
    node: str
    landings: tuple[str, ...]
    wish: TargetPolicy = field(default_factory=TargetPolicy)
    selector: Mapping[str, str] = field(default_factory=dict)
    room_for: NamespacedName | None = None


Content = Mapping[NamespacedName, frozenset[str]]
"""The asked VMs, and the nodes on which each is content."""


def no_vm(_: NamespacedName) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """VMs that may move together.

    `wishes` say where a VM goes to be content, `aside` where it goes to make room (None: not
    allowed). `others`: whether VMs may step aside that nobody asked for. `departed`: the nodes that
    earlier goals made VMs leave; making room takes no VM back.
    """

    content: Content
    wishes: Mapping[NamespacedName, TargetPolicy]
    aside: TargetPolicy | None = None
    others: Callable[[NamespacedName], bool] = no_vm
    departed: Content = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A step and its purpose. The steps of a group are carried out all together or not at all."""

    step: Step
    request: Request
    group: str
    why: str
    leaves: str = ""  # the node that the group empties: no move goes there once it has begun
    returned: bool = False  # its target is emptied earlier in the order and is back by then


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The result of one goal: steps in a lawful order, holds, and a lower bound on the steps.

    `proof` says how it is known that no plan has fewer steps.

    At most `lanes` groups of the draft may run at the same time (0: any number). With `cordon`, a
    node that a group empties is unschedulable from the group's first move on; with `at_once`, all
    of these nodes are, from the first move of the draft on. The node is back
    `away` seconds after its group has ended (None: never), and until then the group runs.
    `any_order`: all of its steps may be in flight together, and start and end in any order.
    """

    planned: tuple[Planned, ...] = ()
    holds: tuple[Hold, ...] = ()
    least: int = 0
    proof: OptimalityProof = OptimalityProof.NONE
    lanes: int = 0
    cordon: bool = False
    at_once: tuple[str, ...] = ()
    away: int | None = None
    drained: Drained | None = None
    any_order: bool = False


def in_any_order(drafts: Sequence[Draft]) -> bool:
    """Whether it is known that all steps of a plan may start and end in any order."""
    moving = [draft for draft in drafts if draft.planned]
    return len(moving) == 1 and moving[0].any_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """Why a VM cannot be moved: a hold without its request.

    `code` and `until` as in model.plan.Hold; the reason in words, and what would help.
    """

    code: str
    reason: str
    hint: str = ""
    until: int = 0


def worsens(rule: RuleConstraint, occupancy: Occupancy, step: Step) -> tuple[Breach, ...]:
    """The breaches of a rule that a step would add or make worse, in flight or after landing."""
    before, held = rule.breaches(occupancy), occupancy.get(step.vm, frozenset())
    for node in step.landings:
        for places in (held | {node}, after_move(held, step.source, node)):
            worse = worsened(before, rule.breaches({**occupancy, step.vm: places}))
            if worse:
                return worse
    return ()
