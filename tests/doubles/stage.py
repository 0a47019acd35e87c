"""A stage in memory: a tiny cluster, forge and ledger, and a base branch with fixed terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.execution.executor_types import CreateMigration, ExecutorInput, Terms
from gitbot.intents import IntentSet
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.effect_id import EffectId
from gitbot.model.ledger.events import PlanShown, Shown
from gitbot.model.ledger.ledger import pull_file
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, PlacementPlan, Wave
from gitbot.model.plan.problem import Limits, PlacementProblem
from gitbot.model.text.instants import format_instant
from gitbot.policy import read_policies
from gitbot.ports.forge import MergeMethod
from gitbot.published import PlanDocument, PlanInputs, plan_bytes, plan_digest, plan_document
from gitbot.settings import ClusterSettings, Settings
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision import BundledTexts, Revision
from gitbot.workflows.core.revision_engine import RevisionEngine
from tests.doubles.forge import MemoryForge
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.repository import MemoryRepository
from tests.doubles.tiny_cluster import NOW, TestClock, TinyCluster


def no_refusal(problem: PlacementProblem, plan: PlacementPlan) -> str:
    """Every plan passes the checks."""
    del problem, plan
    return ""


@dataclass(frozen=True, kw_only=True)
class TinyBase(RevisionEngine):
    """A base branch with given terms, no rules, and a replay that a test may sharpen."""

    terms_by_request: dict[str, Terms] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    refuse: Callable[[PlacementProblem, PlacementPlan], str] = no_refusal
    adjust: Callable[[PlacementProblem], PlacementProblem] = lambda problem: problem

    @classmethod
    def of(cls, settings: Settings) -> TinyBase:
        return cls(
            revision=Revision(
                cluster="prod",
                commit="",
                settings=settings,
                intents=IntentSet(cluster="prod"),
                policies=read_policies({})[0],
                shipped=BundledTexts(policies={}, templates={}),
                trusted_findings=(),
                findings=(),
            )
        )

    def at(self, commit: str) -> TinyBase:
        return replace(self, revision=replace(self.revision, commit=commit))

    def terms(self, request: str, plan: PlanDocument, *, now: int) -> Terms | None:
        del plan, now
        return self.terms_by_request.get(request, Terms())

    def problem(self, snapshot: ClusterSnapshot, now: int) -> PlacementProblem:
        return self.adjust(
            PlacementProblem(cluster="prod", now=now, snapshot=snapshot, limits=self.limits)
        )

    def view(self, *args: Any, **named: Any) -> ExecutorInput:
        return super().view(*args, **named).replace(replay=self.replay)

    def replay(self, problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        message = self.refuse(problem, plan)
        if not message:
            return ()
        return (Finding(code="replay/refused", severity=Severity.ERROR, message=message),)

    def manifest(self, effect: CreateMigration) -> KubernetesObject:
        move = effect.move
        identity = EffectId(
            request=move.request, vmi_uid=move.vm.uid, move=move.id, attempt=effect.attempt
        )
        spec: dict[str, Any] = {"vmiName": move.vm.name}
        if move.added_node_selector:
            spec["addedNodeSelector"] = dict(move.added_node_selector)
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {
                "namespace": move.vm.namespace,
                "name": identity.migration_name(vm=move.vm.name),
                "labels": {"app.kubernetes.io/managed-by": "gitbot"},
                "annotations": {
                    "placement.gitbot.dev/request": move.request,
                    "placement.gitbot.dev/move": str(move.id),
                    "placement.gitbot.dev/attempt": str(effect.attempt),
                },
            },
            "spec": spec,
        }


def a_plan(*moves: Move) -> PlacementPlan:
    waves = sorted({move.wave for move in moves})
    return PlacementPlan(
        cluster="prod",
        moves=tuple(sorted(moves, key=lambda move: (move.wave, move.request, move.id))),
        waves=tuple(Wave(index=wave, starts=NOW, ends=NOW) for wave in waves),
    )


@dataclass
class Stage:
    """Everything that a workflow needs, in memory."""

    clock: TestClock
    cluster: TinyCluster
    repository: MemoryRepository
    forge: MemoryForge
    store: MemoryLedgerStore
    base: TinyBase
    lines: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, *, nodes: Mapping[str, str], vms: Mapping[str, str]) -> Stage:
        clock = TestClock()
        repository = MemoryRepository()
        repository.write_commit(
            branch="main", expected=None, files={"README": b""}, message="start", time=NOW
        )
        settings = Settings(clusters=(ClusterSettings(name="prod"),), mode="Enforce")
        return cls(
            clock=clock,
            cluster=TinyCluster(clock, nodes=nodes, vms=vms),
            repository=repository,
            forge=MemoryForge(repository, clock),
            store=MemoryLedgerStore(),
            base=TinyBase.of(settings),
        )

    @property
    def shell(self) -> RunContext:
        return RunContext(
            cluster_name="prod",
            base_branch="main",
            repository=self.repository,
            forge=self.forge,
            ledger_store=self.store,
            cluster=self.cluster,
            clock=self.clock,
            read_base=self.base.at,
            progress=lambda progress: self.lines.append(progress.text),
        )

    def approve(self, plan: PlacementPlan, *, branch: str = "work", records: bool = True) -> str:
        """A person's pull request with that plan, shown and merged; returns the digest."""
        digest = plan_digest(plan, ())
        document = plan_document(plan, manifests=(), expires_at=NOW + 86_400, inputs=PlanInputs())
        base = self.repository.commit("main").id
        head = self.repository.write_commit(
            branch=branch,
            expected=None,
            files={**self.repository.read_tree("main"), f"{branch}.yaml": digest.encode()},
            message=branch,
            time=self.clock.now(),
            parents=(base,),
        )
        self.forge.account = "ann"
        pull = self.forge.open_pull(
            branch=branch, base_branch="main", title=branch, body="", labels=()
        )
        record = PlanShown(
            file=pull_file(pull.number),
            time=self.clock.now(),
            cluster="prod",
            pull_request=pull.number,
            digest=digest,
            shown=Shown(head=head, base=base, expires_at=format_instant(NOW + 86_400)),
        )
        events = (record,) if records else ()
        self.store.append(self.store.read(), events, {digest: plan_bytes(document)})
        self.forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=head)
        self.forge.account = "gitbot"
        return digest

    def states(self, request: str = "request/db/one") -> list[str]:
        return [
            f"{getattr(event, 'move', 0)} {event.state}"
            for event in self.store.read().of(f"requests/prod/{request}.jsonl")
        ]
