"""The picture of the HTML report as plain geometry: touched nodes, leaving and arriving VMs.

Each node is a row, grouped by zone: leaving VMs on the left, arriving VMs on the right, one line
for each move between them. Above 40 nodes, or 120 moves, each zone is a row and each pair of zones
a line. Whole pixels; the template draws it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gitbot.model.text.wording import counted, shortened
from gitbot.reports import escape
from gitbot.reports.diff import Diff, DiffNode
from gitbot.reports.picture import MAX_ARROWS, MAX_NODES

WIDTH = 960
_SIDE = 380  # of one card
_HEAD = 26
_CHIP = 22
_GAP = 8
_BAND = 30  # the line with the zone's name
_LETTERS = 44  # that fit in a chip
PHONE = 356
_PHONE_SIDE = 166
_FEW = 20  # letters that fit in a chip of that width
_FEWER = 12  # beside the number of VMs


@dataclass(frozen=True, slots=True, kw_only=True)
class VmMove:
    """A VM that goes from one node to another; "" for a start from nowhere, or an end nowhere."""

    vm: str
    source: str
    to: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VmLabel:
    """One VM (or a number of them) that leaves or arrives. Coordinates: its top left corner."""

    text: str
    x: int
    y: int
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One node, or one zone, before and after: top left corner and height of both halves."""

    title: str
    before: str
    after: str
    y: int
    height: int
    leaving: tuple[VmLabel, ...]
    arriving: tuple[VmLabel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A zone's name above its cards."""

    title: str
    y: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One move: from the right edge of a leaving chip to the left edge of an arriving one."""

    y1: int
    y2: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveChart:
    """The whole picture."""

    height: int
    bands: tuple[Band, ...]
    cards: tuple[Card, ...]
    lines: tuple[Line, ...]
    by_zone: bool
    nodes: int
    journeys: int
    width: int = WIDTH
    side: int = _SIDE
    chip_height: int = _CHIP - 4
    edge: int = 12  # between a card and what is in it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    title: str
    zone: str
    before: str
    after: str
    leaving: tuple[str, ...]
    arriving: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    key: str
    source: str
    to: str
    title: str


def board(diff: Diff) -> MoveChart | None:
    journeys = [
        VmMove(
            vm=str(move.vm.namespaced_name),
            source=move.source.node,
            to=move.to.node,
            title=f"{move.vm.namespaced_name}: {move.source.node} to {move.to.node}, "
            f"wave {move.wave + 1}",
        )
        for move in diff.plan.moves
    ]
    return chart(diff.nodes, journeys)


def chart(nodes: Sequence[DiffNode], journeys: Sequence[VmMove]) -> MoveChart | None:
    """The nodes before and after, with what goes from one to another; None without nodes."""
    if not nodes:
        return None
    by_zone = len(nodes) > MAX_NODES or len(journeys) > MAX_ARROWS
    rows, edges = (_zone_rows if by_zone else _node_rows)(nodes, journeys)
    made = _laid_out(rows, edges, by_zone=by_zone)
    return replace(made, nodes=len(nodes), journeys=len(journeys))


def narrow_board(wide: MoveChart) -> MoveChart:
    """The same picture, 356 pixels wide: the same rows, with shorter names."""

    def chips(some: Sequence[VmLabel], x: int) -> tuple[VmLabel, ...]:
        return tuple(replace(one, x=x, text=shortened(one.detail, _FEW)) for one in some)

    cards = tuple(
        replace(
            card,
            title=shortened(card.title, _FEWER),
            leaving=chips(card.leaving, 6),
            arriving=chips(card.arriving, PHONE - _PHONE_SIDE + 6),
        )
        for card in wide.cards
    )
    return replace(wide, cards=cards, width=PHONE, side=_PHONE_SIDE, edge=6)


def _node_rows(
    nodes: Sequence[DiffNode], journeys: Sequence[VmMove]
) -> tuple[list[_Row], list[_Edge]]:
    edges = [_Edge(key=one.vm, source=one.source, to=one.to, title=one.title) for one in journeys]
    return [_node_row(node, edges) for node in nodes], edges


def _node_row(node: DiffNode, edges: Sequence[_Edge]) -> _Row:
    return _Row(
        title=node.name,
        zone=node.zone,
        before=counted(len(node.before), "VM"),
        after=counted(len(node.after), "VM"),
        leaving=tuple(edge.key for edge in edges if edge.source == node.name),
        arriving=tuple(edge.key for edge in edges if edge.to == node.name),
    )


def _zone_rows(
    touched: Sequence[DiffNode], journeys: Sequence[VmMove]
) -> tuple[list[_Row], list[_Edge]]:
    zones = {node.name: node.zone for node in touched}
    amounts = Counter((zones.get(one.source, ""), zones.get(one.to, "")) for one in journeys)
    edges = [
        _Edge(
            key=f"{counted(amount, 'VM')} from {_zone(source)} to {_zone(to)}",
            source=source,
            to=to,
            title=f"{counted(amount, 'VM')} from {_zone(source)} to {_zone(to)}",
        )
        for (source, to), amount in sorted(amounts.items())
    ]
    rows = []
    for zone in sorted({node.zone for node in touched}):
        nodes = [node for node in touched if node.zone == zone]
        amount = counted(len(nodes), "touched node")
        rows.append(
            _Row(
                title=_zone(zone),
                zone="",
                before=f"{amount}, {counted(sum(len(n.before) for n in nodes), 'VM')}",
                after=f"{amount}, {counted(sum(len(n.after) for n in nodes), 'VM')}",
                leaving=tuple(edge.key for edge in edges if edge.source == zone),
                arriving=tuple(edge.key for edge in edges if edge.to == zone),
            )
        )
    return rows, edges


def _laid_out(rows: Sequence[_Row], edges: Sequence[_Edge], *, by_zone: bool) -> MoveChart:
    bands: list[Band] = []
    cards: list[Card] = []
    y = 0
    zone: str | None = None
    for row in rows:
        if not by_zone and row.zone != zone:
            zone = row.zone
            bands.append(Band(title=_zone(zone), y=y))
            y += _BAND
        card = _card(row, y)
        cards.append(card)
        y += card.height + _GAP
    return MoveChart(
        height=y,
        bands=tuple(bands),
        cards=tuple(cards),
        lines=tuple(_lines(cards, edges)),
        by_zone=by_zone,
        nodes=0,
        journeys=0,
    )


def _card(row: _Row, y: int) -> Card:
    most = max(len(row.leaving), len(row.arriving))
    return Card(
        title=escape.plain(row.title),
        before=row.before,
        after=row.after,
        y=y,
        height=_HEAD + most * _CHIP + (6 if most else 0),
        leaving=tuple(_chips(row.leaving, 12, y)),
        arriving=tuple(_chips(row.arriving, WIDTH - _SIDE + 12, y)),
    )


def _chips(keys: Sequence[str], x: int, y: int) -> Iterator[VmLabel]:
    for index, key in enumerate(keys):
        text = escape.plain(key)
        yield VmLabel(text=shortened(text, _LETTERS), x=x, y=y + _HEAD + index * _CHIP, detail=text)


def _lines(cards: Sequence[Card], edges: Sequence[_Edge]) -> Iterator[Line]:
    middle = _CHIP // 2 - 2
    leaving = {chip.detail: chip.y + middle for card in cards for chip in card.leaving}
    arriving = {chip.detail: chip.y + middle for card in cards for chip in card.arriving}
    for edge in edges:
        key = escape.plain(edge.key)
        if key in leaving and key in arriving:
            yield Line(y1=leaving[key], y2=arriving[key], title=escape.plain(edge.title))


def _zone(zone: str) -> str:
    return f"zone {escape.plain(zone)}" if zone else "no zone"
