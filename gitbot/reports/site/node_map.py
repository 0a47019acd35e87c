"""The map: a tile for each node, by zone, with a colour by how full it is; a page for each zone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gitbot.model.grouping import grouped
from gitbot.model.text.wording import counted, first_of
from gitbot.published import PlaceLine, PublishedMap, json_text
from gitbot.reports.sentence import share_of
from gitbot.reports.site.node_pages import MOST, node_file
from gitbot.reports.site.page_model import Cell, SitePage, Table, Tile, Tone, ZoneTiles, rows

NAMED = 60  # tiles that have their names
_MOST_TILES = 2_500  # of the page of all zones; beyond, each zone has them on its own
_MOST_ROWS = 1_000
_VMS = 12  # names in a row; the document has all


def map_pages(places: PublishedMap) -> Iterator[SitePage]:
    zones = grouped((node.zone, node) for node in places.nodes)
    tiles = zones if len(places.nodes) <= _MOST_TILES else {}
    vms = counted(sum(len(node.vms) for node in places.nodes), "VM")
    words = f"{counted(len(places.nodes), 'node')} in {counted(len(zones), 'zone')}, {vms}"
    yield SitePage(
        path="map.html",
        title="map",
        headline="The cluster could not be read" if places.not_read else words,
        tone=Tone.BAD if places.not_read else _tone(places.nodes),
        zones=_tiles(tiles, named=len(places.nodes) <= NAMED),
        tables=(
            Table(
                title="Zones",
                head=("zone", "nodes", "not ready", "cordoned", "VMs", "memory"),
                rows=rows(_zone(zone, nodes) for zone, nodes in zones.items()),
                empty=f"No node is known. {places.not_read}",
            ),
        ),
        document=json_text(places),
    )
    for zone, nodes in zones.items():
        yield _zone_page(places, zone, nodes)


def _zone_page(places: PublishedMap, zone: str, nodes: Sequence[PlaceLine]) -> SitePage:
    vms = counted(sum(len(node.vms) for node in nodes), "VM")
    return SitePage(
        path=_file(zone),
        title=f"zone {zone or 'none'}",
        headline=f"{counted(len(nodes), 'node')} of {_named(zone)}, {vms}",
        tone=_tone(nodes),
        zones=_tiles({zone: nodes}, named=len(nodes) <= NAMED),
        tables=(
            Table(
                title="Nodes",
                head=("node", "state", "memory", "maintenance", "VMs"),
                rows=rows(
                    _node(node, linked=len(places.nodes) <= MOST) for node in nodes[:_MOST_ROWS]
                ),
            ),
        ),
        document=json_text(
            PublishedMap(
                cluster=places.cluster, now=places.now, not_read=places.not_read, nodes=[*nodes]
            )
        ),
    )


def _file(zone: str) -> str:
    """The file of a zone. The value of a label has no other characters; a dump may have any."""
    return f"zone-{re.sub('[^0-9A-Za-z._-]+', '-', zone)}.html" if zone else "no-zone.html"


def _named(zone: str) -> str:
    return f"zone {zone}" if zone else "no zone"


def _zone(zone: str, nodes: Sequence[PlaceLine]) -> tuple[Cell | str, ...]:
    states = [_state(node) for node in nodes]
    return (
        Cell(zone or "no zone", link=_file(zone)),
        str(len(nodes)),
        str(states.count("lost") or ""),
        str(states.count("cordoned") or ""),
        str(sum(len(node.vms) for node in nodes)),
        _memory(nodes),
    )


def _node(node: PlaceLine, *, linked: bool) -> tuple[Cell | str, ...]:
    vms = f"{len(node.vms)}: {first_of(node.vms, _VMS)}" if node.vms else ""
    name = Cell(node.node, link=node_file(node.node) if linked else "")
    return name, node.state, _memory([node]), node.maintenance, vms


def _memory(nodes: Sequence[PlaceLine]) -> str:
    return share_of(sum(node.requested for node in nodes), sum(node.allocatable for node in nodes))


def _tiles(zones: Mapping[str, Sequence[PlaceLine]], *, named: bool) -> tuple[ZoneTiles, ...]:
    return tuple(
        ZoneTiles(
            words=f"{zone or 'no zone'}: {counted(len(nodes), 'node')}, {_memory(nodes)}",
            tiles=tuple(
                Tile(
                    level=_level(node),
                    state=_state(node),
                    name=node.node if named else "",
                    amount=counted(len(node.vms), "VM") if named else "",
                    title=f"{node.node}: {node.state}, {counted(len(node.vms), 'VM')}, "
                    f"{_memory([node])}",
                )
                for node in nodes
            ),
        )
        for zone, nodes in zones.items()
    )


def _level(node: PlaceLine) -> int:
    """Tenths of the memory that is taken, 0 to 10."""
    if node.allocatable <= 0:
        return 0
    return min(10, max(0, round(10 * node.requested / node.allocatable)))


def _state(node: PlaceLine) -> str:
    if not node.state.startswith("Ready"):
        return "lost"
    return "cordoned" if "SchedulingDisabled" in node.state else "ready"


def _tone(nodes: Sequence[PlaceLine]) -> Tone:
    return Tone.BAD if any(_state(node) == "lost" for node in nodes) else Tone.GOOD
