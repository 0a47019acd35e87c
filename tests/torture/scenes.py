"""What was approved before a run begins, and the base branch as people have it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from gitbot.execution.executor_types import ExecutorInput, Maintenance, Terms
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import PlanShown, Shown
from gitbot.model.ledger.ledger import Ledger, pull_file
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import Freeze, Limits, PlacementProblem
from gitbot.model.text.instants import Interval, format_instant
from gitbot.model.text.names import IntentRef
from gitbot.ports.clock import Clock
from gitbot.ports.forge import MergeMethod
from gitbot.published import PlanDocument, PlanInputs, plan_bytes, plan_digest, plan_document
from gitbot.settings import ClusterSettings, Settings
from gitbot.workflows.core.revision_engine import RevisionEngine
from tests.doubles.forge import MemoryForge
from tests.doubles.moves import a_move
from tests.doubles.repository import MemoryRepository
from tests.doubles.stage import TinyBase, a_plan
from tests.doubles.tiny_cluster import NOW
from tests.torture.pods import CROWD
from tests.torture.schedule import Schedule

OCCURRENCE = OccurrenceId(window="rack", id="20270115T080000Z")
DRAIN = "drain/rack/20270115T080000Z"
ONE, TWO = "request/db/one", "request/db/two"
FILE = "base.json"
ENFORCE = Settings(clusters=(ClusterSettings(name="prod"),), mode="Enforce")
OBSERVE = Settings(clusters=(ClusterSettings(name="prod"),), mode="Observe")


def _move(vm: str, to: str, *, number: int = 1, request: str = ONE, **more: Any) -> Move:
    return a_move(
        vm,
        "a",
        to,
        number=number,
        request=RequestId.read(request),
        group=more.pop("group", request),
        estimated_seconds=20,
        **more,
    )


PLANS: Mapping[str, tuple[PlacementPlan, ...]] = {
    "one": (a_plan(_move("one", "c")),),
    "waves": (a_plan(_move("one", "c"), _move("two", "d", number=2, wave=1)),),
    "two": (a_plan(_move("one", "c")), a_plan(_move("two", "d", request=TWO))),
    "again": (a_plan(_move("one", "c")), a_plan(_move("one", "d"))),
    "drain": (
        a_plan(_move("one", "c", request=DRAIN), _move("two", "d", number=2, request=DRAIN)),
    ),
    "drain and one": (
        a_plan(_move("one", "c", request=DRAIN)),
        a_plan(_move("two", "d", request=TWO)),
    ),
}
LATER = frozenset({"two", "again"})  # their second pull request is open when the run begins


def _document(scene: str, index: int) -> tuple[str, bytes]:
    plan = PLANS[scene][index]
    document = plan_document(plan, manifests=(), expires_at=NOW + 86_400, inputs=PlanInputs())
    return plan_digest(plan, ()), plan_bytes(document)


@dataclass(frozen=True, kw_only=True)
class Said:
    """The base at one commit. `ends` of each intent in seconds after the beginning."""

    ends: Mapping[str, int] = field(default_factory=dict)
    edited: tuple[str, ...] = ()
    frozen: bool = False
    observe: bool = False
    refused: tuple[str, ...] = ()  # VMs whose moves would break a rule
    stopped: tuple[str, ...] = ()  # VMs in whose folder a file has errors

    def open_until(self, name: str) -> int | None:
        """Until when moves may start; None if the intent is gone or edited: as they began."""
        return NOW + self.ends[name] if name in self.ends and name not in self.edited else None

    def data(self) -> bytes:
        said = {
            "ends": self.ends,
            "edited": self.edited,
            "frozen": self.frozen,
            "o": self.observe,
            "r": self.refused,
            "s": self.stopped,
        }
        return json.dumps(said).encode()


@lru_cache(maxsize=512)
def said_by(data: bytes) -> Said:
    found = json.loads(data)
    return Said(
        ends=found["ends"],
        edited=tuple(found["edited"]),
        frozen=found["frozen"],
        observe=found["o"],
        refused=tuple(found["r"]),
        stopped=tuple(found["s"]),
    )


class Folder:
    """The folder of some VMs, with a broken file."""

    def __init__(self, vms: tuple[str, ...]) -> None:
        self.vms = vms

    def of_move(self, move: Move) -> str:
        return "a file has errors" if move.vm.name in self.vms else ""

    def of_node(self, _: str) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class TortureBase(TinyBase):
    """Terms, freezes, mode and rules as the base says."""

    said: Said = field(default_factory=Said)
    schedule: Schedule

    @classmethod
    def begin(cls, schedule: Schedule) -> TortureBase:
        limits = Limits(
            parallel=schedule.slots, per_source_node=9, per_target_node=9, per_zone=9, reserve=0
        )
        return cls(revision=_tiny().revision, schedule=schedule, limits=limits, terms_by_request={})

    def read(self, repository: MemoryRepository, commit: str) -> TortureBase:
        said = said_by(repository.read_blob(commit, FILE) or b"")
        settings = OBSERVE if said.observe else ENFORCE
        revision = replace(self.revision, commit=commit, settings=settings)
        return replace(self, revision=revision, said=said)

    def terms(self, request: str, plan: PlanDocument, *, now: int) -> Terms | None:
        del plan, now
        name, schedule = str(request), self.schedule
        if name not in self.said.ends:
            return None
        return _terms(
            self.said.ends[name],
            attempts=schedule.attempts,
            finish=schedule.finish,
            void=f"{name} was edited" if name in self.said.edited else "",
            done=schedule.done if name == DRAIN else "",
        )

    def problem(self, snapshot: ClusterSnapshot, now: int) -> PlacementProblem:
        return PlacementProblem(
            cluster="prod",
            now=now,
            snapshot=snapshot,
            limits=self.limits,
            freezes=FREEZES if self.said.frozen else (),
        )

    def replay(self, problem: PlacementProblem, plan: PlacementPlan) -> tuple[Finding, ...]:
        pods = {name_of(pod).name for pod in problem.snapshot.of("Pod")}
        full = {move.vm.name for move in plan.moves if CROWD + move.to.node in pods}
        vms = sorted({move.vm.name for move in plan.moves} & {*self.said.refused, *full})
        return tuple(
            Finding(code="replay/rule", severity=Severity.ERROR, message=f"{vm} may not move")
            for vm in vms
        )

    def view(self, *args: Any, **named: Any) -> ExecutorInput:
        view = RevisionEngine.view(self, *args, **named).replace(replay=self.replay)
        return view.replace(folders=Folder(self.said.stopped)) if self.said.stopped else view


@lru_cache(maxsize=1024)
def _terms(end: int, *, attempts: int, finish: bool, void: str, done: str) -> Terms:
    """`done` of a drain, "" of a request."""
    drains = Maintenance(occurrence=OCCURRENCE, nodes=("a",), cordon=True, done=done)
    return Terms(
        allowed=(Interval(start=NOW - 60, end=NOW + end),),
        attempts=attempts,
        finish=finish,
        void=void,
        maintenance=drains if done else None,
    )


FREEZES = (
    Freeze(
        intent=IntentRef(kind="FreezeWindow", namespace="", name="stop"),
        vms=frozenset({NamespacedName(namespace="db", name=name) for name in ("one", "two")}),
        times=(Interval(start=NOW - 3600, end=NOW + 86_400),),
        reason="closed",
    ),
)


@lru_cache(maxsize=1)
def _tiny() -> TinyBase:
    return TinyBase.of(ENFORCE)


@dataclass(frozen=True, kw_only=True)
class Opened:
    """What a run begins with; `left` are the numbers of the pull requests to merge later."""

    repository: MemoryRepository
    forge: MemoryForge
    ledger: Ledger
    left: tuple[int, ...]
    names: tuple[str, ...]  # of the requests

    def copied(self, clock: Clock) -> Opened:
        """The same for one run, which may write to it."""
        repository = self.repository.copied()
        return replace(self, repository=repository, forge=self.forge.copied(repository, clock))


class _Beginning:
    """The clock before a run."""

    def now(self) -> int:
        return NOW

    def sleep(self, seconds: int, /) -> None:
        raise NotImplementedError


@lru_cache(maxsize=64)
def opened(scene: str, window: int) -> Opened:
    """Pull requests with their plans shown, approved by bob; those of the beginning are merged."""
    repository = MemoryRepository()
    forge = MemoryForge(repository, _Beginning(), reviews_required=1)
    names = sorted({str(move.request) for plan in PLANS[scene] for move in plan.moves})
    said = Said(ends=dict.fromkeys(names, window))
    base = repository.write_commit(
        branch="main", expected=None, files={FILE: said.data()}, message="start", time=NOW
    )
    events, plans, numbers = [], {}, []
    for index in range(len(PLANS[scene])):
        digest, data = _document(scene, index)
        plans[digest] = data
        branch = f"work-{index}"
        head = repository.write_commit(
            branch=branch,
            expected=None,
            files={FILE: said.data(), f"{branch}.yaml": b""},
            message=branch,
            time=NOW,
            parents=(base,),
        )
        forge.account = "ann"
        pull = forge.open_pull(branch=branch, base_branch="main", title=branch, body="", labels=())
        forge.account = "gitbot"
        shown = Shown(head=head, base=base, expires_at=format_instant(NOW + 86_400))
        events.append(
            PlanShown(
                file=pull_file(pull.number),
                time=NOW - 60,
                cluster="prod",
                pull_request=pull.number,
                digest=digest,
                shown=shown,
                seq=index + 1,
                previous=str(index),
            )
        )
        forge.approve_pull(pull.number, reviewer="bob")
        numbers.append(pull.number)
    while len(numbers) > (1 if scene in LATER else 0):
        merge(forge, numbers.pop(0))
    return Opened(
        repository=repository,
        forge=forge,
        ledger=Ledger(events=tuple(events), plans=plans, head=f"{len(events):040x}"),
        left=tuple(numbers),
        names=tuple(names),
    )


def merge(forge: MemoryForge, number: int) -> None:
    pull = forge.get_pull(number)
    forge.account = "bob"
    forge.merge_pull(number, method=MergeMethod.MERGE, expected_head=pull.head)
    forge.account = "gitbot"
