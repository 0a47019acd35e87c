"""Progress of a pass: the waves of the plans that it carries out, and the moves that ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gitbot.execution.executor_types import Approved
from gitbot.execution.request_records import RequestRecord, fold_requests
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.wording import counted
from gitbot.workflows.core.context import RunContext

_BAR = 20  # characters


def show_how_far(
    shell: RunContext, ledger: Ledger, approved: Sequence[Approved], requests: set[str]
) -> None:
    """Report progress. `requests` keeps those that had moves left since the pass began."""
    records = fold_requests(ledger, shell.cluster_name)
    requests |= _unfinished(approved, records)
    shell.onlooker.begins(_how_far(approved, records, requests))


def _unfinished(
    approved: Iterable[Approved], records: Mapping[RequestId, RequestRecord]
) -> set[str]:
    """The ids of approved requests that have moves left."""
    return {
        item.id
        for item in approved
        if item.moves and not ((record := records.get(item.id)) and record.finished)
    }


def _how_far(
    approved: Iterable[Approved],
    records: Mapping[RequestId, RequestRecord],
    requests: Collection[str],
) -> str:
    """`wave 2/5 [######..............] 12 of 40 migrations ended`; "" without moves.

    The waves of several plans are counted one plan after the other.
    """
    waves: dict[tuple[str, int], list[bool]] = {}
    for item in approved:
        if item.id not in requests:
            continue
        record = records.get(item.id) or RequestRecord(id=item.id)
        for move in sorted(item.moves, key=lambda move: move.wave):
            known = record.moves.get(move.id)
            final = known is not None and known.final
            waves.setdefault((item.approval.digest, move.wave), []).append(final)
    if not waves:
        return ""
    ended = sum(map(sum, waves.values()))
    moves = sum(map(len, waves.values()))
    over = sum(all(wave) for wave in waves.values())
    full = _BAR * ended // moves
    bar = "#" * full + "." * (_BAR - full)
    wave = min(over + 1, len(waves))
    return f"wave {wave}/{len(waves)} [{bar}] {ended} of {counted(moves, 'migration')} ended"
