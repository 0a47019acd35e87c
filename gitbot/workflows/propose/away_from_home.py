"""VMs that a maintenance moved and that are not home: why, and what would bring them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gitbot.errors import LimitExceeded
from gitbot.execution.ledger_folds import (
    NodeRecord,
    fold_concern,
    fold_homes,
    fold_nodes,
    occurrences_of,
    window_as_merged,
)
from gitbot.execution.request_records import MoveRecord, RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import MoveState, NodeState
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.plan.problem import Request, ReturnHome
from gitbot.model.text.wording import first_of
from gitbot.planner import make_plan
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.core.context import PlanOf
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.propose.concerns import (
    ConcernSources,
    awaited_nodes,
    concern_name,
    home_terms,
    homes_due,
    stay_away,
)

_LISTED = 7 * 86_400  # seconds for which a VM that stays elsewhere for good remains on the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """A VM that is not on its home node. `node` is where it runs now, "" if unknown.

    `pull_request` is the open one that would bring it back, 0 for none; `due`: it may go home now.
    """

    vm: NamespacedName
    home: str
    node: str
    occurrence: OccurrenceId
    reason: str
    due: bool = False
    pull_request: int = 0

    @property
    def next_command(self) -> str:
        """What brings it home; "" if nothing does now."""
        return "gitbot propose" if self.due and not self.pull_request else ""


def away_from_home(
    seen: CurrentState, pulls: tuple[PullRequest, ...], plan_of: PlanOf = make_plan
) -> tuple[Away, ...]:
    """Sorted by VM; each VM once, for the last maintenance that moved it."""
    sources = ConcernSources.of(seen)
    found: dict[NamespacedName, Away] = {}
    for occurrence in sorted(occurrences_of(seen.ledger, sources.cluster), key=lambda o: o.id):
        found |= _of(seen, sources, occurrence, pulls, plan_of)
    return tuple(item for _, item in sorted(found.items()))


def vms_away(sources: ConcernSources) -> frozenset[NamespacedName]:
    """The VMs that `away_from_home` lists."""
    found = set[NamespacedName]()
    for occurrence in occurrences_of(sources.ledger, sources.cluster):
        homes = fold_homes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
        if homes:
            staying = stay_away(sources, occurrence)
            found |= _elsewhere(sources, occurrence, homes, staying, unread="").keys()
    return frozenset(found)


def _elsewhere(
    sources: ConcernSources,
    occurrence: OccurrenceId,
    homes: Mapping[NamespacedName, str],
    staying: Mapping[NamespacedName, str],
    *,
    unread: str,
) -> dict[NamespacedName, str]:
    """The node of each VM that is not at home, without those that have left the list."""
    nodes = fold_nodes(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    never, record = _never(sources, occurrence), sources.records.get(occurrence.homecoming)
    found: dict[NamespacedName, str] = {}
    for vm, here in _places(sources, occurrence, homes, unread=unread).items():
        node = nodes.get(homes[vm], NodeRecord(node=homes[vm]))
        gone = node.state in (NodeState.RETURNED, NodeState.CLOSED) and (vm in staying or never)
        late = gone and sources.now - node.since > _LISTED
        if not _came_home(_last_move(record, vm)) and not late:
            found[vm] = here
    return found


def _of(
    seen: CurrentState,
    sources: ConcernSources,
    occurrence: OccurrenceId,
    pulls: tuple[PullRequest, ...],
    plan_of: PlanOf,
) -> dict[NamespacedName, Away]:
    homes = fold_homes(seen.ledger, cluster=sources.cluster, occurrence=occurrence)
    if not homes:
        return {}
    nodes = fold_nodes(seen.ledger, cluster=sources.cluster, occurrence=occurrence)
    due = {} if seen.unread else homes_due(sources, occurrence)
    staying = {} if seen.unread else stay_away(sources, occurrence)
    never, awaited = _never(sources, occurrence), awaited_nodes(sources, occurrence)
    number = _proposal(sources.cluster, occurrence, pulls)
    full = {} if never or number else _refused(sources, occurrence, due, plan_of)
    record = sources.records.get(occurrence.homecoming)
    away: dict[NamespacedName, Away] = {}
    for vm, here in _elsewhere(sources, occurrence, homes, staying, unread=seen.unread).items():
        home = homes[vm]
        last = _last_move(record, vm)
        node = nodes.get(home, NodeRecord(node=home))
        reason = staying.get(vm) or _returning(record, last) or full.get(vm, "")
        if not reason:
            closed = _was_closed(seen, sources, occurrence)
            reason = _not_back(node, never=never, closed=closed, due=vm in due, awaited=awaited)
        proposed = number if vm in due else 0
        away[vm] = Away(
            vm=vm,
            home=home,
            node=here,
            occurrence=occurrence,
            reason=f"its return is proposed in pull request {proposed}" if proposed else reason,
            due=vm in due and not never and vm not in full,
            pull_request=proposed,
        )
    return away


def _refused(
    sources: ConcernSources,
    occurrence: OccurrenceId,
    due: Mapping[NamespacedName, str],
    plan_of: PlanOf,
) -> dict[NamespacedName, str]:
    """VMs that a plan of the return would hold, each with the reason: their homes are full."""
    if not due:
        return {}
    ref, _, apart = home_terms(sources, occurrence)
    request = Request(id=occurrence.homecoming, intent=ref, allow_breach=apart)
    goal = ReturnHome(request=request, homes=due)
    try:
        plan = plan_of(replace(sources.problem, goals=(goal,)))
    except LimitExceeded as error:
        return dict.fromkeys(due, error.message)
    return {
        hold.vm.namespaced_name: _refusal(due[hold.vm.namespaced_name], hold.reason)
        for hold in plan.holds
        if hold.vm.namespaced_name in due
    }


def _refusal(home: str, reason: str) -> str:
    words = f"{home} does not take it: "
    return f"{words}{reason.removeprefix(words)}"


def _places(
    sources: ConcernSources,
    occurrence: OccurrenceId,
    homes: Mapping[NamespacedName, str],
    *,
    unread: str,
) -> dict[NamespacedName, str]:
    """The nodes of the VMs that are not at home; without the cluster, where they landed last."""
    records = sources.records
    if unread:
        found = {
            move.vm: move.landed
            for request in (occurrence.drain, occurrence.homecoming)
            if request in records
            for _, move in sorted(records[request].moves.items())
            if move.state is MoveState.SUCCEEDED
        }
    else:
        facts = sources.facts
        found = {vm: facts.node_of(vm) for vm in homes if vm in facts.instances}
    return {vm: found[vm] for vm, home in homes.items() if found.get(vm, home) != home}


def _proposal(cluster: str, occurrence: OccurrenceId, pulls: tuple[PullRequest, ...]) -> int:
    concern = concern_name("return", occurrence.window, occurrence.id)
    branch = concern_branch(cluster, concern)
    return next((pull.number for pull in pulls if pull.branch == branch), 0)


def _last_move(record: RequestRecord | None, vm: NamespacedName) -> MoveRecord | None:
    moves = [move for move in record.moves.values() if move.vm == vm] if record else []
    return max(moves, key=lambda move: move.number, default=None)


def _came_home(last: MoveRecord | None) -> bool:
    """Whether it was home, and left again for another reason."""
    return last is not None and last.state is MoveState.SUCCEEDED


def _returning(record: RequestRecord | None, last: MoveRecord | None) -> str:
    """What the ledger says about its way home; "" if that has not begun."""
    if last is None:
        cancelled = record.cancelled if record is not None else ""
        return f"its return was cancelled: {cancelled}" if cancelled else ""
    return f"its return is {last.state}" + (f": {last.reason}" if last.reason else "")


def _never(sources: ConcernSources, occurrence: OccurrenceId) -> bool:
    begun = window_as_merged(sources.ledger, cluster=sources.cluster, occurrence=occurrence)
    return begun is not None and begun.return_home == "Never"


def _was_closed(seen: CurrentState, sources: ConcernSources, occurrence: OccurrenceId) -> bool:
    concern = concern_name("return", occurrence.window, occurrence.id)
    record = fold_concern(seen.ledger, cluster=sources.cluster, concern=concern)
    return bool(record.closed) and not record.opened


def _not_back(
    node: NodeRecord, *, never: bool, closed: bool, due: bool, awaited: Sequence[str]
) -> str:
    if node.state is not NodeState.RETURNED:
        return f"{node.node} is {node.state}, not returned"
    if never:
        return "the window says returnHome: Never"
    if closed:
        return "its return was closed without a merge"
    if awaited and not due:
        return (
            f"it goes home when {first_of(awaited, 3)} {'is' if len(awaited) == 1 else 'are'} back"
        )
    return "its return is not proposed yet" if due else "its return is not due"
