"""A look without a step: what is approved, what would happen next, what waits and for what."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.errors import GitbotError
from gitbot.execution.next_steps import next_steps
from gitbot.execution.state import stop_flag
from gitbot.execution.values import Steps, View
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.ledger import Ledger
from gitbot.model.problem import PlacementProblem
from gitbot.workflows.approvals import Approvals, read_approvals
from gitbot.workflows.rewritten import check_history
from gitbot.workflows.shell import Base, Shell


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at base branch, ledger, forge and cluster. `steps` are not taken.

    `unread` says why the cluster could not be read, "" where it was: then `problem` is that of an
    empty cluster, and `steps` are none.
    """

    base: Base
    ledger: Ledger
    approvals: Approvals
    problem: PlacementProblem
    steps: Steps
    stop: str
    now: int
    unread: str = ""


def look(shell: Shell, ledger: Ledger, *, snapshot: ClusterSnapshot | None = None) -> Look:
    """Read everything and decide, but do nothing."""
    head = shell.repository.commit(shell.base_branch).id
    check_history(shell, ledger, head)
    base = shell.read_base(head)
    snapshot = snapshot or shell.cluster.snapshot()
    now = shell.clock.now()
    approvals = read_approvals(shell, base, ledger)
    problem = base.problem(snapshot, now)
    stop = stop_flag(ledger, shell.cluster_name) or _cluster_flag(shell)
    view = View(
        cluster=shell.cluster_name,
        now=now,
        ledger=ledger,
        approved=approvals.approved,
        problem=problem,
        migrations=tuple(snapshot.of("VirtualMachineInstanceMigration")),
        replay=base.replay,
        stop=stop,
        pending_timeout=base.settings.unschedulable_timeout,
    )
    return Look(
        base=base,
        ledger=ledger,
        approvals=approvals,
        problem=problem,
        steps=next_steps(view),
        stop=stop,
        now=now,
    )


def look_without_cluster(shell: Shell, ledger: Ledger, *, unread: str) -> Look:
    """What base branch, ledger and forge say, where the cluster cannot be asked."""
    base = shell.read_base(shell.repository.commit(shell.base_branch).id)
    now = shell.clock.now()
    nothing = ClusterSnapshot(cluster=shell.cluster_name, taken_at=now, objects={})
    return Look(
        base=base,
        ledger=ledger,
        approvals=read_approvals(shell, base, ledger),
        problem=base.problem(nothing, now),
        steps=Steps(),
        stop=stop_flag(ledger, shell.cluster_name),
        now=now,
        unread=unread,
    )


def _cluster_flag(shell: Shell) -> str:
    try:
        reason = shell.cluster.hold_flag()
    except GitbotError as error:
        return f"the stop flag cannot be read: {error}"
    return "" if reason is None else reason or "ConfigMap gitbot/gitbot-hold is there"
