"""The state of a cluster as its bot published it, for those who have no access to the cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.cli.shared.session import pick_cluster, say
from gitbot.errors import NoCluster, RepositoryError, SnapshotError
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.ports.repository import Repository
    from gitbot.workflows.core.rights import Missing


def published_here(cluster: str, *, now: int) -> ClusterSnapshot:
    """The newest snapshot of a cluster ("": the only one) of the repository around this folder."""
    from gitbot.wiring.workspace import repository_here, settings_here  # noqa: PLC0415

    root = find_root(Path.cwd())
    name = cluster or pick_cluster(settings_here(root), "")
    return newest_published(root, repository_here(root), name, now=now)[0]


def published_instead(
    error: NoCluster, read: Callable[[], ClusterSnapshot], *, now: int
) -> ClusterSnapshot:
    """What is published, with a line that says so; the error again if nothing is."""
    try:
        snapshot = read()
    except (SnapshotError, RepositoryError):
        raise error from None
    from gitbot.calendar import format_duration  # noqa: PLC0415 - keeps --help quick

    age = format_duration(max(0, now - snapshot.taken_at))
    say(f"{error.message}: this is about the snapshot that was published {age} ago", err=True)
    return snapshot


def newest_published(
    root: Path, repository: Repository, cluster: str, *, now: int
) -> tuple[ClusterSnapshot, Missing]:
    """The forge's newest snapshot; if the forge does not answer, the clone's, with the reason."""
    from gitbot.wiring.forge_reads import at_forge  # noqa: PLC0415 - Git only where used
    from gitbot.workflows.core.published_snapshots import snapshot_branch  # noqa: PLC0415

    with at_forge(root, f"{snapshot_branch(cluster)}*") as (fresh, stale):
        if fresh is not None:
            return published_snapshot(fresh, cluster, now=now), published_rights(fresh, cluster)
    snapshot = published_snapshot(repository, cluster, now=now)
    say(f"the snapshot is the one that this clone has: {stale}", err=True)
    return snapshot, published_rights(repository, cluster)


def published_rights(repository: Repository, cluster: str) -> Missing:
    """What the account may not do that published the newest snapshot."""
    from gitbot.workflows.core.published_snapshots import RIGHTS_FILE  # noqa: PLC0415 - as above
    from gitbot.workflows.core.rights import published_missing  # noqa: PLC0415

    head = _published_head(repository, cluster)
    return published_missing(repository.read_blob(head, RIGHTS_FILE) if head else None)


def _published_head(repository: Repository, cluster: str) -> str | None:
    from gitbot.workflows.core.published_snapshots import snapshot_branch  # noqa: PLC0415

    branch = snapshot_branch(cluster)
    heads = (repository.resolve(name) for name in (branch, f"origin/{branch}"))
    return next((found for found in heads if found), None)


def published_snapshot(repository: Repository, cluster: str, *, now: int) -> ClusterSnapshot:
    """The newest snapshot on the cluster's branch. Raises SnapshotError if there is none."""
    from gitbot.snapshot import read_snapshot  # noqa: PLC0415 - msgspec only where used
    from gitbot.workflows.core.published_snapshots import SNAPSHOT_FILE, snapshot_branch  # noqa: PLC0415

    branch, head = snapshot_branch(cluster), _published_head(repository, cluster)
    data = repository.read_blob(head, SNAPSHOT_FILE) if head else None
    if data is None:
        raise SnapshotError(
            f"no snapshot of {cluster} is published on branch {branch}",
            hint="git fetch; `gitbot reconcile` publishes it, with spec.publishSnapshot: true",
        )
    return read_snapshot([(f"{branch}:{SNAPSHOT_FILE}", data)], now, cluster=cluster)
