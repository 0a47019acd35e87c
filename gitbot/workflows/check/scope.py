"""What a check plans: the goals of a working tree or of a pull request, and the previews."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gitbot.constraints.moves.instances import Instances
from gitbot.intents import Intent, IntentSet
from gitbot.intents.compile import (
    NO_PAST,
    GoalInputs,
    RequestHistory,
    Role,
    compile_drain,
    compile_goals,
    compile_heal,
    compile_rules,
    goals_of,
    request_id,
)
from gitbot.kubernetes.labels import UNSCHEDULABLE
from gitbot.kubernetes.objects import KubernetesObject, labels_of, name_of, uid_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.request_id import UNMERGED, DrainId, HealId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import (
    EmptyNodes,
    Goal,
    PlacementProblem,
    Request,
    Reservation,
    ReturnHome,
)
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.planner import make_plan, planner_of
from gitbot.reports import Preview
from gitbot.workflows.core.draining_nodes import closing_goals, drains_due
from gitbot.workflows.core.judged_plan import fault_findings, hold_findings
from gitbot.workflows.core.plan_conditions import outlook_of
from gitbot.workflows.core.revision import Revision
from gitbot.workflows.core.revision_engine import RevisionEngine

MOST_HEALED = 50  # rules whose healing is previewed


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningInputs:
    """What the plan is based on: cluster, the past of requests, places that others will take.

    `now` is the instant that is judged, `clock` the present if that is another.
    """

    snapshot: ClusterSnapshot
    now: int
    clock: int | None = None
    past: RequestHistory = NO_PAST
    reservations: tuple[Reservation, ...] = ()
    assume_plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterScope:
    """One revision on one cluster: its goals and problems.

    `before` are the intents of the base, None for a working tree.
    """

    engine: RevisionEngine
    before: IntentSet | None
    evidence: PlanningInputs
    instances: Instances

    @classmethod
    def of(
        cls, revision: Revision, evidence: PlanningInputs, before: IntentSet | None
    ) -> ClusterScope:
        return cls(
            engine=RevisionEngine(revision=revision),
            before=before,
            evidence=evidence,
            instances=Instances.of(evidence.snapshot),
        )

    @property
    def intents(self) -> IntentSet:
        return self.engine.intents

    @property
    def zone(self) -> str | None:
        return self.engine.revision.zone

    def problem(
        self, goals: Sequence[Goal], beside: Sequence[Goal] = ()
    ) -> tuple[PlacementProblem, tuple[Finding, ...]]:
        """The problem of these goals; what they had approved before takes no place from them.

        `beside` are goals that only close nodes.
        """
        mine = {goal.request.id for goal in goals}
        others = (item for item in self.evidence.reservations if item.request not in mine)
        return self.engine.compile(
            self.evidence.snapshot,
            now=self.evidence.now,
            goals=(*goals, *beside),
            reservations=others,
            instances=self.instances,
            assume_plugins=self.evidence.assume_plugins,
            past=self.evidence.past,
        )

    def closed_by_windows(self, goals: tuple[Goal, ...]) -> tuple[EmptyNodes, ...]:
        """Goals that close the nodes which windows empty soon, beside the drains of `goals`."""
        now, past = self.evidence.now, self.evidence.past
        due = drains_due(self.engine, self.evidence.snapshot, now=now, past=past)
        return closing_goals(due, goals)

    def previews(
        self, goals: tuple[Goal, ...], plan: PlacementPlan, onlooker: PlanningProgress = NO_PROGRESS
    ) -> tuple[tuple[Preview, ...], tuple[Finding, ...]]:
        """The effect of each goal after the plan is carried out, and the findings about it."""
        snapshot = apply_plan_to_snapshot(self.evidence.snapshot, plan)
        after = replace(
            self,
            evidence=replace(self.evidence, snapshot=snapshot),
            instances=Instances(snapshot)
            if plan.moves and (goals or plan.drains)
            else self.instances,
        )
        made: list[Preview] = []
        found: list[Finding] = []
        for goal in goals:
            problem, _ = after.problem((goal,))
            led = make_plan(problem, onlooker=onlooker)
            outlook = outlook_of(self.intents, problem, led, zone=self.zone)
            title, follows = planner_of(goal).preview(goal), self._follows(goal)
            preview = Preview(title=title, plan=led, outlook=outlook, follows=follows)
            made.append(preview)
            found += fault_findings(led.faults)
            if self.before is not None:
                found += _preview_findings(preview, goal)
        if self.before is not None:
            made += after.ways_home(plan, onlooker)
        return tuple(made), tuple(found)

    def _follows(self, goal: Goal) -> str:
        if not isinstance(goal.request.id, HealId):
            return "when the window opens"
        rule, every = goal.request.intent, self.engine.healing_rules()
        auto = any(item.heal == "Auto" for intent, item in every if intent.ref.id == rule.id)
        return "by heal: Auto" if auto else "in a healing pull request"

    def ways_home(self, plan: PlacementPlan, onlooker: PlanningProgress) -> Iterator[Preview]:
        """What brings the VMs of each drain home once its nodes are back, planned as of now."""
        for drain in plan.drains:
            window = drain.request.occurrence.window if isinstance(drain.request, DrainId) else ""
            found = self.intents.window(window)
            moves = [move for move in plan.moves if move.request == drain.request]
            homes = {
                move.vm.namespaced_name: move.source.node
                for move in reversed(moves)
                if move.source.node in drain.emptied
            }
            if not isinstance(drain.request, DrainId) or found is None or not homes:
                continue
            if found[1].return_home == "Never":
                continue
            request = Request(id=drain.request.occurrence.homecoming, intent=found[0].ref)
            back = _uncordoned(self.evidence.snapshot, drain.emptied)
            scope = replace(self, evidence=replace(self.evidence, snapshot=back))
            problem, _ = scope.problem((ReturnHome(request=request, homes=homes),))
            led = make_plan(problem, onlooker=onlooker)
            title = f"way home after {window}, once its nodes are back"
            yield Preview(title=title, plan=led)

    @property
    def changed(self) -> frozenset[str]:
        """Ids of intents that are new or differ from the base."""
        before = self.before.digests if self.before else {}
        now = self.intents.digests
        return frozenset(name for name in now if before.get(name) != now[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckGoals:
    """Goals to plan, goals to preview, findings about both."""

    goals: tuple[Goal, ...]
    previewed: tuple[Goal, ...]
    findings: tuple[Finding, ...]


def whole_tree(scope: ClusterScope) -> CheckGoals:
    """All unfinished requests, drains due for review and healings; later drains as previews."""
    evidence, intents = scope.evidence, scope.intents
    instances = scope.instances
    rules = _rules(scope)
    goals, findings = compile_goals(
        intents,
        instances,
        rules,
        now=evidence.now,
        zone=scope.zone,
        past=evidence.past,
    )
    until = evidence.now + scope.engine.settings.proposals.announce
    later = [
        goal
        for goal in goals
        if goal.closes
        and min((interval.start for interval in goal.request.allowed), default=0) > until
    ]
    return CheckGoals(
        goals=tuple(goal for goal in goals if goal not in later),
        previewed=tuple(later),
        findings=findings,
    )


def pull_request_scope(scope: ClusterScope) -> CheckGoals:
    """New or changed requests and windows that open once; other windows, and rules, as previews."""
    evidence, intents = scope.evidence, scope.intents
    instances = scope.instances
    changed = scope.changed
    asked = GoalInputs(
        now=evidence.now,
        zone=scope.zone,
        past=evidence.past,
        wanted=lambda ref: ref.id in changed,
    )
    goals, findings = goals_of(Role.REQUEST, intents, instances, asked)
    found = [*findings, *_used_again(scope)]
    now = _open_at_merge(scope)
    dated = replace(asked, wanted=lambda ref: ref.id in changed and ref.name not in now)
    drains, about = goals_of(Role.WINDOW, intents, instances, dated)
    opening = [_drain_at_merge(scope, name) for name in sorted(now)]
    about = (*about, *(finding for _, findings in opening for finding in findings))
    once = [goal for goal in drains if _opens_once(scope, goal)]
    once += [goal for goal, _ in opening if goal is not None]
    previewed = [*_previewed(scope, asked, found), *(goal for goal in drains if goal not in once)]
    return CheckGoals(goals=(*goals, *once), previewed=tuple(previewed), findings=(*found, *about))


def _open_at_merge(scope: ClusterScope) -> frozenset[str]:
    """The windows that a merge opens: new ones without schedule. Merged ones are open already."""
    before = scope.before
    return frozenset(
        intent.ref.name
        for intent, spec in scope.intents.maintenance_windows
        if spec.schedule is None and (before is None or before.window(intent.ref.name) is None)
    )


def _drain_at_merge(
    scope: ClusterScope, window: str
) -> tuple[EmptyNodes | None, tuple[Finding, ...]]:
    """The drain of a window that a merge opens: an occurrence that has no past."""
    return compile_drain(
        scope.intents,
        scope.instances,
        window=window,
        now=scope.evidence.now,
        zone=scope.zone,
        occurrence=UNMERGED,
    )


def _opens_once(scope: ClusterScope, drain: Goal) -> bool:
    """Whether a merge approves this drain: its window opens once, and it has not begun.

    What has begun ends as it was approved; only a proposal of the bot adds to it.
    """
    known, past = scope.intents.window(drain.request.intent.name), scope.evidence.past
    if known is None or not known[1].opens_once:
        return False
    return drain.request.id not in past.started and known[0].ref.name not in past.emptying


def _rules(scope: ClusterScope) -> tuple[RuleConstraint, ...]:
    """The standing rules, and those that what was measured breaks."""
    rules, _ = compile_rules(scope.intents, scope.instances)
    evidence = scope.evidence
    return (*rules, *scope.engine.measured_rules(evidence.snapshot, now=evidence.now))


def _used_again(scope: ClusterScope) -> list[Finding]:
    """Requests that a pull request brings back after they finished: they would move nothing."""
    known = scope.before.digests if scope.before else {}
    started, finished = scope.evidence.past.started, scope.evidence.past.finished
    found = []
    for intent, _ in scope.intents.migration_requests:
        request = request_id(intent)
        same = started.get(request) in ("", intent.spec_digest)
        if intent.ref.id not in known and request in finished and same:
            found.append(_finished(intent, request))
    return found


def _finished(intent: Intent, request: str) -> Finding:
    place = intent.positions.value(("metadata", "name"))
    return Finding(
        code="intents/finished-name",
        severity=Severity.ERROR,
        message=f"{request} has run and is finished",
        file=intent.ref.file,
        line=place.line,
        column=place.column,
        key_path="metadata.name",
        hint="a request runs once; give this one a new name",
    )


def _previewed(scope: ClusterScope, asked: GoalInputs, findings: list[Finding]) -> list[Goal]:
    intents, instances = scope.intents, scope.instances
    every = compile_heal(intents, instances, _rules(scope), past=asked.past)
    heals = [goal for goal in every if asked.wanted(goal.request.intent)]
    if len(heals) > MOST_HEALED:
        findings.append(_not_previewed(heals))
    return list(heals[:MOST_HEALED])


def _not_previewed(heals: Sequence[Goal]) -> Finding:
    """Each preview is a plan of its own, under all rules."""
    first, left = heals[MOST_HEALED].request.intent, len(heals) - MOST_HEALED
    return Finding(
        code="check/not-previewed",
        severity=Severity.WARNING,
        message=f"found {len(heals)} new or changed rules that are broken, expected at most "
        f"{MOST_HEALED} in one pull request: what {left} of them lead to is not shown",
        file=first.file,
        line=first.line,
        hint="split the pull request",
    )


def _preview_findings(preview: Preview, goal: Goal) -> tuple[Finding, ...]:
    """A node that a new window cannot empty fails the check; a rule that cannot heal warns."""
    found = hold_findings(preview.plan.holds)
    if planner_of(goal).may_fail:
        return tuple(_at_most_warning(finding) for finding in found)
    return found


def downgrade_known_errors(
    findings: tuple[Finding, ...], scope: ClusterScope
) -> tuple[Finding, ...]:
    """Turn errors about a rule that the base has already into warnings for a pull request."""
    before = scope.before
    if before is None:
        return findings
    stood = {
        (finding.code, finding.message) for finding in compile_rules(before, scope.instances)[1]
    }
    return tuple(
        _at_most_warning(finding) if (finding.code, finding.message) in stood else finding
        for finding in findings
    )


def _at_most_warning(finding: Finding) -> Finding:
    if finding.severity is Severity.ERROR:
        return replace(finding, severity=Severity.WARNING)
    return finding


def apply_plan_to_snapshot(snapshot: ClusterSnapshot, plan: PlacementPlan) -> ClusterSnapshot:
    """The same objects with every moved VM, and its launcher pod, on its target node.

    Only the places change; the digest stays that of the snapshot that was read.
    """
    if not plan.moves:
        return snapshot
    nodes = {move.vm.namespaced_name: move.to.node for move in plan.moves}
    owners = {
        uid_of(instance): nodes[name_of(instance)]
        for instance in snapshot.of("VirtualMachineInstance")
        if name_of(instance) in nodes and uid_of(instance)
    }
    objects = dict(snapshot.objects)
    objects["VirtualMachineInstance"] = tuple(
        _instance(item, nodes[name_of(item)]) if name_of(item) in nodes else item
        for item in snapshot.of("VirtualMachineInstance")
    )
    objects["Pod"] = tuple(_pod(item, owners) for item in snapshot.of("Pod"))
    return replace(snapshot, objects=objects)


def _uncordoned(snapshot: ClusterSnapshot, nodes: Collection[str]) -> ClusterSnapshot:
    """The same objects with these nodes in service."""
    found = snapshot.of("Node")
    back = tuple(_in_service(node) if name_of(node).name in nodes else node for node in found)
    return replace(snapshot, objects={**snapshot.objects, "Node": back})


def _in_service(node: KubernetesObject) -> dict[str, Any]:
    spec = dict(node.get("spec") or {})
    taints = [item for item in spec.get("taints") or () if item.get("key") != UNSCHEDULABLE]
    return {**node, "spec": {**spec, "unschedulable": False, "taints": taints}}


def _instance(instance: KubernetesObject, node: str) -> dict[str, Any]:
    status = instance.get("status") or {}
    pods = dict.fromkeys(status.get("activePods") or {}, node)
    return {**instance, "status": {**status, "nodeName": node, "activePods": pods}}


def _pod(pod: KubernetesObject, owners: Mapping[str, str]) -> KubernetesObject:
    node = owners.get(labels_of(pod).get("kubevirt.io/created-by", ""))
    if node is None:
        return pod
    return {**pod, "spec": {**(pod.get("spec") or {}), "nodeName": node}}
