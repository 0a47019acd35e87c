"""Check: lint, plan, replay and verdict, for a working tree or a pair of revisions.

Pure but for its arguments: texts, snapshot, ledger's past and now come in as values, so the same
function serves a terminal, a pull request's job and the trusted run that publishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from gitbot.constraints.instances import Instances
from gitbot.intents import IntentSet, read_intents
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
from gitbot.model.findings import Finding, Severity, has_errors, sort_key
from gitbot.model.plan import Hold
from gitbot.model.problem import EmptyNodes, Goal, HealRule, PlacementProblem, Reservation
from gitbot.planner import make_plan
from gitbot.policy import PolicySet, read_policies
from gitbot.reports import Diff, Preview
from gitbot.settings import Settings, read_settings
from gitbot.workflows.review import Replay, Review, hold_findings, review

CONFIGURATION = ".gitbot.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Texts at one place: repository path to content. `commit` is "" for a working tree."""

    configuration: bytes
    intents: Mapping[str, bytes]
    policies: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the plan is made against: cluster, the past of requests, places taken by others."""

    snapshot: ClusterSnapshot
    now: int
    past: Past = NO_PAST
    reservations: tuple[Reservation, ...] = ()
    commits: Mapping[str, str] = field(default_factory=dict)  # window without schedule to merge


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What ships with gitbot and judges: policy texts, template texts, the replay of plans."""

    policies: Mapping[str, str]
    templates: Mapping[str, str]
    replay: Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The outcome. `review` is None where the texts have errors: then nothing was planned.

    `findings` are all findings; those of holds are `hold_findings`. `intents`, `problem` and
    `settings` are what was planned with.
    """

    findings: tuple[Finding, ...]
    review: Review | None = None
    previews: tuple[Preview, ...] = ()
    problem: PlacementProblem | None = None
    intents: IntentSet | None = None
    settings: Settings | None = None

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The holds of the plan."""
        return self.review.plan.holds if self.review else ()

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings and holds, in order of place."""
        return tuple(sorted({*self.findings, *hold_findings(self.holds)}, key=sort_key))

    @property
    def diff(self) -> Diff | None:
        """The placement diff."""
        return self.review.diff if self.review else None

    def fails(self, *, on_warning: bool = False) -> bool:
        """Exit code 1 of `check`: invalid, denied, or a hold on something asked for."""
        severities = {finding.severity for finding in self.all_findings}
        return Severity.ERROR in severities or (on_warning and Severity.WARNING in severities)

    def plan_fails(self, *, on_warning: bool = False) -> bool:
        """Exit code 1 of `plan`: as above, or a required rule is still broken after the plan."""
        rules = self.review.plan.rules if self.review else ()
        broken = any(rule.required and rule.after for rule in rules)
        return broken or self.fails(on_warning=on_warning)


def check(
    *,
    cluster: str,
    sources: Sources,
    evidence: Evidence,
    engine: Engine,
    base: Sources | None = None,
    changed: Iterable[str] = (),
    pull_request: int = 0,
) -> CheckResult:
    """Check a working tree, or with `base` what merging `sources` into it would add.

    With `base`, configuration and policies are the base's, the plan has the moves of the
    MigrationRequests that are new or changed, and what new or changed windows and rules would do is
    a preview outside the digest. `changed` are the paths that a pull request touches.
    """
    texts = _read(cluster, sources, base, engine)
    if texts.settings is None or has_errors(texts.findings):
        return CheckResult(findings=texts.findings, settings=texts.settings)
    if cluster not in {known.name for known in texts.settings.clusters}:
        return CheckResult(findings=(*texts.findings, _unknown_cluster(cluster, texts.settings)))
    scene = _Scene(cluster=cluster, texts=texts, settings=texts.settings, evidence=evidence)
    work = _whole_tree(scene) if base is None else _pull_request(scene)
    problem, found = scene.problem(work.goals)
    plan = make_plan(problem)
    more = _both_touched(changed, texts.settings, cluster)
    made = review(
        plan=plan,
        problem=problem,
        intents=texts.intents,
        settings=texts.settings,
        policies=texts.policies,
        templates=engine.templates,
        replay=engine.replay,
        now=evidence.now,
        commit=sources.commit,
        pull_request=pull_request,
        findings=(*texts.findings, *work.findings, *_softened(found, scene), *more),
        previews=work.previews,
    )
    return CheckResult(
        findings=made.findings,
        review=made,
        previews=work.previews,
        problem=problem,
        intents=texts.intents,
        settings=texts.settings,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Texts:
    """Everything read. `before` are the base's intents, None without a base."""

    settings: Settings | None
    policies: PolicySet
    intents: IntentSet
    before: IntentSet | None
    findings: tuple[Finding, ...]


def _read(cluster: str, sources: Sources, base: Sources | None, engine: Engine) -> _Texts:
    trusted = base or sources
    settings, findings = read_settings(trusted.configuration, CONFIGURATION)
    policies, policy_findings = read_policies({**engine.policies, **trusted.policies})
    found = {*findings, *policy_findings}
    if base is not None:
        found |= set(read_settings(sources.configuration, CONFIGURATION)[1])
        found |= set(read_policies({**engine.policies, **sources.policies})[1])
    intents, before = IntentSet(cluster=cluster), None
    if settings is not None:
        intents, intent_findings = read_intents(_of(cluster, sources), settings, cluster)
        found |= set(intent_findings)
        if base is not None:
            before, _ = read_intents(_of(cluster, base), settings, cluster)
    return _Texts(
        settings=settings,
        policies=policies,
        intents=intents,
        before=before,
        findings=tuple(sorted(found, key=sort_key)),
    )


def _of(cluster: str, sources: Sources) -> dict[str, bytes]:
    prefix = f"intents/{cluster}/"
    return {path: data for path, data in sources.intents.items() if path.startswith(prefix)}


def _unknown_cluster(cluster: str, settings: Settings) -> Finding:
    known = ", ".join(item.name for item in settings.clusters)
    return Finding(
        code="check/unknown-cluster",
        severity=Severity.ERROR,
        message=f"there is no cluster {cluster}, expected {known}",
        file=CONFIGURATION,
        line=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    """One cluster with intents, ready to be asked for goals and problems."""

    cluster: str
    texts: _Texts
    settings: Settings
    evidence: Evidence

    @property
    def zone(self) -> str | None:
        found = self.settings.cluster(self.cluster)
        return found.time_zone if found else None

    def problem(self, goals: Iterable[Goal]) -> tuple[PlacementProblem, tuple[Finding, ...]]:
        return build_problem(
            cluster=self.cluster,
            settings=self.settings,
            intents=self.texts.intents,
            snapshot=self.evidence.snapshot,
            goals=goals,
            now=self.evidence.now,
            reservations=self.evidence.reservations,
        )

    def preview(self, goal: Goal) -> Preview:
        problem, _ = self.problem((goal,))
        return Preview(title=_title(goal), plan=make_plan(problem))

    @property
    def changed(self) -> frozenset[str]:
        """Ids of intents that are new or say something else than in the base."""
        before = self.texts.before.digests if self.texts.before else {}
        now = self.texts.intents.digests
        return frozenset(name for name in now if before.get(name) != now[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    goals: tuple[Goal, ...]
    previews: tuple[Preview, ...]
    findings: tuple[Finding, ...]


def _whole_tree(scene: _Scene) -> _Work:
    """All unfinished requests, drains that are due for review, healings; later drains to see."""
    evidence, intents = scene.evidence, scene.texts.intents
    instances = Instances(evidence.snapshot)
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
    return _Work(
        goals=tuple(goal for goal in goals if goal not in later),
        previews=tuple(scene.preview(goal) for goal in later),
        findings=findings,
    )


def _starts(goal: EmptyNodes) -> int:
    return min((interval.start for interval in goal.request.allowed), default=0)


def _pull_request(scene: _Scene) -> _Work:
    """The requests that are new or changed; windows and rules that are, as previews."""
    evidence, intents = scene.evidence, scene.texts.intents
    instances = Instances(evidence.snapshot)
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
    found = list(findings)
    previews: list[Preview] = []
    for goal in _previewed(scene, instances, changed, found):
        preview = scene.preview(goal)
        previews.append(preview)
        found += _preview_findings(preview, goal)
    return _Work(goals=goals, previews=tuple(previews), findings=tuple(found))


def _previewed(
    scene: _Scene, instances: Instances, changed: frozenset[str], findings: list[Finding]
) -> list[Goal]:
    intents, evidence = scene.texts.intents, scene.evidence
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


def _softened(findings: tuple[Finding, ...], scene: _Scene) -> tuple[Finding, ...]:
    """What is wrong with a rule of the base already is a warning for a pull request."""
    before = scene.texts.before
    if before is None:
        return findings
    stood = {
        (finding.code, finding.message)
        for finding in compile_rules(before, scene.evidence.snapshot)[1]
    }
    return tuple(
        _at_most_warning(finding) if (finding.code, finding.message) in stood else finding
        for finding in findings
    )


def _at_most_warning(finding: Finding) -> Finding:
    if finding.severity is Severity.ERROR:
        return replace(finding, severity=Severity.WARNING)
    return finding


def _both_touched(changed: Iterable[str], settings: Settings, cluster: str) -> tuple[Finding, ...]:
    """A pull request that edits VM manifests beside intents does by hand what gitbot is for."""
    paths = sorted(changed)
    folders = [item.path for item in settings.manifests if item.repository is None]
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
