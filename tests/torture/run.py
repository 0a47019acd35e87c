"""One run of one schedule: the disturbed time, calm, and the time when all must have ended."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from gitbot.errors import GitbotError
from gitbot.execution.ledger_folds import fold_nodes, stop_flag
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.objects import labels_of
from gitbot.model.ledger.events import MoveState
from gitbot.workflows.apply import apply, hold, resume
from gitbot.workflows.apply import run as reporting
from gitbot.workflows.ask import write_dashboard
from tests.torture import people
from tests.torture.loop import Killed, Over
from tests.torture.scenes import (
    OCCURRENCE,
)
from tests.torture.schedule import Schedule
from tests.torture.town import BotState, Town
from tests.torture.witness import CORDON, Violation
from tests.torture.world import OWN_UID, ZONES

DISTURBED = 420  # seconds in which bots, people and faults do what they do
PASSES = 14  # in which everything that was announced has come to its end once it is calm
AFTERWARDS = 100_000  # seconds: every window is over


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was broken ("" for nothing), and what the run met."""

    broken: str
    hits: frozenset[tuple[str, str]]
    created: int
    trace: tuple[str, ...] = ()


@dataclass(eq=False)
class Run(Town):
    """A schedule that is carried out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.wire.do = lambda deed: people.do(self, deed)

    # The disturbed time

    def disturbed(self) -> None:
        for bot, plan in zip(self.bots, self.schedule.bots, strict=True):

            def live(
                bot: BotState = bot, runtime: int = plan.runtime, rest: int = plan.rest
            ) -> None:
                while self.loop.now < DISTURBED * 1000:
                    self._one_life(bot, runtime, rest)

            self.loop.start(bot.name, live, at=plan.begins * 1000)
        for deed in self.schedule.deeds:
            if not deed.moment:
                self.loop.at(deed.at * 1000, partial(self.wire.do, deed))
        self.loop.run(DISTURBED * 1000)

    def _one_life(self, bot: BotState, runtime: int, rest: int) -> None:
        """A process from its start to its death, pass after pass."""
        bot.lives += 1
        bot.told = False
        shell = self.shell(f"{bot.name}.{bot.lives}", clock=bot.clock, bot=bot)
        idle = 0
        while self.loop.now < DISTURBED * 1000:
            try:
                idle = (
                    idle + 1
                    if apply(shell, max_runtime=runtime, on_report=write_dashboard).did_nothing
                    else 0
                )
            except GitbotError as error:
                self.wire.say(f"{bot.name} ends its pass: {error}")
            except Killed:
                self.wire.say(f"{bot.name} is killed")
                self.loop.wait(self.loop.now + 1000 * rest)
                return
            self.loop.wait(max(self.loop.now + 1000 * rest, self._next_news() if idle > 1 else 0))
            if bot.told:
                return

    def _next_news(self) -> int:
        """When something may happen that no call of a process brings about."""
        times = [1000 * deed.at for deed in self.schedule.deeds if not deed.moment]
        times += [1000 * stranger.ends for stranger in self.schedule.strangers]
        return min([time for time in times if time > self.loop.now], default=DISTURBED * 1000)

    # Calm

    def calm(self) -> None:
        """No faults any more; people put right what only people can."""
        self.loop.end()
        self.wire.calm = True
        self.wire.say("CALM")
        self.world.uid = lambda: OWN_UID
        self.world.flag, self.world.stuck = None, set()
        self.world.fails, self.world.lands = set(), {}
        for node in ZONES:
            self.world.pods.disperse(node)
        on_top = self._restored()
        self.forge.readers.clear()
        self.forge.require_reviews(1)  # more of them only pause what a merge approved
        people.commit(
            self, lambda now: replace(now, observe=False, frozen=False, refused=(), stopped=())
        )

        def work() -> None:
            if on_top:  # only a person can say that the new history is the right one
                hold(self.shell("ann-holds", clock=0), reason="x", by="ann", cancel_running=False)
            resume(self.shell("ann-resumes", clock=0), reason="go on", by="ann")
            self._passes("after", self._rests)
            self.loop.wait(self.loop.now + AFTERWARDS * 1000)
            self._passes("end", self._ended)

        self.loop.start("calm", work, at=self.loop.now)
        self.loop.run(10**12)

    def _restored(self) -> bool:
        """Whether a rewritten base cannot be restored: something came on top of it."""
        if not self.rewritten:
            return False
        if not self.repository.is_ancestor("main", self.rewritten):
            return True
        self.repository.branches["main"] = self.rewritten
        return False

    def _passes(self, name: str, over: Callable[[], str]) -> None:
        why = ""
        for number in range(PASSES):
            shell = self.shell(f"{name}{number}", clock=0)
            if stop_flag(self.branch.ledger, "prod"):  # the circuit breaker
                resume(shell, reason="go on", by="ann")
            result = apply(shell, max_runtime=600, on_report=write_dashboard)
            why = over()
            if not why and not result.unfinished:
                return
            self.loop.wait(self.loop.now + 60_000)
        self.witness.fail("I19", f"after {PASSES} calm passes {why or 'a pass goes on for ever'}")

    def _rests(self) -> str:
        """Why it is not at rest, "" if nothing is under way."""
        for request in fold_requests(self.branch.ledger, "prod").values():
            for move in request.moves.values():
                if move.in_flight:
                    return f"move {move.number} of {request.id} is {move.state}"
        own = [item for item in self.world.unfinished() if labels_of(item)]
        return f"{own[0]['metadata']['name']} is unfinished" if own else ""

    def _ended(self) -> str:
        """Why something has not ended although every window is over."""
        records = fold_requests(self.branch.ledger, "prod")
        for request in records.values():
            for move in request.moves.values():
                if not move.final and not _tries_again(move.state):
                    return f"move {move.number} of {request.id} is {move.state}"
        drain = records.get(OCCURRENCE.drain)
        nodes = fold_nodes(self.branch.ledger, cluster="prod", occurrence=OCCURRENCE)
        for name, node in self.world.nodes.items():
            stands = CORDON in labels_of(node) and node["spec"].get("unschedulable")
            over = drain is None or drain.cancelled or name not in nodes
            if stands and over:
                return f"{name} is cordoned for a drain that is no more"
            if stands and not nodes[name].cordoned_by_gitbot:
                return f"{name} is cordoned although that was given up"
        return ""


def _tries_again(state: MoveState) -> bool:
    return state is MoveState.FAILED


REPORT = reporting.report


def no_report(run: object) -> None:
    """Reports cost more than the rest of a pass; every tenth run has them."""
    del run


def play(schedule: Schedule, *, trace: bool = False) -> Outcome:
    """Run a schedule to its end."""
    reporting.report = REPORT if schedule.reports else no_report
    try:
        return _played(schedule, trace=trace)
    finally:
        reporting.report = REPORT


def _played(schedule: Schedule, *, trace: bool) -> Outcome:
    run = Run(schedule=schedule)
    run.wire.trace = [] if trace else None
    run.disturbed()
    if run.loop.trouble is None:
        run.calm()
    trouble = run.loop.trouble
    run.loop.end()
    broken = run.witness.found
    if not broken and trouble is not None and not isinstance(trouble, Over):
        broken = f"BUG: {type(trouble).__name__}: {trouble}"
    if trace and trouble is not None and not isinstance(trouble, Violation):
        run.wire.say("".join(traceback.format_exception(trouble)))
    return Outcome(
        broken=broken,
        hits=frozenset(run.wire.hits),
        created=len(run.world.log),
        trace=tuple(run.wire.trace or ()),
    )
