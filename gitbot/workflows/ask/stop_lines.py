"""What keeps everything from starting: who said so, why, and what lifts it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gitbot.execution.ledger_folds import ledger_stop, unknown_events_reason
from gitbot.model.ledger.events import StopSet
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.workflows.core.stop_conditions import UnknownStop, observe_mode_reason
from gitbot.workflows.current_state import CurrentState

RESUME = "gitbot resume"
LOOK_AT_BASE = "git pull && gitbot lint"
ENFORCE = f"set mode: Enforce in {CONFIGURATION_FILE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLine:
    """One reason why nothing starts. `by` and `since` (seconds UTC) are "" and 0 if unknown."""

    reason: str
    by: str = ""
    since: int = 0
    next_command: str = ""


def stop_lines(seen: CurrentState, *, broken: bool) -> tuple[StopLine, ...]:
    return tuple(_lines(seen, broken=broken))


def _lines(seen: CurrentState, *, broken: bool) -> Iterator[StopLine]:
    cluster = seen.base.revision.cluster
    unknown = unknown_events_reason(seen.ledger, cluster)
    flag = ledger_stop(seen.ledger, cluster)
    if unknown:
        yield StopLine(reason=unknown)
    elif flag:
        last = seen.ledger.stops(cluster)[-1]
        by = last.author if isinstance(last, StopSet) else ""
        yield StopLine(reason=flag, by=by, since=last.time, next_command=RESUME)
    elif seen.stop:
        command = "gitbot doctor" if isinstance(seen.stop, UnknownStop) else RESUME
        yield StopLine(reason=seen.stop, next_command=command)
    if broken:
        yield StopLine(reason="the base branch has errors", next_command=LOOK_AT_BASE)
    if observe := observe_mode_reason(seen.base.settings):
        yield StopLine(reason=observe, next_command=ENFORCE)
