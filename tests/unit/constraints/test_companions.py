"""The groups that a rule keeps together are the connected parts of its terms, domain by domain."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from gitbot.constraints.rules.companions import kept_together
from gitbot.constraints.rules.rule_parts import AffinityPart, Peers
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.constraint import Occupancy
from tests.unit.constraints.builders import rule_ref, vm_name

COLUMN = {f"n{number}": f"z{number % 3}" for number in range(6)}
VMS = [vm_name(f"vm-{number}") for number in range(9)]


def rule(terms: dict[NamespacedName, tuple[Peers, ...]]) -> Any:
    domains: Any = SimpleNamespace(column=lambda _: COLUMN)
    part = AffinityPart(name="near", domains=domains, terms=terms)
    return SimpleNamespace(required=True, ref=rule_ref(), parts=(part,))


def linked(
    terms: dict[NamespacedName, tuple[Peers, ...]], occupancy: Occupancy
) -> set[frozenset[NamespacedName]]:
    """The same groups, by merging the two ends of each term until nothing changes."""
    at = {
        vm: values.pop()
        for vm, nodes in occupancy.items()
        if len(values := {COLUMN.get(node) for node in nodes}) == 1
    }
    parts = {vm: frozenset({vm}) for vm, value in at.items() if value is not None}
    for vm, several in terms.items():
        for other in {other for peers in several for other in peers.vms}:
            if vm in parts and other in parts and at[vm] == at[other]:
                both = parts[vm] | parts[other]
                parts.update(dict.fromkeys(both, both))
    return {found for found in parts.values() if len(found) > 1}


@pytest.mark.parametrize("seed", range(60))
def test_groups_are_connected_parts(seed: int) -> None:
    draw = Random(seed)
    several = [
        Peers(
            topology_key="zone",
            vms=frozenset(draw.sample(VMS, draw.randint(0, 4))),
            fixed=frozenset(),
        )
        for _ in range(5)
    ]
    subjects = draw.sample(VMS, draw.randint(1, len(VMS)))
    terms = {vm: tuple(draw.sample(several, draw.randint(1, 2))) for vm in subjects}
    nodes = [*COLUMN, "unknown"]
    occupancy = {
        vm: frozenset(draw.sample(nodes, draw.choice([1, 1, 1, 2]))) for vm in draw.sample(VMS, 8)
    }
    found = kept_together(rule(terms), occupancy)
    assert {group.vms for group in found} == linked(terms, occupancy)
    assert len({vm for group in found for vm in group.vms}) == sum(len(g.vms) for g in found)
    first = [min(group.vms & terms.keys()) for group in found]
    assert first == sorted(first)
    assert all(COLUMN[min(occupancy[vm])] == group.value for group in found for vm in group.vms)


@pytest.mark.parametrize("count", [1, 2])
def test_pods_that_do_not_move_and_several_keys_make_no_group(count: int) -> None:
    keys = ["zone", "rack"][:count]
    fixed = frozenset({"n0"} if count == 1 else ())
    peers = tuple(Peers(topology_key=key, vms=frozenset(VMS), fixed=fixed) for key in keys)
    assert kept_together(rule({VMS[0]: peers}), {vm: frozenset({"n0"}) for vm in VMS}) == ()
