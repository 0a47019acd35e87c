"""Apply: one pass that carries out everything that is approved, open now and unfinished.

Ledger before effect: gitbot pushes the events of a step by compare-and-swap before its effects, and
outcomes with the next step. If a pass is killed at any point, the next one finishes its work.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import Enum, auto

from gitbot import gitbot_version
from gitbot.errors import ClusterForbidden, ClusterRefused, ConflictError, ForgeError, GitbotError
from gitbot.execution.claims import FENCE, TOO_LATE, with_claims
from gitbot.execution.executor_types import (
    FORBIDDEN,
    REFUSED,
    STORED_DIFFERENTLY,
    CreateMigration,
    DeleteMigration,
    Effect,
    ExecutorInput,
    LabelNode,
    SetUnschedulable,
    Steps,
)
from gitbot.execution.next_steps import next_steps
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubernetes.phases import is_final
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import (
    FINAL_STATES,
    ConcernState,
    KnownEvent,
    MoveEvent,
    MoveState,
    NodeChanged,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.workflows.apply.as_shown import (
    FRESH,
    MIGRATION,
    effect_as_shown,
    events_as_shown,
)
from gitbot.workflows.apply.effects import (
    cordon,
    perform_effect,
    reason_to_skip,
    report_moves,
    waits,
    with_last_event,
)
from gitbot.workflows.apply.pass_progress import show_how_far
from gitbot.workflows.apply.pass_state import OnLook, OnReport, PassState
from gitbot.workflows.apply.result import ApplyResult, NodeDone
from gitbot.workflows.apply.snapshot_sanity import (
    ending_vms_unchanged,
    is_stale_look,
    no_pending_creation,
)
from gitbot.workflows.apply.waiting import (
    HEAR,
    POLL,
    heads,
    stages,
    wait_for_opening_at,
    wait_for_progress,
)
from gitbot.workflows.approval.base_history import history_error
from gitbot.workflows.approval.judged_merges import to_write
from gitbot.workflows.approval.read_approvals import Approvals, begun_approvals, read_approvals
from gitbot.workflows.core.base_branch import readable_base
from gitbot.workflows.core.closed_gates import closed_gate
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.stop_conditions import (
    UNREADABLE,
    UnknownStop,
    cluster_stop,
    forge_skew,
    ledger_stop,
    outdated,
)
from gitbot.workflows.ledger.anchor import (
    Anchor,
    identify_cluster,
    mark_cluster,
    read_anchor,
    write_cluster_anchor,
    write_forge_anchor,
)
from gitbot.workflows.ledger.writer import LOST_RACES, Journal, is_record, retried
from gitbot.workflows.pulls.statuses import write_refusals, write_statuses

ASK_FORGE = 60  # seconds until the forge is read again even if nothing was merged
MAX_RUNTIME = 3600


class _NextLook(Enum):
    NOTHING = auto()
    LOOK = auto()  # when a migration has made progress
    LOOK_SOON = auto()  # only nodes changed, so no migration will announce it
    LOOK_AT_ONCE = auto()


def apply(
    shell: RunContext,
    *,
    max_runtime: int = MAX_RUNTIME,
    start: bool = True,
    wait_for_opening: int = 0,
    on_look: OnLook | None = None,
    on_report: OnReport | None = None,
    known: ClusterSnapshot | None = None,
    anchor: Anchor | None = None,
    may_start: bool = False,
) -> ApplyResult:
    """One pass: until nothing more can start or end, or `max_runtime` seconds are over.

    If `start` is False, nothing new starts: gitbot watches and recalls running moves. The pass
    waits for an opening within `wait_for_opening` seconds, because the next pass may be late.
    `on_look` gets every snapshot, `on_report` shows news to people. `known` is a snapshot from the
    start of this pass: it is enough to see that there is nothing to do. `anchor` was read then, and
    `may_start` says that the cluster's stop flag and clock were, too, and let moves start.
    Raises InvalidInput at its end if the base branch has errors, RepositoryError if it was
    rewritten, and ForgeError if the forge could not be read.
    """
    run = _begin(shell, anchor, ends_at=shell.clock.now() + max_runtime)
    run.known, run.on_look, run.on_report = known, on_look, on_report
    run.may_start = may_start
    try:
        more = _run_steps(run, start=start, wait_for_opening=wait_for_opening)
    except GitbotError:
        with suppress(GitbotError):
            _write_rest(run)
        raise
    with suppress(ConflictError):  # the next read of the cluster shows the outcome again
        _write_rest(run)
    if not shell.interrupted():  # an interrupted pass has only seconds left: the next one reports
        report(run)
    if start and (trouble := run.unread or run.broken):
        raise trouble
    return run.result(unfinished=more)


def _run_steps(run: PassState, *, start: bool, wait_for_opening: int) -> bool:
    """Step after step until the pass ends; True if another one has work at once."""
    shell, said = run.shell, run.journal.written
    while True:
        follows = _run_step(run, start=start)
        if run.journal.written != said and not shell.interrupted():
            said = run.journal.written
            report(run)
        idle = follows is _NextLook.NOTHING
        opening = opens_soon(run, wait_for_opening) if idle else 0
        more = bool(opening or not idle) and not shell.interrupted()
        if not more or shell.clock.now() >= run.ends_at:
            return more
        _wait(run, follows, opening)


def _write_rest(run: PassState) -> None:
    """Write outcomes, and return claims of which nothing was sent."""
    shell, journal = run.shell, run.journal

    def once() -> None:
        if journal.unwritten or run.tickets.known:
            journal.read()
            now, seen = shell.clock.now(), journal.seen
            journal.commit(run.tickets.given_back(seen, shell.cluster_name, now=now))

    retried(once)
    run.anchored = write_cluster_anchor(shell, journal, run.anchored)


def _wait(run: PassState, follows: _NextLook, opening: int) -> None:
    """Wait until the next step is worthwhile; `opening` is when something may start, or 0."""
    shell = run.shell
    if opening:
        run.judged = False  # the cluster may have changed by then
        seen = heads(run.journal.ledger, shell.cluster_name, run.base.commit)
        wait_for_opening_at(opening, shell, run.journal, seen, ends_at=run.ends_at)
    elif follows is _NextLook.LOOK:
        wait_for_progress(shell, run.seen, ends_at=run.ends_at)
    elif follows is _NextLook.LOOK_SOON:
        pause = POLL if shell.followed is None else HEAR
        shell.clock.sleep(min(pause, run.ends_at - shell.clock.now()))


def report(run: PassState) -> None:
    """Report the state of everything on the forge. A failed write stops nothing."""
    shell, ledger, waiting = run.shell, run.journal.ledger, run.steps.waiting
    try:
        write_statuses(shell, run.approvals.approved, ledger, waiting, stop=run.stop)
        write_refusals(shell, run.approvals.refused)
    except ForgeError as error:
        shell.say(f"progress is not written to the forge: {error}")
    if not run.older and run.unread is None:
        write_forge_anchor(shell, ledger, run.base.commit)
    if run.on_report is not None:
        run.on_report(shell, ledger, run.stop, waiting, run.approvals.refused)


def opens_soon(run: PassState, within: int) -> int:
    """When the next move's allowed time begins (UTC seconds); 0 if not within `within` seconds."""
    now, waiting = run.shell.clock.now(), run.steps.waiting
    opens = [item.until for item in waiting if item.opens]
    opens += [  # of drains that only cordon; others have a move that waits
        span.start
        for item in run.approvals.approved
        if not (item.moves or item.terms.blocked_reason)
        for span in item.terms.allowed
    ]
    times = [time for time in opens if now < time <= now + within]
    return min(times) if times and not run.stop else 0


def _begin(shell: RunContext, anchor: Anchor | None, *, ends_at: int) -> PassState:
    journal = Journal(shell.ledger_store, shell.clock)
    unread: ForgeError | None = None
    try:
        anchor = anchor or read_anchor(shell)
    except ForgeError as error:
        anchor, unread = read_anchor(shell, ask_forge=False), error
    ledger = journal.read()
    head = base_head(shell)
    shell.onlooker.begins("reading the forge and the cluster")
    readable = readable_base(shell, head)
    for item in readable.engine.revision.broken:
        shell.say(item.words)
    older = anchor.stop(ledger)
    run = PassState(
        shell=shell,
        journal=journal,
        base=readable.engine,
        broken=history_error(shell, ledger, head) or readable.broken,
        unread=unread,
        approvals=Approvals(approved=(), refused=()),
        ends_at=ends_at,
        anchor=anchor,
        older=older,
        anchored=None if older else anchor.head,
    )
    run.anchored = write_cluster_anchor(shell, journal, run.anchored)
    if not older:
        mark_cluster(shell, anchor)
    return run


def _run_step(run: PassState, *, start: bool) -> _NextLook:
    """Look, decide, record, act. Nothing is recorded or done on a look that may be wrong."""
    shell, looked = run.shell, run.shell.timer()
    ledger = _read_again(run)
    # lines of a newer gitbot, or lines that are missing, may say what has been done already:
    # without them even an observation could be wrong
    run.stop = outdated(ledger, shell.cluster_name) or run.older
    if run.stop:
        return _NextLook.NOTHING
    run.stop = stop_reason(run, start=start)
    earlier, run.known = run.known, None
    if earlier is not None and not _is_whole(run, earlier.of(MIGRATION)):
        return _NextLook.NOTHING
    if earlier is not None and _is_idle(run, earlier):
        return _NextLook.NOTHING
    if shell.followed is not None:
        shell.followed.require(FRESH)
    view = _view(run, shell.cluster.snapshot())
    if shell.interrupted():  # reading a large cluster takes long: begin nothing after it
        return _NextLook.NOTHING
    doubt = run.belief.doubt(view.problem.snapshot, view.now)
    if doubt:  # an old or partial list would end moves that still run
        shell.say(f"looks again: {doubt}")
        return _NextLook.LOOK_SOON
    if not _is_whole(run, view.migrations):
        return _NextLook.NOTHING
    if run.journal.ledger.head != ledger.head:
        return _NextLook.LOOK_AT_ONCE  # the view is of the ledger before
    return _take_steps(run, view, ledger, looked)


def _is_whole(run: PassState, migrations: Iterable[KubernetesObject]) -> bool:
    """Whether the ledger knows what the cluster shows of gitbot; compared once in a pass."""
    if run.compared:
        return True
    run.compared, journal = True, run.journal
    if run.anchor.stop(journal.ledger, migrations):  # others may have announced them since
        run.stop = run.older = run.anchor.stop(journal.read(), migrations)
    if not run.older:
        identify_cluster(run.shell, journal, run.anchor)
    return not run.older


def _take_steps(run: PassState, view: ExecutorInput, ledger: Ledger, looked: float) -> _NextLook:
    """Decide, record and act on a snapshot that can be trusted; `looked`: since when, by timer."""
    shell, steps = run.shell, next_steps(view)
    judged = to_write(run.approvals.judged, ledger, steps.events)
    if _may_wait(run, steps, judged):
        run.steps = steps
        return _NextLook.LOOK  # the next step that claims or ends something takes them along
    # a list may be older than a single object: what would end a move is read once more, by name
    known = no_pending_creation(shell.cluster, steps) and ending_vms_unchanged(
        shell.cluster, view, steps
    )
    known = known and events_as_shown(shell, view, steps)
    if not known or (steps.effects and is_stale_look(shell, view.now, looked)):
        return _NextLook.LOOK_SOON
    began, by = shell.timer(), gitbot_version()
    steps = with_claims(steps, shell.clock.now(), version=by, cluster_uid=run.anchor.uid)
    try:  # the ledger before the effects: an executor that loses the race has done nothing
        lines = (with_last_event(shell, event) for event in steps.events)
        run.journal.commit((*judged, *lines))
    except ConflictError:
        run.lost += 1
        if run.lost > LOST_RACES:
            raise
        return _NextLook.LOOK_AT_ONCE
    _note_steps(run, view, steps, began=began)
    acted = _act(run, view, steps, began=began)
    if any(getattr(event, "outcome", "") == STORED_DIFFERENTLY for event in run.journal.unwritten):
        return _NextLook.LOOK_AT_ONCE  # to delete what the server stored with another spec
    if steps.in_flight or any(item.retry for item in steps.waiting):
        return _NextLook.LOOK
    return _NextLook.LOOK_SOON if acted else _NextLook.NOTHING


def _may_wait(run: PassState, steps: Steps, judged: Iterable[KnownEvent]) -> bool:
    """Whether a step only records, and there were many pushes within the last minute."""
    lines = (*run.journal.unwritten, *judged, *steps.events)
    if steps.effects or not lines or not all(map(is_record, lines)):
        return False
    return not run.journal.has_turn()


def _is_idle(run: PassState, known: ClusterSnapshot) -> bool:
    """Whether a snapshot from the start of this pass shows that nothing is to be done or recorded.

    gitbot concludes nothing else from it: it decides anything to do on a new one. A move that waits
    for the cluster, and not for a time, may start on a new one.
    """
    records = fold_requests(run.journal.ledger, run.shell.cluster_name).values()
    moves = [move for item in records for move in item.moves.values() if not move.final]
    if any(move.in_flight or run.stop for move in moves):
        return False  # the whole decision could only say so, too
    view = _view(run, known)
    if run.belief.doubt(known, view.now):
        return False
    steps = next_steps(view)
    judged = to_write(run.approvals.judged, run.journal.ledger, steps.events)
    if judged or steps.events or steps.effects or steps.absent or steps.in_flight or steps.stale:
        return False
    run.steps = steps
    return all(item.until > view.now and not item.retry for item in steps.waiting)


def _read_again(run: PassState) -> Ledger:
    """Read ledger, base branch and approvals again: others write while a pass runs."""
    is_read, run.is_read = run.is_read, False
    ledger, head = run.journal.read(again=not is_read), base_head(run.shell)
    if head != run.base.commit:
        readable = readable_base(run.shell, head)
        run.base = readable.engine
        run.broken = history_error(run.shell, ledger, head) or readable.broken
    _refresh_approvals(run, ledger)
    return ledger


def _note_steps(run: PassState, view: ExecutorInput, steps: Steps, *, began: float) -> None:
    """Keep what was recorded, for the next look and the result, and show it."""
    shell, run.steps = run.shell, steps
    run.tickets.hold(shell, steps.effects, began=began)
    run.anchored = write_cluster_anchor(shell, run.journal, run.anchored)
    # a pass judges the groups once, at its first look without a running migration
    run.judged = run.judged or all(is_final(item) for item in view.migrations)
    moves = (event for event in steps.events if isinstance(event, MoveEvent))
    run.states.update(str(event.state) for event in moves if event.state in FINAL_STATES)
    run.nodes += [NodeDone.of(event) for event in steps.events if isinstance(event, NodeChanged)]
    report_moves(shell, steps.events)
    show_how_far(shell, run.journal.seen, run.approvals.approved, run.requests)


def _refresh_approvals(run: PassState, ledger: Ledger) -> None:
    """Read the forge again if there may be a new merge or approval, or after ASK_FORGE seconds."""
    now = run.shell.clock.now()
    key = (
        run.base.commit,
        sum(event.state is ConcernState.AUTO for event in ledger.concerns(run.shell.cluster_name)),
    )
    # a clock that stepped back says nothing about how old the answer is
    if key == run.approvals_key and 0 <= now - run.approvals_at < ASK_FORGE:
        return
    try:
        run.approvals = read_approvals(run.shell, run.base, ledger)
    except ForgeError as error:  # what has begun goes on: the ledger has its terms
        run.unread = run.unread or error
        run.approvals = begun_approvals(run.shell, run.base, ledger)
    run.approvals_key, run.approvals_at = key, now


def _view(run: PassState, snapshot: ClusterSnapshot) -> ExecutorInput:
    shell = run.shell
    now = shell.clock.now()
    if run.on_look is not None:
        run.on_look(snapshot)
    run.seen = stages(snapshot.of("VirtualMachineInstanceMigration"))
    return run.base.view(
        snapshot,
        run.journal.seen,
        run.approvals.approved,
        now=now,
        stop=run.stop,
        gate=closed_gate(shell, run.base, run.journal.seen, run.approvals.approved),
        judge_groups=not run.judged,
        executor=shell.executor,
        unsent=run.tickets.unsent,
        unanswered=run.tickets.unanswered,
    )


def stop_reason(run: PassState, *, start: bool) -> str:
    """Why nothing may start now; "" if it may. Anything that cannot be read stops all starts."""
    if not start:
        return "nothing is started by this command"
    flag = run.source_stop or ledger_stop(run.journal.ledger, run.shell.cluster_name)
    is_read, run.may_start = run.may_start, False  # once: each effect reads them again
    return flag or forge_skew(run.shell) or ("" if is_read else cluster_stop(run.shell))


def _reread_stop_reason(run: PassState) -> str:
    """Read the stop flag again, before every effect: a person may have set it since."""
    try:
        run.journal.read()
    except GitbotError as error:
        return UnknownStop(f"{UNREADABLE} in the ledger: {error}")
    if flag := run.source_stop:
        return flag
    return ledger_stop(run.journal.ledger, run.shell.cluster_name) or cluster_stop(run.shell)


def _act(run: PassState, view: ExecutorInput, steps: Steps, *, began: float) -> bool:
    acted, head = False, run.journal.ledger.head
    uncordoned: dict[RequestId, tuple[str, str]] = {}
    for effect in steps.effects:
        if run.shell.interrupted():  # the next pass performs what the ledger announces
            return acted
        if run.shell.timer() - began >= FENCE.send:
            run.shell.say(TOO_LATE)
            return True  # read and decide again
        if not isinstance(effect, DeleteMigration):
            stop = _reread_stop_reason(run)
            if stop:  # set since the decision; a deletion recalls, and goes on
                run.stop = stop
                run.shell.say(f"stopped: {stop}")
                return acted
            older = not isinstance(effect, CreateMigration) and run.journal.ledger.head != head
            if older or base_head(run.shell) != run.base.commit:
                # the decision was made on an older base, or about nodes on an older ledger
                return True
        if not effect_as_shown(run.shell, view, steps, effect):
            run.shell.say("looks again: the cluster changed since the last look")
            return True
        acted = _send(run, view, effect, uncordoned) or acted
    return acted


def _send(
    run: PassState,
    view: ExecutorInput,
    effect: Effect,
    uncordoned: dict[RequestId, tuple[str, str]],
) -> bool:
    """Send one effect; True if the cluster should be read again soon.

    A refusal concerns this effect alone. `uncordoned` has reason and outcome for the requests whose
    node could not be cordoned.
    """
    if isinstance(effect, SetUnschedulable):
        return _cordon(run, effect, uncordoned)
    if isinstance(effect, CreateMigration):
        if effect.approved.id in uncordoned:
            # A node that could not be cordoned must not be emptied.
            run.journal.note(waits(run.shell, effect, *uncordoned[effect.approved.id]))
            return False
        if reason := reason_to_skip(run.shell, view, run.journal.seen, effect):
            run.shell.say(f"{effect.event.vm} is not moved: {reason}", request=effect.approved.id)
            return False
    try:
        outcome = perform_effect(run.shell, run.base, effect, run.tickets, run.journal.ledger)
    except (ClusterForbidden, ClusterRefused) as error:
        if not isinstance(effect, DeleteMigration):
            raise
        return run.refuse(f"{effect.name} cannot be withdrawn: {error}")
    run.journal.note(*outcome)
    run.created += sum(event.state is MoveState.CREATED for event in outcome)
    run.states.update(str(event.state) for event in outcome if event.state in FINAL_STATES)
    for event in outcome:
        if event.outcome == FORBIDDEN:
            run.refuse(f"{event.vm} waits: {event.reason}")
    return not isinstance(effect, LabelNode)


def _cordon(
    run: PassState, effect: SetUnschedulable, uncordoned: dict[RequestId, tuple[str, str]]
) -> bool:
    try:
        run.nodes += cordon(run.shell, effect)
    except (ClusterForbidden, ClusterRefused) as error:
        reason = f"{effect.node} cannot be {'' if effect.unschedulable else 'un'}cordoned: {error}"
        if effect.unschedulable:
            outcome = FORBIDDEN if isinstance(error, ClusterForbidden) else REFUSED
            uncordoned[effect.request] = (reason, outcome)
        return run.refuse(reason)
    return True
