"""Tiny problems with scarce room: they can only be solved if VMs that nobody named move as well."""

import random
from dataclasses import replace
from functools import cache
from itertools import count

from tests.laws.tiny import Kind, Tiny, TinyNode, TinyRule, TinyVm
from tests.laws.tiny_space import space_of

KINDS: tuple[Kind, ...] = ("node", "zone", "two", "heal", "empty", "empty", "leave", "home")
SHAPES = ("most", "most", "fast", "apart", "even")
STATES = 8_000
"""How many states a problem may have, so that all of them can be looked at."""


@cache
def scarce(seed: int) -> Tiny:
    """The problem of a seed: more can be done if every VM may move."""
    for attempt in count():
        case = drawn(random.Random(f"{seed}/{attempt}"))
        if case is not None and space_of(case).helped():
            return case
    raise AssertionError(seed)


def drawn(draw: random.Random) -> Tiny | None:
    """Nodes filled until at most 2 GiB are free on each; None if there are too many states."""
    zones = "ab" if draw.random() < 0.5 else "abc"
    nodes = tuple(
        TinyNode(
            name=f"n{number}",
            zone=zones[number % len(zones)],
            fast=draw.random() < 0.7,
            room=draw.choice((4, 5, 6)),
        )
        for number in range(draw.choice((3, 4, 4, 5)))
    )
    vms = tuple(_vms(draw, nodes))
    if len(nodes) ** len(vms) > STATES:
        return None
    rules = tuple(_rule(draw) for _ in range(draw.choice((0, 0, 1, 1, 2))))
    if len({rule.name for rule in rules}) < len(rules):
        rules = rules[:1]
    return _with_goal(draw, Tiny(nodes=nodes, vms=vms, rules=rules, kind=draw.choice(KINDS)))


def _vms(draw: random.Random, nodes: tuple[TinyNode, ...]) -> list[TinyVm]:
    empty = draw.randrange(len(nodes))  # this node has more room than the others
    found: list[TinyVm] = []
    for on, item in enumerate(nodes):
        free = item.room - draw.choice((0, 1, 2) if on != empty else (2, 3, 4))
        while free > 0:
            size = min(draw.choice((1, 2, 3, 4)), free)
            found.append(_vm(draw, len(found), on, size, fast=item.fast))
            free -= size
    return found


def _vm(draw: random.Random, number: int, on: int, size: int, *, fast: bool) -> TinyVm:
    return TinyVm(
        name=f"v{number}",
        on=on,
        size=size,
        app=draw.choice("xy"),
        fast=fast and draw.random() < 0.25,
        apart="host" if draw.random() < 0.08 else "",
        beside="zone" if draw.random() < 0.08 else "",
        migratable=draw.random() < 0.95,
    )


def _rule(draw: random.Random) -> TinyRule:
    shape = draw.choice(SHAPES)
    return TinyRule(
        shape=shape,  # type: ignore[arg-type]
        app=draw.choice("xy"),
        domain=draw.choice(("zone", "host")),
        most=draw.choice((1, 2, 2)) if shape == "most" else 0,
        required=draw.random() < 0.9,
    )


def _with_goal(draw: random.Random, case: Tiny) -> Tiny:
    vms, hosts = range(len(case.vms)), range(len(case.nodes))
    some = tuple(sorted(draw.sample(vms, min(draw.choice((1, 1, 2, 3)), len(vms)))))
    match case.kind:
        case "node":
            return replace(case, goal_vms=some, goal_nodes=(draw.choice(hosts),))
        case "two":
            return replace(case, goal_vms=some, goal_nodes=(draw.choice(hosts), draw.choice(hosts)))
        case "zone":
            return replace(case, goal_vms=some, zone=draw.choice(case.nodes).zone)
        case "home":
            return replace(case, goal_vms=some, goal_nodes=tuple(draw.choice(hosts) for _ in some))
        case "heal":
            return replace(case, rules=case.rules or (_rule(draw),))
        case _:
            nodes = draw.sample(hosts, draw.choice((1, 1, 2)))
            return replace(case, goal_nodes=tuple(nodes))
