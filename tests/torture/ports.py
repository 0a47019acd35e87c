"""The ports of one process: the shared cluster, ledger, repository and forge over its own line."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from gitbot.errors import (
    ClusterForbidden,
    ConflictError,
    ForgeError,
    UnreachableError,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.phases import is_final
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import KnownEvent
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.cluster import ClusterTraffic, Gate, no_gate
from gitbot.ports.forge import (
    CheckRun,
    ForgeCapabilities,
    ForgeRequests,
    Issue,
    PullRequest,
    PullState,
)
from tests.doubles.forge import MemoryForge
from tests.doubles.repository import MemoryRepository
from tests.doubles.tiny_cluster import NOW
from tests.torture.loop import Killed
from tests.torture.wire import Line
from tests.torture.witness import Witness
from tests.torture.world import Look, World

FRESH = 90  # seconds that a kind of a followed cluster may be old
CURRENT = 0.4  # how often it is not
KINDS = {
    "Node": "nodes",
    "VirtualMachineInstance": "instances",
    "VirtualMachineInstanceMigration": "migrations",
    "Pod": "pods",
}
OLD = 4  # changes by which an old list is behind


@dataclass(eq=False)
class ClusterPort:
    line: Line
    world: World
    witness: Witness
    anchored: bool
    name: str = "prod"
    traffic: ClusterTraffic = field(default_factory=ClusterTraffic)

    def _look(self, how: str) -> Look:
        look = self.world.look()
        if how == "old" and self.world.history:
            return self.world.history[-min(OLD, len(self.world.history))]
        if how == "empty":
            return replace(look, nodes=(), instances=(), migrations=(), pods=())
        if how == "part":
            return replace(look, nodes=look.nodes[:1], instances=(), migrations=(), pods=())
        return look

    def snapshot(self) -> ClusterSnapshot:
        look = self.line.read("snapshot", self._look)
        self.witness.looked(self.line.who)
        return ClusterSnapshot(
            cluster="prod",
            taken_at=self.world.seconds,
            objects={
                "Node": look.nodes,
                "VirtualMachineInstance": look.instances,
                "VirtualMachineInstanceMigration": look.migrations,
                "Pod": look.pods,
            },
            digest="",
            resource_version=str(look.version),
        )

    def server_time(self) -> int:
        return self.line.read("server time", lambda _: self.world.seconds)

    def cluster_uid(self) -> str:
        uid = self.world.uid()
        self.witness.read_uid(self.line.who, uid)
        if not uid:
            raise ClusterForbidden("not allowed to get namespaces", hint="grant it")
        return uid

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        return self.line.read("migration", lambda _: self.world.migrations.get(name.name))

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        return self.line.read("migrations", lambda how: self._look(how).migrations)

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        def answer(_: str) -> KubernetesObject | None:
            self.witness.read_instance(self.line.who, name.name)
            return self.world.instances.get(name.name)

        return self.line.read("instance", answer)

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        del name
        return ()

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        del dry_run
        who, name = self.line.who, name_of(migration).name

        epochs: list[int] = []

        def arrives(how: str) -> KubernetesObject:
            stored = self.world.create(migration, who, otherwise=how == "stored otherwise")
            self.witness.created(who, migration, epochs[0])
            return stored

        def sent() -> None:
            epochs.append(self.witness.sends(who, "create", name))

        return self.line.write("create", arrives, gate=gate, sent=sent)

    def create_event(self, event: KubernetesObject) -> None:  # noqa: ARG002
        raise ClusterForbidden("events is forbidden")

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        self.witness.deletes(self.line.who, name.name, uid)
        deleted = self.line.write("delete", lambda _: self.world.delete(name.name, uid))
        self.line.wire.moment("deleted")
        return deleted

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        self.line.write(
            "label",
            lambda _: self.world.patch_node(node, labels),
            sent=lambda: self.witness.sends(self.line.who, "label", node),
        )

    def set_unschedulable(
        self, node: str, unschedulable: bool, labels: Mapping[str, str | None]
    ) -> bool:
        who, looks = self.line.who, list[int]()

        def sent() -> None:
            looks.append(self.witness.sends(who, call, node))

        def arrives(_: str) -> bool:
            if not unschedulable and node in self.world.cordoned_by_person:
                self.world.patch_node(node, labels)  # as managedFields say
                return False
            self.witness.cordons(who, node, unschedulable, looks[0])
            self.world.patch_node(node, labels, unschedulable=unschedulable)
            return True

        call = "cordon" if unschedulable else "uncordon"
        done = self.line.write(call, arrives, sent=sent)
        self.line.wire.moment(f"{call}ed")
        return done

    def hold_flag(self) -> str | None:
        return self.flag_and_time()[0]

    def flag_and_time(self) -> tuple[str | None, int]:
        found, seconds = self.line.read("flag", lambda _: (self.world.flag, self.world.seconds))
        self.witness.read_flag(self.line.who, found)
        return found, seconds

    def set_hold_flag(self, reason: str | None) -> None:
        self.world.flag = reason

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def ledger_anchors(self) -> Mapping[str, str]:
        if not self.anchored:
            raise ClusterForbidden("configmaps is forbidden")
        anchor = self.line.read("read anchor", lambda _: self.world.anchor)
        return {} if anchor is None else {"ledger": anchor}

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        if not self.anchored:
            raise ClusterForbidden("configmaps is forbidden")
        if ledger != "ledger":  # whose ledger it is: one world has one
            return
        self.line.write("anchor", lambda _: setattr(self.world, "anchor", head))


@dataclass(eq=False)
class FollowedPort(ClusterPort):
    """A cluster that is followed: each kind is as it was at some moment of the last 90 seconds.

    No kind goes back, and one that is distrusted is newer than that the next time.
    """

    chance: random.Random = field(default_factory=random.Random)
    known: dict[str, int] = field(default_factory=dict)  # kind -> version

    def snapshot(self) -> ClusterSnapshot:
        now = self.line.read("snapshot", lambda _: self.world.look())
        self.witness.looked(self.line.who)
        looks = {kind: self._older(kind, now) for kind in KINDS}
        return ClusterSnapshot(
            cluster="prod",
            taken_at=self.world.seconds,
            objects={kind: getattr(look, KINDS[kind]) for kind, look in looks.items()},
            digest="",
            resource_version=str(min(look.version for look in looks.values())),
        )

    def _older(self, kind: str, now: Look) -> Look:
        since = self.world.loop.now - 1000 * FRESH
        able = [
            look
            for look in (*self.world.history, now)
            if look.version >= self.known.get(kind, 0)
            and (look is now or self.world.until[look.version] >= since)
        ]
        found = now if self.chance.random() < CURRENT else self.chance.choice(able)
        self.known[kind] = found.version
        return found

    def get_node(self, node: str) -> KubernetesObject | None:
        return self.line.read("node", lambda _: self.world.nodes.get(node))

    def pods_on(self, node: str) -> tuple[KubernetesObject, ...]:
        def answer(_: str) -> tuple[KubernetesObject, ...]:
            pods = self.world.look().pods
            return tuple(pod for pod in pods if at(pod, "spec", "nodeName", default="") == node)

        return self.line.read("pods", answer)

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        """As the server reads it at that moment."""
        return self.line.read("migrations", lambda _: self.world.look().migrations)

    def unfinished_migrations(self) -> tuple[tuple[str, str], ...]:
        found = (item for item in self.list_migrations() if not is_final(item))
        return tuple(sorted((name_of(item).name, item["spec"]["vmiName"]) for item in found))

    def migrations_seen(self) -> tuple[KubernetesObject, ...]:
        return self.list_migrations()

    def require(self, seconds: int) -> None:
        assert seconds == FRESH

    def distrust(self, kind: str) -> None:
        self.known[kind] = self.world.look().version


@dataclass(eq=False)
class Branch:
    """The ledger's branch, as the remote has it."""

    ledger: Ledger


@dataclass(eq=False)
class LedgerPort:
    line: Line
    branch: Branch
    witness: Witness
    last: Ledger | None = None

    def read(self) -> Ledger:
        def answer(_: str) -> Ledger:
            return self.branch.ledger

        self.last = None
        ledger = self.line.read("ledger", answer, UnreachableError)
        self.witness.read_ledger(self.line.who, ledger)
        self.last = ledger
        return ledger

    def known(self) -> Ledger:
        return self.read() if self.last is None else self.last

    def append(
        self, ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        line, self.last = self.line, None
        fault = line.enter("push")
        if fault.how in ("error", "lost race"):
            line.strikes(fault)
        if fault.how == "error":
            raise UnreachableError("the push did not leave")
        line._wait(line._takes())
        if fault.how == "lost race" or ledger.head != self.branch.ledger.head:
            raise ConflictError("somebody else moved the branch first")
        written = self._written(ledger, events, plans)
        self.branch.ledger = written
        if line.wire.trace is not None:
            line.wire.say(f"{line.who} writes {', '.join(map(_words, events))}")
        self.witness.written(line.who, ledger, written)
        line.wire.moment("pushed")
        if fault.how in ("answer lost", "crash done", "slow", "pause after"):
            line.strikes(fault)
        if fault.how == "answer lost":
            raise UnreachableError("the answer of the push was lost")
        if fault.how == "crash done":
            raise Killed
        if fault.how in ("slow", "pause after"):
            line._wait(1000 * fault.seconds)
        return written

    def _written(
        self, ledger: Ledger, events: tuple[KnownEvent, ...], plans: Mapping[str, bytes | None]
    ) -> Ledger:
        seq = len(ledger.events)
        added = tuple(
            msgspec.structs.replace(event, seq=seq + count, previous=str(seq + count - 1))
            for count, event in enumerate(events, start=1)
        )
        return Ledger(
            events=(*ledger.events, *added),
            plans=ledger.plans_with(ledger.plan_changes(plans)),
            head=f"{seq + len(added):040x}",
        )


def _words(event: KnownEvent) -> str:
    what = getattr(event, "vm", "") or getattr(getattr(event, "facts", None), "node", "")
    move = f" {event.move}" if hasattr(event, "move") else ""
    why = getattr(event, "reason", "")
    reason = f" ({why})" if why else ""
    claim = getattr(event, "claim", None)
    claimed = f" [{claim.executor} {claim.epoch}]" if claim else ""
    return f"{what}{move} {event.state if hasattr(event, 'state') else ''}{reason}{claimed}"


@dataclass(eq=False)
class RepositoryPort:
    """Only what apply asks of Git."""

    line: Line
    repository: MemoryRepository
    heads: dict[str, str]  # the base that each process read last

    def resolve(self, rev: str) -> str | None:
        if rev != "main":
            return self.repository.resolve(rev)
        head = self.line.read("base", lambda _: self.repository.resolve(rev), UnreachableError)
        self.heads[self.line.who] = head or ""
        return head

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self.repository.is_ancestor(ancestor, descendant)

    def read_blob(self, rev: str, path: str) -> bytes | None:
        return self.repository.read_blob(rev, path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.repository, name)


@dataclass(eq=False)
class ForgePort:
    line: Line
    forge: MemoryForge
    bot: str = "gitbot"
    clock_skew: int = 0
    requests: ForgeRequests = field(default_factory=ForgeRequests)

    @property
    def capabilities(self) -> ForgeCapabilities:
        return self.forge.capabilities

    @property
    def reviews_required(self) -> int:
        return self.forge.reviews_required

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        if state is PullState.OPEN:
            return ()
        return self.line.read(
            "pulls",
            lambda _: self.forge.list_pulls(state=state, branch=branch, first=first),
            ForgeError,
        )

    def get_pull(self, number: int) -> PullRequest:
        return self.line.read("pull", lambda _: self.forge.get_pull(number), ForgeError)

    def set_check(self, commit: str, check: CheckRun) -> bool:
        del commit, check
        return self.line.read("report", lambda _: False, ForgeError)

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        return self.forge.upsert_issue(marker=marker, title=title, body=body)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.forge, name)


@dataclass(eq=False)
class ClockPort:
    """A clock that is off by some seconds, and may be set back."""

    line: Line
    world: World
    offset: int = 0

    def now(self) -> int:
        return NOW + self.line.wire.loop.now // 1000 + self.offset

    def sleep(self, seconds: int, /) -> None:
        self.line._wait(1000 * max(0, seconds))


@dataclass(frozen=True)
class ServerClock:
    """The clock of the API server and of the forge."""

    world: World

    def now(self) -> int:
        return self.world.seconds

    def sleep(self, seconds: int, /) -> None:
        raise NotImplementedError
