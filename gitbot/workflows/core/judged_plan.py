"""A plan judged: replay, policies, manifests, digest, document and diff, from one problem.

Commands, pull requests and the bot's proposals show this to a reviewer. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gitbot import gitbot_version
from gitbot.calendar import TZDATA_VERSION
from gitbot.constraints.replay.replay import replay
from gitbot.errors import SelfContradiction
from gitbot.intents import KINDS, IntentSet, MaintenanceWindowSpec, MigrationRequestSpec
from gitbot.kubernetes.objects import Json, KubernetesObject, labels_of, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.effect_id import label_value
from gitbot.model.ledger.request_id import DrainId, HealId, ReturnId
from gitbot.model.plan.diagnosis import CONTRADICTION
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.plan.plan import Hold, HoldState, Manifest, Move, PlacementPlan, PlannerFault
from gitbot.model.plan.problem import EmptyNodes, PlacementProblem
from gitbot.model.text.canonical import digest as canonical_digest
from gitbot.model.text.instants import format_instant
from gitbot.planner import is_answer, unplanned
from gitbot.policy import Verdict
from gitbot.published import PlanInputs, plan_bytes, plan_digest, plan_document
from gitbot.rendering import AdmissionRule, MigrationContext, NodeLabels, render_manifests
from gitbot.reports import Diff, PlanConditions, Preview, placement_diff, waits_of
from gitbot.settings import Settings
from gitbot.workflows.core.plan_conditions import longer_findings, outlook_of
from gitbot.workflows.core.plan_verdict import (
    judged,
    once_there,
    overridden,
    single_losses,
    worse_losses,
)
from gitbot.workflows.core.revision import Revision

PREFIX = "placement.gitbot.dev/"
WINDOW = f"{PREFIX}window"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPlan:
    """A plan with everything that a reviewer sees. `expires_at` in UTC seconds.

    `findings` are the caller's, and those of replay, policies and remaining breaches; holds are in
    the plan (see `hold_findings`).
    """

    plan: PlacementPlan
    snapshot: ClusterSnapshot
    digest: str
    expires_at: int
    document: Json
    manifests: tuple[Manifest, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]
    diff: Diff

    @property
    def file(self) -> bytes:
        """The document as the ledger stores it (`plans/<digest>.json`)."""
        return plan_bytes(self.document)


def judge_plan(
    revision: Revision,
    problem: PlacementProblem,
    plan: PlacementPlan,
    *,
    pull_request: int = 0,
    findings: Iterable[Finding] = (),
    previews: Sequence[Preview] = (),
    clock: int | None = None,
    emptying: Collection[str] = (),
) -> JudgedPlan:
    """`clock`: the current time, if a plan is judged for another time; `emptying`: open drains."""
    clock = problem.now if clock is None else clock
    outlook = outlook_of(revision.intents, problem, plan, zone=revision.zone)
    losses = single_losses(revision.settings, problem, plan)
    manifests = _rendered(revision, problem, plan, pull_request)
    objects = [item.object for item in manifests]
    digest = plan_digest(plan, objects)
    verdict = judged(overridden(revision, digest), problem, plan, losses, clock)
    windows = {intent.ref.name for intent, _ in revision.intents.maintenance_windows}
    labels = label_findings(manifests, problem.snapshot, windows.union(emptying))
    own = {*_of_plan(problem, plan, outlook), *worse_losses(losses), *labels}
    own |= {*stopped_folders(revision, problem.snapshot, plan, previews, Severity.WARNING)}
    found = tuple(sorted({*findings, *verdict.findings, *own}, key=sort_key))
    diff = placement_diff(
        plan,
        snapshot=problem.snapshot,
        digest=digest,
        expires_at=clock + revision.settings.plan_expiry,
        now=clock,
        bandwidth=problem.bandwidth,
        findings=found,
        manifests=manifests,
        previews=previews,
        zone_key=problem.zone_key,
        applies=revision.settings.applies,
        outlook=outlook,
        resilience=losses,
    )
    return JudgedPlan(
        plan=plan,
        snapshot=problem.snapshot,
        digest=digest,
        expires_at=diff.expires_at,
        document=_document(revision, plan, objects, diff),
        manifests=manifests,
        verdict=verdict,
        findings=found,
        diff=diff,
    )


def _of_plan(
    problem: PlacementProblem, plan: PlacementPlan, outlook: PlanConditions
) -> Iterator[Finding]:
    yield from replay(problem, plan)
    yield from rule_findings(plan)
    yield from fault_findings(plan.faults)
    yield from once_there(problem, plan)
    yield from longer_findings(problem, plan, outlook)


def with_findings(
    judged: JudgedPlan, revision: Revision, findings: tuple[Finding, ...]
) -> JudgedPlan:
    """With more findings; the digest, and so what is approved, stays the same."""
    if not findings:
        return judged
    found = tuple(sorted({*judged.findings, *findings}, key=sort_key))
    diff = replace(judged.diff, findings=found)
    objects = [item.object for item in judged.manifests]
    document = _document(revision, judged.plan, objects, diff)
    return replace(judged, findings=found, diff=diff, document=document)


def _document(
    revision: Revision, plan: PlacementPlan, objects: Sequence[KubernetesObject], diff: Diff
) -> Json:
    return plan_document(
        plan,
        manifests=objects,
        expires_at=diff.expires_at,
        inputs=plan_inputs(revision.settings, revision.commit),
        findings=diff.findings,
        resilience=diff.resilience,
        waits=waits_of(diff),
    )


def _rendered(
    revision: Revision, problem: PlacementProblem, plan: PlacementPlan, pull_request: int
) -> tuple[Manifest, ...]:
    return render_manifests(
        plan=plan,
        templates=revision.templates,
        context=lambda move: migration_context(
            revision, move, commit=revision.commit, pull_request=pull_request
        ),
        nodes=_labels_of_drains(problem, plan),
    )


def migration_context(
    revision: Revision,
    move: Move,
    *,
    commit: str,
    pull_request: int,
    request: str = "",
    version: str = "",
) -> MigrationContext:
    window, reason = window_and_reason(revision.intents, move)
    return MigrationContext(
        unschedulable_timeout=revision.settings.unschedulable_timeout,
        request=request,
        window=window,
        commit=commit,
        pull_request=pull_request,
        reason=reason,
        version=version,
    )


def window_and_reason(intents: IntentSet, move: Move) -> tuple[str, str]:
    """The MaintenanceWindow ("" for none), and the reason with the note of a move's intent."""
    request, intent = move.request, intents.by_id(move.intent.id)
    spec = intent.spec if intent is not None else None
    if isinstance(request, DrainId | ReturnId):
        note = spec.note if isinstance(spec, MaintenanceWindowSpec) else None
        return request.occurrence.window, _with_note("Maintenance", note)
    if isinstance(spec, MigrationRequestSpec):
        return spec.window or "", _with_note(spec.reason, spec.note)
    return "", "Healing" if isinstance(request, HealId) else "Other"


def _with_note(reason: str, note: str | None) -> str:
    return f"{reason}: {note}" if note else reason


def _labels_of_drains(problem: PlacementProblem, plan: PlacementPlan) -> tuple[NodeLabels, ...]:
    """What the nodes of a drain get, labels and cordon; none if it moves and cordons nothing.

    A node that cannot be emptied, and that no move is meant to empty, stays in service.
    """
    drains = {move.request for move in plan.moves}
    drains |= {drain.request for drain in plan.drains if drain.only_cordoned}
    kept = plan.in_service()
    return tuple(
        NodeLabels(
            node=node,
            window=goal.request.intent.name,
            state="draining",
            cordon=goal.request.id.occurrence.id if goal.cordoned_by_gitbot else "",
        )
        for goal in problem.goals
        if isinstance(goal, EmptyNodes) and goal.request.id in drains
        for node in goal.nodes
        if isinstance(goal.request.id, DrainId) and (goal.request.id, node) not in kept
    )


def admission_rules(intents: IntentSet) -> tuple[AdmissionRule, ...]:
    return tuple(
        AdmissionRule(
            ref=intent.ref, selector=admission.selector, topology_key=admission.topology_key
        )
        for intent in intents.intents
        if (admission := KINDS[intent.ref.kind].admission(intent.spec)) is not None
    )


def plan_inputs(settings: Settings, commit: str) -> PlanInputs:
    return PlanInputs(
        commit=commit,
        configuration=canonical_digest(settings.plain()),
        engine={"gitbot": gitbot_version(), "tzdata": TZDATA_VERSION},
    )


def rule_findings(plan: PlacementPlan) -> tuple[Finding, ...]:
    """Warnings about remaining breaches, notes about old ones of preferred rules; no errors.

    The replay refuses a plan that adds or worsens a breach of a required rule.
    """
    return tuple(
        Finding(
            code="plan/rule-broken",
            severity=Severity.WARNING
            if (rule.required and not rule.intent.of_vm) or rule.after > rule.before
            else Severity.NOTE,
            message=f"{rule.intent.kind} {rule.intent.name} is broken after the plan: "
            + "; ".join(rule.after_messages),
            file=rule.intent.file,
            line=rule.intent.line,
            hint="gitbot proposes a healing if its VMs can move: `gitbot explain` shows where to"
            if rule.intent.of_vm
            else "`gitbot plan` shows what heals it, or why nothing does",
        )
        for rule in plan.rules
        if rule.after
    )


INTERNAL = f"plan/{CONTRADICTION}"


PLAN_WITHOUT = "its planner contradicts itself; the plan leaves out"
ANSWER_WITHOUT = "it contradicts itself; the answer leaves out"


def fault_findings(faults: Iterable[PlannerFault], what: str = PLAN_WITHOUT) -> tuple[Finding, ...]:
    """Where gitbot contradicted itself, each with one line to report."""
    return tuple(
        Finding(
            code=INTERNAL,
            severity=Severity.ERROR,
            message=f"a fault of gitbot: {what} {fault.left_out or 'everything'}",
            file=fault.intent.file if fault.intent else "",
            line=fault.intent.line if fault.intent else 0,
            hint=f"report it with this line: gitbot {gitbot_version()}: {fault.report}",
        )
        for fault in faults
    )


def stopped_folders(
    revision: Revision,
    snapshot: ClusterSnapshot,
    plan: PlacementPlan,
    previews: Iterable[Preview],
    severity: Severity,
) -> Iterator[Finding]:
    """Broken files of the base branch: as warnings those that stop a move, as notes the others."""
    stops = revision.stops(snapshot)
    if stops is None:
        return
    moves = (*plan.moves, *(move for preview in previews for move in preview.plan.moves))
    stopping = [stops.by_move(move) for move in moves]
    for item in revision.broken:
        if (item in stopping) is not (severity is Severity.WARNING):
            continue
        yield Finding(
            code="check/folder-stopped",
            severity=severity,
            message=f"has errors on the base branch: {item.error}. Nothing starts in {item.scope}",
            file=item.path,
            line=item.errors[0].line,
            column=item.errors[0].column,
            hint="repair the file, or remove it",
        )


@contextmanager
def answering(snapshot: ClusterSnapshot) -> Iterator[None]:
    """Make an error of exit code 1, with a line to report, of a contradiction inside."""
    try:
        yield
    except Exception as error:
        if is_answer(error):
            raise
        (found,) = fault_findings((unplanned(snapshot, error),), ANSWER_WITHOUT)
        raise SelfContradiction(f"{found.message} ({INTERNAL})", hint=found.hint) from error


def hold_findings(holds: Iterable[Hold]) -> tuple[Finding, ...]:
    """Holds as findings at their intents: errors if the move was asked for, else notes.

    One that waits is a warning. A fault of gitbot is always an error.
    """
    return tuple(
        Finding(
            code=f"plan/{hold.code}",
            severity=Severity.ERROR if hold.code == CONTRADICTION else _SEVERITIES[hold.state],
            message=f"{hold.vm.namespaced_name} {_cannot(hold)}: {hold.reason}",
            file=hold.intent.file,
            line=hold.intent.line,
            hint=hold.hint or f"gitbot explain vm/{hold.vm.name} -n {hold.vm.namespace}",
        )
        for hold in holds
    )


_SEVERITIES = {
    HoldState.BLOCKED: Severity.ERROR,
    HoldState.WAITS: Severity.WARNING,
    HoldState.STAYS: Severity.NOTE,
}


def _cannot(hold: Hold) -> str:
    if hold.state is HoldState.WAITS:
        return f"waits until about {format_instant(hold.until)}"
    return "cannot move"


def label_findings(
    manifests: Iterable[Manifest], snapshot: ClusterSnapshot, windows: Collection[str]
) -> tuple[Finding, ...]:
    """Warnings about live objects with other labels than the rendered ones, and leftover labels."""
    rendered = tuple(manifests)
    live = {
        (kind, name_of(obj)): obj
        for kind in {manifest.kind for manifest in rendered}
        for obj in snapshot.of(kind)
    }
    found = [
        finding
        for manifest in rendered
        if (obj := live.get((manifest.kind, name_of(manifest.object)))) is not None
        for finding in _differing(manifest, obj)
    ]
    return (*found, *_left_over(snapshot, windows))


def _differing(manifest: Manifest, live: KubernetesObject) -> Iterator[Finding]:
    have = labels_of(live)
    for key, value in sorted(labels_of(manifest.object).items()):
        # A node gets its labels with the first move, so only another value is a difference.
        if key in have and have[key] != value and not key.endswith("/state"):
            yield _warning(
                f"{manifest.kind} {manifest.name} has the label {key}={have[key]}, "
                f"expected {value}",
                "somebody else wrote it; remove it, or end what it belongs to",
            )


def _left_over(snapshot: ClusterSnapshot, windows: Collection[str]) -> Iterator[Finding]:
    known = {label_value(window) for window in windows}
    for node in snapshot.of("Node"):
        value = labels_of(node).get(WINDOW)
        if value is not None and value not in known:
            name = name_of(node).name
            yield _warning(
                f"node {name} has the label {WINDOW}={value}, and there is no such window",
                f"kubectl label node {name} {PREFIX}window- {PREFIX}state-",
            )


def _warning(message: str, hint: str) -> Finding:
    return Finding(code="check/labels", severity=Severity.WARNING, message=message, hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The outcome. `judged` is None if the texts have errors: then nothing was planned.

    `findings` are all findings except those of holds, see `all_findings`. `revision` is what was
    planned. The plan is not `final` if somebody ended the planning. With `unplanned`, gitbot
    contradicted itself around the planner, and nothing was planned.
    """

    findings: tuple[Finding, ...]
    judged: JudgedPlan | None = None
    previews: tuple[Preview, ...] = ()
    revision: Revision | None = None
    problem: PlacementProblem | None = None
    cluster: str = ""
    final: bool = True
    unplanned: tuple[PlannerFault, ...] = ()

    @property
    def faults(self) -> tuple[PlannerFault, ...]:
        """Those of the plan and of the previews."""
        plans = [item.plan for item in self.previews]
        plans += [self.judged.plan] if self.judged else []
        return (*self.unplanned, *(fault for plan in plans for fault in plan.faults))

    @property
    def holds(self) -> tuple[Hold, ...]:
        return self.judged.plan.holds if self.judged else ()

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings and holds, in order of place."""
        return tuple(sorted({*self.findings, *hold_findings(self.holds)}, key=sort_key))

    @property
    def waits(self) -> bool:
        """Whether a requested move can be planned only when something else has ended."""
        return any(hold.state is HoldState.WAITS for hold in self.holds)

    @property
    def diff(self) -> Diff | None:
        return self.judged.diff if self.judged else None

    def fails(self, *, on_warning: bool = False) -> bool:
        """Exit code 1 of `check`: invalid, denied, or a hold on a requested move."""
        severities = {finding.severity for finding in self.all_findings}
        return Severity.ERROR in severities or (on_warning and Severity.WARNING in severities)

    def plan_fails(self, *, on_warning: bool = False) -> bool:
        """Exit code 1 of `plan`: as `fails`, or an intent's required rule is still broken."""
        rules = self.judged.plan.rules if self.judged else ()
        broken = any(rule.required and rule.after and not rule.intent.of_vm for rule in rules)
        return broken or self.fails(on_warning=on_warning)
