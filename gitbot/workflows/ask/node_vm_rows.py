"""Nodes and VMs as rows: their state, and what gitbot has to do with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitbot.execution.cluster_facts import ClusterFacts, is_ready
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.model.text.instants import Interval, parse_instant
from gitbot.model.text.wording import counted, first_of
from gitbot.workflows.ask.next_openings import NextOpening
from gitbot.workflows.ask.status import StatusResult
from gitbot.workflows.current_state import CurrentState


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a listing. `since` in seconds UTC, 0 if unknown.

    `opens` is the occurrence that is open or comes next, `opening` says when in words. `where` is
    the zone of a node, the node of a VM, or the way of a move; `file` is file:line of the intent.
    """

    kind: str
    name: str
    namespace: str = ""
    state: str = ""
    health: str = ""
    since: int = 0
    opens: Interval | None = None
    opening: str = ""
    where: str = ""
    file: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, str] = field(default_factory=dict)  # title to cell, for -o wide


def nodes_in(seen: CurrentState, page: StatusResult) -> Iterator[Row]:
    facts = ClusterFacts.of(seen.problem, ())
    drained = _drained(seen, page)
    for name, node in sorted(facts.nodes.items()):
        vms = counted(len(facts.instances_on(name)), "VM")
        ahead = drained.get(name)
        yield Row(
            kind="Node",
            name=name,
            state=_node_state(node),
            health="; ".join([*_maintenance(page, name), vms]),
            since=_created(node),
            where=facts.zone_of(name),
            opens=ahead.open if ahead else None,
            opening=ahead.words if ahead else "",
            labels=labels_of(node),
            more={
                "CPU": str(at(node, "status", "allocatable", "cpu", default="")),
                "MEMORY": str(at(node, "status", "allocatable", "memory", default="")),
                "VMS": ", ".join(str(vm) for vm in facts.instances_on(name)),
            },
        )


def _drained(seen: CurrentState, page: StatusResult) -> dict[str, NextOpening]:
    """The next opening of a window that drains a node, by node."""
    found: dict[str, NextOpening] = {}
    for item in page.openings if not page.not_read else ():
        opening = seen.base.opening(item.intent, now=page.now) if item.request else None
        if opening is None:
            continue
        goal = seen.base.drain_goal(item.intent, opening, seen.problem.snapshot, now=page.now)
        for node in goal.nodes if goal is not None else ():
            found.setdefault(node, item)
    return found


def _node_state(node: KubernetesObject) -> str:
    """As kubectl prints it."""
    words = ["Ready" if is_ready(node) else "NotReady"]
    return ",".join(
        [*words, *(["SchedulingDisabled"] if at(node, "spec", "unschedulable") else [])]
    )


def _maintenance(page: StatusResult, name: str) -> Iterator[str]:
    for occurrence, nodes in page.nodes.items():
        for node in nodes:
            if node.record.node == name:
                yield f"{node.record.state} for {occurrence}, {node.cordon}"


def vms_in(seen: CurrentState, page: StatusResult) -> Iterator[Row]:
    facts = ClusterFacts.of(seen.problem, ())
    away = {item.vm: item for item in page.away}
    moving = _moving(page)
    for name, instance in sorted(facts.instances.items()):
        said = [moving.get(name, "")]
        if name in away:
            said.append(f"away from home {away[name].home}: {away[name].reason}")
        yield Row(
            kind="VM",
            namespace=name.namespace,
            name=name.name,
            state=str(at(instance, "status", "phase", default="")),
            health="; ".join(filter(None, said)),
            since=_created(instance),
            where=facts.node_of(name),
            labels=labels_of(instance),
            more={
                "ZONE": facts.zone_of(facts.node_of(name)),
                "HOME": away[name].home if name in away else "",
            },
        )


def _moving(page: StatusResult) -> dict[NamespacedName, str]:
    """What an unfinished request does with a VM."""
    found: dict[NamespacedName, list[str]] = {}
    for item in page.requests:
        for move in item.moves:
            if not move.record.final:
                words = f"{move.record.state} to {move.record.to} by {item.record.id}"
                found.setdefault(move.record.vm, []).append(words)
    return {vm: first_of(words, 2) for vm, words in found.items()}


def _created(obj: KubernetesObject) -> int:
    text = at(obj, "metadata", "creationTimestamp", default="")
    try:
        return parse_instant(str(text)) if text else 0
    except ValueError:
        return 0
