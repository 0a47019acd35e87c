"""What is left out of a plan if gitbot contradicts itself while it makes one, and the report of it.

A contradiction is an exception that says nothing of the input, or a move that the replay refutes.
The next attempt leaves out the VM, then the whole request that was planned then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from types import FrameType

from gitbot.errors import Bug, GitbotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import Drained, PlacementPlan, PlannerFault, SnapshotRef
from gitbot.model.plan.problem import EmptyNodes, Goal, MoveVms, PlacementProblem
from gitbot.planner.assemble import minimised
from gitbot.planner.holds import INTERNAL, Late, hold
from gitbot.planner.plan_types import Draft, Planned, Step
from gitbot.planner.problem_index import ProblemIndex

_PLACES = 3
"""So many places of gitbot's code are in a report, the innermost first."""

MOST_VMS = 3
"""So many VMs of a request are left out one by one; then the request is."""


class Extra(StrEnum):
    """What only makes a plan better, or says more about it."""

    ORDERS = "other orders of the goals"
    PROOFS = "proofs"
    GROUPS = "groups that move as one, and remedies"
    OVERTAKING = "moves that start before those that precede them"


class Contradiction(Exception):
    """Planning cannot go on as it is. With `extra`, a plan exists without what was tried."""

    def __init__(self, requests: Iterable[str] = (), *, extra: Extra | None = None) -> None:
        super().__init__()
        self.requests = frozenset(requests)
        self.extra = extra


@contextmanager
def planning(goals: Iterable[Goal] = (), *, extra: Extra | None = None) -> Iterator[None]:
    """Say of a contradiction inside which goals were planned, or that it is about an extra.

    Answers about the input pass.
    """
    try:
        yield
    except Exception as error:
        inner = isinstance(error, Contradiction)
        if is_answer(error) or (inner and extra is None):
            raise
        cause = error.__cause__ if inner else error
        raise Contradiction((goal.request.id for goal in goals), extra=extra) from cause


def is_answer(error: Exception) -> bool:
    """Whether an exception says something true of the input or the machine."""
    return isinstance(error, (MemoryError, OSError)) or (
        isinstance(error, GitbotError) and not isinstance(error, Bug)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What an attempt leaves out: moves (request id and VM), whole requests, extras."""

    moves: Late = frozenset()
    requests: frozenset[str] = frozenset()
    extras: frozenset[Extra] = frozenset()
    faults: tuple[PlannerFault, ...] = ()

    def all_of(self, problem: PlacementProblem) -> LeftOut:
        every = frozenset(goal.request.id for goal in problem.goals)
        return replace(self, requests=every, extras=frozenset(Extra))

    def same_as(self, other: LeftOut) -> bool:
        return replace(self, faults=()) == replace(other, faults=())

    def after(self, problem: PlacementProblem, error: Exception) -> LeftOut:
        """What the attempt after this one leaves out, too."""
        cause = error.__cause__ if isinstance(error, Contradiction) else error
        fault, seen = _looked(problem.snapshot, cause)
        if not isinstance(error, Contradiction):
            return self._without(problem, seen.requests, seen, fault)
        if error.extra is not None:
            told = replace(fault, vm=seen.named, node=seen.node)
            return self._without_extra(problem, error.extra, told)
        return self._without(problem, error.requests, seen, fault)

    def _without_extra(
        self, problem: PlacementProblem, extra: Extra, fault: PlannerFault
    ) -> LeftOut:
        left = replace(self, extras=self.extras | {extra})
        return self._with(problem, left, fault, extra.value)

    def after_refuted(self, problem: PlacementProblem, found: Iterable[Finding]) -> LeftOut:
        """The same for the moves of a plan that the replay refutes."""
        if Extra.OVERTAKING not in self.extras:  # the replay may know an order that refutes it
            return replace(self, extras=self.extras | {Extra.OVERTAKING})
        left = self
        refuted: dict[tuple[str, NamespacedName], set[str]] = {}
        for item in found:
            if item.move is not None:
                refuted.setdefault(item.move, set()).add(item.code)
        for (request, vm), codes in sorted(refuted.items()):
            fault = PlannerFault(what=f"refuted: {', '.join(sorted(codes))}")
            left = left._without(problem, frozenset({request}), _Subject(vm=vm), fault)
        return left

    def _without(
        self,
        problem: PlacementProblem,
        requests: frozenset[str],
        seen: _Subject,
        fault: PlannerFault,
    ) -> LeftOut:
        """Leave out a VM; if it was left out before, its requests; without either, the last."""
        fault = replace(fault, vm=seen.named, node=seen.node)
        every = [goal.request.id for goal in problem.goals]
        moves = {(request, seen.vm) for request in requests or every if seen.vm is not None}
        known = {vm for request, vm in self.moves if request in requests or not requests}
        if moves - self.moves and len(known) < MOST_VMS:
            words = f"{seen.named} of {_listed(requests)}" if requests else seen.named
            left = replace(self, moves=self.moves | moves)
            return self._with(problem, left, fault, words, requests)
        if not requests and self.extras != frozenset(Extra):
            left = replace(self, extras=frozenset(Extra))
            return self._with(problem, left, fault, "what is not needed")
        rest = [request for request in every if request not in self.requests]
        requests = (requests - self.requests) or frozenset(rest[-1:])
        left = replace(self, requests=self.requests | requests)
        return self._with(problem, left, fault, _listed(requests), requests)

    def _with(
        self,
        problem: PlacementProblem,
        left: LeftOut,
        fault: PlannerFault,
        words: str,
        requests: frozenset[str] = frozenset(),
    ) -> LeftOut:
        asked = [goal.request for goal in problem.goals if goal.request.id in requests]
        told = replace(
            fault,
            request=_listed(requests),
            intent=asked[0].intent if asked else None,
            left_out=words,
        )
        return replace(left, faults=(*self.faults, reported(problem.snapshot, told)))


def unplanned(snapshot: ClusterSnapshot, error: Exception) -> PlannerFault:
    """The fault of a contradiction around the planner: then nothing is planned."""
    fault, seen = _looked(snapshot, error)
    told = replace(fault, vm=seen.named, node=seen.node)
    return reported(snapshot, replace(told, left_out="everything"))


def reported(snapshot: ClusterSnapshot, fault: PlannerFault) -> PlannerFault:
    """The fault with its report, one line with a bounded number of names and no other value."""
    words = {
        "at": fault.place,
        "request": fault.request,
        "vm": fault.vm,
        "node": fault.node,
        "snapshot": snapshot.digest,
    }
    said = [f"{key} {value}" for key, value in words.items() if value]
    return replace(fault, report="; ".join([fault.what, *said]))


def unordered(facts: ProblemIndex, moves: Late) -> tuple[PlannerFault, ...]:
    """The faults of moves that a goal planned and for which the clock found no order."""
    intents = {str(goal.request.id): goal.request.intent for goal in facts.problem.goals}
    return tuple(
        reported(
            facts.problem.snapshot,
            PlannerFault(
                what="no order",
                place="gitbot.planner.schedule",
                request=request,
                intent=intents.get(request),
                vm=str(vm),
                left_out=f"{vm} of {request}",
            ),
        )
        for request, vm in sorted(moves)
    )


def held(facts: ProblemIndex, goal: Goal) -> Draft:
    """The draft of a goal that is left out: its VMs stay, and its nodes remain closed."""
    vms = [hold(facts, goal.request, vm, INTERNAL) for vm in _vms(facts, goal)]
    if not isinstance(goal, EmptyNodes):
        return Draft(holds=tuple(vms))
    kept = Drained(request=goal.request.id, emptied=(), kept=goal.nodes, together=goal.together)
    return Draft(holds=tuple(vms), drained=kept)


def _vms(facts: ProblemIndex, goal: Goal) -> list[NamespacedName]:
    if isinstance(goal, EmptyNodes):
        return sorted(vm for vm, node in facts.homes.items() if node in goal.nodes)
    if isinstance(goal, MoveVms) and goal.balance:
        return []
    return sorted(goal.named)


def nothing(problem: PlacementProblem) -> PlacementPlan:
    """The plan if not even one without moves could be made: all is held, as far as that goes."""
    drafts = []
    with suppress(
        Exception
    ):  # what raised may be in here, too; a finding says that all is left out
        facts = ProblemIndex.of(problem)
        drafts = [held(facts, goal) for goal in problem.goals]
    holds = sorted(
        (hold for draft in drafts for hold in draft.holds),
        key=lambda hold: (hold.request, hold.vm),
    )
    return PlacementPlan(
        cluster=problem.cluster,
        holds=tuple(holds),
        minimised=minimised((), holds, ()),
        drains=tuple(draft.drained for draft in drafts if draft.drained is not None),
        limits=problem.limits,
        intents=problem.intents,
        snapshot=SnapshotRef(digest=problem.snapshot.digest, taken_at=problem.snapshot.taken_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    """What the code was about when it raised."""

    vm: NamespacedName | None = None
    node: str = ""
    requests: frozenset[str] = frozenset()

    @property
    def named(self) -> str:
        return "" if self.vm is None else str(self.vm)


def _frames(error: BaseException | None) -> list[tuple[FrameType, int]]:
    """The frames of gitbot's own code with their lines, the innermost first."""
    found, trace = [], error.__traceback__ if error is not None else None
    while trace is not None:
        if _module(trace.tb_frame).startswith("gitbot."):
            found.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found[::-1]


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _looked(
    snapshot: ClusterSnapshot, error: BaseException | None
) -> tuple[PlannerFault, _Subject]:
    """Where it was raised, and about what."""
    frames = _frames(error)
    places = [f"{_module(frame)}:{line}" for frame, line in frames[:_PLACES]]
    fault = PlannerFault(what=type(error).__name__, place=" < ".join(places))
    return fault, _subject(snapshot, [frame for frame, _ in frames])


def _subject(snapshot: ClusterSnapshot, frames: Iterable[FrameType]) -> _Subject:
    """The first VM in the frames, with node and request if a step or a plan of it is there."""
    known = {name_of(vmi) for vmi in snapshot.of("VirtualMachineInstance")}
    for frame in frames:
        values = list(frame.f_locals.values())
        for value in values:
            if isinstance(value, Planned):
                step, request = value.step, frozenset({str(value.request.id)})
                return _Subject(vm=step.vm, node=step.node, requests=request)
        for value in values:
            if isinstance(value, Step):
                return _Subject(vm=value.vm, node=value.node)
        for value in values:
            if isinstance(value, NamespacedName) and value in known:
                return _Subject(vm=value, node=_node(frame))
    return _Subject()


def _node(frame: FrameType) -> str:
    node = frame.f_locals.get("node")
    return node if isinstance(node, str) else ""


def _listed(requests: Iterable[str]) -> str:
    return ", ".join(sorted(requests))
