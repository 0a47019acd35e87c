"""Terms, goals, problems and objects of one revision. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from gitbot import gitbot_version
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.execution.executor_types import (
    Approved,
    BreakerLimits,
    CreateMigration,
    ExecutorInput,
    Maintenance,
    Terms,
)
from gitbot.intents import (
    KINDS,
    Healing,
    Intent,
    IntentSet,
    MaintenanceWindowSpec,
    MigrationRequestSpec,
)
from gitbot.intents.compile import (
    NO_PAST,
    Opening,
    RequestHistory,
    allowed_for,
    build_problem,
    compile_drain,
    compile_requests,
    load_now,
    measured_rules,
    opening_of,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import (
    DrainId,
    HealId,
    MigrationRequestId,
    OccurrenceId,
    RequestId,
    ReturnId,
)
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Goal, MoveVms, PlacementProblem, Reservation
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import OWN_TERMS, IntentRef
from gitbot.published import PlanDocument
from gitbot.rendering import migration_manifest
from gitbot.settings import Settings
from gitbot.workflows.core.judged_plan import migration_context
from gitbot.workflows.core.policy_recheck import PolicyRecheck
from gitbot.workflows.core.revision import Revision


def no_commit(_path: str) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionEngine:
    """A revision, ready for questions. `introduced` finds the commit that merged a file."""

    revision: Revision
    introduced: Callable[[str], str] = no_commit

    @property
    def commit(self) -> str:
        return self.revision.commit

    @property
    def settings(self) -> Settings:
        return self.revision.settings

    @property
    def intents(self) -> IntentSet:
        return self.revision.intents

    # Terms of what is approved

    def terms(self, request: RequestId, plan: PlanDocument, *, now: int) -> Terms | None:
        """When and how often a planned request may run; None if its intent does not exist.

        `void` is set if the intent's spec has changed since the plan was made.
        """
        match request:
            case MigrationRequestId():
                return self._request_terms(request, plan, now)
            case DrainId(occurrence=occurrence):
                return self._drain_terms(occurrence, plan, now)
            case ReturnId(occurrence=occurrence):
                return Terms(reason="Maintenance", window=occurrence.window)
            case HealId(kind=kind) if kind in OWN_TERMS:
                return Terms(reason="Healing")
            case HealId(namespace=namespace, kind=kind, name=name):
                intent = self.intents.find(kind, name, namespace)
                void = "" if intent is None else _edited(intent, plan)
                return None if intent is None else Terms(reason="Healing", void=void)
            case _:
                return None

    def _request_terms(
        self, request: MigrationRequestId, plan: PlanDocument, now: int
    ) -> Terms | None:
        found = self.intents.request(
            IntentRef(kind="MigrationRequest", namespace=request.namespace, name=request.name)
        )
        if found is None:
            return None
        intent, spec = found
        if self.revision.has_broken(intent.ref.file) and self._lacks_window(spec):
            # the window may come back with the repair: until then the request waits, and ends never
            spec = spec.model_copy(update={"window": None})
        return Terms(
            allowed=allowed_for(self.intents, spec, now=now, zone=self.revision.zone),
            attempts=spec.attempts,
            void=_edited(intent, plan),
            reason=spec.reason,
            note=spec.note or "",
            window=spec.window or "",
            source=spec.vms.source or "",
        )

    def _lacks_window(self, spec: MigrationRequestSpec) -> bool:
        return spec.window is not None and self.intents.window(spec.window) is None

    def _drain_terms(self, occurrence: OccurrenceId, plan: PlanDocument, now: int) -> Terms | None:
        found = self.intents.window(occurrence.window)
        if found is None:
            return None
        intent, spec = found
        opening = self.opening(intent, now=now, occurrence=occurrence.id)
        if opening is None or opening.id != occurrence.id:
            return None
        request, allowed = opening.drain, opening.allowed
        if opening.ready_by:  # what was reviewed says when moves begin, not the window
            begins = plan.plan.begins.get(request, opening.open.start)
            allowed = Interval(start=max(begins, allowed.start), end=allowed.end)
        return Terms(
            allowed=(allowed,),
            finish=spec.overrun == "Finish",
            void=_edited(intent, plan),
            reason="Maintenance",
            note=spec.note or "",
            window=occurrence.window,
            maintenance=Maintenance(
                occurrence=occurrence,
                nodes=drained_nodes(plan, request),
                max_nodes_at_once=spec.drain.max_nodes_at_once,
                cordon=spec.drain.cordon == "Gitbot",
                stays=vms_left_running(spec, plan, request),
                done=spec.drain.done,
                return_home=spec.return_home,
                together=spec.drain.together,
            ),
        )

    # Goals

    def opening(
        self, intent: Intent, *, now: int, occurrence: str = "", past: RequestHistory = NO_PAST
    ) -> Opening | None:
        """The occurrence of a window with that id, else the one that is open or comes next."""
        commit = self.introduced(intent.ref.file)
        return opening_of(
            self.intents,
            intent.ref.name,
            now=now,
            zone=self.revision.zone,
            occurrence=occurrence,
            commit=commit,
            past=past,
        )

    def drain_goal(
        self, intent: Intent, opening: Opening, snapshot: ClusterSnapshot, *, now: int
    ) -> EmptyNodes | None:
        """The goal of draining one occurrence; None if there is nothing to drain."""
        goal, _ = compile_drain(
            self.intents,
            snapshot,
            window=intent.ref.name,
            now=now,
            zone=self.revision.zone,
            occurrence=opening.id,
            commit=opening.id,
            past=NO_PAST,
        )
        return goal

    def request_goals(
        self, snapshot: ClusterSnapshot, *, now: int, only: tuple[RequestId, ...]
    ) -> tuple[MoveVms, ...]:
        """The goals of requests by ledger id, without those that cannot be carried out."""
        goals, _ = compile_requests(
            self.intents, snapshot, now=now, zone=self.revision.zone, only=only
        )
        return goals

    def reason_of(self, request: IntentRef) -> str:
        found = self.intents.request(request)
        return found[1].reason if found is not None else ""

    def healing_rules(self) -> tuple[tuple[Intent, Healing], ...]:
        """The rules, each with what gitbot does about a breach, in order of refs."""
        found: list[tuple[Intent, Healing]] = []
        for intent in self.intents.intents:
            healing = KINDS[intent.ref.kind].healing(intent.spec)
            if healing is not None:
                found.append((intent, healing))
        return tuple(sorted(found, key=lambda item: item[0].ref))

    def measured_rules(self, snapshot: ClusterSnapshot, *, now: int) -> tuple[RuleConstraint, ...]:
        """The rules that the measured load breaks; problems only have those to heal."""
        load = load_now(snapshot, self.settings, self.revision.cluster, now=now)
        return measured_rules(self.intents, snapshot, load)

    # Problems, plans, objects

    def compile(
        self,
        snapshot: ClusterSnapshot,
        *,
        now: int,
        goals: Iterable[Goal] = (),
        reservations: Iterable[Reservation] = (),
        instances: Instances | None = None,
        assume_plugins: Collection[str] = (),
        past: RequestHistory = NO_PAST,
    ) -> tuple[PlacementProblem, tuple[Finding, ...]]:
        return build_problem(
            cluster=self.revision.cluster,
            settings=self.settings,
            intents=self.intents,
            snapshot=self.revision.scheduled(snapshot),
            goals=goals,
            now=now,
            reservations=reservations,
            instances=instances,
            assume_plugins=assume_plugins,
            past=past,
        )

    def problem(self, snapshot: ClusterSnapshot, now: int) -> PlacementProblem:
        """Rules, freezes and limits over a snapshot, without goals and reservations."""
        return self.compile(snapshot, now=now)[0]

    def view(
        self,
        snapshot: ClusterSnapshot,
        ledger: Ledger,
        approved: tuple[Approved, ...],
        *,
        now: int,
        stop: str,
        gate: str = "",
        judge_groups: bool = True,
        executor: str = "",
        unsent: frozenset[tuple[str, int]] = frozenset(),
        unanswered: frozenset[str] = frozenset(),
    ) -> ExecutorInput:
        """The input of the executor's decision."""
        breaker = self.settings.breaker
        problem = self.problem(snapshot, now)
        denials = PolicyRecheck(
            revision=self.revision.remembering(ledger),
            problem=problem,
            ledger=ledger,
            goals=lambda plan: self._drained(plan, snapshot, now),
        )
        return ExecutorInput(
            cluster=self.revision.cluster,
            now=now,
            ledger=ledger,
            approved=denials.pausing(approved),
            problem=problem,
            migrations=tuple(snapshot.of("VirtualMachineInstanceMigration")),
            replay=replay,
            stop=stop,
            judge_groups=judge_groups,
            breaker=BreakerLimits(
                failures=breaker.failures,
                unexpected_landings=breaker.unexpected_landings,
                foreign_returns=breaker.foreign_returns,
            ),
            pending_timeout=self.settings.unschedulable_timeout,
            executor=executor,
            unsent=unsent,
            unanswered=unanswered,
            denied=denials.groups(approved),
            folders=self.revision.stops(snapshot),
            gate=gate,
        )

    def _drained(
        self, plan: PlacementPlan, snapshot: ClusterSnapshot, now: int
    ) -> tuple[EmptyNodes, ...]:
        """The goals of the windows whose nodes a plan empties."""
        found = []
        for request in (drain.request for drain in plan.drains):
            if not isinstance(request, DrainId):
                continue
            intent = self.intents.find("MaintenanceWindow", request.occurrence.window)
            at = request.occurrence.id
            if intent and (opening := self.opening(intent, now=now, occurrence=at)):
                found.append(self.drain_goal(intent, opening, snapshot, now=now))
        return tuple(goal for goal in found if goal is not None)

    def manifest(self, effect: CreateMigration) -> KubernetesObject:
        approval = effect.approved.approval
        context = migration_context(
            self.revision,
            effect.move,
            commit=approval.commit,
            pull_request=approval.pull_request,
            request=str(effect.approved.id),
            version=gitbot_version(),
        )
        templates = self.revision.templates
        return migration_manifest(
            move=effect.move, attempt=effect.attempt, context=context, templates=templates
        )


def _edited(intent: Intent, plan: PlanDocument) -> str:
    """Why a plan is void: its intent has changed since."""
    reviewed = plan.plan.intents.get(intent.ref.id)
    if reviewed is None or reviewed == intent.spec_digest:
        return ""
    return f"{intent.ref.id} was edited after its plan was approved"


def drained_nodes(plan: PlanDocument, request: RequestId) -> tuple[str, ...]:
    """The nodes that a plan drains for a request: in the order of its moves, then the empty ones.

    The manifests of a drain's plan label every node of its goal; VMs step aside on others, too.
    """
    moves = sorted(
        (move for move in plan.plan.moves if move.request == request),
        key=lambda move: (move.wave, move.id),
    )
    labelled = [name_of(item).name for item in plan.manifests if item.get("kind") == "Node"]
    left = (move.source.node for move in moves)
    return tuple(dict.fromkeys([*(n for n in left if n in labelled or not labelled), *labelled]))


def vms_left_running(
    spec: MaintenanceWindowSpec, plan: PlanDocument, request: RequestId
) -> frozenset[NamespacedName]:
    """VMs that may stay on a drained node: on hold in the plan and not moved, for LeaveRunning."""
    if spec.drain.not_migratable != "LeaveRunning":
        return frozenset()
    held = {hold.vm.namespaced_name for hold in plan.plan.holds if hold.request == request}
    return frozenset(held.difference(move.vm.namespaced_name for move in plan.plan.moves))
