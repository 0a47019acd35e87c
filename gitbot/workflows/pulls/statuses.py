"""Reports the outcome of a pull request's moves as its commit status."""

from __future__ import annotations

from gitbot.execution.approval import NotApproved
from gitbot.execution.executor_types import Approved, Waiting
from gitbot.execution.request_records import RequestRecord, RequestState, fold_requests
from gitbot.model.grouping import grouped
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import shortened
from gitbot.ports.forge import CheckRun, CheckState, Forge, is_marked
from gitbot.ports.idempotence import is_up_to_date
from gitbot.reports import escape
from gitbot.workflows.core.context import RunContext, status_name
from gitbot.workflows.pulls import labels

CONTEXT = "gitbot/apply"
OWNERS = "gitbot/owners"
GIVEN = "owners approved"
MAX_ROWS = 200  # moves in a check
MEMORY = 7 * 86_400  # seconds after which the status of a finished request is no longer updated

_GOOD = frozenset({RequestState.SUCCEEDED, RequestState.OBSOLETE})


def write_statuses(
    shell: RunContext,
    approved: tuple[Approved, ...],
    ledger: Ledger,
    waiting: tuple[Waiting, ...],
    *,
    stop: str = "",
) -> None:
    """Write the status of every pull request whose moves are unfinished or ended recently.

    An equal status is not written again. If a status changed, the labels are updated, too: waiting
    for a window, stopped by `stop`.
    """
    records = fold_requests(ledger, shell.cluster_name)
    since, most = shell.clock.now() - MEMORY, shell.forge.capabilities.status_characters
    heads = grouped(
        (item.approval.head, item)
        for item in approved
        if _is_told(item, records.get(item.id), since)
    )
    for head, items in sorted(heads.items()):
        mine = [record for item in items if (record := records.get(item.id)) is not None]
        consents = [f"{item.id} {why}" for item in items if (why := item.terms.consent)]
        state, words = _verdict(mine, waiting, consents, most=most)
        name = status_name(shell, CONTEXT)
        asked = [f"- {escape.markdown(text)}" for text in consents]
        text = "\n".join([*asked, "", _moves(mine, waiting)] if asked else [_moves(mine, waiting)])
        check = CheckRun(name=name, state=state, title=words, summary=text)
        if head and set_check(shell, head, check):
            _tell_owners(shell, head, sorted({item.terms.consent for item in items} - {""}))
            _label(shell, items[0].approval.pull_request, _labels(mine, waiting, stop))


def _tell_owners(shell: RunContext, head: str, missing: list[str]) -> None:
    """The remaining owners' check on a merged head: an approval after the merge counts."""
    name = status_name(shell, OWNERS)
    known = {status.context: status for status in shell.forge.list_statuses(head)}
    if name in known and known[name].state is CheckState.PENDING:
        words = "; ".join(missing) or GIVEN
        state = CheckState.PENDING if missing else CheckState.SUCCESS
        title = shortened(escape.plain(words), shell.forge.capabilities.status_characters)
        check = CheckRun(name=name, state=state, title=title, summary=escape.markdown(words))
        set_check(shell, head, check)


def _is_told(item: Approved, record: RequestRecord | None, since: int) -> bool:
    """Whether the request is unfinished, ended recently, or waits for owners."""
    if record is None:
        return bool(item.terms.consent) and not item.terms.void
    return not record.finished or record.changed_at >= since


def _labels(
    records: list[RequestRecord], waiting: tuple[Waiting, ...], stop: str
) -> frozenset[str]:
    if records and all(record.finished for record in records):
        good = {record.state for record in records} <= _GOOD
        return frozenset() if good else frozenset({labels.BLOCKED})
    if stop:
        return frozenset({labels.HOLD})
    return frozenset({labels.WAITING} if _until(records, waiting) else ())


def _label(shell: RunContext, number: int, wanted: frozenset[str]) -> None:
    """Set the labels of a merged pull request; one that moves VMs home keeps that label."""
    if not number:
        return
    pull = shell.forge.get_pull(number)
    kept = frozenset(pull.labels) & {labels.RETURN}
    labels.set_labels(shell, pull, wanted | kept)


def write_refusals(shell: RunContext, refused: tuple[NotApproved, ...]) -> None:
    """Report on merged heads that their merge approved nothing, and why."""
    now, most = shell.clock.now(), shell.forge.capabilities.status_characters
    for item in refused:
        if item.head and now - item.merged_at <= MEMORY:
            check = CheckRun(
                name=status_name(shell, CONTEXT),
                state=CheckState.FAILURE,
                title=shortened(item.reason, most),
                summary=f"{escape.markdown(item.reason)}\n\n`gitbot propose` opens a pull request "
                "with the plan as it would be now.",
            )
            set_check(shell, item.head, check)


def set_check(shell: RunContext, head: str, check: CheckRun) -> bool:
    """Write a check unless an equal state and line exists; True if written."""
    known = shell.forge.list_statuses(head)
    if any(is_up_to_date(status, check.status) for status in known):
        return False
    return shell.forge.set_check(head, check)


def own_comment(forge: Forge, number: int, marker: str) -> str:
    """The bot's first comment with a marker; "" for none."""
    bodies = (
        item.body
        for item in forge.list_comments(number)
        if is_marked(item.body, marker) and item.author == forge.bot
    )
    return next(bodies, "")


def _moves(records: list[RequestRecord], waiting: tuple[Waiting, ...]) -> str:
    waits = {(item.request, item.move): item for item in waiting}
    rows = ["| request | move | VM | from | to | state | why |", "|---|---|---|---|---|---|---|"]
    for record in records:
        for number, move in sorted(record.moves.items()):
            wait = waits.get((record.id, number))
            until = f" until {format_instant(wait.until)}" if wait and wait.until else ""
            why = f"{wait.reason}{until}" if wait else move.reason
            cells = [
                escape.code(record.id),
                str(number),
                escape.code(str(move.vm)),
                escape.code(move.source),
                escape.code(move.landed or move.to),
                str(move.state),
                escape.markdown(why),
            ]
            rows.append(f"| {' | '.join(cells)} |")
    shown = rows[: MAX_ROWS + 2]
    left = len(rows) - len(shown)
    return "\n".join([*shown, *([f"\n{left} more: `gitbot status`"] if left else [])])


def _verdict(
    records: list[RequestRecord],
    waiting: tuple[Waiting, ...],
    consents: list[str],
    *,
    most: int,
) -> tuple[CheckState, str]:
    words = ", ".join([*consents, *map(_line, records)])
    states = {record.state for record in records}
    if consents or any(not record.finished for record in records):
        return CheckState.PENDING, shortened(words + _until(records, waiting), most)
    good = states <= _GOOD
    return (CheckState.SUCCESS if good else CheckState.FAILURE), shortened(words, most)


def _line(record: RequestRecord) -> str:
    """The state of a request; while it runs, how many of its moves have ended."""
    if record.finished or len(record.moves) == 1:
        return f"{record.id} {record.state}"
    ended = sum(move.final for move in record.moves.values())
    return f"{record.id} {record.state} ({ended} of {len(record.moves)})"


def _until(records: list[RequestRecord], waiting: tuple[Waiting, ...]) -> str:
    mine = {record.id for record in records}
    times = [item.until for item in waiting if item.request in mine and item.until]
    return f", opens {format_instant(min(times))}" if times else ""
