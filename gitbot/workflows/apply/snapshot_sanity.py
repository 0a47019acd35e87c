"""Whether a snapshot can be trusted, and whether the conclusions from it still hold.

An API server may answer with a list that is older than one before, or that lacks most objects.
gitbot concludes nothing from such a list, and reads objects again by name before it ends a move.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.errors import SnapshotError
from gitbot.execution.executor_types import ExecutorInput, Steps
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of, uid_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import FINAL_STATES, MoveChanged
from gitbot.ports.cluster import Cluster
from gitbot.workflows.core.context import RunContext

LOOK_SECONDS = 300  # much longer than reading a slow cluster takes
PATIENCE = 60  # seconds until fewer objects are accepted, and until an older list is an error


@dataclass(slots=True, kw_only=True)
class SnapshotSanity:
    """What the snapshots of one pass have shown. Mutable."""

    newest: int = 0  # resourceVersion
    nodes: int = 0
    instances: int = 0
    doubted_since: int = 0

    def doubt(self, snapshot: ClusterSnapshot, now: int) -> str:
        """Why a snapshot is not trusted yet, or "". Raises SnapshotError after PATIENCE seconds."""
        lasting, passing = self._lasting(snapshot), self._passing(snapshot)
        if not (lasting or passing):
            self._take(snapshot)
            return ""
        self.doubted_since = self.doubted_since or now
        if now - self.doubted_since < PATIENCE:
            return lasting or passing
        if lasting:
            raise SnapshotError(lasting, hint="ask who runs the API server; nothing was concluded")
        self._take(snapshot)
        return ""

    def _lasting(self, snapshot: ClusterSnapshot) -> str:
        if not snapshot.of("Node"):
            return "the cluster shows no node at all"
        version = snapshot.resource_version
        if version.isdecimal() and int(version) < self.newest:
            return f"the cluster shows an older state ({version}) than before ({self.newest})"
        return ""

    def _passing(self, snapshot: ClusterSnapshot) -> str:
        nodes, instances = snapshot.of("Node"), snapshot.of("VirtualMachineInstance")
        for what, count, before in (
            ("nodes", len(nodes), self.nodes),
            ("VMIs", len(instances), self.instances),
        ):
            if 2 * count < before:
                return f"the cluster shows {count} {what}, a moment ago it had {before}"
        used = {str(at(item, "status", "nodeName", default="")) for item in instances} - {""}
        missing = used - {name_of(node).name for node in nodes}
        if 2 * len(missing) > len(used):
            return f"the cluster does not show {len(missing)} of {len(used)} nodes that have VMs"
        return ""

    def _take(self, snapshot: ClusterSnapshot) -> None:
        version = snapshot.resource_version
        self.newest = max(self.newest, int(version) if version.isdecimal() else 0)
        self.nodes = len(snapshot.of("Node"))
        self.instances = len(snapshot.of("VirtualMachineInstance"))
        self.doubted_since = 0


def ending_vms_unchanged(cluster: Cluster, view: ExecutorInput, steps: Steps) -> bool:
    """Whether the VMs of moves that would end still are as the snapshot showed them."""
    ends = (
        event
        for event in steps.events
        if isinstance(event, MoveChanged) and event.state in FINAL_STATES
    )
    names = {NamespacedName.parse(event.vm) for event in ends}
    if not names:
        return True
    found = view.problem.snapshot.of("VirtualMachineInstance")
    seen = {name_of(item): item for item in found if name_of(item) in names}
    return all(
        _place(seen.get(name, {})) == _place(cluster.get_instance(name) or {})
        for name in sorted(names)
    )


def is_stale_look(shell: RunContext, seen: int, looked: float) -> bool:
    """Whether a snapshot is too old to announce anything: the process or the machine was suspended.

    `seen` is from the clock (UTC seconds), `looked` from the timer.
    """
    return shell.clock.now() - seen > LOOK_SECONDS or shell.timer() - looked > LOOK_SECONDS


def no_pending_creation(cluster: Cluster, steps: Steps) -> bool:
    """Whether migrations that the steps take as never created are absent, and can no longer appear.

    Uses the server's time: our own clock may be ahead of the one that limited the claim.
    """
    since = max((item.since for item in steps.absent), default=0)
    if since and cluster.server_time() < since:
        return False
    return not any(cluster.get_migration(item.name) for item in steps.absent)


def _place(instance: KubernetesObject) -> tuple[str, str]:
    return uid_of(instance), str(at(instance, "status", "nodeName", default=""))
