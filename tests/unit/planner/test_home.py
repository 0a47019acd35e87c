"""ReturnHome: home if every rule and capacity holds, else the VM stays and says why."""

from gitbot.model.plan.problem import ReturnHome
from tests.doubles.problems import named, node, problem, request, vm
from tests.unit.planner.reading import held, moved, planned

SMALL = [node(name, memory="4Gi") for name in ("n1", "n2", "n3")]


def home(**homes: str) -> ReturnHome:
    return ReturnHome(
        request=request("return"), homes={named(vm): node for vm, node in homes.items()}
    )


def test_members_go_home_in_a_group_for_each_home() -> None:
    case = problem(
        [*SMALL, vm("a", on="n3"), vm("b", on="n3"), vm("c", on="n1")],
        goals=[home(a="n1", b="n2", c="n1")],
    )
    plan = planned(case)
    assert moved(plan) == [("a", "n3", "n1", 0), ("b", "n3", "n2", 0)]
    assert [item.group.rpartition("/")[2] for item in plan.moves] == ["n1", "n2"]


def test_a_home_that_is_taken_keeps_the_vm_where_it_is() -> None:
    case = problem(
        [
            *SMALL,
            vm("a", on="n3", memory="2Gi"),
            vm("new", on="n1", memory="3Gi", migratable=False),
        ],
        goals=[home(a="n1")],
    )
    plan = planned(case)
    assert (moved(plan), held(plan)) == ([], [("a", "no-feasible-node")])
    assert not plan.holds[0].asked


def test_who_took_a_home_steps_aside() -> None:
    case = problem(
        [*SMALL, vm("a", on="n3", memory="2Gi"), vm("new", on="n1", memory="3Gi")],
        goals=[home(a="n1")],
    )
    plan = planned(case)
    assert moved(plan) == [("new", "n1", "n2", 0), ("a", "n3", "n1", 1)]
    assert plan.moves[0].why == "steps aside to make room for default/a"
    assert {move.group for move in plan.moves} == {"request/default/return/n1"}


def test_a_home_that_is_gone() -> None:
    plan = planned(problem([*SMALL, vm("a", on="n3")], goals=[home(a="n9")]))
    assert held(plan) == [("a", "no-such-node")]


def test_one_leaves_so_that_the_other_can_come() -> None:
    case = problem(
        [*SMALL, vm("a", on="n2", memory="3Gi"), vm("b", on="n1", memory="3Gi")],
        goals=[home(a="n1", b="n3")],
    )
    assert moved(planned(case)) == [("b", "n1", "n3", 0), ("a", "n2", "n1", 1)]


def test_two_vms_change_places_by_a_step_aside() -> None:
    case = problem(
        [*SMALL, vm("a", on="n2", memory="3Gi"), vm("b", on="n1", memory="3Gi")],
        goals=[home(a="n1", b="n2")],
    )
    plan = planned(case)
    assert [item[0] for item in moved(plan)] in (["a", "b", "a"], ["b", "a", "b"])
    other = "b" if plan.moves[0].vm.name == "a" else "a"
    assert plan.moves[0].why == f"steps aside to make room for default/{other}"
    assert {(item.vm.name, item.to.node) for item in plan.moves[1:]} == {("a", "n1"), ("b", "n2")}
