"""What became of a pull request's moves, said where people look: its commit status."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.execution.approval import NotApproved
from gitbot.execution.requests import RequestRecord, RequestState, fold_requests
from gitbot.execution.values import Approved, Waiting
from gitbot.model.instants import format_instant
from gitbot.model.ledger import Ledger
from gitbot.ports.forge import CheckRun, CheckState
from gitbot.reports import inert
from gitbot.workflows import labels
from gitbot.workflows.shell import Shell

CONTEXT = "gitbot/apply"
MAX_DESCRIPTION = 140  # characters that GitHub keeps of a description
MAX_ROWS = 200  # moves that a check shows
MEMORY = 7 * 86_400  # seconds after which the status of a finished request is not looked at again

_GOOD = frozenset({RequestState.SUCCEEDED, RequestState.OBSOLETE})


def write_statuses(
    shell: Shell,
    approved: tuple[Approved, ...],
    ledger: Ledger,
    waiting: tuple[Waiting, ...],
    *,
    stop: str = "",
) -> int:
    """Write the status of every pull request whose moves are unfinished or ended lately.

    Returns how many were written; a status that stands already is not written again. Where one
    changed, the labels follow: waiting for a window, held by `stop`.
    """
    records = fold_requests(ledger, shell.cluster_name)
    heads: dict[str, list[Approved]] = {}
    for item in approved:
        record = records.get(item.id)
        if record is not None and _is_recent(record, shell.clock.now()):
            heads.setdefault(item.approval.head, []).append(item)
    written = 0
    for head, items in sorted(heads.items()):
        mine = [records[item.id] for item in items]
        state, words = _verdict(mine, waiting)
        name = context_of(shell, CONTEXT)
        check = CheckRun(name=name, state=state, title=words, summary=_moves(mine, waiting))
        if head and set_check(shell, head, check):
            written += 1
            _label(shell, items[0].approval.pull_request, _labels(mine, waiting, stop))
    return written


def _labels(
    records: list[RequestRecord], waiting: tuple[Waiting, ...], stop: str
) -> frozenset[str]:
    if all(record.finished for record in records):
        good = {record.state for record in records} <= _GOOD
        return frozenset() if good else frozenset({labels.BLOCKED})
    if stop:
        return frozenset({labels.HOLD})
    return frozenset({labels.WAITING} if _until(records, waiting) else ())


def _label(shell: Shell, number: int, wanted: frozenset[str]) -> None:
    """The labels of a merged pull request; one that brings VMs home stays known as such."""
    if not number:
        return
    pull = shell.forge.get_pull(number)
    kept = frozenset(pull.labels) & {labels.RETURN}
    labels.set_labels(shell, pull, wanted | kept)


def write_refusals(shell: Shell, refused: tuple[NotApproved, ...]) -> int:
    """Say on merged heads that, and why, their merge approved nothing; how many were written."""
    now = shell.clock.now()
    written = 0
    for item in refused:
        if item.head and now - item.merged_at <= MEMORY:
            check = CheckRun(
                name=context_of(shell, CONTEXT),
                state=CheckState.FAILURE,
                title=_cut(item.reason),
                summary=f"{inert.markdown(item.reason)}\n\n`gitbot propose` opens a pull request "
                "with the plan as it would be now.",
            )
            written += set_check(shell, item.head, check)
    return written


def _is_recent(record: RequestRecord, now: int) -> bool:
    if not record.finished:
        return True
    return now - max((move.changed_at for move in record.moves.values()), default=0) <= MEMORY


def context_of(shell: Shell, context: str) -> str:
    """The context of a status; with the cluster's name where several say something."""
    return f"{context} ({shell.cluster_name})" if shell.several else context


def set_check(shell: Shell, head: str, check: CheckRun) -> bool:
    """Write a check unless one with this state and line stands already; whether it was written."""
    stands = any(
        known.context == check.name
        and known.state == check.state
        and known.description == check.title
        for known in shell.forge.list_statuses(head)
    )
    return not stands and shell.forge.set_check(head, check)


def _moves(records: list[RequestRecord], waiting: tuple[Waiting, ...]) -> str:
    """A table of the moves, cut where it gets long."""
    waits = {(item.request, item.move): item for item in waiting}
    rows = ["| request | move | VM | from | to | state | why |", "|---|---|---|---|---|---|---|"]
    for record in records:
        for number, move in sorted(record.moves.items()):
            wait = waits.get((record.id, number))
            why = _why(wait) if wait else move.reason
            cells = [
                inert.code(record.id),
                str(number),
                inert.code(str(move.vm)),
                inert.code(move.source),
                inert.code(move.landed or move.to),
                str(move.state),
                inert.markdown(why),
            ]
            rows.append(f"| {' | '.join(cells)} |")
    shown = rows[: MAX_ROWS + 2]
    left = len(rows) - len(shown)
    return "\n".join([*shown, *([f"\n{left} more: `gitbot status`"] if left else [])])


def _why(wait: Waiting) -> str:
    return f"{wait.reason} until {format_instant(wait.until)}" if wait.until else wait.reason


def _verdict(records: list[RequestRecord], waiting: tuple[Waiting, ...]) -> tuple[CheckState, str]:
    words = ", ".join(map(_line, records))
    states = {record.state for record in records}
    if any(not record.finished for record in records):
        return CheckState.PENDING, _cut(words + _until(records, waiting))
    good = states <= _GOOD
    return (CheckState.SUCCESS if good else CheckState.FAILURE), _cut(words)


def _line(record: RequestRecord) -> str:
    """State of a request; while it lasts, how many of its moves have ended."""
    if record.finished or len(record.moves) == 1:
        return f"{record.id} {record.state}"
    ended = sum(move.final for move in record.moves.values())
    return f"{record.id} {record.state} ({ended} of {len(record.moves)})"


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
