"""The current state without taking a step: what is approved, what would happen next, what waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from gitbot.errors import ClusterError
from gitbot.execution.executor_types import Steps
from gitbot.execution.next_steps import next_steps
from gitbot.intents import Intent, MaintenanceWindowSpec
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.wording import first_of
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import Cluster
from gitbot.workflows.approval.base_history import check_history
from gitbot.workflows.approval.read_approvals import Approvals, read_approvals
from gitbot.workflows.core.closed_gates import closed_gate
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.stop_conditions import (
    Standstill,
    cluster_stop,
    forge_skew,
    ledger_stop,
    outdated,
    read_cluster_stop,
    standstill,
)
from gitbot.workflows.ledger.anchor import Anchor, read_anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentState:
    """The state of base branch, ledger, forge and cluster. `steps` are not taken.

    `unread` says why the cluster is unreadable, or "". If set, `problem` is that of an empty
    cluster, and there are no `steps`.
    """

    base: RevisionEngine
    ledger: Ledger
    approvals: Approvals
    problem: PlacementProblem
    steps: Steps
    stop: str
    now: int
    unread: str = ""

    @property
    def standstill(self) -> Standstill | None:
        """Why nothing can start, apart from the mode and the base branch's errors."""
        return standstill(self.stop, self.ledger, self.problem.cluster)


def read_current_state(
    shell: RunContext,
    ledger: Ledger,
    *,
    snapshot: ClusterSnapshot | None = None,
    base: RevisionEngine | None = None,
    anchor: Anchor | None = None,
    unread: str = "",
) -> CurrentState:
    """`base` is what to look at, if the tip of the base branch has errors.

    `unread` says why the cluster cannot be read: then base branch, ledger and forge are read alone.
    `anchor` was read earlier in the same pass.
    """
    head = shell.repository.commit(shell.base_branch).id
    check_history(shell, ledger, head)
    base = base or shell.read_base(head)
    now = shell.clock.now()
    if unread:
        snapshot = ClusterSnapshot(cluster=shell.cluster_name, taken_at=now, objects={})
    elif snapshot is None:
        snapshot, now = shell.cluster.snapshot(), shell.clock.now()
    approvals = read_approvals(shell, base, ledger)
    there = snapshot.of("VirtualMachineInstanceMigration")
    stop = why_nothing_starts(shell, ledger, anchor, migrations=there, ask_cluster=not unread)
    gate = "" if unread else closed_gate(shell, base, ledger, approvals.approved)
    view = base.view(snapshot, ledger, approvals.approved, now=now, stop=stop, gate=gate)
    return CurrentState(
        base=base,
        ledger=ledger,
        approvals=approvals,
        problem=view.problem,
        steps=Steps() if unread else next_steps(view),
        stop=stop,
        now=now,
        unread=unread,
    )


def why_nothing_starts(
    shell: RunContext,
    ledger: Ledger,
    anchor: Anchor | None = None,
    *,
    migrations: Iterable[KubernetesObject] = (),
    ask_cluster: bool = True,
) -> str:
    """What `apply` would say: ledger, anchors, flags, clocks. Raises ForgeError."""
    # an anchor never lies ahead of the ledger that is read after it; this one was read before
    stop = outdated(ledger, shell.cluster_name)
    if not stop:
        anchor = anchor or read_anchor(shell, ask_cluster=ask_cluster)
        if anchor.stop(ledger, migrations):
            stop = anchor.stop(shell.ledger_store.read(), migrations)
    stop = stop or ledger_stop(ledger, shell.cluster_name) or forge_skew(shell)
    return stop or (cluster_stop(shell) if ask_cluster else "")


def known_standstill(
    cluster: Cluster,
    clock: Clock,
    read: Callable[[], Ledger],
    anchor: Anchor,
    migrations: Iterable[KubernetesObject],
) -> Standstill | None:
    """What keeps everything from starting, as far as the account of a check can see it.

    What that account may not read says nothing about the one that applies. `read` is called after
    the others were read, see `Anchor.stop`.
    """
    ledger, name = read(), cluster.name
    stop = ledger_stop(ledger, name)
    if not stop and not anchor.trouble:
        stop = anchor.stop(ledger, migrations)
    with suppress(ClusterError):
        if not stop:
            stop = read_cluster_stop(cluster, clock)
    return standstill(stop, ledger, name)


def missing_nodes(intent: Intent, snapshot: ClusterSnapshot) -> str:
    """Which nodes a window names and the cluster does not have, in words; "" if it has all."""
    spec = intent.spec
    if not isinstance(spec, MaintenanceWindowSpec) or spec.nodes is None:
        return ""
    known = {name_of(node).name for node in snapshot.of("Node")}
    gone = [name for name in spec.nodes.names or () if name not in known]
    return f"there is no node {first_of(gone, 3)}" if gone else ""
