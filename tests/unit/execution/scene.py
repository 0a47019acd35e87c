"""A small world for the executor's brain: nodes, VMs, approved moves, and what one look says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.execution.executor_types import (
    Approval,
    Approved,
    CreateMigration,
    ExecutorInput,
    LabelNode,
    Maintenance,
    SetUnschedulable,
    Steps,
    Terms,
)
from gitbot.execution.next_steps import next_steps
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import LedgerEvent, MoveEvent, NodeChanged, RequestCancelled
from gitbot.model.ledger.ledger import Ledger, request_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import Limits, PlacementProblem
from tests.doubles.moves import a_move
from tests.doubles.tiny_objects import tiny_instance, tiny_migration, tiny_node

NOW = 1_800_000_000
OCCURRENCE = OccurrenceId(window="fw", id="o1")


def migration(
    name: str, vm: str, phase: str, *, own: bool = True, uid: str = "", **status: Any
) -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": "gitbot"} if own else {}
    uid = uid or f"m-{name}"
    return tiny_migration(name, {"vmiName": vm}, {"labels": labels}, uid=uid, phase=phase, **status)


def move(vm: str, source: str, to: str, number: int = 1, **fields: Any) -> Move:
    return a_move(vm, source, to, number=number, zone="east", **{"group": "one", **fields})


@dataclass
class World:
    """What is there; `step` looks once and adds the entries to the ledger."""

    nodes: dict[str, dict[str, Any]]
    pods: list[dict[str, Any]] = field(default_factory=list, kw_only=True)
    vms: dict[str, dict[str, Any]]
    approved: list[Approved] = field(default_factory=list)
    migrations: dict[str, dict[str, Any]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    now: int = NOW
    problem: dict[str, Any] = field(default_factory=dict)
    view: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    last: Steps = field(default_factory=Steps)

    @classmethod
    def of(cls, *nodes: str, **vms: str) -> World:
        return cls(
            nodes={name: tiny_node(name) for name in nodes},
            vms={name: tiny_instance(name, on) for name, on in vms.items()},
        )

    def approve(
        self,
        *moves: Move,
        request: str = "request/db/one",
        digest: str = "sha256:0",
        concern: str = "",
        **terms: Any,
    ) -> None:
        approval = Approval(digest=digest, pull_request=1, author="ann", concern=concern)
        self.approved.append(
            Approved(
                id=RequestId.read(request), approval=approval, moves=moves, terms=Terms(**terms)
            )
        )

    def drain(self, *moves: Move, **fields: Any) -> None:
        """Approve a drain of the nodes that the moves leave."""
        nodes = tuple(dict.fromkeys(item.source.node for item in moves))
        maintenance: dict[str, Any] = {"occurrence": OCCURRENCE, "nodes": nodes}
        self.approve(
            *moves,
            request=RequestId.read("drain/fw/o1"),
            window="fw",
            maintenance=Maintenance(**{**maintenance, **fields}),
        )

    def step(self) -> list[str]:
        """Look once; the new lines as `move state`, or the node and its state."""
        self.last = next_steps(self.look())
        self.ledger = self.ledger.replace(events=(*self.ledger.events, *self.last.events))
        return [line(event) for event in self.last.events if event.state not in ("home", "window")]

    def look(self) -> ExecutorInput:
        objects = {
            "Pod": tuple(self.pods),
            "Node": tuple(item for _, item in sorted(self.nodes.items())),
            "VirtualMachineInstance": tuple(item for _, item in sorted(self.vms.items())),
        }
        snapshot = ClusterSnapshot(cluster="prod", taken_at=self.now, objects=objects, digest="")
        known: dict[str, Any] = {"cluster": "prod", "now": self.now, "snapshot": snapshot}
        view: dict[str, Any] = {
            "cluster": "prod",
            "now": self.now,
            "ledger": self.ledger,
            "approved": tuple(self.approved),
            "problem": PlacementProblem(**{**known, **self.problem}),
            "migrations": tuple(item for _, item in sorted(self.migrations.items())),
            "replay": self.replay,
        }
        return ExecutorInput(**{**view, **self.view})

    def replay(self, problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        del problem
        if not self.refused or self.refused not in {item.to.node for item in plan.moves}:
            return ()
        message = f"{self.refused} is full"
        return (Finding(code="constraints/landing", severity=Severity.ERROR, message=message),)

    def run(self, phase: str = "Pending", **status: Any) -> None:
        """The creates of the last step happened; their VMIMs are in this phase now."""
        for effect in self.last.effects:
            if isinstance(effect, CreateMigration):
                name = effect.event.migration.partition("/")[2]
                stored = migration(name, effect.move.vm.name, phase, **status)
                stored["spec"]["addedNodeSelector"] = dict(effect.move.added_node_selector)
                self.migrations[name] = stored

    def patch(self) -> None:
        """The patches of nodes of the last step happened."""
        for effect in self.last.effects:
            if (
                not isinstance(effect, SetUnschedulable | LabelNode)
                or effect.node not in self.nodes
            ):
                continue
            found = self.nodes[effect.node]
            if isinstance(effect, SetUnschedulable):
                found["spec"]["unschedulable"] = effect.unschedulable
            labels = {**found["metadata"]["labels"], **effect.labels}
            found["metadata"]["labels"] = {key: item for key, item in labels.items() if item}

    def cancel(self, request: str = "drain/fw/o1") -> None:
        known = RequestId.read(request)
        file = request_file("prod", known)
        said = RequestCancelled(file=file, time=self.now, cluster="prod", request=known)
        self.ledger = self.ledger.replace(events=(*self.ledger.events, said))

    def land(self, vm: str, on: str) -> None:
        """The VM's migration succeeded."""
        self.vms[vm]["status"]["nodeName"] = on
        self.set_phase(vm, "Succeeded")

    def set_phase(self, vm: str, phase: str, **status: Any) -> None:
        for item in self.migrations.values():
            if item["spec"]["vmiName"] == vm:
                item["status"] = {"phase": phase, **status}

    @property
    def effects(self) -> list[str]:
        """The effects of the last step by type and subject."""
        return [words(effect) for effect in self.last.effects]

    @property
    def waits(self) -> Mapping[int, str]:
        """Why moves wait, by number."""
        return {item.move: item.reason for item in self.last.waiting}

    def event(self, state: str) -> Any:
        """The newest event of a state."""
        return next(item for item in reversed(self.ledger.events) if item.state == state)


def line(event: LedgerEvent) -> str:
    if isinstance(event, MoveEvent):
        return f"{event.move} {event.state}"
    if isinstance(event, NodeChanged):
        return f"{event.facts.node} {event.state}"
    return f"{event.file.rpartition('/')[2]} {event.state}"


def words(effect: Any) -> str:
    match type(effect).__name__:
        case "CreateMigration":
            return f"create {effect.move.vm.name}"
        case "DeleteMigration":
            return "delete"
        case "SetUnschedulable":
            return f"{'cordon' if effect.unschedulable else 'uncordon'} {effect.node}"
        case _:
            return f"label {effect.node} {effect.labels.get('placement.gitbot.dev/state')}"


LIMITS = Limits()
