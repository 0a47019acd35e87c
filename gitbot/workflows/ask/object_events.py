"""Kubernetes Events about moves and drains, for those who look at the VMI or node with kubectl.

gitbot never decides by them: the ledger does not depend on a right to write Events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitbot import gitbot_version
from gitbot.errors import ClusterError, ClusterForbidden
from gitbot.execution.executor_types import Waiting
from gitbot.execution.ledger_folds import NodeRecord
from gitbot.execution.request_records import MoveRecord, fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.events import MoveState, NodeState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import shortened
from gitbot.ports.cluster import EVENT_SOURCE
from gitbot.reports import escape
from gitbot.workflows.ask.maintenance import nodes_of
from gitbot.workflows.core.context import RunContext

KEPT = 3600  # seconds: kube-apiserver's --event-ttl
MOST = 50  # requests of one report: effects wait for it
LONGEST = 1000  # characters of a message
_DEFAULT = "default"  # the namespace of Events about objects that have none
_MOVES = {
    MoveState.SUCCEEDED: ("Normal", "PlacementMoved"),
    MoveState.FAILED: ("Warning", "PlacementFailed"),
    MoveState.EXPIRED: ("Warning", "PlacementExpired"),
    MoveState.HELD: ("Warning", "PlacementHeld"),
    MoveState.WAITING: ("Warning", "PlacementHeld"),
    MoveState.APPROVED: ("Normal", "PlacementPlanned"),
    MoveState.CREATED: ("Normal", "PlacementMoving"),
    MoveState.RUNNING: ("Normal", "PlacementMoving"),
}
_NODES = {
    NodeState.DRAINING: ("MaintenanceDraining", "gitbot moves its VMs away"),
    NodeState.READY: ("MaintenanceReady", "gitbot has emptied it"),
    NodeState.RETURNED: ("MaintenanceReturned", "it takes VMs again"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectEvent:
    """One Event; `key` identifies the state that it is about, `time` is in seconds UTC."""

    about: KubernetesObject  # the involvedObject
    key: str
    time: int
    type: str
    reason: str
    message: str

    @property
    def namespace(self) -> str:
        return str(self.about.get("namespace", _DEFAULT))

    @property
    def manifest(self) -> KubernetesObject:
        """The same state has the same name, so that the server refuses a second one."""
        name = f"{EVENT_SOURCE}.{short_digest(self.key, 16)}"
        when = format_instant(self.time)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": self.namespace, "name": name},
            "involvedObject": dict(self.about),
            "type": self.type,
            "reason": self.reason,
            "message": shortened(escape.plain(self.message), LONGEST),
            "source": {"component": EVENT_SOURCE},
            "reportingComponent": EVENT_SOURCE,
            "reportingInstance": gitbot_version(),
            "firstTimestamp": when,
            "lastTimestamp": when,
            "count": 1,
        }


def write_object_events(shell: RunContext, ledger: Ledger, waiting: tuple[Waiting, ...]) -> None:
    """Write what is new, at most MOST at a time; the next report writes the rest.

    Without the right (deploy/rbac/optional-events), it asks once a namespace and goes on.
    """
    known = shell.events_written
    sent = 0
    for event in object_events(ledger, shell.cluster_name, waiting, now=shell.clock.now()):
        if sent >= MOST:
            return
        if event.key in known or event.namespace in known:
            continue
        sent += 1
        try:
            shell.cluster.create_event(event.manifest)
        except ClusterForbidden:
            known.add(event.namespace)  # a key has a slash, a namespace has none
        except ClusterError as error:
            shell.say(f"Events are not written: {error}")
            return
        known.add(event.key)


def object_events(
    ledger: Ledger, cluster: str, waiting: tuple[Waiting, ...], *, now: int
) -> Iterator[ObjectEvent]:
    """What ended, began or was approved in the last hour, the newest first; then what waits.

    An older state is left out: the server has forgotten its Event by now, and one that is written
    again would look new. A job that runs once does not know what the last one wrote, so the newest
    come first.
    """
    records = fold_requests(ledger, cluster).values()
    moves = [move for record in records for move in record.moves.values()]
    lately = [move for move in moves if move.changed_at > now - KEPT and move.state in _MOVES]
    yield from map(_of_move, sorted(lately, key=lambda move: -move.changed_at))
    for occurrence, nodes in nodes_of(ledger, cluster).items():
        for node in nodes:
            if node.state in _NODES and node.since > now - KEPT:
                yield _of_node(occurrence, node)
    planned = {(move.request, move.number): move for move in moves if not move.final}
    for wait in waiting:
        move = planned.get((wait.request, wait.move))
        # what is held has an Event of its own, and a short wait for a slot needs none
        if move is not None and move.state is MoveState.APPROVED and not wait.retry:
            yield _of_wait(move, wait, now)


def _of_node(occurrence: OccurrenceId, node: NodeRecord) -> ObjectEvent:
    reason, text = _NODES[node.state]
    return ObjectEvent(
        # kubectl describe looks for the node's name in the place of its UID, too
        about={"apiVersion": "v1", "kind": "Node", "name": node.node, "uid": node.node},
        key=f"{occurrence}/{node.node}/{node.state}/{node.since}",
        time=node.since,
        type="Normal",
        reason=reason,
        message=f"{text} ({occurrence})",
    )


def _of_move(move: MoveRecord) -> ObjectEvent:
    kind, reason = _MOVES[move.state]
    moving = move.state in (MoveState.CREATED, MoveState.RUNNING)  # one state for an owner
    landed = move.landed or move.to
    texts = {
        MoveState.SUCCEEDED: f"moved from {move.source} to {landed}",
        MoveState.FAILED: f"did not move from {move.source} to {move.to}",
        MoveState.EXPIRED: f"did not move to {move.to} in time",
        MoveState.APPROVED: f"will move from {move.source} to {move.to}",
        MoveState.CREATED: f"moves from {move.source} to {move.to}",
        MoveState.RUNNING: f"moves from {move.source} to {move.to}",
    }
    text = texts.get(move.state, f"does not move to {move.to} yet")
    why = f": {move.reason}" if move.reason and move.state is not MoveState.APPROVED else ""
    return ObjectEvent(
        about=_instance(move.vm, move.vm_uid),
        key=f"{move.request}/{move.number}/{move.attempt}/"
        + ("moving" if moving else f"{move.state}/{move.changed_at}"),
        time=move.changed_at,
        type=kind,
        reason=reason,
        message=f"{text}{why} ({_asked_by(move.request, move.pull_request)})",
    )


def _of_wait(move: MoveRecord, wait: Waiting, now: int) -> ObjectEvent:
    """One for each opening: the figures in a reason change with every pass."""
    opens = f"; opens {format_instant(wait.until)}" if wait.opens else ""
    return ObjectEvent(
        about=_instance(move.vm, move.vm_uid),
        key=f"{move.request}/{move.number}/{move.attempt}/waits/{wait.until if wait.opens else 0}",
        time=now,
        type="Normal",
        reason="PlacementWaiting",
        message=f"waits to move from {move.source} to {move.to}: {wait.reason}{opens} "
        f"({_asked_by(move.request, move.pull_request)})",
    )


def _instance(vm: NamespacedName, uid: str) -> KubernetesObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "namespace": vm.namespace,
        "name": vm.name,
        "uid": uid,
    }


def _asked_by(request: RequestId, pull_request: int) -> str:
    return f"{request}, pull request {pull_request}" if pull_request else str(request)
