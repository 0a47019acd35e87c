"""The ledger as those who plan want it: what is finished, started, numbered, and reserved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitbot.execution.requests import RequestRecord, fold_requests
from gitbot.execution.values import Approved
from gitbot.intents.compile import Past
from gitbot.model.ledger import Ledger
from gitbot.model.problem import Reservation
from gitbot.workflows.approvals import plan_of
from gitbot.workflows.shell import Shell


def past_of(ledger: Ledger, cluster: str) -> Past:
    """The past of every request of a cluster.

    Planned healings have no digest yet: their numbers go on over all healings of the rule.
    """
    records = fold_requests(ledger, cluster)
    started: dict[str, str] = {}
    highest: dict[str, int] = {}
    for name, record in records.items():
        planned = planned_id(name)
        highest[planned] = max(highest.get(planned, 0), record.highest_move)
        if any(move.effects for move in record.moves.values()) or record.spent:
            started[name] = _approved_spec(ledger, name, record)
    return Past(
        finished=frozenset(name for name, record in records.items() if record.spent),
        started=started,
        highest_moves=highest,
    )


def planned_id(request: str) -> str:
    """The id under which a request is planned: a healing's without its digest."""
    return request.rpartition("/")[0] if request.startswith("heal/") else request


def _approved_spec(ledger: Ledger, request: str, record: RequestRecord) -> str:
    """The digest of the spec that was approved first, "" where it is not known."""
    family, _, rest = request.partition("/")
    if family != "request" or not record.moves:
        return ""
    document = plan_of(ledger, record.moves[min(record.moves)].digest)
    return document.plan.intents.get(f"MigrationRequest/{rest}", "") if document else ""


def reservations(
    approved: Iterable[Approved], records: Mapping[str, RequestRecord], *, but: Iterable[str] = ()
) -> tuple[Reservation, ...]:
    """Places that approved, unfinished requests take; not those of the planned ids in `but`."""
    skipped = set(but)
    found = []
    for item in approved:
        if item.terms.void or skipped & {move.request for move in item.moves}:
            continue
        known = records.get(item.id, RequestRecord(id=item.id)).moves
        found += [
            Reservation(
                vm=move.vm.namespaced_name,
                node=move.to.node,
                allowed=item.terms.allowed,
                request=item.id,
                pull_request=item.approval.pull_request,
            )
            for move in item.moves
            if move.id not in known or not known[move.id].final
        ]
    return tuple(sorted(found, key=lambda place: (place.vm, place.request)))


def window_commits(shell: Shell, files: Mapping[str, str]) -> Mapping[str, str]:
    """The commits that merged windows without schedule; `files` maps windows to files."""
    found = {
        name: shell.repository.introduced_by(shell.base_branch, file)
        for name, file in sorted(files.items())
    }
    return {name: commit for name, commit in found.items() if commit}
