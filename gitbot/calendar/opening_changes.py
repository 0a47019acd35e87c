"""Effects of an edit of intents on future openings: which appear, move, or disappear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitbot.calendar.events import Appointment, span_words
from gitbot.calendar.time_formats import DAY

_NEAR = 4 * DAY  # an opening that starts so close to a removed one has moved
_NAMED = 6


def changed_openings(
    before: Iterable[Appointment], after: Iterable[Appointment], *, now: int
) -> tuple[str, ...]:
    """One line for each window and freeze that changes, by kind and name; counts first.

    Openings that are cancelled or have begun do not count; freezes count until they end. Requests
    are left out: their plan has their time.
    """
    old, new = _by_name(before, now), _by_name(after, now)
    names = sorted({*old, *new}, reverse=True)
    lines = (_line(old.get(name, []), new.get(name, []), now=now) for name in names)
    return tuple(
        f"{name[0]} {name[1]}: {line}" for name, line in zip(names, lines, strict=True) if line
    )


def _by_name(events: Iterable[Appointment], now: int) -> dict[tuple[str, str], list[Appointment]]:
    found: dict[tuple[str, str], list[Appointment]] = {}
    for event in sorted(events, key=lambda each: each.time):
        if (
            not event.cancelled
            and event.kind != "request"
            and (event.always or _counts_until(event) > now)
        ):
            found.setdefault(event.key, []).append(event)
    return found


def _counts_until(event: Appointment) -> int:
    return event.time.end if event.kind == "freeze" else event.time.start


def _line(old: Sequence[Appointment], new: Sequence[Appointment], *, now: int) -> str:
    kept = {(each.time, each.zone) for each in old} & {(each.time, each.zone) for each in new}
    gone = [each for each in old if (each.time, each.zone) not in kept]
    fresh = [each for each in new if (each.time, each.zone) not in kept]
    moved: list[tuple[Appointment, Appointment]] = []
    for each in list(gone):
        near = min(fresh, key=lambda other: abs(other.time.start - each.time.start), default=None)
        if near is not None and abs(near.time.start - each.time.start) < _NEAR:
            moved.append((each, near))
            gone.remove(each)
            fresh.remove(near)
    pairs = [f"{span_words(one, now=now)} to {span_words(other, now=now)}" for one, other in moved]
    parts = (
        ("appear", "appears", [span_words(each, now=now) for each in fresh]),
        ("move", "moves", pairs),
        ("vanish", "vanishes", [span_words(each, now=now) for each in gone]),
    )
    return "; ".join(
        f"{len(listed)} {one if len(listed) == 1 else many}: {_few(listed)}"
        for many, one, listed in parts
        if listed
    )


def _few(listed: list[str]) -> str:
    more = f", and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more
