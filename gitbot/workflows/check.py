"""Check: lint, plan, replay and verdict, for a working tree or a pair of revisions.

Pure but for its arguments: texts, snapshot, ledger's past and now come in as values, so the same
function serves a terminal, a pull request's job and the trusted run that publishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitbot.constraints.instances import Instances
from gitbot.intents import IntentSet, read_intents
from gitbot.model.findings import Finding, Severity, has_errors, sort_key
from gitbot.model.plan import Hold
from gitbot.model.problem import PlacementProblem
from gitbot.planner import make_plan
from gitbot.policy import PolicySet, read_policies
from gitbot.reports import Diff, Preview
from gitbot.settings import Settings, read_settings
from gitbot.workflows.review import Replay, Review, hold_findings, review
from gitbot.workflows.scope import Evidence, Scene, pull_request_scope, softened, whole_tree

CONFIGURATION = ".gitbot.yaml"

__all__ = ["CheckResult", "Engine", "Evidence", "Sources", "check"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Texts at one place: repository path to content. `commit` is "" for a working tree."""

    configuration: bytes
    intents: Mapping[str, bytes]
    policies: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""


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
    cluster: str = ""

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

    With `base`, configuration and policies are the base's, the plan has the moves of new or changed
    MigrationRequests, and what new or changed windows and rules would do is a preview outside the
    digest. `changed` are the paths that a pull request touches.
    """
    texts = _read(cluster, sources, base, engine)
    if (settings := texts.settings) is None or has_errors(texts.findings):
        return CheckResult(findings=texts.findings, settings=settings, cluster=cluster)
    if settings.cluster(cluster) is None:
        return _unknown_cluster(cluster, settings, texts.findings)
    scene = _scene(cluster, texts, settings, evidence)
    work = whole_tree(scene) if base is None else pull_request_scope(scene)
    problem, found = scene.problem(work.goals)
    plan = make_plan(problem)
    previews, more = scene.previews(work.previewed, plan)
    both = _both_touched(changed, settings, cluster)
    made = review(
        plan=plan,
        problem=problem,
        intents=texts.intents,
        settings=settings,
        policies=texts.policies,
        templates=engine.templates,
        replay=engine.replay,
        now=evidence.now,
        commit=sources.commit,
        pull_request=pull_request,
        findings=(*texts.findings, *work.findings, *softened(found, scene), *more, *both),
        previews=previews,
    )
    return CheckResult(
        findings=made.findings,
        review=made,
        previews=previews,
        problem=problem,
        intents=texts.intents,
        settings=settings,
        cluster=cluster,
    )


def _scene(cluster: str, texts: _Texts, settings: Settings, evidence: Evidence) -> Scene:
    return Scene(
        cluster=cluster,
        intents=texts.intents,
        before=texts.before,
        settings=settings,
        evidence=evidence,
        instances=Instances(evidence.snapshot),
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


def _unknown_cluster(
    cluster: str, settings: Settings, findings: tuple[Finding, ...]
) -> CheckResult:
    known = ", ".join(item.name for item in settings.clusters)
    unknown = Finding(
        code="check/unknown-cluster",
        severity=Severity.ERROR,
        message=f"there is no cluster {cluster}, expected {known}",
        file=CONFIGURATION,
        line=1,
    )
    return CheckResult(findings=(*findings, unknown), cluster=cluster)


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
