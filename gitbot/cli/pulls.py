"""`gitbot check --pull-request`: the trusted run on an open pull request."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from gitbot.adapters.files import find_root
from gitbot.cli.checking import Asked, pick_cluster, published_snapshot
from gitbot.cli.options import load_snapshot
from gitbot.errors import ClusterError

if TYPE_CHECKING:
    from gitbot.model.cluster import ClusterSnapshot
    from gitbot.ports.cluster import Cluster
    from gitbot.workflows.check import CheckResult


class Moment:
    """A clock that stands: everything that one check says is said of one moment."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """The moment, in seconds UTC."""
        return self._now

    def sleep(self, seconds: int) -> None:
        """Time does not pass."""
        del seconds


class NoCluster:
    """Stands where a cluster would, when the plan is made on a snapshot."""

    def __getattr__(self, name: str) -> object:
        """Refuse whatever is asked."""
        raise ClusterError(f"no cluster is read here but its snapshot, and {name} was asked for")


def run_pull(asked: Asked, number: int, *, publish: bool) -> CheckResult:
    """Check an open pull request; with `publish` write comment, statuses and record."""
    from gitbot.constraints.replay import replay  # noqa: PLC0415 - numpy only where used
    from gitbot.wiring import open_shell, open_workspace  # noqa: PLC0415
    from gitbot.workflows import publish as pulls  # noqa: PLC0415

    access = asked.access
    with open_workspace(
        find_root(Path.cwd()),
        kubeconfig=access.kubeconfig,
        context=access.context,
        clock=Moment(asked.now),
    ) as workspace:
        cluster = pick_cluster(workspace.settings, asked.cluster)
        snapshot: ClusterSnapshot | None = None
        if asked.published:
            snapshot = published_snapshot(workspace.repository, cluster, now=asked.now)
        elif access.snapshots:
            snapshot = load_snapshot(access.of(name=cluster), now=asked.now)
        if snapshot is not None:
            workspace.clusters[cluster] = cast("Cluster", NoCluster())
        shell = open_shell(workspace, cluster)
        if publish:
            return pulls.publish(shell, number=number, replay=replay, snapshot=snapshot).check
        pull = shell.forge.get_pull(number)
        ledger = shell.ledger_store.read()
        return pulls.check_pull(shell, ledger, pull, replay=replay, snapshot=snapshot)
