"""The protected base branch at one commit: configuration, intents, policies, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitbot.errors import InvalidInput, UsageError
from gitbot.execution.values import CreateMigration, Maintenance, Replay, Terms
from gitbot.intents import Intent, IntentSet, read_intents
from gitbot.intents.compile import (
    NO_PAST,
    Opening,
    allowed_for,
    build_problem,
    compile_drain,
    compile_requests,
    opening_of,
)
from gitbot.intents.kinds.maintenance_window import MaintenanceWindowSpec
from gitbot.intents.kinds.migration_request import MigrationRequestSpec
from gitbot.intents.kinds.placement_rule import PlacementRuleSpec
from gitbot.intents.kinds.zone_anti_affinity import ZoneAntiAffinitySpec
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.findings import Finding, Severity
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, name_of
from gitbot.model.plan_json import PlanDocument
from gitbot.model.problem import EmptyNodes, MoveVms, PlacementProblem
from gitbot.planner import make_plan
from gitbot.policy import PolicySet, read_policies
from gitbot.ports.repository import Repository
from gitbot.ports.templates import Templates
from gitbot.rendering import MigrationContext, migration_manifest
from gitbot.settings import Settings, read_settings
from gitbot.workflows.review import Review, review, window_and_reason

CONFIGURATION = ".gitbot.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitBase:
    """What one commit of the base branch says. `introduced` finds the commit that merged a file."""

    cluster: str
    commit: str
    settings: Settings
    intents: IntentSet
    policies: PolicySet
    templates: Mapping[str, str]
    replay: Replay
    introduced: Callable[[str], str]
    now: Callable[[], int]

    @property
    def zone(self) -> str | None:
        """The time zone of schedules that name none."""
        found = self.settings.cluster(self.cluster)
        return found.time_zone if found is not None else None

    # Terms of what is approved

    def terms(self, request: str, plan: PlanDocument) -> Terms | None:
        """When and how often a planned request may run; None where its intent is not there."""
        family, _, rest = request.partition("/")
        match family:
            case "request":
                return self._request_terms(*_pair(rest), plan)
            case "drain":
                return self._drain_terms(*_pair(rest), plan)
            case "return":
                return Terms(reason="Maintenance", window=_pair(rest)[0])
            case "heal":
                namespace, _, name = rest.partition("/")
                kind, _, name = name.partition("/")
                intent = self.intents.find(kind, name, namespace)
                return None if intent is None else Terms(reason="Healing")
        return None

    def _request_terms(self, namespace: str, name: str, plan: PlanDocument) -> Terms | None:
        intent = self.intents.find("MigrationRequest", name, namespace)
        if intent is None or not isinstance(intent.spec, MigrationRequestSpec):
            return None
        spec = intent.spec
        return Terms(
            allowed=allowed_for(self.intents, spec, now=self.now(), zone=self.zone),
            attempts=spec.attempts,
            void=_edited(intent, plan),
            reason=spec.reason,
            note=spec.note or "",
            window=spec.window or "",
        )

    def _drain_terms(self, window: str, occurrence: str, plan: PlanDocument) -> Terms | None:
        intent = self.intents.find("MaintenanceWindow", window)
        if intent is None or not isinstance(intent.spec, MaintenanceWindowSpec):
            return None
        opening = self.opening(intent, occurrence=occurrence)
        if opening is None or opening.id != occurrence:
            return None
        spec = intent.spec
        request = opening.drain
        return Terms(
            allowed=(opening.allowed,),
            finish=spec.overrun == "Finish",
            void=_edited(intent, plan),
            reason="Maintenance",
            window=window,
            maintenance=Maintenance(
                window=window,
                occurrence=occurrence,
                nodes=drained_nodes(plan, request),
                max_nodes_at_once=spec.drain.max_nodes_at_once,
                cordon=spec.drain.cordon == "Gitbot",
                stays=_stays(spec, plan, request),
                done=spec.drain.done,
                return_home=spec.return_home,
            ),
        )

    # Goals

    def opening(self, intent: Intent, *, occurrence: str = "") -> Opening | None:
        """The occurrence of a window with that id, else the one that is open or comes next."""
        commit = self.introduced(intent.ref.file)
        return opening_of(
            self.intents,
            intent.ref.name,
            now=self.now(),
            zone=self.zone,
            occurrence=occurrence,
            commit=commit,
        )

    def drain_goal(
        self, intent: Intent, opening: Opening, snapshot: ClusterSnapshot
    ) -> EmptyNodes | None:
        """The goal of draining one occurrence; None where there is nothing to drain."""
        goal, _ = compile_drain(
            self.intents,
            snapshot,
            window=intent.ref.name,
            now=self.now(),
            zone=self.zone,
            occurrence=opening.id,
            commit=opening.id,
            past=NO_PAST,
        )
        return goal

    def request_goals(
        self, snapshot: ClusterSnapshot, *, only: tuple[str, ...]
    ) -> tuple[MoveVms, ...]:
        """The goals of requests by ledger id; those that cannot mean anything are absent."""
        goals, _ = compile_requests(
            self.intents, snapshot, now=self.now(), zone=self.zone, only=only
        )
        return goals

    def healing_rules(self) -> tuple[tuple[Intent, str, bool], ...]:
        """Rules with their `heal` and whether they are Required, in order of refs."""
        found: list[tuple[Intent, str, bool]] = []
        for intent in self.intents.intents:
            spec = intent.spec
            if isinstance(spec, ZoneAntiAffinitySpec | PlacementRuleSpec):
                found.append((intent, spec.heal, spec.enforcement == "Required"))
        return tuple(sorted(found, key=lambda item: item[0].ref))

    # Problems, plans, objects

    def problem(self, snapshot: ClusterSnapshot, now: int) -> PlacementProblem:
        """Rules, freezes and limits over a snapshot, without goals and reservations."""
        problem, _ = build_problem(
            cluster=self.cluster,
            settings=self.settings,
            intents=self.intents,
            snapshot=snapshot,
            goals=(),
            now=now,
        )
        return problem

    def review(self, problem: PlacementProblem, *, pull_request: int = 0) -> Review:
        """Plan and judge a problem whose goals are set."""
        whole, findings = build_problem(
            cluster=self.cluster,
            settings=self.settings,
            intents=self.intents,
            snapshot=problem.snapshot,
            goals=problem.goals,
            now=problem.now,
            reservations=problem.reservations,
        )
        return review(
            plan=make_plan(whole),
            problem=whole,
            intents=self.intents,
            settings=self.settings,
            policies=self.policies,
            templates=self.templates,
            replay=self.replay,
            now=problem.now,
            commit=self.commit,
            pull_request=pull_request,
            findings=[item for item in findings if item.severity is not Severity.ERROR],
        )

    def manifest(self, effect: CreateMigration) -> KubernetesObject:
        """The VMIM of one effect."""
        window, reason = window_and_reason(self.intents, effect.move)
        context = MigrationContext(
            unschedulable_timeout=self.settings.unschedulable_timeout,
            window=window,
            commit=effect.approved.approval.commit,
            pull_request=effect.approved.approval.pull_request,
            reason=reason,
        )
        return migration_manifest(
            move=effect.move, attempt=effect.attempt, context=context, templates=self.templates
        )


def _pair(text: str) -> tuple[str, str]:
    first, _, second = text.partition("/")
    return first, second


def _edited(intent: Intent, plan: PlanDocument) -> str:
    """Why a plan is void for an intent that is no longer the one it was made for."""
    reviewed = plan.plan.intents.get(intent.ref.id)
    if reviewed is None or reviewed == intent.spec_digest:
        return ""
    return f"{intent.ref.id} was edited after its plan was approved"


def drained_nodes(plan: PlanDocument, request: str) -> tuple[str, ...]:
    """The nodes that a plan drains for a request: in the order of its moves, then the empty ones.

    The manifests of a drain's plan label every node of its goal.
    """
    moves = sorted(
        (move for move in plan.plan.moves if move.request == request),
        key=lambda move: (move.wave, move.id),
    )
    labelled = [name_of(item).name for item in plan.manifests if item.get("kind") == "Node"]
    return tuple(dict.fromkeys([*(move.source.node for move in moves), *labelled]))


def _stays(
    spec: MaintenanceWindowSpec, plan: PlanDocument, request: str
) -> frozenset[NamespacedName]:
    """VMs that may stay on a drained node: those that the plan held, under LeaveRunning only."""
    if spec.drain.not_migratable != "LeaveRunning":
        return frozenset()
    return frozenset(hold.vm.namespaced_name for hold in plan.plan.holds if hold.request == request)


def read_base(
    *,
    repository: Repository,
    commit: str,
    base_branch: str,
    cluster: str,
    texts: Templates,
    replay: Replay,
    now: Callable[[], int],
) -> GitBase:
    """Read a commit of the base branch. InvalidInput where it holds an error."""
    data = repository.read_blob(commit, CONFIGURATION)
    if data is None:
        raise UsageError(f"{base_branch} has no {CONFIGURATION}", hint="`gitbot init` writes one")
    settings, findings = read_settings(data, CONFIGURATION)
    if settings is None:
        raise InvalidInput("\n".join(str(finding) for finding in findings))
    intents = read_commit_intents(repository, commit, settings, cluster)
    own = {
        path: content.decode("utf-8", "replace")
        for path, content in repository.read_tree(commit, "policies/").items()
        if path.endswith(".yaml")
    }
    policies, policy_findings = read_policies({**texts.policies(), **own})
    _must_be_valid(policy_findings)
    return GitBase(
        cluster=cluster,
        commit=commit,
        settings=settings,
        intents=intents,
        policies=policies,
        templates=texts.templates(),
        replay=replay,
        introduced=lambda path: repository.introduced_by(base_branch, path) or commit,
        now=now,
    )


def read_commit_intents(
    repository: Repository, rev: str, settings: Settings, cluster: str
) -> IntentSet:
    """The intents of a cluster at a commit or tree. InvalidInput where one is wrong."""
    files = repository.read_tree(rev, f"intents/{cluster}/")
    intents, findings = read_intents(files, settings, cluster)
    _must_be_valid(findings)
    return intents


def _must_be_valid(findings: tuple[Finding, ...]) -> None:
    errors = [item for item in findings if item.severity is Severity.ERROR]
    if errors:
        raise InvalidInput("\n".join(str(finding) for finding in errors))
