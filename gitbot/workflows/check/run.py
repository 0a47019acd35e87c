"""Check: lint, plan, replay and verdict, for a working tree or a pair of revisions.

Pure: texts, snapshot, the ledger's past and now come in as values, so the same function serves a
terminal, a pull request's job and the trusted run that publishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from gitbot.calendar import Appointment, changed_openings
from gitbot.errors import UserInterrupt
from gitbot.intents import (
    IntentSet,
    stops,
    without_clockless,
    without_finished,
    without_repeated,
)
from gitbot.intents.calendar_events import Agenda
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.progress import NO_PROGRESS, PLANNING, PlanningProgress
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.planner import is_answer, make_plan, unplanned
from gitbot.reports import Preview, YearAhead, merges_after
from gitbot.settings import Settings
from gitbot.workflows.check.contradictions import contradiction_findings
from gitbot.workflows.check.scope import (
    CheckGoals,
    ClusterScope,
    PlanningInputs,
    downgrade_known_errors,
    pull_request_scope,
    whole_tree,
)
from gitbot.workflows.check.stopped_moves import stopped_moves
from gitbot.workflows.check.window_findings import window_findings
from gitbot.workflows.core.draining_nodes import without_closing_drains
from gitbot.workflows.core.judged_plan import (
    CheckResult,
    JudgedPlan,
    fault_findings,
    judge_plan,
    stopped_folders,
)
from gitbot.workflows.core.revision import Revision
from gitbot.workflows.core.window_standing import (
    WindowStanding,
    standing_words,
    window_standings,
)


def check(
    revision: Revision,
    evidence: PlanningInputs,
    *,
    before: IntentSet | None = None,
    changed: Iterable[str] = (),
    pull_request: int = 0,
    onlooker: PlanningProgress = NO_PROGRESS,
    planning: Planning | None = None,
) -> CheckResult:
    """Check a revision alone, or with `before` what it adds to these intents of the base.

    Then the plan has the moves of new or changed MigrationRequests, and previews. `changed` are the
    paths it touches. Asked to end, the best plan is not `final`; Interrupted without any.
    """
    revision = replace(revision, findings=(*revision.findings, *_too_many(revision, before)))
    if any(map(stops, revision.findings)):
        return invalid_texts_result(revision)
    known = without_finished(revision.findings, revision.intents, lambda: evidence.past.finished)
    if revision.settings.cluster(revision.cluster) is None:
        return _unknown_cluster(revision.cluster, revision.settings, revision.findings)
    try:
        return _planned_and_judged(
            revision,
            evidence,
            before=before,
            changed=changed,
            pull_request=pull_request,
            onlooker=onlooker,
            planning=planning,
            known=known,
        )
    except Exception as error:
        if is_answer(error):
            raise
        fault = unplanned(evidence.snapshot, error)
        found = (*without_clockless(known), *fault_findings((fault,)))
        return CheckResult(
            findings=found, revision=revision, cluster=revision.cluster, unplanned=(fault,)
        )


def _planned_and_judged(
    revision: Revision,
    evidence: PlanningInputs,
    *,
    before: IntentSet | None,
    changed: Iterable[str],
    pull_request: int,
    onlooker: PlanningProgress,
    planning: Planning | None,
    known: tuple[Finding, ...],
) -> CheckResult:
    onlooker.begins("compiling rules")
    scope = ClusterScope.of(revision, evidence, before)
    planned = planning(scope, onlooker) if planning else None
    work, problem, found = _problem_of(scope)
    plan, previews, more = _plan(scope, problem, work, onlooker, changed, planned=planned)
    problem, plan = without_closing_drains(problem, plan, work.goals)
    softer = downgrade_known_errors(found, scope)
    compiled = without_repeated(work.findings, revision.intents, known)
    stopped: Iterable[Finding] = ()
    if before is None:
        stopped = stopped_folders(revision, problem.snapshot, plan, previews, Severity.NOTE)
    made = judge_plan(
        revision,
        problem,
        plan,
        pull_request=pull_request,
        clock=evidence.clock,
        emptying=evidence.past.emptying,
        findings=(
            *without_clockless(known),
            *compiled,
            *softer,
            *more,
            *stopped,
            *stopped_moves(scope, problem),
        ),
        previews=previews,
    )
    return CheckResult(
        findings=made.findings,
        judged=_with_openings(made, revision, before, evidence),
        previews=previews,
        revision=revision,
        problem=problem,
        cluster=revision.cluster,
        final=_NOT_FINAL not in more,
    )


def _with_openings(
    made: JudgedPlan, revision: Revision, before: IntentSet | None, evidence: PlanningInputs
) -> JudgedPlan:
    """With the openings of the year ahead, and what a change does to them."""
    now = evidence.now
    new = _openings(revision.intents, revision, evidence)
    old = new
    if before is not None and _windows_of(before) != _windows_of(revision.intents):
        old = _openings(before, revision, evidence)
    year = YearAhead(
        start=now,
        end=now + _YEAR,
        zone=revision.zone or "UTC",
        after=new,
        before=None if old is new else old,
    )
    openings = () if old is new else changed_openings(old, new, now=now)
    diff = replace(made.diff, openings=openings, year=year)
    if before is not None:
        announce = revision.settings.proposals.announce
        merges = merges_after(diff.plan, diff.outlook, announce=announce, now=now)
        diff = replace(diff, merges=merges)
    else:
        diff = replace(diff, standing=standing_words(revision, evidence.past, now=now))
    return replace(made, diff=diff)


def _openings(
    intents: IntentSet, revision: Revision, evidence: PlanningInputs
) -> tuple[Appointment, ...]:
    """Of the year ahead, without windows that have no schedule and whose drain has ended."""
    now = evidence.now
    standings = window_standings(replace(revision, intents=intents), evidence.past, now=now)
    ended = {name for name, standing in standings.items() if standing in _ENDED}
    events = Agenda(intents=intents, zone=revision.zone).events(after=now, before=now + _YEAR)
    return tuple(
        event for event in events if event.id or event.kind != "window" or event.name not in ended
    )


def _windows_of(intents: IntentSet) -> list[str]:
    return [each.spec_digest for each in intents.intents if each.ref.kind in _WINDOWS]


_WINDOWS = ("FreezeWindow", "MaintenanceWindow")
_ENDED = (WindowStanding.CANCELLED, WindowStanding.RETURNED)
_YEAR = 366 * 86_400
MOST_WINDOWS = 50


Planned = tuple[PlacementPlan, tuple[Preview, ...], tuple[Finding, ...]]
Planning = Callable[[ClusterScope, PlanningProgress], Planned]


def plan_in_process(scope: ClusterScope, onlooker: PlanningProgress) -> Planned:
    """The plan, the previews after it, and what these say."""
    work, problem, _ = _problem_of(scope)
    return _planned(scope, problem, work, onlooker)


def _problem_of(scope: ClusterScope) -> tuple[CheckGoals, PlacementProblem, tuple[Finding, ...]]:
    """What is wanted, as a problem with the nodes that leave service, and findings about it."""
    alone = scope.before is None
    work = whole_tree(scope) if alone else pull_request_scope(scope)
    apart = () if alone or not work.goals else scope.closed_by_windows(work.goals)
    return work, *scope.problem(work.goals, apart)


def _planned(
    scope: ClusterScope, problem: PlacementProblem, work: CheckGoals, onlooker: PlanningProgress
) -> Planned:
    plan = make_plan(problem, onlooker=onlooker)
    return plan, *scope.previews(() if onlooker.stopped() else work.previewed, plan, onlooker)


def _plan(
    scope: ClusterScope,
    problem: PlacementProblem,
    work: CheckGoals,
    onlooker: PlanningProgress,
    changed: Iterable[str],
    *,
    planned: Planned | None,
) -> Planned:
    """The plan, the previews after it, and what they say."""
    if planned is None:
        if onlooker.stopped():
            raise UserInterrupt("ended as asked: nothing was planned yet")
        onlooker.begins(PLANNING)
        planned = _planned(scope, problem, work, onlooker)
    plan, previews, found = planned
    revision = scope.engine.revision
    both = _both_touched(changed, revision.settings, revision.cluster)
    rules = contradiction_findings(scope, problem)
    found = (*found, *rules, *window_findings(scope, problem, plan), *both)
    onlooker.begins("replaying the plan")
    return plan, previews, (*found, *((_NOT_FINAL,) if onlooker.stopped() else ()))


_NOT_FINAL = Finding(
    code="plan/not-final",
    severity=Severity.ERROR,
    message="planning was ended before it was done: this is the best plan so far, not final",
    hint="plan again, and let it come to its end",
)


def invalid_texts_result(revision: Revision) -> CheckResult:
    """The result for texts with errors: no cluster is read, nothing is planned."""
    return CheckResult(findings=revision.findings, revision=revision, cluster=revision.cluster)


def _too_many(revision: Revision, before: IntentSet | None) -> tuple[Finding, ...]:
    """Each window is planned alone, and compared with each freeze for a year."""
    if before is None:
        return ()
    known = before.digests
    found = [
        each.ref
        for each in revision.intents.intents
        if each.ref.kind in _WINDOWS and known.get(each.ref.id) != each.spec_digest
    ]
    if len(found) <= MOST_WINDOWS:
        return ()
    message = (
        f"found {len(found)} new or changed windows and freezes, expected at most {MOST_WINDOWS} "
        "in one pull request"
    )
    return (
        Finding(
            code="check/too-many-windows",
            severity=Severity.ERROR,
            message=message,
            file=found[0].file,
            line=found[0].line,
            hint="split the pull request, or give windows a recurrence",
        ),
    )


def _unknown_cluster(
    cluster: str, settings: Settings, findings: tuple[Finding, ...]
) -> CheckResult:
    known = ", ".join(settings.cluster_names)
    unknown = Finding(
        code="check/unknown-cluster",
        severity=Severity.ERROR,
        message=f"there is no cluster {cluster}, expected {known}",
        file=CONFIGURATION_FILE,
        line=1,
    )
    return CheckResult(findings=(*findings, unknown), cluster=cluster)


def _both_touched(changed: Iterable[str], settings: Settings, cluster: str) -> tuple[Finding, ...]:
    """Warn if a pull request edits VM manifests beside intents: that is gitbot's job."""
    paths = sorted(changed)
    folders = settings.manifest_folders
    manifests = [
        path
        for path in paths
        if any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)
    ]
    if not manifests or not any(path.startswith(f"intents/{cluster}/") for path in paths):
        return ()
    return (
        Finding(
            code="check/manifests-and-intents",
            severity=Severity.ERROR,
            message=f"found changes of VM manifests ({', '.join(manifests[:3])}) beside intents, "
            "expected one or the other",
            file=manifests[0],
            hint="maintenance needs no edit of a VM; put the change of the VM into its own pull "
            "request",
        ),
    )
