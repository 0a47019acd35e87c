"""Apply: carry out everything that is approved, open now and unfinished. One pass.

Ledger before effect: a step's entries are pushed by compare-and-swap before its effects, outcomes
go with the next step. A pass that is killed at any point is finished by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from gitbot.errors import ConflictError, ForgeError, GitbotError
from gitbot.execution.facts import FINAL_PHASES, phase_of
from gitbot.execution.next_steps import next_steps
from gitbot.execution.state import stop_flag
from gitbot.execution.values import (
    BreakerLimits,
    CreateMigration,
    DeleteMigration,
    LabelNode,
    Stale,
    Steps,
    View,
    Waiting,
)
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.ledger import FINAL_STATES, Entry, Ledger, MoveState
from gitbot.model.names import NamespacedName
from gitbot.model.objects import KubernetesObject, at
from gitbot.workflows.approvals import Approvals, read_approvals
from gitbot.workflows.clocks import FORGE_SKEWED, MAX_SKEW, forge_skew
from gitbot.workflows.dashboard import write_dashboard
from gitbot.workflows.effects import do_effect
from gitbot.workflows.feedback import write_refusals, write_statuses
from gitbot.workflows.journal import LOST_RACES, Journal
from gitbot.workflows.pauses import (
    POLL,
    Stages,
    base_head,
    stages,
    wait_for_opening_at,
    wait_for_progress,
)
from gitbot.workflows.rewritten import check_history
from gitbot.workflows.shell import Base, Shell

ASK_FORGE = 60  # seconds after which the forge is asked again although nothing was merged
MAX_RUNTIME = 3600
UNREADABLE = "the stop flag cannot be read"
SKEWED = "the API server's clock is"
UNKNOWN = (UNREADABLE, SKEWED, FORGE_SKEWED)
_MOVING = (CreateMigration, DeleteMigration)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyResult:
    """What one pass did. `states` counts the moves that ended in it, by state.

    `base` is the commit of the base branch on the last look, "" where there was none. `unfinished`
    says that only the time of the pass was over: another one has work at once. `interrupted` says
    that somebody asked it to end; nothing is lost, the next pass goes on.
    """

    base: str = ""
    created: int = 0
    entries: int = 0
    states: dict[str, int] = field(default_factory=dict)
    waiting: tuple[Waiting, ...] = ()
    stale: tuple[Stale, ...] = ()
    in_flight: int = 0
    stop: str = ""
    unfinished: bool = False
    interrupted: bool = False
    approvals: Approvals = field(default_factory=lambda: Approvals(approved=(), refused=()))

    @property
    def did_nothing(self) -> bool:
        """Whether the pass wrote nothing at all."""
        return not self.created and not self.entries

    @property
    def unsure(self) -> bool:
        """Whether what must be known before anything starts could not be read."""
        return self.stop.startswith(UNKNOWN)

    @property
    def failed(self) -> bool:
        """Whether a move failed in this pass."""
        return bool(self.states.get(str(MoveState.FAILED)))


def unseen(snapshot: ClusterSnapshot) -> None:
    """Nobody looks at the snapshots of a pass."""
    del snapshot


class _Next(Enum):
    """What follows a step of a pass."""

    NOTHING = auto()
    LOOK = auto()  # when a migration has made progress
    LOOK_SOON = auto()  # only nodes were changed: no migration will say so
    LOOK_AT_ONCE = auto()


@dataclass(slots=True, kw_only=True)
class _Pass:
    shell: Shell
    journal: Journal
    base: Base
    approvals: Approvals
    ends_at: int
    approvals_key: tuple[str, int] = ("", 0)
    approvals_at: int = 0
    judged: bool = False
    seen: Stages = field(default_factory=dict)  # on the last look
    created: int = 0
    states: Counter[str] = field(default_factory=Counter)
    steps: Steps = field(default_factory=Steps)
    stop: str = ""
    lost: int = 0
    on_look: Callable[[ClusterSnapshot], None] = unseen


def apply(
    shell: Shell,
    *,
    max_runtime: int = MAX_RUNTIME,
    start: bool = True,
    wait_for_opening: int = 0,
    on_look: Callable[[ClusterSnapshot], None] = unseen,
) -> ApplyResult:
    """One pass: until nothing more can start or end, or `max_runtime` seconds are over.

    With `start` False nothing new is started: what is under way is observed and recalled. An
    opening within `wait_for_opening` seconds is waited for: the next pass may come late. `on_look`
    gets every snapshot that is taken.
    """
    run = _begin(shell, ends_at=shell.clock.now() + max_runtime, start=start)
    run.on_look = on_look
    said = 0
    while True:
        follows = _turn(run, start=start)
        if run.journal.written != said and not shell.interrupted():
            said = run.journal.written
            report(run)
        idle = follows is _Next.NOTHING
        opening = opens_soon(run, wait_for_opening) if idle else 0
        more = (not idle or opening > 0) and not shell.interrupted()
        if not more or shell.clock.now() >= run.ends_at:
            break
        _wait(run, follows, opening)
    with suppress(ConflictError):  # somebody else wrote: what happened is seen again in the cluster
        run.journal.commit(())
    if not shell.interrupted():  # a run that is ended has few seconds left: the next one says it
        report(run)
    return ApplyResult(
        base=run.base.commit,
        created=run.created,
        entries=run.journal.written,
        states=dict(sorted(run.states.items())),
        waiting=run.steps.waiting,
        stale=run.steps.stale,
        in_flight=run.steps.in_flight,
        stop=run.stop,
        unfinished=more,
        interrupted=shell.interrupted(),
        approvals=run.approvals,
    )


def _wait(run: _Pass, follows: _Next, opening: int) -> None:
    """Let time pass until another look is worth it; `opening` is when something may start, or 0."""
    shell = run.shell
    if opening:
        run.judged = False  # what was judged may have changed until then
        heads = (run.journal.ledger.head, run.base.commit)
        wait_for_opening_at(opening, shell, run.journal, heads, ends_at=run.ends_at)
    elif follows is _Next.LOOK:
        wait_for_progress(shell, run.seen, ends_at=run.ends_at)
    elif follows is _Next.LOOK_SOON:
        shell.clock.sleep(min(POLL, run.ends_at - shell.clock.now()))


def report(run: _Pass) -> None:
    """Say on the forge how everything stands. What cannot be said stops nothing."""
    shell, ledger, waiting = run.shell, run.journal.ledger, run.steps.waiting
    try:
        write_statuses(shell, run.approvals.approved, ledger, waiting, stop=run.stop)
        write_refusals(shell, run.approvals.refused)
    except ForgeError as error:
        shell.say(f"how it goes is not said on the forge: {error}")
    write_dashboard(shell, ledger, stop=run.stop, waiting=waiting, refused=run.approvals.refused)


def opens_soon(run: _Pass, within: int) -> int:
    """When the next move that waits for its time may start, if that is within so many seconds."""
    now = run.shell.clock.now()
    times = [item.until for item in run.steps.waiting if now < item.until <= now + within]
    return min(times) if times and not run.stop else 0


def _begin(shell: Shell, *, ends_at: int, start: bool) -> _Pass:
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    head = base_head(shell)
    if start:
        check_history(shell, ledger, head)
    base = shell.read_base(head)
    run = _Pass(
        shell=shell,
        journal=journal,
        base=base,
        approvals=Approvals(approved=(), refused=()),
        ends_at=ends_at,
    )
    _refresh_approvals(run, ledger)
    return run


def _turn(run: _Pass, *, start: bool) -> _Next:
    """One step: read, decide, write, act."""
    shell = run.shell
    ledger = run.journal.read()
    head = base_head(shell)
    if head != run.base.commit:
        if start:
            check_history(shell, ledger, head)
        run.base = shell.read_base(head)
    _refresh_approvals(run, ledger)
    run.stop = stop_reason(run, start=start)
    view = _view(run)
    if shell.interrupted():
        return _Next.NOTHING
    steps = next_steps(view)
    if steps.effects and run.journal.wait_for_turn():
        return _Next.LOOK_AT_ONCE  # nothing is done on a look that has grown old
    try:
        run.journal.commit(tuple(_with_events(shell, entry) for entry in steps.entries))
    except ConflictError:
        run.lost += 1
        if run.lost > LOST_RACES:
            raise
        return _Next.LOOK_AT_ONCE
    run.steps = steps
    run.judged = run.judged or all(phase_of(item) in FINAL_PHASES for item in view.migrations)
    _tell(run, steps.entries)
    acted = _act(run, steps)
    moving = acted and any(isinstance(effect, _MOVING) for effect in steps.effects)
    if moving or steps.in_flight or any(item.retry for item in steps.waiting):
        return _Next.LOOK
    return _Next.LOOK_SOON if acted else _Next.NOTHING


def _refresh_approvals(run: _Pass, ledger: Ledger) -> None:
    """Ask the forge again where a merge or gitbot's own approval may have come, or time passed."""
    now = run.shell.clock.now()
    key = (run.base.commit, sum(entry.state == "auto" for entry in ledger.entries))
    if key == run.approvals_key and now - run.approvals_at < ASK_FORGE:
        return
    run.approvals = read_approvals(run.shell, run.base, ledger)
    run.approvals_key, run.approvals_at = key, now


def _view(run: _Pass) -> View:
    shell, settings = run.shell, run.base.settings
    now = shell.clock.now()
    snapshot = shell.cluster.snapshot()
    run.on_look(snapshot)
    migrations = tuple(snapshot.of("VirtualMachineInstanceMigration"))
    run.seen = stages(migrations)
    breaker = settings.breaker
    return View(
        cluster=shell.cluster_name,
        now=now,
        ledger=run.journal.seen,
        approved=run.approvals.approved,
        problem=run.base.problem(snapshot, now),
        migrations=migrations,
        replay=run.base.replay,
        stop=run.stop,
        judge_groups=not run.judged,
        breaker=BreakerLimits(
            failures=breaker.failures,
            unexpected_landings=breaker.unexpected_landings,
            foreign_returns=breaker.foreign_returns,
        ),
        pending_timeout=settings.unschedulable_timeout,
    )


def stop_reason(run: _Pass, *, start: bool = True) -> str:
    """Why nothing may start now; "" where it may. What cannot be read stops everything."""
    if not start:
        return "nothing is started by this command"
    if run.base.settings.mode == "Observe":
        return "mode Observe applies nothing"
    reason = stop_flag(run.journal.ledger, run.shell.cluster_name)
    return reason or forge_skew(run.shell) or _cluster_stop(run.shell)


def _cluster_stop(shell: Shell) -> str:
    try:
        reason = shell.cluster.hold_flag()
        skew = abs(shell.cluster.server_time() - shell.clock.now())
    except GitbotError as error:
        return f"{UNREADABLE}: {error}"
    if reason is not None:
        return reason or "ConfigMap gitbot/gitbot-hold is there"
    if skew > MAX_SKEW:
        return f"{SKEWED} {skew} s away from ours (at most {MAX_SKEW})"
    return ""


def _may_still(run: _Pass) -> str:
    """The stop flag once more, read anew: asked before every effect."""
    try:
        run.journal.read()
    except GitbotError as error:
        return f"{UNREADABLE} in the ledger: {error}"
    return stop_flag(run.journal.ledger, run.shell.cluster_name) or _cluster_stop(run.shell)


def _act(run: _Pass, steps: Steps) -> bool:
    acted = False
    for effect in steps.effects:
        if run.shell.interrupted():  # what stands intended in the ledger is done by the next pass
            return acted
        if not isinstance(effect, DeleteMigration | LabelNode):
            stop = _may_still(run)
            if stop:
                run.stop = stop
                run.shell.say(f"stopped: {stop}")
                return acted
        outcome = do_effect(run.shell, run.base, effect)
        run.journal.note(*outcome)
        created = [entry for entry in outcome if entry.state == MoveState.CREATED]
        run.created += len(created)
        run.states.update(
            entry.state for entry in outcome if MoveState(entry.state) in FINAL_STATES
        )
        acted = acted or not isinstance(effect, LabelNode)
    return acted


def _tell(run: _Pass, entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        if not entry.move or entry.state == MoveState.INTENDED:
            continue
        if entry.state in {str(state) for state in FINAL_STATES}:
            run.states[entry.state] += 1
        words = [f"{entry.vm}: {entry.source} -> {entry.landed or entry.to} {entry.state}"]
        words += [entry.reason] if entry.reason and entry.state != MoveState.APPROVED else []
        run.shell.say(": ".join(words), request=entry.request, vm=entry.vm, state=entry.state)


def _with_events(shell: Shell, entry: Entry) -> Entry:
    """A failed move's line quotes the newest warning about its VMIM or VMI."""
    if entry.state != MoveState.FAILED or not entry.migration or entry.note:
        return entry
    namespace, _, name = entry.migration.partition("/")
    vm = entry.vm.partition("/")[2]
    try:
        events = [
            event
            for about in (name, vm)
            for event in shell.cluster.list_events(NamespacedName(namespace=namespace, name=about))
        ]
    except GitbotError:
        return entry
    warnings = [str(at(event, "message", default="")) for event in events if _warns(event)]
    return replace(entry, note=warnings[-1][:500]) if warnings else entry


def _warns(event: KubernetesObject) -> bool:
    return str(at(event, "type")) == "Warning"
