"""Published snapshots: each cluster's newest one is on a separate branch."""

from __future__ import annotations

from collections.abc import Callable

from gitbot.errors import ConflictError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.idempotence import is_up_to_date
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.rights import rights_file

SNAPSHOT_FILE = "snapshot.json.gz"
RIGHTS_FILE = "rights.json"
Pack = Callable[[ClusterSnapshot], bytes]  # a snapshot to the bytes of its file


def snapshot_branch(cluster: str) -> str:
    """The branch with the newest snapshot as one orphan commit."""
    return f"gitbot/snapshot/{cluster}"


def publish_snapshot(shell: RunContext, snapshot: ClusterSnapshot, pack: Pack) -> bool:
    """Replace the published snapshot, unless it is equal or fresh; True if written.

    Equal means the same digest; it is written again after half of snapshotMaxAge, so that the jobs
    of pull requests never find it too old.
    """
    base = shell.read_base(base_head(shell))
    if not base.settings.publish_snapshot:
        return False
    base.problem(snapshot, shell.clock.now())  # the pass decodes every object: once, not again here
    branch = snapshot_branch(shell.cluster_name)
    head = shell.repository.resolve(branch)
    if head is not None:
        last = shell.repository.commit(head)
        age = snapshot.taken_at - last.time
        _, _, published = last.message.rpartition("\n")
        if is_up_to_date(published, snapshot.digest) and age < base.settings.snapshot_max_age // 2:
            return False
    files: dict[str, bytes | None] = {SNAPSHOT_FILE: pack(snapshot)}
    rights = rights_file(shell, snapshot) if base.settings.applies else None
    if rights is not None:
        files[RIGHTS_FILE] = rights
    try:
        shell.repository.write_commit(
            branch=branch,
            expected=head,
            files=files,
            message=f"Snapshot of {shell.cluster_name}\n\n{snapshot.digest}",
            time=snapshot.taken_at,
            orphan=True,
        )
    except ConflictError:
        return False  # another process has just published one, which is as good
    return True
