"""What a check plans: the goals of a working tree or of a pull request, and the previews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitbot.constraints.instances import Instances
from gitbot.intents import Intent, IntentSet
from gitbot.intents.compile import (
    NO_PAST,
    Past,
    build_problem,
    compile_drain,
    compile_goals,
    compile_heal,
    compile_requests,
    compile_rules,
    request_id,
)
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.findings import Finding, Severity
from gitbot.model.plan import PlacementPlan
from gitbot.model.problem import EmptyNodes, Goal, HealRule, PlacementProblem, Reservation
from gitbot.planner import make_plan
from gitbot.reports import Preview
from gitbot.settings import Settings
from gitbot.workflows.review import hold_findings
from gitbot.workflows.settled import settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the plan is made against: cluster, the past of requests, places taken by others."""

    snapshot: ClusterSnapshot
    now: int
    past: Past = NO_PAST
    reservations: tuple[Reservation, ...] = ()
    commits: Mapping[str, str] = field(default_factory=dict)  # window without schedule to merge


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One cluster with intents, ready to be asked for goals and problems.

    `before` are the intents of the base, None for a working tree.
    """

    cluster: str
    intents: IntentSet
    before: IntentSet | None
    settings: Settings
    evidence: Evidence
    instances: Instances

    @property
    def zone(self) -> str | None:
        """The time zone of schedules that name none."""
        found = self.settings.cluster(self.cluster)
        return found.time_zone if found else None

    def problem(self, goals: Iterable[Goal]) -> tuple[PlacementProblem, tuple[Finding, ...]]:
        """The problem of these goals, and findings about rules and freezes."""
        return build_problem(
            cluster=self.cluster,
            settings=self.settings,
            intents=self.intents,
            snapshot=self.evidence.snapshot,
            goals=goals,
            now=self.evidence.now,
            reservations=self.evidence.reservations,
            instances=self.instances,
        )

    def previews(
        self, goals: tuple[Goal, ...], plan: PlacementPlan
    ) -> tuple[tuple[Preview, ...], tuple[Finding, ...]]:
        """What each of these goals would do once the plan is carried out, and what that says."""
        snapshot = settled(self.evidence.snapshot, plan)
        after = replace(
            self,
            evidence=replace(self.evidence, snapshot=snapshot),
            instances=Instances(snapshot) if plan.moves and goals else self.instances,
        )
        made: list[Preview] = []
        found: list[Finding] = []
        for goal in goals:
            problem, _ = after.problem((goal,))
            preview = Preview(title=_title(goal), plan=make_plan(problem))
            made.append(preview)
            if self.before is not None:
                found += _preview_findings(preview, goal)
        return tuple(made), tuple(found)

    @property
    def changed(self) -> frozenset[str]:
        """Ids of intents that are new or say something else than in the base."""
        before = self.before.digests if self.before else {}
        now = self.intents.digests
        return frozenset(name for name in now if before.get(name) != now[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Goals to plan, goals to preview, findings about both."""

    goals: tuple[Goal, ...]
    previewed: tuple[Goal, ...]
    findings: tuple[Finding, ...]


def whole_tree(scene: Scene) -> Work:
    """All unfinished requests, drains that are due for review, healings; later drains to see."""
    evidence, intents = scene.evidence, scene.intents
    instances = scene.instances
    rules, _ = compile_rules(intents, instances)
    goals, findings = compile_goals(
        intents,
        instances,
        rules,
        now=evidence.now,
        zone=scene.zone,
        past=evidence.past,
        commits=evidence.commits,
    )
    until = evidence.now + scene.settings.proposals.announce
    later = [goal for goal in goals if isinstance(goal, EmptyNodes) and _starts(goal) > until]
    return Work(
        goals=tuple(goal for goal in goals if goal not in later),
        previewed=tuple(later),
        findings=findings,
    )


def _starts(goal: EmptyNodes) -> int:
    return min((interval.start for interval in goal.request.allowed), default=0)


def pull_request_scope(scene: Scene) -> Work:
    """The requests that are new or changed; windows and rules that are, as previews."""
    evidence, intents = scene.evidence, scene.intents
    instances = scene.instances
    changed = scene.changed
    wanted = {
        request_id(intent.ref.namespace, intent.ref.name)
        for intent, _ in intents.migration_requests
        if intent.ref.id in changed
    }
    goals, findings = compile_requests(
        intents,
        instances,
        now=evidence.now,
        zone=scene.zone,
        past=evidence.past,
        only=wanted,
    )
    found = [*findings, *_used_again(scene)]
    previewed = _previewed(scene, instances, changed, found)
    return Work(goals=goals, previewed=tuple(previewed), findings=tuple(found))


def _used_again(scene: Scene) -> list[Finding]:
    """Requests that a pull request brings back after they finished: they would move nothing."""
    known = scene.before.digests if scene.before else {}
    started, finished = scene.evidence.past.started, scene.evidence.past.finished
    found = []
    for intent, _ in scene.intents.migration_requests:
        request = request_id(intent.ref.namespace, intent.ref.name)
        same = started.get(request) in ("", intent.spec_digest)
        if intent.ref.id not in known and request in finished and same:
            found.append(_finished(intent, request))
    return found


def _finished(intent: Intent, request: str) -> Finding:
    place = intent.positions.value(("metadata", "name"))
    return Finding(
        code="intents/finished-name",
        severity=Severity.ERROR,
        message=f"{request} has run and is finished for ever",
        file=intent.ref.file,
        line=place.line,
        column=place.column,
        key_path="metadata.name",
        hint="a request runs once; give this one a new name",
    )


def _previewed(
    scene: Scene, instances: Instances, changed: frozenset[str], findings: list[Finding]
) -> list[Goal]:
    intents, evidence = scene.intents, scene.evidence
    rules, _ = compile_rules(intents, instances)
    heals = compile_heal(intents, instances, rules, past=evidence.past)
    goals: list[Goal] = [goal for goal in heals if goal.rule.id in changed]
    for intent, _ in intents.maintenance_windows:
        if intent.ref.id not in changed:
            continue
        drain, found = compile_drain(
            intents,
            instances,
            window=intent.ref.name,
            now=evidence.now,
            zone=scene.zone,
            past=evidence.past,
        )
        findings += found
        if drain is not None:
            goals.append(drain)
    return goals


def _preview_findings(preview: Preview, goal: Goal) -> tuple[Finding, ...]:
    """What a new window cannot empty fails the check; what a new rule cannot heal warns."""
    found = hold_findings(preview.plan.holds)
    if isinstance(goal, HealRule):
        return tuple(_at_most_warning(finding) for finding in found)
    return found


def _title(goal: Goal) -> str:
    match goal:
        case EmptyNodes():
            return f"{goal.request.id} empties {', '.join(goal.nodes)}"
        case HealRule():
            return f"healing of {goal.rule.kind} {goal.rule.namespace}/{goal.rule.name}"
        case _:
            return goal.request.id


def softened(findings: tuple[Finding, ...], scene: Scene) -> tuple[Finding, ...]:
    """What is wrong with a rule of the base already is a warning for a pull request."""
    before = scene.before
    if before is None:
        return findings
    stood = {
        (finding.code, finding.message) for finding in compile_rules(before, scene.instances)[1]
    }
    return tuple(
        _at_most_warning(finding) if (finding.code, finding.message) in stood else finding
        for finding in findings
    )


def _at_most_warning(finding: Finding) -> Finding:
    if finding.severity is Severity.ERROR:
        return replace(finding, severity=Severity.WARNING)
    return finding
