"""A look without a step: what is approved, what would happen next, what waits and for what."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitbot.errors import InvalidInput
from gitbot.execution.executor_types import Steps
from gitbot.execution.ledger_folds import ledger_stop
from gitbot.execution.next_steps import next_steps
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.problem import PlacementProblem
from gitbot.workflows.approval.base_history import check_history
from gitbot.workflows.approval.read_approvals import Approvals, read_approvals
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.core.stop_conditions import cluster_flag

_COMMITS_BACK = 50  # how far readable_base looks for a commit without errors


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentState:
    """One look at base branch, ledger, forge and cluster. `steps` are not taken.

    `unread` says why the cluster could not be read, or "". If set, `problem` is that of an empty
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableBase:
    """The files of the newest commit without errors, as if they stood at the tip.

    `broken` are the errors of the tip itself, `commit` is the commit of the files.
    """

    engine: RevisionEngine
    commit: str
    broken: tuple[str, ...] = ()


def readable_base(shell: RunContext) -> ReadableBase:
    """Raises InvalidInput if none of the newest commits of the base branch can be read."""
    commits = shell.repository.log(shell.base_branch, limit=_COMMITS_BACK)
    broken: tuple[str, ...] = ()
    for commit in commits:
        try:
            engine = shell.read_base(commit.id)
        except InvalidInput as error:
            broken = broken or tuple(str(error).splitlines())
            continue
        at_tip = replace(engine, revision=replace(engine.revision, commit=commits[0].id))
        return ReadableBase(engine=at_tip, commit=commit.id, broken=broken)
    raise InvalidInput("\n".join(broken) or f"{shell.base_branch} has no commit")


def read_current_state(
    shell: RunContext,
    ledger: Ledger,
    *,
    snapshot: ClusterSnapshot | None = None,
    base: RevisionEngine | None = None,
) -> CurrentState:
    """`base` is what to look at, if the tip of the base branch has errors."""
    head = shell.repository.commit(shell.base_branch).id
    check_history(shell, ledger, head)
    base = base or shell.read_base(head)
    snapshot = snapshot or shell.cluster.snapshot()
    now = shell.clock.now()
    approvals = read_approvals(shell, base, ledger)
    stop = ledger_stop(ledger, shell.cluster_name) or cluster_flag(shell)
    view = base.view(snapshot, ledger, approvals.approved, now=now, stop=stop)
    return CurrentState(
        base=base,
        ledger=ledger,
        approvals=approvals,
        problem=view.problem,
        steps=next_steps(view),
        stop=stop,
        now=now,
    )


def look_without_cluster(
    shell: RunContext, ledger: Ledger, *, unread: str, base: RevisionEngine
) -> CurrentState:
    """Base branch, ledger and forge alone, if the cluster cannot be read."""
    now = shell.clock.now()
    nothing = ClusterSnapshot(cluster=shell.cluster_name, taken_at=now, objects={})
    return CurrentState(
        base=base,
        ledger=ledger,
        approvals=read_approvals(shell, base, ledger),
        problem=base.problem(nothing, now),
        steps=Steps(),
        stop=ledger_stop(ledger, shell.cluster_name),
        now=now,
        unread=unread,
    )
