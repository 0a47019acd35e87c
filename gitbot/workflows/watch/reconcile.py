"""Reconcile: snapshot, propose, apply. One function for CI, the schedule and the command line."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gitbot.errors import ForgeError, InvalidInput, RepositoryError, UnreachableError
from gitbot.execution.approval import NotApproved
from gitbot.execution.executor_types import Waiting
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.plan import PlannerFault
from gitbot.ports.cluster import ClusterTraffic
from gitbot.ports.forge import ForgeRequests
from gitbot.ports.ledger import LedgerCounts
from gitbot.workflows.apply import MAX_RUNTIME, ApplyResult, apply
from gitbot.workflows.ask import (
    WindowOutlook,
    window_outlook,
    write_dashboard,
    write_object_events,
)
from gitbot.workflows.audit import run_audit, score
from gitbot.workflows.check import PublishResult, refresh_pulls
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.published_snapshots import Pack, publish_snapshot
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.stop_conditions import LedgerStop, forge_skew
from gitbot.workflows.current_state import read_current_state
from gitbot.workflows.ledger.anchor import Anchor, read_anchor, write_forge_anchor
from gitbot.workflows.ledger.writer import retried
from gitbot.workflows.propose import PassView, ProposeResult, not_planned, propose
from gitbot.workflows.pulls.broken_file import comment_on_broken_files
from gitbot.workflows.watch.notices import send_notices

OnView = Callable[[PassView], None]

SOON = 5  # seconds in which a pass need not read the anchors and the stop flag twice


class PassStage(StrEnum):
    """What a pass does, in this order. It may look again while it applies, and then proposes."""

    LOOK = "look"
    READ = "read"
    AUDIT = "audit"
    CHECK = "check"
    PROPOSE = "propose"
    APPLY = "apply"
    TELL = "tell"


class _Stages:
    """The seconds of each stage of a pass: every second belongs to one."""

    def __init__(self, timer: Callable[[], float]) -> None:
        self.seconds = dict.fromkeys(PassStage, 0.0)
        self._timer, self._began, self._stage = timer, timer(), PassStage.LOOK

    def begin(self, stage: PassStage | None) -> None:
        now = self._timer()
        self.seconds[self._stage] += now - self._began
        self._began, self._stage = now, stage or self._stage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileResult:
    """The result of one pass; empty if nothing changed."""

    snapshot_published: bool
    pulls: tuple[PublishResult, ...]
    applied: ApplyResult
    proposed: ProposeResult = field(default_factory=ProposeResult)
    proposed_after: ProposeResult = field(default_factory=ProposeResult)
    unsure: bool = False  # something has no plan: it was unreadable, or planning took too long
    seconds: float = 0.0
    stages: Mapping[PassStage, float] = field(default_factory=dict)  # in seconds
    looked_at: int = 0  # when the last snapshot was taken, in seconds UTC
    windows: WindowOutlook | None = None  # None if the pass knows no ledger
    requests: ForgeRequests = field(default_factory=ForgeRequests)  # to the forge, in this pass
    traffic: ClusterTraffic = field(default_factory=ClusterTraffic)  # of the connection so far
    ledger_counts: LedgerCounts = field(default_factory=LedgerCounts)  # of the same time

    @property
    def did_nothing(self) -> bool:
        return (
            not self.snapshot_published
            and not any(item.wrote for item in self.pulls)
            and self.proposed.did_nothing
            and self.applied.did_nothing
            and self.proposed_after.did_nothing
        )

    @property
    def away(self) -> int | None:
        """VMs that are not at home, as last looked; None if the pass did not ask."""
        after = self.proposed_after.away
        return self.proposed.away if after is None else after

    @property
    def faults(self) -> tuple[PlannerFault, ...]:
        """Of the plans of this pass; of a concern that was planned twice, those of the last one."""
        last = self.proposed_after if self.proposed_after.concerns else self.proposed
        shown = (fault for item in self.pulls for fault in item.check.faults)
        return (*shown, *last.faults)

    @property
    def internal(self) -> int:
        """How often the planner contradicted itself in this pass."""
        return len(self.faults)


def reconcile(
    shell: RunContext,
    *,
    max_runtime: int = MAX_RUNTIME,
    pack: Pack | None = None,
    wait_for_opening: int = 0,
    every_pull: bool = False,
    on_view: OnView | None = None,
) -> ReconcileResult:
    """Snapshot, publish, plan open pull requests again, propose, apply, propose remaining moves.

    Without `pack`, which turns a snapshot into its file, none is published. `every_pull` also plans
    open pull requests that were never shown; otherwise another run does. `on_view` gets what each
    run of propose saw.
    """
    began, before = shell.timer(), shell.forge.requests.sent
    stages = _Stages(shell.timer)
    result = _pass(
        shell,
        stages,
        max_runtime=max_runtime,
        pack=pack,
        wait_for_opening=wait_for_opening,
        every_pull=every_pull,
        on_view=on_view,
    )
    stages.begin(PassStage.TELL)
    comment_on_broken_files(shell)
    send_notices(shell, result.windows, result.applied.approvals.refused)
    stages.begin(None)
    there = shell.forge.requests
    requests = replace(there, sent=there.sent - before)
    return replace(
        result,
        seconds=shell.timer() - began,
        stages=stages.seconds,
        requests=requests,
        traffic=shell.cluster.traffic,
        ledger_counts=replace(shell.ledger_counts),
    )


def _pass(
    shell: RunContext,
    stages: _Stages,
    *,
    max_runtime: int,
    pack: Pack | None,
    wait_for_opening: int,
    every_pull: bool,
    on_view: OnView | None,
) -> ReconcileResult:
    snapshot, looked = shell.cluster.snapshot(), shell.timer()
    stages.begin(PassStage.READ)
    try:
        base = shell.read_base(base_head(shell))
        publisher = _Publisher(shell, pack, base)
        publisher.publish(snapshot)
        anchor = read_anchor(shell)  # first: it never lies ahead of a ledger that is read after it
        there = snapshot.of("VirtualMachineInstanceMigration")
        why = anchor.stop(shell.ledger_store.read(), there)
        if isinstance(why, LedgerStop):
            # no plan, no proposal and no line without what the ledger lost
            stages.begin(PassStage.APPLY)
            return publisher.ended(_only_apply(shell, max_runtime, anchor, snapshot))
        known = None if anchor.trouble else anchor  # an answer that failed may come the next time
        pulls = _judged(shell, stages, snapshot, base, every_pull=every_pull)
        if shell.interrupted():
            return publisher.ended(ApplyResult(interrupted=True), pulls)
        stages.begin(PassStage.PROPOSE)
        proposed = retried(lambda: propose(shell, snapshot=snapshot, anchor=known, on_view=on_view))
    except (InvalidInput, ForgeError, RepositoryError):
        # what has begun is still observed and recalled: its window may close during the trouble
        _only_apply(shell, max_runtime)
        raise
    # an anchor from before long planning says little of the ledger now
    is_new = shell.timer() - looked < SOON
    stages.begin(PassStage.APPLY)
    applied = apply(
        shell,
        max_runtime=max_runtime,
        wait_for_opening=wait_for_opening,
        on_look=publisher.refresh,
        on_report=_report,
        known=snapshot,
        anchor=known if is_new else None,
        may_start=is_new and proposed.may_start,
    )
    after = _propose_rest(shell, stages, publisher, applied, known, on_view=on_view)
    unsure = _is_unsure(shell, pulls, (proposed, after))
    ended = publisher.ended(applied, pulls)
    return replace(ended, proposed=proposed, proposed_after=after, unsure=unsure)


def _judged(
    shell: RunContext,
    stages: _Stages,
    snapshot: ClusterSnapshot,
    base: RevisionEngine,
    *,
    every_pull: bool,
) -> tuple[PublishResult, ...]:
    """Audit the cluster, and plan open pull requests again."""
    stages.begin(PassStage.AUDIT)
    retried(lambda: _record_audit(shell, snapshot, base))
    stages.begin(PassStage.CHECK)
    return refresh_pulls(shell, snapshot=snapshot, every=every_pull)


def apply_and_report(
    shell: RunContext, *, max_runtime: int = MAX_RUNTIME, wait_for_opening: int = 0
) -> ApplyResult:
    """One pass of apply, with the dashboard, and the requests that it passed over."""
    looks: deque[ClusterSnapshot] = deque(maxlen=1)
    result = apply(
        shell,
        max_runtime=max_runtime,
        wait_for_opening=wait_for_opening,
        on_look=looks.append,
        on_report=_report,
    )
    comment_on_broken_files(shell)
    send_notices(shell)
    if result.stop or result.interrupted:  # nothing could be planned, or nobody waits for it
        return result
    last = looks[0] if looks and result.did_nothing else None
    seen = read_current_state(shell, shell.ledger_store.read(), snapshot=last)
    return replace(result, not_planned=not_planned(shell, seen, shell.own_pulls()))


def _only_apply(
    shell: RunContext,
    max_runtime: int,
    anchor: Anchor | None = None,
    known: ClusterSnapshot | None = None,
) -> ApplyResult:
    return apply(shell, max_runtime=max_runtime, on_report=_report, anchor=anchor, known=known)


def _report(
    shell: RunContext,
    ledger: Ledger,
    stop: str,
    waiting: tuple[Waiting, ...],
    refused: tuple[NotApproved, ...],
) -> None:
    """Show people what a pass did: on the forge, and on the objects in the cluster."""
    write_dashboard(shell, ledger, stop, waiting, refused)
    write_object_events(shell, ledger, waiting)


def _is_unsure(
    shell: RunContext, pulls: Iterable[PublishResult], proposed: Iterable[ProposeResult]
) -> bool:
    late = any(item.unsure for item in proposed)
    return late or bool(forge_skew(shell)) or any(item.unread for item in pulls)


def _record_audit(shell: RunContext, snapshot: ClusterSnapshot, base: RevisionEngine) -> None:
    """Record an audit's findings, if they changed. The manifests in Git are not part of it."""
    if not base.settings.record_audit:
        return
    ledger, now = shell.ledger_store.known(), shell.clock.now()
    if ledger.unknown(shell.cluster_name):
        return
    result = run_audit(snapshot, now=now, revision=base.revision, ledger=ledger)
    line = score(result.findings, ledger, cluster=shell.cluster_name, now=now)
    if line is not None:
        shell.ledger_store.append(ledger, (line,), {})


def _propose_rest(
    shell: RunContext,
    stages: _Stages,
    publisher: _Publisher,
    applied: ApplyResult,
    anchor: Anchor | None,
    *,
    on_view: OnView | None,
) -> ProposeResult:
    """What is left after a pass that did something; dashboard and forge anchor show it."""
    stages.begin(PassStage.PROPOSE)
    if applied.did_nothing or applied.interrupted:
        return ProposeResult()
    publisher.publish(fresh := shell.cluster.snapshot())
    shell.ledger_store.read()  # not older than the snapshot
    after = retried(lambda: propose(shell, snapshot=fresh, anchor=anchor, on_view=on_view))
    if not after.did_nothing:
        ledger = shell.ledger_store.read()
        write_forge_anchor(shell, ledger, applied.base)
        write_dashboard(shell, ledger, applied.stop, applied.waiting, applied.approvals.refused)
    return after


class _Publisher:
    """Publishes snapshots in one pass: at its start and end, and before the last one is too old."""

    def __init__(self, shell: RunContext, pack: Pack | None, base: RevisionEngine) -> None:
        self._shell = shell
        self._pack = pack
        self._base = base
        self._last = 0
        self._seen: ClusterSnapshot | None = None
        self.wrote = False

    def ended(self, applied: ApplyResult, pulls: tuple[PublishResult, ...] = ()) -> ReconcileResult:
        """The result of a pass, without what it proposed."""
        seen, windows = self._seen, None
        if seen is not None and applied.ledger is not None and not applied.doubts_ledger:
            approved, now = applied.approvals.approved, self._shell.clock.now()
            windows = window_outlook(self._base, applied.ledger, approved, seen, now=now)
        return ReconcileResult(
            snapshot_published=self.wrote,
            pulls=pulls,
            applied=applied,
            looked_at=0 if seen is None else seen.taken_at,
            windows=windows,
        )

    def publish(self, snapshot: ClusterSnapshot) -> None:
        self._seen = snapshot
        if self._pack is not None:
            self._last = snapshot.taken_at
            try:
                self.wrote = publish_snapshot(self._shell, snapshot, self._pack) or self.wrote
            except UnreachableError:
                raise
            except RepositoryError as error:  # any account that may push can block the branch
                self._shell.say(f"the snapshot is not published: {error}")

    def refresh(self, snapshot: ClusterSnapshot) -> None:
        """Publish this one if the last one would soon be too old to plan on."""
        self._seen = snapshot
        if snapshot.taken_at - self._last >= self._base.settings.snapshot_max_age // 3:
            self.publish(snapshot)
