"""The plans that wait for a merge, or that a pass carries out next, as the ledger keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gitbot.errors import LedgerError
from gitbot.execution.cluster_facts import vms_by_node
from gitbot.execution.ledger_folds import fold_concern
from gitbot.model.grouping import grouped
from gitbot.model.plan.plan import Move, MoveRef
from gitbot.ports.forge import PullRequest
from gitbot.published import PublishedPlans, published
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.ask.status import StatusResult
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.ledger.kept_plans import plan_of

_Line = Mapping[str, object]


def open_plans(seen: CurrentState, page: StatusResult) -> PublishedPlans:
    """First what is approved, without the moves that have ended, then the open pull requests."""
    lines = [*_approved(seen, page), *_proposed(seen, page)]
    fields = {"cluster": page.cluster, "time": page.now, "notRead": page.not_read, "plans": lines}
    return published(fields, PublishedPlans)


def _approved(seen: CurrentState, page: StatusResult) -> Iterator[_Line]:
    left = grouped(
        (move.record.digest, MoveRef(request=item.record.id, id=move.record.number))
        for item in page.requests
        for move in item.moves
        if not move.record.final and move.record.digest
    )
    for digest, moves in sorted(left.items()):
        title = ", ".join(dict.fromkeys(move.request for move in moves))
        yield from _plan(seen, digest, title, wanted=frozenset(moves).__contains__)


def _proposed(seen: CurrentState, page: StatusResult) -> Iterator[_Line]:
    for pull in (*page.pulls, *page.people):
        yield from _plan(seen, _digest(seen, page.cluster, pull), pull.title, pull=pull)


def _digest(seen: CurrentState, cluster: str, pull: PullRequest) -> str:
    """Of the plan that the pull request shows; "" if it shows none of its present head."""
    prefix = concern_branch(cluster, "")
    if pull.branch.startswith(prefix):
        concern = pull.branch.removeprefix(prefix)
        return fold_concern(seen.ledger, cluster=cluster, concern=concern).opened
    shown = seen.ledger.shown(pull.number, cluster=cluster)
    return shown[-1].digest if shown and shown[-1].head == pull.head else ""


def _plan(
    seen: CurrentState,
    digest: str,
    title: str,
    *,
    pull: PullRequest | None = None,
    wanted: Callable[[MoveRef], bool] = lambda _: True,
) -> Iterator[_Line]:
    """Nothing if the ledger has no such plan, or a damaged one: `gitbot ledger` says that."""
    try:
        known = plan_of(seen.ledger, digest) if digest else None
    except LedgerError:
        known = None
    moves = [move for move in known.plan.moves if wanted(move.ref)] if known is not None else []
    if moves:
        yield {
            "title": title,
            "pullRequest": pull.number if pull is not None else 0,
            "url": pull.url if pull is not None else "",
            "digest": digest,
            "nodes": [*_nodes(seen, moves)],
            "moves": [_move(move) for move in moves],
        }


def _nodes(seen: CurrentState, moves: list[Move]) -> Iterator[_Line]:
    vms = vms_by_node(seen.problem.snapshot)
    leaving = grouped((move.source.node, move.vm.namespaced_name) for move in moves)
    zones = {place.node: place.zone for move in moves for place in (move.source, move.to)}
    for node, zone in sorted(zones.items(), key=lambda item: (item[1], item[0])):
        stay = set(vms.get(node, ())) - set(leaving.get(node, ()))
        yield {"node": node, "zone": zone, "stay": len(stay)}


def _move(move: Move) -> _Line:
    return {
        "vm": str(move.vm.namespaced_name),
        "from": move.source.node,
        "to": move.to.node,
        "wave": move.wave + 1,
        "seconds": move.estimated_seconds,
        "why": move.why or move.intent.id,
    }
