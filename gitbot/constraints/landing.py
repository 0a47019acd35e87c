"""Where the target pod of one move may land, for each way to pin it, and why not elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from gitbot.constraints.kubevirt_target import pinned
from gitbot.constraints.rule_check import monotone, signature
from gitbot.constraints.verdicts import Judgement, Rejection
from gitbot.constraints.world import World
from gitbot.model.columns import Mask
from gitbot.model.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.names import NamespacedName
from gitbot.model.pod import Pod
from gitbot.model.problem import Pin, Target
from gitbot.model.scheduling import HOSTNAME


class Movable(Protocol):
    """What this file needs of a Transit."""

    world: World
    rules: tuple[RuleConstraint, ...]
    zone_key: str

    @property
    def occupancy(self) -> Occupancy:
        """VMI to the nodes where it holds a place."""

    def node_of(self, vm: NamespacedName) -> str:
        """Where the VM runs."""

    def target_pod(self, vm: NamespacedName) -> Pod:
        """The pod of a migration without a pin."""

    def refusal(self, vm: NamespacedName) -> str:
        """Why it may start nowhere."""

    def rule_worsened_by(self, number: int, vm: NamespacedName, node: str) -> tuple[Breach, ...]:
        """What a rule would lose."""


@dataclass(frozen=True, kw_only=True)  # no slots: the judgement is kept once it is asked for
class Answers:
    """The answers of all nodes for one move, each mask of shape (nodes,)."""

    movable: Movable
    vm: NamespacedName
    pin: Pin
    target: Target
    schedulable: Mask
    wanted: Mask
    kept: Mask  # no required rule is worsened there
    ok: Mask
    refusal: str  # against every node

    def reasons(self, number: int) -> tuple[str, ...]:
        """Why the node of that number is not ok; one line for each plugin or rule."""
        world = self.movable.world
        name = world.state.columns.names[number]
        lines = [self.refusal] if self.refusal else []
        if not self.wanted[number]:
            lines.append("not among the nodes that the intent asks for")
        lines += [str(item) for item in self._rejections(name)]
        lines += [
            f"{rule.ref.id}: {self._words(rule, worse, name)}"
            for place, rule in enumerate(self.movable.rules)
            if rule.required and self.vm in rule.members
            if (worse := self.movable.rule_worsened_by(place, self.vm, name))
        ]
        if not lines:
            lines.append(self._elsewhere(number))
        return tuple(lines)

    def _words(self, rule: RuleConstraint, worse: tuple[Breach, ...], node: str) -> str:
        """The rule's own words about this VM and node, else what would be worse.

        A rule that depends on who stays behind may be worse for another VM than this one.
        """
        said = rule.explain(self.vm, node, self.movable.occupancy) if monotone(rule) else ""
        return said or "; ".join(breach.message for breach in worse)

    def _rejections(self, node: str) -> tuple[Rejection, ...]:
        key = _pin_key(self.movable, self.pin)
        world, pod = self.movable.world, self.movable.target_pod(self.vm)
        number = world.state.columns.index[node]
        labels = world.nodes[number].labels
        if key and key not in labels:
            return (
                Rejection(
                    plugin="addedNodeSelector",
                    reasons=(f"the node has no label {key}, so no move can be pinned to it",),
                    resolvable=False,
                ),
            )
        if key and _counts_pinned_domains(pod):
            return world.check(pinned(pod, {key: labels[key]}), node)
        return self._judgement.nodes[number].rejections

    @cached_property
    def _judgement(self) -> Judgement:
        """Every node's verdict without a pin, which is its verdict when pinned to it."""
        return self.movable.world.judge(self.movable.target_pod(self.vm))

    def _elsewhere(self, number: int) -> str:
        """The node itself would do, but the scheduler may as well choose one that would not."""
        columns = self.movable.world.state.columns
        same = _alike(self.movable, self.pin, number) & self.schedulable
        bad = [columns.names[n] for n in np.flatnonzero(same & ~(self.wanted & self.kept))]
        listed = ", ".join(bad[:3]) + (f" and {len(bad) - 3} more" if len(bad) > 3 else "")
        return (
            f"the scheduler may as well choose {listed}, where the move may not land; "
            "pin it to a node"
        )


def answer(movable: Movable, vm: NamespacedName, pin: Pin, target: Target) -> Answers:
    """Ask the scheduler's filters, the target and the required rules about every node."""
    columns = movable.world.state.columns
    schedulable = _schedulable(movable, vm, pin)
    own = columns.index.get(movable.node_of(vm))
    if own is not None:
        schedulable[own] = False
    wanted = _wanted(movable.world, target)
    kept = _kept(movable, vm, schedulable & wanted if pin is Pin.NODE else schedulable)
    good = wanted & kept
    ok = schedulable & good
    if pin is not Pin.NODE:
        for number in np.flatnonzero(ok):
            group = _alike(movable, pin, int(number)) & schedulable
            ok[number] = bool((good | ~group).all())
    refusal = movable.refusal(vm)
    if refusal:
        ok[:] = False
    return Answers(
        movable=movable,
        vm=vm,
        pin=pin,
        target=target,
        schedulable=schedulable,
        wanted=wanted,
        kept=kept,
        ok=ok,
        refusal=refusal,
    )


def _pin_key(movable: Movable, pin: Pin) -> str:
    return {Pin.NODE: HOSTNAME, Pin.ZONE: movable.zone_key}.get(pin, "")


def _alike(movable: Movable, pin: Pin, number: int) -> Mask:
    """The nodes that the pin does not tell apart from one node."""
    columns = movable.world.state.columns
    key = _pin_key(movable, pin)
    if not key:
        return columns.everywhere()
    ids = columns.label(key).ids
    mask: Mask = ids == ids[number]
    return mask


def _schedulable(movable: Movable, vm: NamespacedName, pin: Pin) -> Mask:
    """Nodes that the filters accept for the pod as it would be pinned.

    A pin narrows the domains that topology spread counts (nodeAffinityPolicy Honor), so pods with
    such constraints are asked about once for each value of the pin's label.
    """
    world, pod = movable.world, movable.target_pod(vm)
    key = _pin_key(movable, pin)
    if not key:
        return world.mask(pod)
    columns = world.state.columns
    column = columns.label(key)
    labelled: Mask = column.ids >= 0
    if not _counts_pinned_domains(pod):
        return world.mask(pod) & labelled
    mask = columns.nowhere()
    for value in column.values:
        mask |= world.mask(pinned(pod, {key: value}))
    return mask & labelled


def _counts_pinned_domains(pod: Pod) -> bool:
    return any(item.hard and item.honor_affinity for item in pod.spread)


def _wanted(world: World, target: Target) -> Mask:
    columns = world.state.columns
    mask = columns.everywhere()
    if target.nodes:
        mask &= np.isin(np.array(columns.names), np.array(target.nodes))
    for key, value in target.node_selector.items():
        mask &= columns.label(key).where(lambda found, wanted=value: found == wanted)  # type: ignore[misc]
    return mask


def _kept(movable: Movable, vm: NamespacedName, asked: Mask) -> Mask:
    """Nodes where no required rule is worsened, asked once a group of nodes that look alike.

    Only nodes of `asked` are looked at; the others count as kept.
    """
    columns = movable.world.state.columns
    held = movable.occupancy.get(vm, frozenset())
    mask = columns.everywhere()
    for place, rule in enumerate(movable.rules):
        if not rule.required or vm not in rule.members:
            continue
        answers: dict[object, bool] = {}
        for number in np.flatnonzero(asked):
            name = columns.names[number]
            alike = (signature(rule, name), name in held)
            if alike not in answers:
                answers[alike] = not movable.rule_worsened_by(place, vm, name)
            mask[number] &= answers[alike]
    return mask
