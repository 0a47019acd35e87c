"""Which nodes may take the target pod of one move, for each kind of pin, and why not the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from gitbot.constraints.moves.target_pod import pinned
from gitbot.constraints.rules.worsening import monotone
from gitbot.constraints.scheduler.filters import attachment
from gitbot.constraints.scheduler.filters.topology_spread import counted, included, labelled
from gitbot.constraints.scheduler.pod_masks import conjunction
from gitbot.constraints.scheduler.verdicts import Judgement, Rejection, elsewhere
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.columns import Mask, Numbers
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME, SpreadConstraint
from gitbot.model.plan.constraint import Breach, Occupancy, RuleConstraint
from gitbot.model.plan.problem import Pin, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOption:
    """One node's answer to a move that would start now.

    `ok`: the move may start with this node. `schedulable`: the scheduler accepts the target pod
    here (rules aside). `reasons`: one line for each plugin or rule that rejects. `score`: the
    scheduler's weighted sum among all schedulable nodes; 0 if not schedulable.
    """

    node: str
    ok: bool
    schedulable: bool
    reasons: tuple[str, ...] = ()
    score: int = 0


class LandingContext(Protocol):
    """The part of MigrationState that this file uses."""

    world: World
    rules: tuple[RuleConstraint, ...]
    zone_key: str

    @property
    def occupancy(self) -> Occupancy: ...

    def node_of(self, vm: NamespacedName) -> str: ...

    def target_pod(self, vm: NamespacedName) -> Pod:
        """The pod of a migration without a pin."""

    def refusal(self, vm: NamespacedName) -> str:
        """Why a migration cannot start on any node."""

    def rule_worsened_by(self, number: int, vm: NamespacedName, node: str) -> tuple[Breach, ...]:
        """The breaches that a rule would gain."""

    def rules_over(self, vm: NamespacedName) -> Sequence[int]:
        """The rules with the VM as a member, as indexes in `rules`."""

    def totals(self, vm: NamespacedName, numbers: Numbers) -> Numbers:
        """The scheduler's scores of these nodes."""

    def rule_mask(self, vm: NamespacedName, asked: Mask, only: Sequence[int] | None = None) -> Mask:
        """The asked nodes to which a move may start without making a required rule worse.

        `only`: counts these rules over the VM, by index.
        """


@dataclass(frozen=True, kw_only=True)  # no slots: the judgement is cached on first access
class NodeAnswers:
    """The answers of all nodes for one move, each mask of shape (nodes,)."""

    movable: LandingContext
    vm: NamespacedName
    pin: Pin
    target: Target
    schedulable: Mask
    wanted: Mask
    kept: Mask  # no required rule gets worse there, and hotplugged volumes can be attached
    ok: Mask
    refusal: str  # of every node

    def reasons(self, number: int) -> tuple[str, ...]:
        world = self.movable.world
        name = world.state.columns.names[number]
        lines = [self.refusal] if self.refusal else []
        if not self.wanted[number]:
            lines.append("not among the nodes that the intent asks for")
        lines += [str(item) for item in self._rejections(name)]
        lines += [
            f"{self.movable.rules[place].ref.id}: {self._words(place, name)}"
            for place, kept in self._kept_by.items()
            if not kept[number]
            # the filter has reported the rule of a VM itself already
            if not (self.movable.rules[place].ref.of_vm and self._rejections(name))
        ]
        if not lines:
            lines.append(self._elsewhere(number))
        return tuple(lines)

    @cached_property
    def _kept_by(self) -> Mapping[int, Mask]:
        """The nodes to which a move may start, by required rule over the VM."""
        everywhere = self.movable.world.state.columns.everywhere()
        return {
            place: self.movable.rule_mask(self.vm, everywhere, (place,))
            for place in self.movable.rules_over(self.vm)
            if self.movable.rules[place].required
        }

    def _words(self, place: int, node: str) -> str:
        """The rule's explanation for this VM and node, else what would get worse.

        A rule that depends on the VMs that stay behind may get worse for another VM than this one.
        """
        rule = self.movable.rules[place]
        said = rule.explain(self.vm, node, self.movable.occupancy) if monotone(rule) else ""
        if said:
            return said
        worse = self.movable.rule_worsened_by(place, self.vm, node)
        return "; ".join(breach.message for breach in worse)

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
        """The text if the node itself is ok, but the scheduler may choose one that is not."""
        columns = self.movable.world.state.columns
        same = _alike(self.movable, self.pin, number) & self.schedulable
        bad = [columns.names[n] for n in np.flatnonzero(same & ~(self.wanted & self.kept))]
        return elsewhere(bad)


def answer(movable: LandingContext, vm: NamespacedName, pin: Pin, target: Target) -> NodeAnswers:
    columns = movable.world.state.columns
    schedulable = _schedulable(movable, vm, pin, target)
    own = columns.index.get(movable.node_of(vm))
    if own is not None:
        schedulable[own] = False
    wanted = _wanted(movable.world, target)
    kept = movable.rule_mask(vm, schedulable & wanted if pin is Pin.NODE else schedulable)
    beside = attachment.prepare(movable.world.state, movable.target_pod(vm))
    if pin is not Pin.NODE and beside is not None:  # kube-scheduler does not ask this filter
        kept &= conjunction(columns.everywhere(), columns.nowhere(), [beside])
    good = wanted & kept
    ok = schedulable & good
    if pin is not Pin.NODE:
        for number in np.flatnonzero(ok):
            group = _alike(movable, pin, int(number)) & schedulable
            ok[number] = bool((good | ~group).all())
    refusal = movable.refusal(vm)
    if refusal:
        ok[:] = False
    return NodeAnswers(
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


def pinned_mask(movable: LandingContext, vm: NamespacedName, target: Target) -> Mask:
    """`answer(...).ok` for a move that is pinned to its node, without the texts."""
    columns = movable.world.state.columns
    if movable.refusal(vm):
        return columns.nowhere()
    mask = _schedulable(movable, vm, Pin.NODE, target)
    own = columns.index.get(movable.node_of(vm))
    if own is not None:
        mask[own] = False
    if not target.anywhere:
        mask &= _wanted(movable.world, target)
    return movable.rule_mask(vm, mask)


def node_options(movable: LandingContext, answers: NodeAnswers) -> tuple[NodeOption, ...]:
    """Every node but the VM's own, in words, with the scores of the schedulable ones."""
    numbers = np.flatnonzero(answers.schedulable)
    totals = dict(zip(numbers.tolist(), movable.totals(answers.vm, numbers).tolist(), strict=True))
    own = movable.node_of(answers.vm)
    return tuple(
        NodeOption(
            node=name,
            ok=bool(answers.ok[number]),
            schedulable=bool(answers.schedulable[number]),
            reasons=() if answers.ok[number] else answers.reasons(number),
            score=totals.get(number, 0),
        )
        for number, name in enumerate(movable.world.state.columns.names)
        if name != own
    )


def _pin_key(movable: LandingContext, pin: Pin) -> str:
    return {Pin.NODE: HOSTNAME, Pin.ZONE: movable.zone_key}.get(pin, "")


def _alike(movable: LandingContext, pin: Pin, number: int) -> Mask:
    """The nodes that the pin cannot tell apart from this node."""
    columns = movable.world.state.columns
    key = _pin_key(movable, pin)
    if not key:
        return columns.everywhere()
    ids = columns.label(key).ids
    mask: Mask = ids == ids[number]
    return mask


def _schedulable(movable: LandingContext, vm: NamespacedName, pin: Pin, target: Target) -> Mask:
    """Nodes that the filters accept for the pod with its pin.

    A pin narrows the domains that topology spread counts (nodeAffinityPolicy Honor), so pods with
    such constraints are checked once for each value of the pin's label. Without a pin to the node,
    kube-scheduler may choose one where hotplugged volumes cannot be attached.
    """
    world, pod = movable.world, pinned(movable.target_pod(vm), target.added)
    if pin is not Pin.NODE and pod.attachment is not None:
        pod = pod.replace(attachment=None)
    key = _pin_key(movable, pin)
    if not key:
        return world.mask(pod)
    columns = world.state.columns
    column = columns.label(key)
    known = column.known
    if not _counts_pinned_domains(pod):
        return world.mask(pod) & known
    one_each = np.count_nonzero(known) == len(column.values) and not world.state.nominated
    if one_each and key not in pod.node_selector and all(_honours(item) for item in pod.spread):
        return pinned_alone(world, pod) & known
    return pinned_one_by_one(world, pod, key) & known


def pinned_one_by_one(world: World, pod: Pod, key: str) -> Mask:
    """Nodes that accept the pod when it is pinned to their value of a label."""
    columns = world.state.columns
    mask = columns.nowhere()
    for value in columns.label(key).values:
        mask |= world.mask(pinned(pod, {key: value}))
    return mask


def pinned_alone(world: World, pod: Pod) -> Mask:
    """The same if each node has its own value, and each hard spread honours affinity.

    The pin leaves one node to count, which is its own minimum, so only minDomains can refuse it.
    """
    state = world.state
    hard = tuple(item for item in pod.spread if item.hard)
    complete = labelled(state, hard)
    mask = world.mask(replace(pod, spread=())) & complete
    for item in hard:
        if item.min_domains > 1:
            places = counted(state, pod, item)
            held = np.bincount(places, minlength=len(mask)) * included(state, pod, item)
            mask &= held + int(item.selector.matches(pod.labels)) <= item.max_skew
    return mask


def _honours(constraint: SpreadConstraint) -> bool:
    return constraint.honor_affinity or not constraint.hard


def pinned_to(pod: Pod, node: Node) -> Pod:
    """The pod that a move to this node creates, if the difference matters to the filters."""
    return pinned(pod, {HOSTNAME: node.labels[HOSTNAME]}) if _counts_pinned_domains(pod) else pod


def _counts_pinned_domains(pod: Pod) -> bool:
    return any(item.hard and item.honor_affinity for item in pod.spread)


def _wanted(world: World, target: Target) -> Mask:
    columns = world.state.columns
    mask = columns.everywhere()
    if target.nodes:
        mask[:] = False
        mask[[columns.index[name] for name in target.nodes if name in columns.index]] = True
    for key, value in target.node_selector.items():
        mask &= columns.label(key).where(lambda found, wanted=value: found == wanted)  # type: ignore[misc]
    return mask
