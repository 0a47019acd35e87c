"""One VM, one request or one window, judged as a plan would: with the reason where it refuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gitbot.calendar import format_duration
from gitbot.constraints.moves.instances import Instances
from gitbot.errors import UsageError
from gitbot.execution.request_records import fold_requests
from gitbot.intents.compile import compile_drain, compile_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import MigrationRequestId, parse_request_id
from gitbot.model.plan.constraint import Occupancy, RuleConstraint
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import (
    EmptyNodes,
    Goal,
    MoveVms,
    Pin,
    PlacementProblem,
    Request,
    Target,
)
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import IntentRef
from gitbot.model.text.wording import nearest
from gitbot.planner import make_plan
from gitbot.reports import frozen_words
from gitbot.workflows.check.scope import PlanningInputs
from gitbot.workflows.core.broken_files import FolderStops
from gitbot.workflows.core.draining_nodes import closing_goals, drains_due, plan_beside_drains
from gitbot.workflows.core.judged_plan import CheckResult, fault_findings, judge_plan
from gitbot.workflows.core.revision import Revision
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.window_standing import standing_words
from gitbot.workflows.ledger.request_history import reservations_from_ledger

_ASKED = MigrationRequestId(namespace="gitbot", name="explain")


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentVerdict:
    """What one intent says about a VM, on one node, or on all ("").

    `refuses`: no move to that node may break it. Otherwise it is worth knowing.
    """

    node: str
    intent: str
    where: str
    says: str
    refuses: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VmVerdict:
    """What gitbot's intents say about a VM.

    A plan would move it `to` that node, or not at all, as `held` says; both "" if it is off.
    `until`: when that is over by itself, as estimated (seconds UTC), or 0.
    `faults` are findings of gitbot's planner about itself.
    """

    rows: tuple[IntentVerdict, ...]
    to: str = ""
    held: str = ""
    until: int = 0
    faults: tuple[Finding, ...] = ()


def judge_vm(
    revision: Revision,
    evidence: PlanningInputs,
    vm: NamespacedName,
    *,
    nodes: tuple[str, ...],
    added: Mapping[str, str],
) -> VmVerdict:
    """Every rule, freeze, window and reservation for a VM on these nodes, and what a plan does."""
    engine = RevisionEngine(revision=revision)
    request = Request(id=_ASKED, intent=IntentRef(kind="MigrationRequest", namespace="", name=""))
    goal = MoveVms(request=request, vms=(vm,), target=Target(node_selector=added), pin=Pin.NODE)
    due = tuple(drains_due(engine, evidence.snapshot, now=evidence.now, past=evidence.past))
    problem, _ = engine.compile(
        evidence.snapshot,
        now=evidence.now,
        goals=(goal, *closing_goals(due, ())),
        reservations=evidence.reservations,
    )
    instances = Instances.of(evidence.snapshot)
    hot = engine.measured_rules(evidence.snapshot, now=evidence.now)
    stops = revision.stops(evidence.snapshot)
    here = (instances[vm].node,) if vm in instances else ()
    rows = [
        *_rules(problem.rules, vm, nodes, instances),
        *_rules(hot, vm, (*here, *nodes), instances),  # a hot node wishes its own VMs away
        *_freezes(problem, vm, revision.zone or "UTC"),
        *_windows(due, evidence.now),
        *_reservations(problem),
        *(_stopped_nodes(stops, (*here, *nodes)) if stops is not None else ()),
    ]
    if vm not in instances or not instances[vm].node:
        return VmVerdict(rows=tuple(rows))
    if any(row.refuses for row in rows if not row.node):  # a freeze keeps what is approved, too
        others = tuple(item for item in problem.reservations if item.vm != vm)
        problem = replace(problem, reservations=others)
    plan = make_plan(problem)
    to = next((move.to.node for move in plan.moves if move.vm.namespaced_name == vm), "")
    held = next((hold for hold in plan.holds if hold.vm.namespaced_name == vm), None)
    said = _stopped(stops, vm, plan) if stops is not None else ""
    said = said or (f"{held.reason} [{held.code}]" if held else "")
    faults = fault_findings(plan.faults)
    said = said or ("" if to else "; ".join(item.message for item in faults))
    until = held.until if held else 0
    return VmVerdict(rows=tuple(rows), to=to, held=said, until=until, faults=faults)


def _stopped(stops: FolderStops, vm: NamespacedName, plan: PlacementPlan) -> str:
    """Why a file with errors keeps the VM where it is; "" if none does."""
    moves = (move for move in plan.moves if move.vm.namespaced_name == vm)
    found = (stops.of_namespace(vm.namespace), *map(stops.of_move, moves))
    return next(filter(None, found), "")


def _stopped_nodes(stops: FolderStops, nodes: Iterable[str]) -> Iterator[IntentVerdict]:
    """The nodes that no VM leaves or enters because of a file with errors."""
    for node in nodes:
        if (item := stops.by_node(node)) is not None:
            yield IntentVerdict(
                node=node, intent=item.path, where=item.place, says=item.reason, refuses=True
            )


def _rules(
    rules: Iterable[RuleConstraint],
    vm: NamespacedName,
    nodes: tuple[str, ...],
    instances: Instances,
) -> Iterator[IntentVerdict]:
    for rule in rules:
        if vm not in rule.members:
            continue
        occupancy: Occupancy = {
            name: instances[name].places for name in rule.members if instances[name].places
        }
        for node in nodes:
            says = rule.explain(vm, node, occupancy)
            if says:
                yield IntentVerdict(
                    node=node,
                    intent=rule.ref.id,
                    where=rule.ref.where,
                    says=says,
                    refuses=rule.required,
                )


def _freezes(problem: PlacementProblem, vm: NamespacedName, zone: str) -> Iterator[IntentVerdict]:
    for freeze in problem.freezes:
        if vm not in freeze.vms or not freeze.times:
            continue
        first = freeze.times[0]
        now = first.contains(problem.now)
        words = frozen_words(freeze, first, zone, now=problem.now)
        yield IntentVerdict(
            node="",
            intent=freeze.intent.id,
            where=freeze.intent.where,
            says=words.replace("`", ""),
            refuses=now,
        )


def _windows(due: Iterable[EmptyNodes], now: int) -> Iterator[IntentVerdict]:
    """The nodes that leave service, now or soon: no plan takes a VM there."""
    for drain in due:
        when = _when(drain, now)
        for node in drain.nodes:
            yield IntentVerdict(
                node=node,
                intent=drain.request.intent.id,
                where=drain.request.intent.where,
                says=f"leaves service {when} ({drain.request.id})",
                refuses=True,
            )


def _when(drain: EmptyNodes, now: int) -> str:
    first = min((interval.start for interval in drain.request.allowed), default=now)
    at = drain.ready_by or first
    if at <= now:
        return "now"
    soon = "early enough to be ready " if drain.ready_by else ""
    return f"{soon}in {format_duration(at - now)}, at {format_instant(at)}"


def _reservations(problem: PlacementProblem) -> Iterator[IntentVerdict]:
    for item in problem.reservations:
        pull = f"pull request {item.pull_request}" if item.pull_request else "the ledger"
        yield IntentVerdict(
            node=item.node,
            intent=item.request,
            where=pull,
            says=f"keeps a place for {item.vm}{item.until}",
            refuses=False,
        )


def evidence_of(evidence: PlanningInputs, ledger: Ledger, cluster: str) -> PlanningInputs:
    """With the places that accepted, unfinished moves of the ledger will take."""
    return replace(
        evidence, reservations=reservations_from_ledger(ledger, fold_requests(ledger, cluster))
    )


def check_one(
    revision: Revision, evidence: PlanningInputs, *, request: str = "", window: str = ""
) -> CheckResult:
    """The plan of one MigrationRequest (its ledger id) or of the next drain of one window alone.

    Raises UsageError if there is none of that name.
    """
    goals, found = _goal_of(revision, evidence, request=request, window=window)
    mine = {goal.request.id for goal in goals}
    others = tuple(item for item in evidence.reservations if item.request not in mine)
    engine, snapshot, now = RevisionEngine(revision=revision), evidence.snapshot, evidence.now
    problem, plan, _ = plan_beside_drains(
        engine,
        snapshot,
        goals,
        now=now,
        drains=drains_due(engine, snapshot, now=now, past=evidence.past),
        reservations=others,
        assume_plugins=evidence.assume_plugins,
        past=evidence.past,
    )
    made = judge_plan(revision, problem, plan, findings=found, clock=evidence.clock)
    if window:
        standing = standing_words(revision, evidence.past, now=now, only=window)
        made = replace(made, diff=replace(made.diff, standing=standing))
    return CheckResult(
        findings=made.findings,
        judged=made,
        revision=revision,
        problem=problem,
        cluster=revision.cluster,
    )


def _goal_of(
    revision: Revision, evidence: PlanningInputs, *, request: str, window: str
) -> tuple[tuple[Goal, ...], tuple[Finding, ...]]:
    intents, now, zone = revision.intents, evidence.now, revision.zone
    if request:
        known = [f"{item.ref.namespace}/{item.ref.name}" for item, _ in intents.migration_requests]
        by_id = parse_request_id(request)
        if isinstance(by_id, MigrationRequestId):
            request = f"{by_id.namespace}/{by_id.name}"
        _must_exist("request", request, known)
        named = NamespacedName.parse(request)
        wanted = MigrationRequestId(namespace=named.namespace, name=named.name)
        return compile_requests(
            intents, evidence.snapshot, now=now, zone=zone, past=evidence.past, only=(wanted,)
        )
    _must_exist("window", window, [item.ref.name for item, _ in intents.maintenance_windows])
    goal, found = compile_drain(
        intents, evidence.snapshot, window=window, now=now, zone=zone, past=evidence.past
    )
    return ((goal,) if goal is not None else ()), found


def _must_exist(what: str, name: str, known: list[str]) -> None:
    if name in known:
        return
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"known: {', '.join(known) or 'none'}"
    raise UsageError(f"there is no {what} {name}", hint=hint)
