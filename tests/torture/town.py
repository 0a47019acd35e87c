"""What a run plays on: cluster, branches, forge, clocks, and the shell of each process."""

import random
from dataclasses import dataclass, field
from functools import partial

from gitbot.execution.ledger_folds import fold_clusters
from gitbot.workflows.core.context import RunContext
from tests.doubles.forge import MemoryForge
from tests.doubles.repository import MemoryRepository
from tests.torture.loop import Loop
from tests.torture.ports import (
    Branch,
    ClockPort,
    ClusterPort,
    FollowedPort,
    ForgePort,
    LedgerPort,
    RepositoryPort,
    ServerClock,
)
from tests.torture.scenes import FILE, FREEZES, Said, TortureBase, opened, said_by
from tests.torture.schedule import Schedule
from tests.torture.wire import Line, Wire
from tests.torture.witness import Witness
from tests.torture.world import OWN_UID, World


@dataclass(eq=False)
class BotState:
    name: str
    clock: int
    told: bool = False
    lives: int = 0


@dataclass(eq=False)
class Town:
    schedule: Schedule
    loop: Loop = field(default_factory=Loop)
    commands: list[str] = field(default_factory=list)
    rewritten: str = ""
    world: World = field(init=False)
    repository: MemoryRepository = field(init=False)
    forge: MemoryForge = field(init=False)
    branch: Branch = field(init=False)
    witness: Witness = field(init=False)
    wire: Wire = field(init=False)
    bots: list[BotState] = field(init=False)
    open_pulls: list[int] = field(init=False)
    names: list[str] = field(init=False)
    bases: dict[str, TortureBase] = field(default_factory=dict)  # by commit

    def __post_init__(self) -> None:
        schedule = self.schedule
        self.world = World(loop=self.loop, takes=schedule.takes, lingers=schedule.lingers)
        for node in ("a", "c", "d"):
            self.world.add_node(node)
        for vm in ("one", "two"):
            self.world.add_instance(vm, "a")
        begin = opened(schedule.scene, schedule.window).copied(ServerClock(self.world))
        self.repository, self.forge = begin.repository, begin.forge
        self.open_pulls, self.names = list(begin.left), list(begin.names)
        self.branch = Branch(ledger=begin.ledger)
        self.world.uid = self._uid
        self.heads: dict[str, str] = {}
        self.base = TortureBase.begin(schedule)
        self.wire = Wire(loop=self.loop, schedule=schedule)
        self.world.finished = partial(self.wire.moment, "finished")
        self.bots = [
            BotState(name=f"bot{index}", clock=bot.clock) for index, bot in enumerate(schedule.bots)
        ]
        self.clocks: dict[str, ClockPort] = {}
        self.witness = Witness(
            world=self.world,
            slots=schedule.slots,
            ledger=lambda: self.branch.ledger,
            clock_of=lambda who: self.clocks[who].now(),
            frozen=lambda who, now: self._read(who).frozen and FREEZES[0].times[0].contains(now),
            open_until=lambda who, request: self._read(who).open_until(request),
            refused=lambda who, vm: vm in self._read(who).refused,
            stopped=lambda who, vm: vm in self._read(who).stopped,
        )

    def _uid(self) -> str:
        """What the context leads to; always home until the ledger has the cluster's identity."""
        now = self.loop.now // 1000
        if fold_clusters(self.branch.ledger).uids:
            for stranger in self.schedule.strangers:
                if stranger.begins <= now < stranger.ends:
                    return stranger.uid
        return OWN_UID

    def _base_at(self, commit: str) -> TortureBase:
        if commit not in self.bases:
            self.bases[commit] = self.base.read(self.repository, commit)
        return self.bases[commit]

    def _read(self, who: str) -> Said:
        """The base that a process read last."""
        head = self.heads.get(who, "")
        data = self.repository.read_blob(head, FILE) if head else None
        return said_by(data) if data else Said()

    def shell(self, who: str, *, clock: int, bot: BotState | None = None) -> RunContext:
        line = Line(wire=self.wire, who=who, chance=random.Random(f"{self.schedule.seed} {who}"))
        port = self.clocks[who] = ClockPort(line=line, world=self.world, offset=clock)
        repository = RepositoryPort(line=line, repository=self.repository, heads=self.heads)

        def read_base(commit: str) -> TortureBase:
            return line.read("revision", lambda _: self._base_at(commit))

        say = (lambda progress: self.wire.say(f"{who}: {progress.text}")) if self.traced else None
        world, witness, anchored = self.world, self.witness, self.schedule.anchored
        cluster = ClusterPort(line=line, world=world, witness=witness, anchored=anchored)
        followed = FollowedPort(
            line=line,
            world=world,
            witness=witness,
            anchored=anchored,
            chance=random.Random(f"followed {self.schedule.seed} {who}"),
        )
        return RunContext(
            cluster_name="prod",
            base_branch="main",
            repository=repository,
            forge=ForgePort(line=line, forge=self.forge),
            ledger_store=LedgerPort(line=line, branch=self.branch, witness=self.witness),
            cluster=followed if self.schedule.followed else cluster,
            followed=followed if self.schedule.followed else None,
            clock=port,
            read_base=read_base,
            progress=say,
            interrupted=(lambda: bot.told) if bot is not None else (lambda: False),
            executor=who,
            seconds=lambda: self.loop.now / 1000,
        )

    @property
    def traced(self) -> bool:
        return self.wire.trace is not None
