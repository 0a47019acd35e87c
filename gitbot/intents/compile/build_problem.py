"""Everything that decides a plan, combined into one PlacementProblem."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.broken_terms import broken_terms
from gitbot.constraints.rules.vm_spec_rules import own_rules
from gitbot.constraints.scheduler.cluster_facts import minor_of
from gitbot.constraints.scheduler.profiles import profiles_of
from gitbot.constraints.scheduler.versions import caveat_of
from gitbot.intents.compile.heals import compile_heal
from gitbot.intents.compile.measured_rules import is_measured, measured_rules
from gitbot.intents.compile.placement_rules import compile_rules
from gitbot.intents.intent import IntentSet
from gitbot.intents.kinds.freeze_window.compile import compile_freezes
from gitbot.intents.kinds.kind import GoalInputs, Role
from gitbot.intents.registry import KINDS
from gitbot.intents.request_history import NO_PAST, RequestHistory
from gitbot.kubernetes.objects import at, name_of
from gitbot.kubevirt.limits import limits_of
from gitbot.model.cluster.cluster import ADDS_NAMESPACES, ClusterSnapshot
from gitbot.model.cluster.load import MAX_AGE, NO_LOAD, PERCENT, PRESSURE_LIMIT, ClusterLoad, fresh
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.plan.problem import Goal, HealRule, Limits, PlacementProblem, Reservation
from gitbot.model.text.names import VM_PLACES, IntentRef
from gitbot.settings import Settings


def compile_goals(
    intents: IntentSet,
    snapshot: ClusterSnapshot | Instances,
    rules: Iterable[RuleConstraint],
    *,
    now: int,
    zone: str | None = None,
    past: RequestHistory = NO_PAST,
) -> tuple[tuple[Goal, ...], tuple[Finding, ...]]:
    """Everything that the intents want now: requests, the current or next drains, healings.

    In this order, each sorted by id. For previews; a workflow compiles the goals of one concern
    at a time.
    """
    instances = snapshot if isinstance(snapshot, Instances) else Instances.of(snapshot)
    asked = GoalInputs(now=now, zone=zone, past=past)
    findings: list[Finding] = []
    goals: list[Goal] = []
    for role in (Role.REQUEST, Role.WINDOW):
        wanted, found = goals_of(role, intents, instances, asked)
        goals += wanted
        findings += found
    goals += compile_heal(intents, instances, rules, past=past)
    return tuple(goals), tuple(sorted(findings, key=sort_key))


def goals_of(
    role: Role, intents: IntentSet, instances: Instances, asked: GoalInputs
) -> tuple[tuple[Goal, ...], tuple[Finding, ...]]:
    """What the requests, or the windows, want now: goals by kind, then by id; and findings."""
    made = [kind.goals(intents, instances, asked) for kind in KINDS.values() if kind.role is role]
    goals = (goal for found, _ in made for goal in found)
    return tuple(goals), tuple(finding for _, found in made for finding in found)


def build_problem(
    *,
    cluster: str,
    settings: Settings,
    intents: IntentSet,
    snapshot: ClusterSnapshot,
    goals: Iterable[Goal],
    now: int,
    reservations: Iterable[Reservation] = (),
    assume_plugins: Collection[str] = (),
    instances: Instances | None = None,
    past: RequestHistory = NO_PAST,
) -> tuple[PlacementProblem, tuple[Finding, ...]]:
    """The problem, and the findings about rules and freezes.

    Limits are the smaller of the configuration's and the KubeVirt object's. The plan's digests
    cover its goals' intents, the windows that its requests name, and all rules: other files in the
    repository do not change what was reviewed.
    """
    instances = instances or Instances.of(snapshot)
    configured = settings.cluster(cluster)
    zone = configured.time_zone if configured is not None else None
    rules, rule_findings = compile_rules(intents, instances, assume_plugins=assume_plugins)
    freezes, freeze_findings = compile_freezes(intents, instances, now=now, zone=zone)
    wanted = tuple(goals)
    load = load_now(snapshot, settings, cluster, now=now)
    problem = PlacementProblem(
        cluster=cluster,
        now=now,
        snapshot=snapshot,
        rules=(*rules, *_healed(intents, snapshot, load, wanted), *own_rules(snapshot)),
        goals=wanted,
        limits=effective_limits(
            configured.limits.value if configured is not None else Limits(), snapshot
        ),
        freezes=freezes,
        reservations=tuple(
            sorted(reservations, key=lambda item: (item.vm, item.node, item.request))
        ),
        bandwidth=settings.bandwidth,
        intents=_digests(intents, {rule.ref for rule in rules}, wanted),
        load=load,
        ranking=settings.ranking,
        pressure_limit=pressure_limit(settings, cluster),
        took=past.took,
    )
    unjudged = (*_unread(snapshot), *_unjudged_scheduler(snapshot))
    missing = (*unjudged, *_unmeasured(problem))
    findings = (*rule_findings, *freeze_findings, *missing)
    return problem, tuple(sorted(findings, key=sort_key))


def _healed(
    intents: IntentSet, snapshot: ClusterSnapshot, load: ClusterLoad, goals: Iterable[Goal]
) -> tuple[RuleConstraint, ...]:
    """The measured rules and the broken terms that the goals heal: they change no other plan."""
    healed = {goal.rule.id: goal.rule for goal in goals if isinstance(goal, HealRule)}
    found: list[RuleConstraint] = []
    if any(is_measured(rule) for rule in healed.values()):
        found += measured_rules(intents, snapshot, load)
    if any(rule.kind == VM_PLACES for rule in healed.values()):
        found += broken_terms(snapshot)
    return tuple(rule for rule in found if rule.ref.id in healed)


def _unread(snapshot: ClusterSnapshot) -> Iterator[Finding]:
    """What the account could not list or the files lack, and what follows from it."""
    if "MigrationPolicy" in snapshot.denied_kinds:
        yield Finding(
            code="plan/unread",
            severity=Severity.WARNING,
            message="the account may not list MigrationPolicy: "
            "a move may take longer than estimated",
            hint="give it the role gitbot-reader of deploy/rbac/20-reader.yaml",
        )
    policies = snapshot.of("MigrationPolicy") if snapshot.unread("Namespace") else ()
    if any(at(item, "spec", "selectors", "namespaceSelector") for item in policies):
        yield Finding(
            code="plan/unread",
            severity=Severity.WARNING,
            message="a MigrationPolicy selects namespaces by their labels, and the files have no "
            "Namespace: a move may take longer than estimated",
            hint=ADDS_NAMESPACES,
        )


def _unjudged_scheduler(snapshot: ClusterSnapshot) -> Iterator[Finding]:
    if caveat := caveat_of(minor_of(snapshot)):
        hint = "docs/scheduling.md, Versions, says what is known to differ"
        note = Severity.NOTE
        yield Finding(code="plan/kubernetes-version", severity=note, message=caveat, hint=hint)
    for part in profiles_of(snapshot).unjudged:
        yield Finding(
            code="plan/scheduler-profile",
            severity=Severity.WARNING,
            message=f"kube-scheduler's configuration: {part.words}",
            file=part.file,
            line=part.line,
            hint="kube-scheduler may choose other nodes than planned: pin the moves",
        )


def load_now(
    snapshot: ClusterSnapshot, settings: Settings | None, cluster: str, *, now: int
) -> ClusterLoad:
    """What a snapshot carries of load that is not stale."""
    if snapshot.load is None:
        return NO_LOAD
    configured = settings.cluster(cluster) if settings is not None else None
    read = configured.load if configured is not None else None
    nodes = (name_of(node).name for node in snapshot.of("Node"))
    max_age = MAX_AGE if read is None else read.max_age
    return fresh(snapshot.load, now=now, nodes=nodes, max_age=max_age)


def pressure_limit(settings: Settings, cluster: str) -> int:
    configured = settings.cluster(cluster)
    read = configured.load if configured is not None else None
    return PRESSURE_LIMIT if read is None else read.pressure * PERCENT


def _unmeasured(problem: PlacementProblem) -> Iterator[Finding]:
    """What is missing of the load, each said once; nothing if nobody asked for load."""
    said = problem.load.missing
    if problem.ranking and problem.snapshot.load is None:
        names = ", ".join(problem.ranking)
        said = (*said, f"ranking: {names} looks at measured load, and none was read")
    for words in said:
        yield Finding(
            code="plan/load-missing",
            severity=Severity.NOTE,
            message=words,
            hint="plans do without it; nothing is guessed",
        )


def effective_limits(configured: Limits, snapshot: ClusterSnapshot) -> Limits:
    """The smaller of the configuration's limits and those of the KubeVirt object.

    KubeVirt allows 5 migrations in the cluster and 2 out of one node by default.
    """
    parallel, outbound = limits_of(next(iter(snapshot.of("KubeVirt")), {}))
    return Limits(
        parallel=min(configured.parallel, parallel),
        per_source_node=min(configured.per_source_node, outbound),
        per_target_node=configured.per_target_node,
        per_zone=configured.per_zone,
        reserve=configured.reserve,
    )


def _digests(
    intents: IntentSet, rules: Collection[IntentRef], goals: tuple[Goal, ...]
) -> Mapping[str, str]:
    wanted = {ref.id for ref in rules} | {goal.request.intent.id for goal in goals}
    named = (
        KINDS[intent.ref.kind].window(intent.spec)
        for intent in intents.intents
        if intent.ref.id in wanted
    )
    windows = {f"MaintenanceWindow/{window}" for window in named if window}
    every = intents.digests
    return {name: every[name] for name in sorted(wanted | windows) if name in every}
