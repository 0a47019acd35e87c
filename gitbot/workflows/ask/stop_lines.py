"""What keeps everything from starting: who said so, why, and what lifts it."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.workflows.core.stop_conditions import (
    ENFORCE,
    LOOK_AT_BASE,
    Standstill,
    observe_mode_reason,
)
from gitbot.workflows.current_state import CurrentState


def stop_lines(seen: CurrentState, *, broken: bool) -> tuple[Standstill, ...]:
    return tuple(_lines(seen, broken=broken))


def _lines(seen: CurrentState, *, broken: bool) -> Iterator[Standstill]:
    if seen.standstill is not None:
        yield seen.standstill
    if broken:
        reason = "the base branch has errors"
        yield Standstill(reason=reason, healthy=False, next_command=LOOK_AT_BASE)
    if observe := observe_mode_reason(seen.base.settings):
        yield Standstill(reason=observe, healthy=True, next_command=ENFORCE)
