"""A node's states during maintenance: waiting, draining, ready, returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from gitbot.execution.cluster_facts import (
    ClusterFacts,
    boot_id,
    is_marked,
    is_ready,
    mark_of,
)
from gitbot.execution.executor_types import (
    Approved,
    Effect,
    ExecutorInput,
    LabelNode,
    Maintenance,
    SetUnschedulable,
)
from gitbot.execution.ledger_folds import BUSY, NodeRecord, fold_homes, fold_nodes
from gitbot.execution.request_records import RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.model.ledger.effect_id import label_value
from gitbot.model.ledger.event_parts import WindowTerms
from gitbot.model.ledger.events import (
    HomeNoted,
    KnownEvent,
    NodeChanged,
    NodeEvent,
    NodeFacts,
    NodeState,
    WindowBegun,
)
from gitbot.model.ledger.ledger import node_file
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.text.names import CORDON_LABEL

WINDOW_LABEL = "placement.gitbot.dev/window"
STATE_LABEL = "placement.gitbot.dev/state"


def nodes_of(view: ExecutorInput, maintenance: Maintenance) -> dict[str, NodeRecord]:
    """Every node of the occurrence with its state, in the order of draining."""
    known = fold_nodes(view.ledger, cluster=view.cluster, occurrence=maintenance.occurrence)
    # earlier plans of the occurrence had nodes, too
    names = dict.fromkeys([*maintenance.nodes, *known])
    return {node: known.get(node) or NodeRecord(node=node) for node in names}


def may_begin(
    nodes: Mapping[str, NodeRecord], node: str, maintenance: Maintenance, *, gate: str = ""
) -> str:
    """Why a node may not begin, or go on, to drain; "" if it may. `gate`: see ExecutorInput."""
    record, most = nodes[node], maintenance.max_nodes_at_once
    if record.state in BUSY:
        return ""
    if record.state is not NodeState.WAITING:
        return f"{node} is {record.state}"
    busy = [name for name, other in nodes.items() if other.state in BUSY]
    if maintenance.together:
        return "" if busy else gate  # what goes together does not stop in the middle
    if len(busy) >= most:
        return f"{', '.join(busy)} must return first (maxNodesAtOnce {most})"
    return gate


def begin(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    node: str,
    *,
    before: Collection[KnownEvent] = (),
) -> tuple[NodeEvent, ...]:
    """The events that begin the draining of a node; `effects_due` cordons and labels it.

    `before` are earlier events of this pass: the window is recorded only once.
    """
    maintenance = _must(approved)
    found = facts.nodes.get(node, {})
    cordons = maintenance.cordon and not at(found, "spec", "unschedulable")
    facts_now = NodeFacts(node=node, boot_id=boot_id(found), cordoned=cordons)
    file = node_file(view.cluster, maintenance.occurrence)
    known = view.ledger.of(file) or any(event.file == file for event in before)
    first = () if known else (_window_begun(view, approved, file),)
    return (*first, _changed(view, maintenance, NodeState.DRAINING, facts_now))


def home_event(
    view: ExecutorInput, approved: Approved, vm: NamespacedName, node: str
) -> HomeNoted | None:
    maintenance = approved.terms.maintenance
    if maintenance is None:
        return None
    homes = fold_homes(view.ledger, cluster=view.cluster, occurrence=maintenance.occurrence)
    if vm in homes:
        return None
    return HomeNoted(
        file=node_file(view.cluster, maintenance.occurrence),
        time=view.now,
        cluster=view.cluster,
        request=approved.id,
        vm=str(vm),
        source=node,
    )


def advance(
    view: ExecutorInput, facts: ClusterFacts, approved: Approved, record: RequestRecord
) -> tuple[NodeEvent, ...]:
    maintenance = _must(approved)
    events: list[NodeEvent] = []
    nodes = nodes_of(view, maintenance)
    for name, node in nodes.items():
        change = _next_change(view, facts, approved, record, node)
        if change is not None:
            events.append(_changed(view, maintenance, *change))
            nodes[name] = NodeRecord(node=name, state=change[0])
    for name in maintenance.nodes:
        waits = nodes[name].state is NodeState.WAITING
        idle = waits and _begins_without_moves(view, facts, approved, record, name)
        if idle and not may_begin(nodes, name, maintenance, gate=view.gate):
            events += begin(view, facts, approved, name, before=events)
            nodes[name] = NodeRecord(node=name, state=NodeState.DRAINING)
    return tuple(events)


def cordon_holders(view: ExecutorInput, drains: Iterable[Approved]) -> dict[str, OccurrenceId]:
    """The occurrence whose labels each node has: the first of those that have it out of service."""
    found: dict[str, OccurrenceId] = {}
    for maintenance in map(_must, drains):
        for name, node in nodes_of(view, maintenance).items():
            if node.state in BUSY:
                found.setdefault(name, maintenance.occurrence)
    return found


def effects_due(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    record: RequestRecord,
    held: Mapping[str, OccurrenceId],
) -> tuple[Effect, ...]:
    """Cordons and labels that the nodes lack for their state.

    The state decides, not the event that led to it: a cordon that was lost in a crash is due again.
    `held` are the holders of nodes: occurrences of a window take nodes one after the other.
    """
    maintenance = _must(approved)
    effects: list[Effect] = []
    for name, node in nodes_of(view, maintenance).items():
        found = facts.nodes.get(name)
        if found is None or node.state is NodeState.WAITING:
            continue
        cordon = _cordon_due(view, facts, approved, record, node)
        if cordon is not None:
            mark = {CORDON_LABEL: mark_of(view, maintenance.occurrence) if cordon else None}
            effects.append(
                SetUnschedulable(request=approved.id, node=name, unschedulable=cordon, labels=mark)
            )
        labels = _labels(view, maintenance, found, node.state)
        if held.get(name, maintenance.occurrence) != maintenance.occurrence:
            labels = {key: value for key, value in labels.items() if key == CORDON_LABEL}
        if any(labels_of(found).get(key) != value for key, value in labels.items()):
            effects.append(LabelNode(node=name, labels=labels))
    return tuple(effects)


def _cordon_due(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    record: RequestRecord,
    node: NodeRecord,
) -> bool | None:
    """True: cordon, False: uncordon, None: leave it as it is."""
    maintenance = _must(approved)
    found = facts.nodes[node.node]
    stands = bool(at(found, "spec", "unschedulable"))
    if is_marked(view, maintenance.occurrence, found):
        return False if stands and _is_released(view, facts, approved, record, node) else None
    wanted = node.cordoned_by_gitbot and node.state is NodeState.DRAINING and not stands
    given_up = _is_stopped(view, approved, record) or _why_ended(view, approved, record, node)
    return True if wanted and not given_up else None


def _is_released(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    record: RequestRecord,
    node: NodeRecord,
) -> bool:
    """Whether gitbot removes its own cordon from a node that has it."""
    maintenance = _must(approved)
    # The cordon was sent late, after the ledger had given the node up. docs/exactly-once.md:
    # cordons have no fence.
    if not node.cordoned_by_gitbot:
        mark = labels_of(facts.nodes[node.node]).get(CORDON_LABEL)
        return mark == mark_of(view, maintenance.occurrence)
    if _is_given_up(approved, record, node):
        return True
    together = maintenance.together and any(span.end > view.now for span in approved.terms.allowed)
    beside = nodes_of(view, maintenance).values() if together else (node,)
    if not all(_is_done(facts, maintenance, other) for other in beside):
        return False
    if node.state is NodeState.RETURNED:
        return is_ready(facts.nodes[node.node])
    return node.state is NodeState.READY


def _is_done(facts: ClusterFacts, maintenance: Maintenance, node: NodeRecord) -> bool:
    """Whether a node is back as `done` says, or out of the way; a cordon of gitbot may remain."""
    if node.state in (NodeState.RETURNED, NodeState.CLOSED) or node.node not in facts.nodes:
        return True
    by_itself = maintenance.done != "Uncordoned" and node.state is NodeState.READY
    return by_itself and is_back(facts, maintenance, node)


def _is_given_up(approved: Approved, record: RequestRecord, node: NodeRecord) -> bool:
    """Whether gitbot stops draining a node: request cancelled, or window removed.

    A cancelled drain gives up all nodes that were to be away together, even those that are empty.
    """
    ready = node.state is NodeState.READY and _must(approved).together and record.cancelled
    if not (ready or node.state is NodeState.DRAINING) or _in_flight(record, node):
        return False
    left = any(not move.final for move in record.moves.values())
    return bool(record.cancelled) or (_must(approved).removed and not left)


def _why_ended(
    view: ExecutorInput, approved: Approved, record: RequestRecord, node: NodeRecord
) -> str:
    """Why a draining node is no longer drained; "" if it still is."""
    if _is_given_up(approved, record, node):
        return "the drain was cancelled" if record.cancelled else "its window was removed"
    over = all(span.end <= view.now for span in approved.terms.allowed)
    return "its window is over" if over and not record.has_moves_to_come(node.node) else ""


def _begins_without_moves(
    view: ExecutorInput, facts: ClusterFacts, approved: Approved, record: RequestRecord, node: str
) -> bool:
    maintenance = _must(approved)
    denied = {item.group for item in view.denied if item.request == approved.id}
    if denied and denied.issuperset(m.group for m in record.moves.values() if not m.final):
        return False  # Policies deny the plan or its window, not single moves of it.
    together = maintenance.nodes if maintenance.together else (node,)
    if view.folders is not None and any(map(view.folders.of_node, together)):
        return False
    is_open = any(span.contains(view.now) for span in approved.terms.allowed)
    mine = [
        move
        for move in record.moves.values()
        if (maintenance.together or move.source == node) and not move.final
    ]
    empty = all(set(facts.instances_on(each)) <= maintenance.stays for each in together)
    return is_open and not mine and empty and not _is_stopped(view, approved, record)


def _is_stopped(view: ExecutorInput, approved: Approved, record: RequestRecord) -> bool:
    return bool(view.stop or approved.terms.blocked_reason or record.cancelled)


def _next_change(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    record: RequestRecord,
    node: NodeRecord,
) -> tuple[NodeState, NodeFacts, str] | None:
    """The node's next state, its new facts about it, and why; None if nothing changed."""
    state, reason = _next_state(view, facts, approved, record, node)
    name = node.node
    if state is not None:
        ended = state in (NodeState.RETURNED, NodeState.CLOSED)
        return state, NodeFacts(node=name, cordoned=False if ended else None), reason
    found = facts.nodes.get(name)
    if found is None or not node.cordoned_by_gitbot:
        return None
    stands, marked = (
        bool(at(found, "spec", "unschedulable")),
        is_marked(view, _must(approved).occurrence, found),
    )
    if marked is stands:
        return None
    reason = "somebody uncordoned it" if marked else "somebody else cordoned it"
    return node.state, NodeFacts(node=name, cordoned=False), reason


def _next_state(
    view: ExecutorInput,
    facts: ClusterFacts,
    approved: Approved,
    record: RequestRecord,
    node: NodeRecord,
) -> tuple[NodeState | None, str]:
    maintenance = _must(approved)
    found = facts.nodes.get(node.node)
    if found is None:
        return (NodeState.CLOSED, "the node is gone") if node.state in BUSY else (None, "")
    free = facts.schedulable(node.node)
    match node.state:
        case NodeState.DRAINING if free and (why := _why_ended(view, approved, record, node)):
            return NodeState.RETURNED, why
        case NodeState.DRAINING if not _is_given_up(approved, record, node):
            out = bool(at(found, "spec", "unschedulable"))
            empty = out and _is_empty(facts, approved, record, node)
            return (NodeState.READY, "") if empty else (None, "")
        case NodeState.READY:
            if free and _is_given_up(approved, record, node):
                return NodeState.RETURNED, "the drain was cancelled"
            back = is_back(facts, maintenance, node) and free
            return (NodeState.RETURNED, "") if back else (None, "")
        # A person reported it with `gitbot returned`; gitbot must still remove its own cordon.
        case NodeState.RETURNED:
            undone = node.cordoned_by_gitbot and free
            return (NodeState.RETURNED, "") if undone else (None, "")
        case _:
            return None, ""


def is_back(facts: ClusterFacts, maintenance: Maintenance, node: NodeRecord) -> bool:
    """Whether `done` holds for a node that was ready for its maintenance."""
    found = facts.nodes[node.node]
    if maintenance.done == "Uncordoned":
        return facts.schedulable(node.node)
    if maintenance.done == "Rebooted":
        rebooted = boot_id(found) not in ("", node.boot_id)
        schedulable = node.cordoned_by_gitbot or facts.schedulable(node.node)
        return is_ready(found) and rebooted and schedulable
    return False  # Command: a person says so with `gitbot returned`


def _is_empty(
    facts: ClusterFacts, approved: Approved, record: RequestRecord, node: NodeRecord
) -> bool:
    stays = _must(approved).stays
    return not _in_flight(record, node) and set(facts.instances_on(node.node)) <= stays


def _in_flight(record: RequestRecord, node: NodeRecord) -> bool:
    return any(
        move.in_flight for move in record.moves.values() if node.node in (move.source, move.to)
    )


def _changed(
    view: ExecutorInput,
    maintenance: Maintenance,
    state: NodeState,
    facts: NodeFacts,
    reason: str = "",
) -> NodeChanged:
    return NodeChanged(
        file=node_file(view.cluster, maintenance.occurrence),
        time=view.now,
        cluster=view.cluster,
        state=state,
        request=maintenance.occurrence.drain,
        reason=reason,
        facts=facts,
    )


def _window_begun(view: ExecutorInput, approved: Approved, file: str) -> WindowBegun:
    maintenance = _must(approved)
    return WindowBegun(
        file=file,
        time=view.now,
        cluster=view.cluster,
        request=approved.id,
        terms=WindowTerms(
            allowed=tuple((span.start, span.end) for span in approved.terms.allowed),
            nodes=maintenance.nodes,
            max_nodes_at_once=maintenance.max_nodes_at_once,
            cordon=maintenance.cordon,
            done=maintenance.done,
            leave_running=bool(maintenance.stays),
            return_home=maintenance.return_home,
            finish=approved.terms.finish,
            together=maintenance.together,
        ),
    )


def _labels(
    view: ExecutorInput, maintenance: Maintenance, found: KubernetesObject, state: NodeState
) -> dict[str, str | None]:
    """The labels of a node in that state.

    A mark without a cordon is removed: a person uncordoned it.
    """
    busy = state in BUSY
    undone = is_marked(view, maintenance.occurrence, found) and not at(
        found, "spec", "unschedulable"
    )
    return {
        WINDOW_LABEL: label_value(maintenance.occurrence.window) if busy else None,
        STATE_LABEL: str(state) if busy else None,
        **({CORDON_LABEL: None} if undone else {}),
    }


def _must(approved: Approved) -> Maintenance:
    assert approved.terms.maintenance is not None, "BUG: no maintenance"
    return approved.terms.maintenance
