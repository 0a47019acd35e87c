"""Review of a plan: replay, policies, manifests, digest, document and diff, from one problem.

What a reviewer is shown is made here and nowhere else, for a command, a pull request and a
proposal of the bot alike. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gitbot import __version__
from gitbot.calendar import TZDATA_VERSION
from gitbot.intents import IntentSet
from gitbot.intents.kinds.migration_request import MigrationRequestSpec
from gitbot.model.canonical import digest as canonical_digest
from gitbot.model.findings import Finding, Severity, sort_key
from gitbot.model.manifest import Manifest
from gitbot.model.objects import Json
from gitbot.model.plan import Hold, Move, PlacementPlan
from gitbot.model.problem import EmptyNodes, PlacementProblem
from gitbot.policy import PolicySet, Verdict, judge
from gitbot.rendering import AdmissionRule, MigrationContext, NodeLabels, render_manifests
from gitbot.reports import (
    Diff,
    PlanInputs,
    Preview,
    placement_diff,
    plan_bytes,
    plan_digest,
    plan_document,
)
from gitbot.settings import Settings
from gitbot.workflows.live_labels import label_findings

Replay = Callable[[PlacementProblem, PlacementPlan], tuple[Finding, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A plan with everything that is shown of it. `expires_at` in seconds UTC.

    `findings` holds those of the caller, of replay, of policies and of breaches that stay; holds
    are in the plan (see `hold_findings`).
    """

    plan: PlacementPlan
    digest: str
    expires_at: int
    document: Json
    manifests: tuple[Manifest, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]
    diff: Diff

    @property
    def file(self) -> bytes:
        """The document as the ledger keeps it (`plans/<digest>.json`)."""
        return plan_bytes(self.document)


def review(
    *,
    plan: PlacementPlan,
    problem: PlacementProblem,
    intents: IntentSet,
    settings: Settings,
    policies: PolicySet,
    templates: Mapping[str, str],
    replay: Replay,
    now: int,
    commit: str = "",
    pull_request: int = 0,
    findings: Iterable[Finding] = (),
    previews: Iterable[Preview] = (),
    commands: Iterable[str] = (),
) -> Review:
    """Judge and show one plan of one problem."""
    verdict = _verdict(plan, problem, intents, policies, settings=settings, now=now)
    context = contexts(intents, settings, commit=commit, pull_request=pull_request)
    manifests, objects = _rendered(plan, problem, templates, context)
    ours = (*broken_rules(plan), *label_findings(manifests, problem.snapshot, intents))
    found = _in_order(findings, replay(problem, plan), verdict.findings, ours)
    expires_at = now + settings.plan_expiry
    digest = plan_digest(plan, objects)
    diff = placement_diff(
        plan,
        snapshot=problem.snapshot,
        digest=digest,
        expires_at=expires_at,
        now=now,
        bandwidth=problem.bandwidth,
        findings=found,
        manifests=manifests,
        previews=previews,
        commands=commands,
        zone_key=problem.zone_key,
    )
    inputs = plan_inputs(settings, commit)
    return Review(
        plan=plan,
        digest=digest,
        expires_at=expires_at,
        document=plan_document(
            plan, manifests=objects, expires_at=expires_at, inputs=inputs, findings=found
        ),
        manifests=manifests,
        verdict=verdict,
        findings=found,
        diff=diff,
    )


def _in_order(*findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(set().union(*findings), key=sort_key))


def _verdict(
    plan: PlacementPlan,
    problem: PlacementProblem,
    intents: IntentSet,
    policies: PolicySet,
    *,
    settings: Settings,
    now: int,
) -> Verdict:
    return judge(
        plan=plan,
        problem=problem,
        intents={intent.ref: intent.spec.plain() for intent in intents.intents},
        policies=policies,
        now=now,
        snapshot_max_age=settings.snapshot_max_age,
    )


def _rendered(
    plan: PlacementPlan,
    problem: PlacementProblem,
    templates: Mapping[str, str],
    context: Callable[[Move], MigrationContext],
) -> tuple[tuple[Manifest, ...], list[Json]]:
    """The manifests of a plan, and their objects alone."""
    nodes = drained_nodes(problem, plan)
    manifests = render_manifests(plan=plan, templates=templates, context=context, nodes=nodes)
    return manifests, [manifest.object for manifest in manifests]


def contexts(
    intents: IntentSet, settings: Settings, *, commit: str = "", pull_request: int = 0
) -> Callable[[Move], MigrationContext]:
    """What each migration's metadata tells of its request."""

    def context(move: Move) -> MigrationContext:
        window, reason = window_and_reason(intents, move)
        return MigrationContext(
            unschedulable_timeout=settings.unschedulable_timeout,
            window=window,
            commit=commit,
            pull_request=pull_request,
            reason=reason,
        )

    return context


def window_and_reason(intents: IntentSet, move: Move) -> tuple[str, str]:
    """The MaintenanceWindow ("" for none) and the reason of a move's request."""
    family, _, rest = move.request.partition("/")
    if family in {"drain", "return"}:
        return rest.partition("/")[0], "Maintenance"
    intent = intents.by_id(move.intent.id)
    if intent is not None and isinstance(intent.spec, MigrationRequestSpec):
        return intent.spec.window or "", intent.spec.reason
    return "", "Healing" if family == "heal" else "Other"


def drained_nodes(problem: PlacementProblem, plan: PlacementPlan) -> tuple[NodeLabels, ...]:
    """The labels that the nodes of a drain get with its first move; none without a move."""
    drains = {move.request for move in plan.moves}
    return tuple(
        NodeLabels(node=node, window=goal.request.intent.name, state="draining")
        for goal in problem.goals
        if isinstance(goal, EmptyNodes) and goal.request.id in drains
        for node in goal.nodes
        if goal.request.intent.kind == "MaintenanceWindow"
    )


def admission_rules(intents: IntentSet) -> tuple[AdmissionRule, ...]:
    """The rules whose admission policy is to be rendered."""
    return tuple(
        AdmissionRule(
            ref=intent.ref, selector=spec.selector.plain(), topology_key=spec.topology_key
        )
        for intent, spec in intents.zone_anti_affinities
        if spec.admission == "Render"
    )


def plan_inputs(settings: Settings, commit: str) -> PlanInputs:
    """What the plan was made from, besides intents and snapshot."""
    configuration = settings.model_dump(mode="json", by_alias=True)
    return PlanInputs(
        commit=commit,
        configuration=canonical_digest(configuration),
        engine={"gitbot": __version__, "tzdata": TZDATA_VERSION},
    )


def broken_rules(plan: PlacementPlan) -> tuple[Finding, ...]:
    """A breach that stays is a warning, of a wish that stood before a note: never a refusal.

    What adds or worsens a breach of a required rule is refused by the replay.
    """
    return tuple(
        Finding(
            code="plan/rule-broken",
            severity=Severity.WARNING
            if rule.required or rule.after > rule.before
            else Severity.NOTE,
            message=f"{rule.intent.kind} {rule.intent.name} is broken after the plan: "
            + "; ".join(rule.after_messages),
            file=rule.intent.file,
            line=rule.intent.line,
            hint="`gitbot plan` shows what heals it, or why nothing does",
        )
        for rule in plan.rules
        if rule.after
    )


def hold_findings(holds: Iterable[Hold]) -> tuple[Finding, ...]:
    """Holds as findings at their intents: errors where the move was asked for, else notes."""
    return tuple(
        Finding(
            code=f"plan/{hold.code}",
            severity=Severity.ERROR if hold.asked else Severity.NOTE,
            message=f"{hold.vm.namespaced_name} cannot move: {hold.reason}",
            file=hold.intent.file,
            line=hold.intent.line,
            hint=hold.hint or f"gitbot explain vm/{hold.vm.name} -n {hold.vm.namespace}",
        )
        for hold in holds
    )
