"""The picture of a plan: zones and touched nodes in Mermaid, as GitHub renders it.

Above 40 nodes, or with too many arrows to read, each zone is one box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.text.wording import counted, first_of
from gitbot.reports.diff import Diff, DiffNode
from gitbot.reports.escape import mermaid

MAX_NODES = 40
MAX_ARROWS = 120
MAX_NAMES = 4
_SIDES = ("before", "after")


def picture(diff: Diff) -> str:
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
    ends = (((move.source.node, move.to.node), move.vm.name) for move in diff.plan.moves)
    return {between: _names(vms) for between, vms in grouped(ends).items()}


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
    vms = [NamespacedName.parse(vm).name for vm in _vms(node, side)]
    return f"{mermaid(node.name)}<br/>{_names(vms) if vms else 'no VM'}"


def _names(vms: Sequence[str]) -> str:
    return first_of([mermaid(vm) for vm in vms], MAX_NAMES)
