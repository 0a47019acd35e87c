"""Windows whose drain has begun, or is over: what a plan has nothing more to move for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gitbot.intents.compile import RequestHistory, opening_of
from gitbot.workflows.core.revision import Revision


class WindowStanding(StrEnum):
    """How far the drain of a window is, in words after the window's name."""

    AT_WORK = "is at work, with nodes in maintenance"
    CANCELLED = "is cancelled"
    OVER = "is over"
    RETURNED = "is over: its nodes are back"


def window_standings(
    revision: Revision, past: RequestHistory, *, now: int
) -> Mapping[str, WindowStanding]:
    """By the name of the window; without those whose opening is ahead."""
    found: dict[str, WindowStanding] = {}
    for intent, spec in revision.intents.maintenance_windows:
        name = intent.ref.name
        if spec.nodes is None:
            continue
        opening = opening_of(revision.intents, name, now=now, zone=revision.zone, past=past)
        if name in past.emptying:  # it may be an earlier opening whose node is not back
            found[name] = WindowStanding.AT_WORK
        elif opening is not None and opening.drain in past.cancelled:
            found[name] = WindowStanding.CANCELLED
        elif opening is not None and opening.drain in past.finished:
            scheduled = spec.schedule is not None
            found[name] = WindowStanding.OVER if scheduled else WindowStanding.RETURNED
    return found


def standing_words(
    revision: Revision, past: RequestHistory, *, now: int, only: str = ""
) -> tuple[str, ...]:
    """A text for each window at work; if none is, for each that is over or cancelled.

    `only`: the name of the one window that is asked about, "" for all.
    """
    found = window_standings(revision, past, now=now)
    names = [name for name in sorted(found) if only in ("", name)]
    busy = [name for name in names if found[name] is WindowStanding.AT_WORK]
    return tuple(f"{name} {found[name]}" for name in busy or names)
