"""The times of a plan as lanes: a row for each node that is emptied, or request; moves as bars.

Window, freezes and the present are shaded, the axis has the cluster's local time. Above 40 lanes
each zone that VMs leave is one. Whole pixels; the template draws it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gitbot.calendar import clock_time, local_text
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.ledger.request_id import DrainId, ReturnId
from gitbot.model.plan.plan import Move
from gitbot.model.text.instants import FOREVER, Interval
from gitbot.model.text.wording import counted, shortened
from gitbot.reports import escape
from gitbot.reports.conditions import starts_of
from gitbot.reports.diff import Diff
from gitbot.reports.sentence import memory
from gitbot.reports.waits import waits_of

WIDTH = 960
MAX_LANES = 40
_LEFT = 190  # left of the axis
_LINE = 15  # of the words above, one for each thing that is shaded
_MOST_SHADES = 4
_ROW = 16
_GAP = 6
_FOOT = 58  # axis, days, and the name of the bar in focus
_LETTERS = 24  # that fit left of the axis
_TIP = 130  # letters that fit below the axis
_TICKS = 8
PHONE = 356
_PHONE_LEFT = 84
_PHONE_TIP = 50
_FEW = 11
_STEPS = tuple(
    minutes * 60 for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10_080)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One move. `tip` is shown below the axis while it has the focus."""

    name: str
    x: int
    y: int
    width: int
    tip: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One row, as high as moves of it run at once."""

    label: str
    title: str
    y: int
    height: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shade:
    """A stretch of time behind the lanes: `open`, `frozen`, or the line of `now`."""

    kind: str
    title: str
    x: int
    width: int
    words: int  # where its title stands, 0 for nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A local time on the axis, and the day below the first tick that has it."""

    x: int
    text: str
    day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All moves of a plan in their time."""

    lanes: tuple[Lane, ...]
    shades: tuple[Shade, ...]
    ticks: tuple[Tick, ...]
    height: int
    zone: str
    by_zone: bool
    top: int
    left: int = _LEFT
    width: int = WIDTH
    bar_height: int = _ROW - 4
    foot: int = _FOOT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    start: int
    end: int

    def x(self, instant: int) -> int:
        inside = min(max(instant, self.start), self.end)
        return _LEFT + (inside - self.start) * (WIDTH - _LEFT) // max(1, self.end - self.start)


def timeline(diff: Diff) -> Timeline | None:
    moves = diff.plan.moves
    if not moves:
        return None
    lanes = grouped((_lane(move), move) for move in moves)
    by_zone = len(lanes) > MAX_LANES
    if by_zone:
        lanes = grouped((_zone(move.source.zone), move) for move in moves)
    scale = _scale(diff)
    shades = tuple(_shades(diff, scale))
    top = _LINE * min(len(shades), _MOST_SHADES) + 3
    drawn = tuple(_drawn(diff, lanes, scale, by_zone=by_zone, top=top))
    bottom = drawn[-1].y + drawn[-1].height
    return Timeline(
        lanes=drawn,
        shades=shades,
        ticks=tuple(_ticks(scale, diff.outlook.zone)),
        height=bottom + _FOOT,
        zone=diff.outlook.zone,
        by_zone=by_zone,
        top=top,
    )


def narrow_timeline(wide: Timeline) -> Timeline:
    """The same picture, 356 pixels wide, with every third time on its axis."""

    def x(place: int) -> int:
        return _PHONE_LEFT + (place - _LEFT) * (PHONE - _PHONE_LEFT) // (WIDTH - _LEFT)

    def bars(lane: Lane) -> Iterator[Bar]:
        for bar in lane.bars:
            width = max(3, x(bar.x + bar.width) - x(bar.x))
            yield replace(bar, x=x(bar.x), width=width, tip=shortened(bar.name, _PHONE_TIP))

    return replace(
        wide,
        lanes=tuple(
            replace(lane, label=shortened(lane.label, _FEW), bars=tuple(bars(lane)))
            for lane in wide.lanes
        ),
        shades=tuple(
            replace(shade, x=x(shade.x), width=max(2, x(shade.x + shade.width) - x(shade.x)))
            for shade in wide.shades
        ),
        ticks=tuple(replace(tick, x=x(tick.x)) for tick in wide.ticks[::3]),
        left=_PHONE_LEFT,
        width=PHONE,
    )


def _lane(move: Move) -> str:
    """The node that a drain empties or a return fills, else what the move is asked by."""
    if isinstance(move.request, DrainId | ReturnId):
        if move.group == move.request:  # nodes that leave together are one group
            return move.source.node
        return move.group.removeprefix(f"{move.request}/")
    return f"{move.intent.namespace}/{move.intent.name}".lstrip("/")


def _zone(zone: str) -> str:
    return f"zone {zone}" if zone else "no zone"


def _times(diff: Diff, move: Move) -> Interval:
    start = starts_of(diff.plan, move)
    return Interval(start=start, end=start + move.estimated_seconds)


def _scale(diff: Diff) -> _Scale:
    """From the first start to the last end, and to now, openings and closings that are near."""
    times = [_times(diff, move) for move in diff.plan.moves]
    start, end = min(item.start for item in times), max(item.end for item in times)
    near = max(600, end - start)
    known = [diff.now]
    for item in diff.outlook.conditions:
        known += [edge for time in (item.open, *item.allowed) if time for edge in _edges(time)]
    shown = [edge for edge in known if start - near <= edge <= end + near]
    return _Scale(start=min([start, *shown]), end=max([end, *shown]))


def _edges(time: Interval) -> tuple[int, int]:
    return time.start, time.end


def _drawn(
    diff: Diff, lanes: dict[str, tuple[Move, ...]], scale: _Scale, *, by_zone: bool, top: int
) -> Iterator[Lane]:
    waits = waits_of(diff)
    y = top + _GAP
    for label, moves in lanes.items():
        bars: list[Bar] = []
        free: list[int] = []  # when each row of the lane is free again
        for move in sorted(moves, key=lambda move: (starts_of(diff.plan, move), move.ref)):
            time = _times(diff, move)
            row = next((index for index, end in enumerate(free) if end <= time.start), len(free))
            free[row : row + 1] = [time.end]
            bars.append(_bar(diff, move, waits.get(move.ref, ""), scale, y=y + row * _ROW))
        height = len(free) * _ROW
        nodes = len({move.source.node for move in moves})
        more = f" ({counted(nodes, 'node')})" if by_zone else ""
        text = escape.plain(f"{label}{more}")
        yield Lane(
            label=shortened(text, _LETTERS),
            title=f"{text}: {counted(len(moves), 'move')}",
            y=y,
            height=height,
            bars=tuple(bars),
        )
        y += height + _GAP


def _bar(diff: Diff, move: Move, waits: str, scale: _Scale, *, y: int) -> Bar:
    time, zone = _times(diff, move), diff.outlook.zone
    begins, ends = (local_text(instant, zone).split()[-1] for instant in _edges(time))
    after = f", after {waits}" if waits else ""
    x = scale.x(time.start)
    width = max(3, scale.x(time.end) - x - 1)
    name = escape.plain(
        f"{move.vm.namespaced_name}: {move.source.node} to {move.to.node}, {begins}-{ends}, "
        f"{memory(move.memory_bytes)}{after}"
    )
    return Bar(
        name=name,
        x=x,
        y=y + 2,
        width=width,
        tip=shortened(name, _TIP),
    )


def _shades(diff: Diff, scale: _Scale) -> Iterator[Shade]:
    zone = diff.outlook.zone
    found: list[tuple[str, str, int, int]] = []
    spans: dict[tuple[str, Interval], set[NamespacedName]] = {}
    for item in diff.outlook.conditions:
        if item.open is not None:
            spans["open", item.open] = set()
        for freeze in item.freezes:
            for time in freeze.times:
                spans.setdefault(("frozen", time), set()).update(freeze.vms)
    for (kind, time), vms in spans.items():
        x, end = scale.x(time.start), scale.x(time.end)
        if end > x:
            word = "window open" if kind == "open" else f"{counted(len(vms), 'VM')} frozen"
            until = "" if time.end == FOREVER else f" until {local_text(time.end, zone)}"
            found.append((kind, f"{word}{until}", x, end - x))
    if scale.start <= diff.now <= scale.end:
        x = min(scale.x(diff.now), WIDTH - 2)
        found.append(("now", f"now, {local_text(diff.now, zone)}", x, 2))
    for index, (kind, title, x, width) in enumerate(found):
        words = (index + 1) * _LINE - 3 if index < _MOST_SHADES else 0
        yield Shade(kind=kind, title=title, x=x, width=width, words=words)


def _ticks(scale: _Scale, zone: str) -> Iterator[Tick]:
    span = scale.end - scale.start
    step = next((step for step in _STEPS if span <= step * _TICKS), span)
    midnight = clock_time(scale.start, zone)
    since = midnight.hour * 3600 + midnight.minute * 60 + midnight.second
    instant = scale.start + -since % step
    day = ""
    while instant <= scale.end:
        name, date, time = local_text(instant, zone).split()
        yield Tick(x=scale.x(instant), text=time, day=f"{name} {date}" if date != day else "")
        day = date
        instant += step
