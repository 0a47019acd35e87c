"""Reconcile: look, propose, apply. One function for CI, the schedule and the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitbot.errors import ConflictError
from gitbot.model.cluster import ClusterSnapshot
from gitbot.workflows.apply import MAX_RUNTIME, ApplyResult, apply
from gitbot.workflows.clocks import forge_skew
from gitbot.workflows.dashboard import write_dashboard
from gitbot.workflows.journal import retried
from gitbot.workflows.pauses import base_head
from gitbot.workflows.propose import ProposeResult, propose
from gitbot.workflows.publish import PublishResult
from gitbot.workflows.refresh import refresh_pulls
from gitbot.workflows.shell import Shell

SNAPSHOT_FILE = "snapshot.json.gz"
Pack = Callable[[ClusterSnapshot], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileResult:
    """What one pass did. On an unchanged world it did nothing."""

    snapshot_published: bool
    pulls: tuple[PublishResult, ...]
    proposed: ProposeResult
    applied: ApplyResult
    proposed_after: ProposeResult
    unsure: bool = False  # pull requests were left unplanned: what decides could not be read

    @property
    def did_nothing(self) -> bool:
        """Whether nothing at all was written."""
        return (
            not self.snapshot_published
            and not any(item.wrote for item in self.pulls)
            and self.proposed.did_nothing
            and self.applied.did_nothing
            and self.proposed_after.did_nothing
        )


def reconcile(
    shell: Shell,
    *,
    max_runtime: int = MAX_RUNTIME,
    pack: Pack | None = None,
    wait_for_opening: int = 0,
    every_pull: bool = False,
) -> ReconcileResult:
    """Snapshot, publish it, plan open pull requests again, propose, apply, propose what is left.

    `pack` turns a snapshot into its file; without it none is published. With `every_pull` open
    pull requests that nobody has shown yet are planned too; else those are another run's.
    """
    snapshot = shell.cluster.snapshot()
    base = shell.read_base(base_head(shell))
    publisher = _Publisher(shell, pack, max_age=base.settings.snapshot_max_age)
    publisher.publish(snapshot)
    pulls = refresh_pulls(shell, replay=base.replay, snapshot=snapshot, every=every_pull)
    if shell.interrupted():
        return _ended(publisher, pulls)
    proposed = retried(lambda: propose(shell, snapshot=snapshot))
    applied = apply(
        shell,
        max_runtime=max_runtime,
        wait_for_opening=wait_for_opening,
        on_look=publisher.refresh,
    )
    after = ProposeResult()
    if not (applied.did_nothing or applied.interrupted):
        fresh = shell.cluster.snapshot()
        publisher.publish(fresh)
        after = retried(lambda: propose(shell, snapshot=fresh))
    if not after.did_nothing:  # new proposals are on the dashboard at once
        write_dashboard(
            shell,
            shell.ledger_store.read(),
            stop=applied.stop,
            waiting=applied.waiting,
            refused=applied.approvals.refused,
        )
    return ReconcileResult(
        snapshot_published=publisher.wrote,
        pulls=pulls,
        proposed=proposed,
        applied=applied,
        proposed_after=after,
        unsure=bool(forge_skew(shell)) or any(item.unread for item in pulls),
    )


def _ended(publisher: _Publisher, pulls: tuple[PublishResult, ...]) -> ReconcileResult:
    """What a pass did that was asked to end before it proposed anything."""
    return ReconcileResult(
        snapshot_published=publisher.wrote,
        pulls=pulls,
        proposed=ProposeResult(),
        applied=ApplyResult(interrupted=True),
        proposed_after=ProposeResult(),
    )


class _Publisher:
    """Publishes snapshots in one pass: at its beginning and end, and before the last grows old."""

    def __init__(self, shell: Shell, pack: Pack | None, *, max_age: int) -> None:
        self._shell = shell
        self._pack = pack
        self._max_age = max_age
        self._last = 0
        self.wrote = False

    def publish(self, snapshot: ClusterSnapshot) -> None:
        """Publish this one."""
        if self._pack is not None:
            self._last = snapshot.taken_at
            self.wrote = publish_snapshot(self._shell, snapshot, self._pack) or self.wrote

    def refresh(self, snapshot: ClusterSnapshot) -> None:
        """Publish this one where the last one would soon be too old to plan on."""
        if snapshot.taken_at - self._last >= self._max_age // 3:
            self.publish(snapshot)


def snapshot_branch(cluster: str) -> str:
    """The branch that holds the newest snapshot as one orphan commit."""
    return f"gitbot/snapshot/{cluster}"


def publish_snapshot(shell: Shell, snapshot: ClusterSnapshot, pack: Pack) -> bool:
    """Replace the published snapshot; an equal or fresh one is left. Whether it was written.

    Equal means the same digest; it is written again when half of snapshotMaxAge has passed, so
    that pull request jobs never see it as too old.
    """
    base = shell.read_base(base_head(shell))
    if not base.settings.publish_snapshot:
        return False
    branch = snapshot_branch(shell.cluster_name)
    head = shell.repository.resolve(branch)
    if head is not None:
        last = shell.repository.commit(head)
        age = snapshot.taken_at - last.time
        if snapshot.digest in last.message and age < base.settings.snapshot_max_age // 2:
            return False
    try:
        shell.repository.write_commit(
            branch=branch,
            expected=head,
            files={SNAPSHOT_FILE: pack(snapshot)},
            message=f"Snapshot of {shell.cluster_name}\n\n{snapshot.digest}",
            time=snapshot.taken_at,
            orphan=True,
        )
    except ConflictError:
        return False  # somebody else published one just now: as good as ours
    return True
