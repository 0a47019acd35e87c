"""A request that evens out nodes: which VMs go where, and which stay."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.plan import OptimalityProof
from gitbot.model.plan.problem import Balance, MoveVms, Pin, PlacementProblem, Target
from tests.doubles.problems import named, node, problem, request, vm
from tests.unit.planner.reading import held, move, moved, planned, spread

Objects = Sequence[KubernetesObject | tuple[KubernetesObject, ...]]


def evenly(*names: str, name: str = "even") -> MoveVms:
    return MoveVms(
        request=request(name),
        vms=tuple(named(name) for name in names),
        target=Target(),
        pin=Pin.NODE,
        balance=Balance(),
    )


def three(*vms: tuple[KubernetesObject, ...], memory: str = "100Gi") -> Objects:
    return [*(node(name, memory=memory, zone=name) for name in ("n1", "n2", "n3")), *vms]


def full_node(*sizes: int, **fields: Any) -> PlacementProblem:
    """VMs v0, v1 and so on of these GiB, all on n1 of three nodes."""
    vms = [vm(f"v{i}", on="n1", memory=f"{size}Gi", **fields) for i, size in enumerate(sizes)]
    names = [f"v{i}" for i in range(len(sizes))]
    return problem(three(*vms), goals=[evenly(*names)])


def test_the_fullest_node_gives_its_largest_vms_first() -> None:
    found = planned(full_node(30, 30, 20, 5))
    assert [(name, source) for name, source, _, _ in moved(found)] == [("v0", "n1"), ("v1", "n1")]
    assert {to for _, _, to, _ in moved(found)} == {"n2", "n3"}
    assert (found.bound.moves, found.bound.proof) == (2, OptimalityProof.COUNTED)
    assert (
        found.moves[0].why == f"evens out: n1 is 85 % full, {found.moves[0].to.node} with it 30 %"
    )


def test_small_differences_are_left_alone() -> None:
    case = problem(
        three(
            vm("a", on="n1", memory="30Gi"),
            vm("b", on="n1", memory="4Gi"),
            vm("c", on="n2", memory="30Gi"),
            vm("d", on="n3", memory="28Gi"),
        ),
        goals=[evenly("a", "b", "c", "d")],
    )
    found = planned(case)
    assert (moved(found), held(found)) == ([], [])


def test_only_named_vms_move() -> None:
    case = full_node(30, 30, 20)
    only = replace(case, goals=(evenly("v2"),))
    assert [name for name, *_ in moved(planned(only))] == ["v2"]


def test_at_most_so_many_vms_move() -> None:
    case = full_node(30, 30, 20, 5)
    few = replace(case, goals=(replace(evenly("v0", "v1", "v2", "v3"), balance=Balance(most=1)),))
    assert [name for name, *_ in moved(planned(few))] == ["v0"]


def test_no_vm_goes_back_to_a_node_that_it_left() -> None:
    case = full_node(30, 30)
    left = {named("v0"): frozenset({"n2", "n3"}), named("v1"): frozenset({"n2", "gone"})}
    back = replace(case, goals=(replace(evenly("v0", "v1"), balance=Balance(left=left)),))
    assert moved(planned(back)) == [("v1", "n1", "n3", 0)]


def test_cpu_counts_like_memory() -> None:
    vms = [vm(f"v{i}", on="n1", memory="1Gi", cpu="16") for i in range(3)]
    found = planned(problem(three(*vms), goals=[evenly("v0", "v1", "v2")]))
    assert len(found.moves) == 2


def test_a_vm_that_cannot_migrate_stays_without_a_hold() -> None:
    found = planned(full_node(30, 30, migratable=False))
    assert (moved(found), held(found)) == ([], [])


def test_rules_are_kept_and_no_preferred_rule_gets_worse() -> None:
    labels = {"app": "db"}
    sizes = ("20Gi", "5Gi", "5Gi")
    vms = [vm(f"v{i}", on=f"n{i + 1}", memory=size, labels=labels) for i, size in enumerate(sizes)]
    more = vm("web", on="n1", memory="20Gi")
    case = problem(three(*vms, more, memory="60Gi"), goals=[evenly("v0")])
    assert moved(planned(spread(case))) == []
    assert moved(planned(spread(case, required=False))) == []
    assert [name for name, *_ in moved(planned(spread(case, most=2)))] == ["v0"]


def test_requests_go_first_and_evening_out_sees_what_they_did() -> None:
    """Twice 30 GiB on n1: one is asked to go to n2, and then nothing is left to even out."""
    case = full_node(30, 30)
    first = move("v0", to="n2")
    found = planned(replace(case, goals=(evenly("v0", "v1", name="a"), first)))
    assert moved(found) == [("v0", "n1", "n2", 0)]


def test_evening_out_takes_no_vm_back_that_was_asked_to_leave() -> None:
    leave = MoveVms(request=request("leave"), vms=(named("v"),), target=Target(), pin=Pin.NODE)
    hosts = [node("n1", memory="64Gi"), node("n2", memory="8Gi")]
    case = problem([*hosts, vm("v", on="n1", memory="2Gi")], goals=[leave, evenly("v")])
    assert moved(planned(case)) == [("v", "n1", "n2", 0)]


def test_vm_whose_memory_does_not_make_its_node_full_stays() -> None:
    """The node is full of cpu: less memory in use there makes it no emptier."""
    nodes = [node(name, cpu="10", memory="100Gi") for name in ("n1", "n2")]
    busy = vm("busy", on="n1", cpu="5", memory="30Gi", migratable=False)
    large = vm("large", on="n1", cpu="1m", memory="19Gi")
    plan = planned(problem([*nodes, busy, large], goals=[evenly("busy", "large")]))
    assert moved(plan) == []
