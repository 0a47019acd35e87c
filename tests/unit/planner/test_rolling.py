"""Rolling maintenance: a window over a whole pool empties every node once."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.plan import Move, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, Limits, Pin
from tests.bench.bench_rolling import pool as uneven_pool
from tests.bench.bench_rolling import problem as rolling
from tests.doubles.problems import NOW, ZONE, node, pod, problem, request, vm
from tests.unit.planner.reading import held, moved, planned
from tests.unit.planner.reading import move as asked

AWAY = 600


def pool(count: int, *, vms: int = 2, memory: str = "8Gi") -> list[Any]:
    """Nodes n1, n2, ... of a pool, each with so many VMs of 1 GiB."""
    nodes = [node(f"n{number}", zone="ab"[number % 2], memory=memory) for number in range(1, count)]
    nodes.append(node(f"n{count}", zone="ab"[count % 2], memory=memory))
    found: list[KubernetesObject | tuple[KubernetesObject, ...]] = [*nodes]
    for number in range(1, count + 1):
        found += [vm(f"v{number}{letter}", on=f"n{number}") for letter in "abcdefgh"[:vms]]
    return found


def window(count: int, **fields: Any) -> EmptyNodes:
    nodes = tuple(f"n{number}" for number in range(1, count + 1))
    return EmptyNodes(request=request("drain"), nodes=nodes, away=AWAY, **fields)


def emptied(plan: PlacementPlan) -> list[str]:
    """The nodes in the order of their first moves."""
    moves = sorted(plan.moves, key=lambda move: move.ref)
    return list(dict.fromkeys(move.source.node for move in moves))


def ends(moves: list[Move]) -> int:
    return max(move.starts + move.estimated_seconds for move in moves)


@pytest.mark.parametrize("cordon", [True, False])
def test_every_node_once_and_only_the_first_nodes_vms_move_twice(cordon: bool) -> None:
    goal = window(5, cordoned_by_gitbot=cordon)
    plan = planned(problem(pool(5), goals=[goal]))
    assert held(plan) == []
    assert sorted(emptied(plan)) == ["n1", "n2", "n3", "n4", "n5"]
    assert Counter(Counter(move.vm.name for move in plan.moves).values()) == {1: 8, 2: 2}


def test_a_node_takes_vms_again_after_its_reboot() -> None:
    plan = planned(problem(pool(4), goals=[window(4)]))
    by_source = {
        name: [move for move in plan.moves if move.source.node == name] for name in emptied(plan)
    }
    again = [move for move in plan.moves if move.after_return]
    assert len(again) == len(plan.moves) - 2
    for move in again:
        assert move.starts >= ends(by_source[move.to.node]) + AWAY


def test_a_node_with_no_vms_is_first_so_that_nobody_moves_twice() -> None:
    scene = [*pool(4), node("n5", memory="8Gi")]
    plan = planned(problem(scene, goals=[window(5)]))
    assert len(plan.moves) == 8
    assert held(plan) == []


def test_nodes_outside_are_enough_and_nothing_waits_for_a_return() -> None:
    scene = [*pool(3), node("spare", memory="64Gi")]
    plan = planned(problem(scene, goals=[window(3, max_nodes_at_once=3)]))
    assert {move.to.node for move in plan.moves} == {"spare"}
    assert not any(move.after_return for move in plan.moves)


def test_a_given_order_is_kept() -> None:
    """The node with the fewest VMs would be first."""
    scene = [*pool(4), vm("more", on="n1")]
    assert emptied(planned(problem(scene, goals=[window(4, ordered=True)]))) == [
        "n1",
        "n2",
        "n3",
        "n4",
    ]
    assert emptied(planned(problem(scene, goals=[window(4)])))[0] != "n1"


@pytest.mark.parametrize("lanes", [2, 3])
def test_the_order_that_is_chosen_ends_no_later_than_the_given_one(lanes: int) -> None:
    """The nodes with the fewest VMs first would take a quarter longer here."""
    asked = rolling(uneven_pool(8, 0.7, uneven=True), outbound=2, lanes=lanes)
    (goal,) = asked.goals
    assert isinstance(goal, EmptyNodes)
    given = planned(replace(asked, goals=(replace(goal, ordered=True),)))
    chosen = planned(asked)
    assert ends([*chosen.moves]) <= ends([*given.moves])
    assert len(chosen.moves) <= len(given.moves)


def test_vms_step_aside_where_the_nodes_that_are_back_have_no_room_in_one_piece() -> None:
    """`a` fits beside nobody until one of `web` and `log` goes to the other; `b` then takes n1."""
    scene: list[Any] = [
        *(node(name, memory="8Gi") for name in ("n1", "n2", "t1", "t2")),
        *(vm(name, on=on, memory="6Gi") for name, on in (("a", "n1"), ("b", "n2"))),
        *(vm(name, on=on, memory="3Gi") for name, on in (("web", "t1"), ("log", "t2"))),
    ]
    plan = planned(problem(scene, goals=[window(2)]))
    assert [(item.emptied, item.kept) for item in plan.drains] == [(("n1", "n2"), ())]
    assert len(plan.moves) == 3
    (back,) = [move for move in plan.moves if move.after_return]
    assert (back.vm.name, back.to.node) == ("b", "n1")


def test_vms_step_aside_onto_nodes_that_are_emptied_later_where_none_is_back() -> None:
    """No node can be emptied at once; when one has made room for the first, all follow."""
    sizes = {"n1": (5,), "n2": (3, 3), "n3": (4, 2), "n4": (6,)}
    scene: list[Any] = [node(name, memory="8Gi") for name in sizes]
    for name, many in sizes.items():
        scene += [vm(f"{name}-{i}", on=name, memory=f"{size}Gi") for i, size in enumerate(many)]
    plan = planned(problem(scene, goals=[window(4)]))
    assert held(plan) == []
    assert max(Counter(move.vm.name for move in plan.moves).values()) == 2
    assert len(plan.moves) == 9


def test_nobody_leaves_a_node_that_is_back_and_who_stays_on_its_way_is_held() -> None:
    """The VM of zone b goes from n4 to n8; n4 is full when the turn comes to n8."""
    sizes = {"n1": (8,), "n2": (), "n3": (24, 24), "n4": (9,), "n5": (24, 16), "n6": (16,)}
    sizes |= {"n7": (25,), "n8": (), "n9": ()}
    large, zone_b = ("n2", "n6", "n9"), ("n4", "n8")
    scene: list[Any] = [
        node(
            name,
            zone="b" if name in zone_b else "a",
            memory="128Gi" if name in large else "64Gi",
        )
        for name in sizes
    ]
    for name, many in sizes.items():
        scene += [vm(f"{name}-{i}", on=name, memory=f"{size}Gi") for i, size in enumerate(many)]
    scene.append(vm("b", on="n4", memory="24Gi", node_selector={ZONE: "b"}))
    limits = Limits(parallel=2, per_source_node=1, per_target_node=2, per_zone=2, reserve=0)
    asked = problem(scene, goals=[window(9, ordered=True)])
    plan = planned(replace(asked, limits=limits))
    assert held(plan) == [("b", "no-feasible-node")]
    assert plan.drains[0].kept == ("n8",)


def test_several_nodes_at_once_end_sooner() -> None:
    limits = Limits(parallel=5, reserve=0, per_zone=10)
    scene = pool(20, vms=4)
    one = planned(problem(scene, goals=[window(20)], limits=limits))
    many = planned(problem(scene, goals=[window(20, max_nodes_at_once=20)], limits=limits))
    assert ends([*many.moves]) - NOW < (ends([*one.moves]) - NOW) / 2
    assert len(one.moves) == 84
    assert len(many.moves) <= 84


def test_a_pool_without_room_for_one_node_less_is_held() -> None:
    plan = planned(problem(pool(3, vms=8), goals=[window(3)]))
    assert plan.moves == ()
    assert {code for _, code in held(plan)} <= {"no-feasible-node", "not-together", "blocked-node"}


def test_an_order_that_no_single_step_aside_finds_empties_both_nodes_of_a_tiny_cluster() -> None:
    """For the large VMs of n1, two go the other way: one that stepped aside, one of n0."""
    nodes = [node(f"n{number}", cpu="1645m", memory="18Gi") for number in range(3)]
    others = [pod("p", on="n0", cpu="150m", memory="3216Mi")]
    others += [pod("q", on="n2", cpu="100m", memory="3116Mi")]
    sizes = {
        "a": ("n0", "200m", "4Gi"),
        "b": ("n0", "400m", "1Gi"),
        "c": ("n0", "100m", "1Gi"),
        "d": ("n1", "200m", "1Gi"),
        "e": ("n1", "800m", "4Gi"),
        "f": ("n1", "200m", "8Gi"),
        "g": ("n1", "100m", "1Gi"),
        "h": ("n2", "800m", "4Gi"),
    }
    vms = [vm(name, on=on, cpu=cpu, memory=size) for name, (on, cpu, size) in sizes.items()]
    goal = EmptyNodes(request=request("drain"), nodes=("n1", "n2"), away=AWAY)
    plan = planned(problem([*nodes, *others, *vms], goals=[goal]))
    assert held(plan) == []
    ends_on = {move.vm.name: move.to.node for move in sorted(plan.moves, key=lambda m: m.starts)}
    assert {ends_on[name] for name in "defg"} <= {"n0", "n2"}


def test_node_of_two_windows_is_back_for_each_once_that_one_has_emptied_it() -> None:
    """The first window takes n1, which has no VM, out and back at once; the second one waits."""
    nodes = [node("n1", memory="8Gi"), node("n2", memory="8Gi"), node("n3", memory="1Gi")]
    first = EmptyNodes(request=request("a"), nodes=("n1", "n2"), away=AWAY)
    second = EmptyNodes(request=request("b"), nodes=("n1", "n3"), away=AWAY)
    plan = planned(problem([*nodes, vm("v", on="n2")], goals=[first, second]))
    assert moved(plan)[0][:3] == ("v", "n2", "n1")
    assert held(plan) == []


def test_scheduler_may_choose_a_node_that_is_back_for_a_later_request() -> None:
    """A move that is pinned to the zone is planned only if it may land on the node as well."""
    nodes = [node(name, zone="a") for name in ("n1", "n2", "n3")]
    goal = EmptyNodes(request=request("drain"), nodes=("n1",), away=0, cordoned_by_gitbot=True)
    go = asked("w", labels={ZONE: "a"}, pin=Pin.ZONE, name="move")
    away = node("n4", zone="b")
    plan = planned(problem([*nodes, away, vm("v", on="n1"), vm("w", on="n4")], goals=[goal, go]))
    assert [name for name, *_ in moved(plan)] == ["v"]
    assert held(plan) == [("w", "unsafe-landing")]
