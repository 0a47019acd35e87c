"""A Mermaid flowchart of zones and touched nodes, before and after, as GitHub renders it.

Touched nodes only; above 40 nodes, or where the arrows would be too many to read, one box a zone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from gitbot.reports.diff import Diff, DiffNode, counted
from gitbot.reports.inert import mermaid

MAX_NODES = 40
MAX_ARROWS = 120
MAX_NAMES = 4
_SIDES = ("before", "after")


def picture(diff: Diff) -> str:
    """The flowchart, "" where nothing moves. Labels are inert."""
    if not diff.nodes:
        return ""
    by_node = Counter((move.source.node, move.to.node) for move in diff.plan.moves)
    if len(diff.nodes) > MAX_NODES or len(by_node) > MAX_ARROWS:
        return _by_zone(diff)
    return _by_node(diff)


def _by_node(diff: Diff) -> str:
    boxes = {node.name: f"n{index}" for index, node in enumerate(diff.nodes)}
    lines = ["flowchart LR"]
    for side in _SIDES:
        lines += [f'  subgraph {side}["{side}"]', "    direction TB"]
        for index, zone in enumerate(_zones(diff)):
            lines.append(f'    subgraph {side}_z{index}["{_zone(zone)}"]')
            lines += [
                f'      {side}_{boxes[node.name]}["{_node_label(node, side)}"]'
                for node in diff.nodes
                if node.zone == zone
            ]
            lines.append("    end")
        lines.append("  end")
    return "\n".join(lines + _arrows(_labels_by_node(diff), boxes)) + "\n"


def _by_zone(diff: Diff) -> str:
    zones = _zones(diff)
    boxes = {zone: f"z{index}" for index, zone in enumerate(zones)}
    lines = ["flowchart LR"]
    for side in _SIDES:
        lines.append(f'  subgraph {side}["{side}"]')
        for zone in zones:
            nodes = [node for node in diff.nodes if node.zone == zone]
            vms = sum(len(_vms(node, side)) for node in nodes)
            text = f"{_zone(zone)}<br/>{counted(len(nodes), 'node')}, {counted(vms, 'VM')}"
            lines.append(f'    {side}_{boxes[zone]}["{text}"]')
        lines.append("  end")
    amounts = Counter((move.source.zone, move.to.zone) for move in diff.plan.moves)
    labels = {ends: counted(amount, "VM") for ends, amount in amounts.items()}
    known = {ends: text for ends, text in labels.items() if set(ends) <= set(boxes)}
    return "\n".join(lines + _arrows(known, boxes)) + "\n"


def _labels_by_node(diff: Diff) -> dict[tuple[str, str], str]:
    names: dict[tuple[str, str], list[str]] = {}
    for move in diff.plan.moves:
        names.setdefault((move.source.node, move.to.node), []).append(move.vm.name)
    return {ends: _names(vms) for ends, vms in names.items()}


def _arrows(labels: Mapping[tuple[str, str], str], boxes: Mapping[str, str]) -> list[str]:
    return [
        f'  before_{boxes[source]} -->|"{text}"| after_{boxes[to]}'
        for (source, to), text in sorted(labels.items())
    ]


def _zones(diff: Diff) -> list[str]:
    return sorted({node.zone for node in diff.nodes})


def _zone(zone: str) -> str:
    return mermaid(zone) if zone else "no zone"


def _vms(node: DiffNode, side: str) -> tuple[str, ...]:
    return node.before if side == "before" else node.after


def _node_label(node: DiffNode, side: str) -> str:
    vms = [vm.partition("/")[2] for vm in _vms(node, side)]
    return f"{mermaid(node.name)}<br/>{_names(vms) if vms else 'no VM'}"


def _names(vms: list[str]) -> str:
    shown = ", ".join(mermaid(vm) for vm in vms[:MAX_NAMES])
    return f"{shown} and {len(vms) - MAX_NAMES} more" if len(vms) > MAX_NAMES else shown
