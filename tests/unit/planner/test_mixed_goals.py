"""Several goals in one plan: none undoes what another one did, and none ends in a BUG."""

from dataclasses import replace
from unittest.mock import patch

from gitbot.constraints.replay.replay import replay
from gitbot.model.plan.problem import EmptyNodes, HealRule, MoveVms, Pin, Target
from gitbot.planner.schedule import schedule as clock
from tests.doubles.problems import named, node, problem, request, vm
from tests.unit.planner.reading import held, moved, planned
from tests.unit.planner.test_heal import MIGRATED, NODES, STILL, healing

POOL = [node(name) for name in "abcd"]


def away(name: str, *vms: str, pin: Pin = Pin.NODE) -> MoveVms:
    """A request that these VMs leave their nodes."""
    return MoveVms(request=request(name), vms=tuple(map(named, vms)), target=Target(), pin=pin)


def test_two_requests_to_leave_a_node_are_met_by_one_move() -> None:
    goals = [away("first", "v1"), away("second", "v1")]
    plan = planned(problem([*POOL[:2], vm("v1", on="a")], goals=goals))
    assert (moved(plan), held(plan)) == ([("v1", "a", "b", 0)], [])


def test_a_hold_names_the_intent_that_takes_its_place() -> None:
    nodes = [node("a"), node("b", memory="1Gi")]
    vms = [vm("v1", on="a"), vm("v2", on="a")]
    goals = [away("first", "v1"), away("second", "v2")]
    plan = planned(problem([*nodes, *vms], goals=goals))
    (hold,) = plan.holds
    assert moved(plan) == [("v1", "a", "b", 0)]
    assert hold.reason.endswith("b would take it, but MigrationRequest first moves v1 there")


def test_a_healing_leaves_a_vm_that_a_request_names() -> None:
    case = healing(*NODES, node("b1", zone="b"), MIGRATED, STILL)
    goal = MoveVms(
        request=request("stay"), vms=(named("v3"),), target=Target(nodes=("c1",)), pin=Pin.NODE
    )
    plan = planned(replace(case, goals=(*case.goals, goal)))
    assert moved(plan) == []
    assert ("v3", "reserved") in held(plan)


def test_an_unpinned_move_relies_on_no_cordon_of_a_node_that_comes_back() -> None:
    drain = EmptyNodes(
        request=request("drain"),
        nodes=("b", "c"),
        max_nodes_at_once=1,
        cordoned_by_gitbot=True,
        away=600,
    )
    vms = [vm(f"v{number}", on=name) for number, name in enumerate("abc", start=1)]
    case = problem([*POOL, *vms], goals=[away("leave", "v1", pin=Pin.NONE), drain])
    plan = planned(case)
    assert held(plan) == [("v1", "unsafe-landing")]
    assert replay(case, plan) == ()


def test_moves_that_find_no_order_become_holds_and_the_rest_of_the_plan_stands() -> None:
    vms = [vm("v1", on="a"), vm("v2", on="b")]
    case = problem([*POOL, *vms], goals=[away("first", "v1"), away("second", "v2")])
    starts = clock._Clock._starts

    def never_v1(self: clock._Clock, item: clock._Waiting) -> bool:
        return item.planned.step.vm.name != "v1" and starts(self, item)

    with patch.object(clock._Clock, "_starts", never_v1):
        plan = planned(case)
    assert [name for name, *_ in moved(plan)] == ["v2"]
    assert held(plan) == [("v1", "internal")]
    assert replay(case, plan) == ()


def test_a_rule_is_healed_after_what_people_ask_for() -> None:
    case = healing(*NODES, node("b1", zone="b"), STILL, vm("v4", on="c1", labels={"app": "db"}))
    assert any(isinstance(goal, HealRule) for goal in case.goals)
    plan = planned(replace(case, goals=(*case.goals, away("leave", "v4"))))
    assert [name for name, *_ in moved(plan)] == ["v4"]
    assert held(plan) == []


def test_nothing_is_proven_of_nodes_that_a_drain_never_empties_together() -> None:
    pool = [node(name, memory="4Gi") for name in "abc"]
    vms = [vm(f"v{number}", on=name, memory="3Gi") for number, name in enumerate("ab", start=1)]
    drain = EmptyNodes(request=request("drain"), nodes=("a", "b"))
    rolling = planned(problem([*pool, *vms], goals=[drain]))
    together = planned(problem([*pool, *vms], goals=[replace(drain, max_nodes_at_once=2)]))
    assert [hold.proven for hold in rolling.holds] == [False]
    assert [hold.proven for hold in together.holds] == [True]


def test_foreign_migrations_that_hang_in_pending_take_no_slot_of_the_plan() -> None:
    hanging = [
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": f"q{number}", "namespace": "default", "uid": f"q{number}"},
            "spec": {"vmiName": f"other-{number}"},
            "status": {"phase": "Pending"},
        }
        for number in range(6)
    ]
    others = [vm(f"other-{number}", on="d") for number in range(6)]
    vms = [vm("v1", on="a"), vm("v2", on="b")]
    goals = [away("both", "v1", "v2")]
    plan = planned(problem([*POOL, *others, *hanging, *vms], goals=goals))
    assert [move.wave for move in plan.moves] == [plan.moves[0].wave] * 2
