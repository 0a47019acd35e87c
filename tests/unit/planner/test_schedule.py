"""The schedule: a move starts when its own room is free, and names what it waits for."""

from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import Limits
from tests.doubles.problems import NOW, node, problem, vm
from tests.unit.planner.reading import even, move, planned, spread


def starts(plan: PlacementPlan) -> dict[str, int]:
    """Seconds from now to the start of each VM's move."""
    return {item.vm.name: item.starts - NOW for item in plan.moves}


def waits(plan: PlacementPlan) -> dict[str, list[str]]:
    """The VMs whose moves each VM's move waits for."""
    names = {item.ref: item.vm.name for item in plan.moves}
    return {item.vm.name: [names[ref] for ref in item.after or ()] for item in plan.moves}


def test_a_move_starts_when_a_slot_is_free_and_not_when_a_wave_is_over() -> None:
    nodes = [node(f"n{number}") for number in range(1, 5)]
    vms = [vm("big", on="n1", memory="4Gi"), vm("a", on="n2"), vm("b", on="n2"), vm("c", on="n2")]
    goal = move("big", "a", "b", "c", to=("n3", "n4"))
    plan = planned(problem([*nodes, *vms], goals=[goal], limits=Limits(parallel=3)))
    assert starts(plan) == {"big": 0, "a": 0, "b": 36, "c": 72}
    assert waits(plan) == {"big": [], "a": [], "b": [], "c": []}
    assert [(wave.starts - NOW, wave.ends - NOW) for wave in plan.waves] == [
        (0, 84),
        (36, 72),
        (72, 108),
    ]


def test_a_move_waits_for_the_one_that_leaves_it_room_and_for_no_other() -> None:
    nodes = [node("n1"), node("n2", memory="2Gi"), node("n3", memory="2Gi"), node("n4")]
    vms = [
        vm("big", on="n1", memory="8Gi"),
        vm("first", on="n2", memory="2Gi"),
        vm("second", on="n1", memory="2Gi"),
    ]
    goals = [
        move("big", to="n4", name="big"),
        move("first", to="n3", name="first"),
        move("second", to="n2", name="second"),
    ]
    plan = planned(problem([*nodes, *vms], goals=goals))
    assert waits(plan) == {"big": [], "first": [], "second": ["first"]}
    assert starts(plan) == {"big": 0, "first": 0, "second": 52}


def test_a_move_waits_for_the_one_that_leaves_its_domain() -> None:
    nodes = [node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="c")]
    vms = [
        vm("first", on="n1", labels={"app": "db"}),
        vm("second", on="n2", labels={"app": "db"}),
        vm("other", on="n2"),
    ]
    goals = [
        move("first", to="n3", name="first"),
        move("second", "other", to="n1", name="second"),
    ]
    plan = planned(spread(problem([*nodes, *vms], goals=goals)))
    assert waits(plan) == {"first": [], "second": ["first"], "other": []}


def test_a_move_that_heals_waits_for_one_that_would_bring_the_breach_back() -> None:
    """Two VMs in zone b, one in c, none in a: going to c makes it worse once one has gone to a."""
    nodes = [node(f"{zone}{number}", zone=zone) for zone in "abc" for number in (1, 2)]
    labels = {"app": "db"}
    vms = [vm("shifts", on="b1", labels=labels), vm("heals", on="b2", labels=labels)]
    vms.append(vm("stays", on="c1", labels=labels))
    goals = [move("shifts", to="c2", name="shifts"), move("heals", to="a1", name="heals")]
    plan = planned(even(problem([*nodes, *vms], goals=goals)))
    assert waits(plan) == {"shifts": [], "heals": ["shifts"]}
    assert starts(plan) == {"shifts": 0, "heals": 36}
