"""What became of a pull request's moves, said where people look: its commit status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gitbot.execution.approval import NotApproved
from gitbot.execution.state import RequestRecord, RequestState, fold_requests
from gitbot.execution.values import Approved, Waiting
from gitbot.model.instants import format_instant
from gitbot.model.ledger import Ledger
from gitbot.ports.forge import CheckState, CommitStatus
from gitbot.workflows.shell import Shell

CONTEXT = "gitbot/apply"
MAX_DESCRIPTION = 140  # characters that GitHub keeps of a description
MEMORY = 7 * 86_400  # seconds after which the status of a finished request is not looked at again

_GOOD = frozenset({RequestState.SUCCEEDED, RequestState.OBSOLETE})


def write_statuses(
    shell: Shell, approved: tuple[Approved, ...], ledger: Ledger, waiting: tuple[Waiting, ...]
) -> int:
    """Write the status of every pull request whose moves are unfinished or ended lately.

    Returns how many were written; a status that stands already is not written again.
    """
    records = fold_requests(ledger, shell.cluster_name)
    heads: dict[str, list[Approved]] = {}
    for item in approved:
        record = records.get(item.id)
        if record is not None and _is_recent(record, shell.clock.now()):
            heads.setdefault(item.approval.head, []).append(item)
    written = 0
    for head, items in sorted(heads.items()):
        state, words = _verdict([records[item.id] for item in items], waiting)
        context = context_of(shell, CONTEXT)
        status = CommitStatus(context=context, state=state, description=words)
        written += bool(head) and set_status(shell, head, status)
    return written


def write_refusals(shell: Shell, refused: tuple[NotApproved, ...]) -> int:
    """Say on merged heads that, and why, their merge approved nothing; how many were written."""
    now = shell.clock.now()
    written = 0
    for item in refused:
        if item.head and now - item.merged_at <= MEMORY:
            status = CommitStatus(
                context=context_of(shell, CONTEXT),
                state=CheckState.FAILURE,
                description=_cut(item.reason),
            )
            written += set_status(shell, item.head, status)
    return written


def _is_recent(record: RequestRecord, now: int) -> bool:
    if not record.finished:
        return True
    return now - max((move.changed_at for move in record.moves.values()), default=0) <= MEMORY


def context_of(shell: Shell, context: str) -> str:
    """The context of a status; with the cluster's name where several say something."""
    return f"{context} ({shell.cluster_name})" if shell.several else context


def set_status(shell: Shell, head: str, status: CommitStatus) -> bool:
    """Write a commit status unless it stands already; whether it was written."""
    stands = any(
        known.context == status.context
        and known.state == status.state
        and known.description == status.description
        for known in shell.forge.list_statuses(head)
    )
    if not stands:
        shell.forge.set_status(head, replace(status, time=shell.clock.now()))
    return not stands


def _verdict(records: list[RequestRecord], waiting: tuple[Waiting, ...]) -> tuple[CheckState, str]:
    words = ", ".join(f"{record.id} {record.state}" for record in records)
    states = {record.state for record in records}
    if any(not record.finished for record in records):
        return CheckState.PENDING, _cut(words + _until(records, waiting))
    good = states <= _GOOD
    return (CheckState.SUCCESS if good else CheckState.FAILURE), _cut(words)


def _until(records: list[RequestRecord], waiting: tuple[Waiting, ...]) -> str:
    mine = {record.id for record in records}
    times = [item.until for item in waiting if item.request in mine and item.until]
    return f", opens {format_instant(min(times))}" if times else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"


def counts(records: Mapping[str, RequestRecord]) -> dict[str, int]:
    """How many requests are in each state, sorted by state."""
    found: dict[str, int] = {}
    for record in records.values():
        found[str(record.state)] = found.get(str(record.state), 0) + 1
    return dict(sorted(found.items()))
