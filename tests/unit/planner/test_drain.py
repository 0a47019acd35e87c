"""EmptyNodes: node by node, blocked nodes, what stays, and nodes that help each other."""

from typing import Any

import pytest

from gitbot.constraints.replay.replay import replay
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Drained
from gitbot.model.plan.problem import EmptyNodes
from gitbot.model.text.instants import Interval
from gitbot.planner import make_plan
from gitbot.planner.goals import drain
from tests.bench.instance import problem as bench_problem
from tests.bench.instances import full
from tests.doubles.problems import NOW, node, problem, request, vm
from tests.unit.planner.reading import held, moved, planned

ON_N2 = (*vm("b", on="n2"), *vm("c", on="n2"), *vm("d", on="n2"))


def empty(*nodes: str, **fields: Any) -> EmptyNodes:
    return EmptyNodes(request=request("drain"), nodes=nodes, **fields)


def small(*names: str, memory: str = "4Gi", zone: str = "a") -> list[KubernetesObject]:
    return [node(name, zone=zone, memory=memory) for name in names]


def test_no_vm_goes_to_a_node_of_the_drain() -> None:
    case = problem(
        [*small("n1", "n2", "n3"), vm("a", on="n1"), vm("b", on="n2")], goals=[empty("n1", "n2")]
    )
    assert moved(planned(case)) == [("a", "n1", "n3", 0), ("b", "n2", "n3", 1)]


@pytest.mark.parametrize(("room", "target"), [("4Gi", "n3"), ("1Mi", "n2")])
def test_a_node_that_is_emptied_later_is_the_last_choice(room: str, target: str) -> None:
    case = problem(
        [*small("n1", "n2"), *small("n3", memory=room), vm("a", on="n1")],
        goals=[empty("n1", later=("n2",))],
    )
    assert moved(planned(case)) == [("a", "n1", target, 0)]


def test_groups_are_nodes_and_run_so_many_at_once() -> None:
    vms = [vm(f"{name}{number}", on=name) for name in ("n1", "n2", "n3") for number in range(3)]
    case = problem(
        [*small("n1", "n2", "n3", "t1", "t2", "t3"), *vms],
        goals=[empty("n1", "n2", "n3", max_nodes_at_once=2)],
    )
    plan = planned(case)
    begun: dict[str, list[int]] = {}
    for item in plan.moves:
        begun.setdefault(item.group.rpartition("/")[2], []).append(item.wave)
    for wave in plan.waves:
        under_way = [g for g, waves in begun.items() if min(waves) <= wave.index <= max(waves)]
        assert len(under_way) <= 2
    assert list(begun) == ["n1", "n2", "n3"]


@pytest.mark.parametrize(
    ("block", "moves", "holds"),
    [
        pytest.param(
            True,
            [("c", "n2", "n3", 0)],
            [("a", "restart-needed", True), ("b", "blocked-node", True)],
            id="BlockNode",
        ),
        pytest.param(
            False,
            [("b", "n1", "n3", 0), ("c", "n2", "n3", 1)],
            [("a", "restart-needed", False)],
            id="LeaveRunning",
        ),
    ],
)
def test_a_vm_that_cannot_move(
    block: bool, moves: list[tuple[str, str, str, int]], holds: list[tuple[str, str, bool]]
) -> None:
    case = problem(
        [
            *small("n1", "n2", "n3"),
            vm("a", on="n1", migratable=False),
            vm("b", on="n1"),
            vm("c", on="n2"),
        ],
        goals=[empty("n1", "n2", block=block)],
    )
    plan = planned(case)
    assert moved(plan) == moves
    assert [(hold.vm.name, hold.code, hold.asked) for hold in plan.holds] == holds
    assert ["LeaveRunning" in hold.hint for hold in plan.holds[1:]] == [True] * (len(holds) - 1)
    assert plan.drains == (
        Drained(request=RequestId.read("request/default/drain"), emptied=("n2",), kept=("n1",)),
    )


def test_a_node_for_which_there_is_no_room_is_kept_whole() -> None:
    case = problem(
        [
            *small("n1", "n2"),
            vm("a", on="n1", memory="3Gi"),
            vm("b", on="n1"),
            vm("c", on="n2", memory="2Gi"),
        ],
        goals=[empty("n1")],
    )
    plan = planned(case)
    assert (moved(plan), held(plan)) == ([], [("a", "no-feasible-node"), ("b", "blocked-node")])
    assert (
        plan.holds[1].reason == "node n1 is not emptied: default/a cannot move (no-feasible-node)"
    )
    assert "LeaveRunning" not in plan.holds[1].hint  # it leaves only what cannot migrate at all


def test_the_whole_cluster_one_node_after_the_other() -> None:
    case = problem(
        [*small("n1", "n2", "n3"), vm("a", on="n1"), vm("b", on="n2"), vm("c", on="n3")],
        goals=[empty("n1", "n2", "n3", cordoned_by_gitbot=True)],
    )
    plan = planned(case)
    assert moved(plan) == [("a", "n1", "n3", 0), ("b", "n2", "n3", 1)]
    assert held(plan) == [(name, "no-feasible-node") for name in ("a", "b", "c")]
    assert plan.drains == (
        Drained(
            request=RequestId.read("request/default/drain"), emptied=("n1", "n2"), kept=("n3",)
        ),
    )
    assert plan.holds[0].reason.startswith("no node takes it: 2 nodes are to be emptied; the plan ")
    assert plan.holds[0].hint.startswith("a node of the drain that is back takes VMs again")


def test_no_node_takes_vms_before_all_of_them_are_back() -> None:
    goal = empty("n1", "n2", "n3", cordoned_by_gitbot=True, together=True)
    vms = [vm("a", on="n1"), vm("b", on="n2")]
    plan = planned(problem([*small("n1", "n2", "n3"), *vms], goals=[goal]))
    hints = {hold.hint for hold in plan.holds if hold.code == "no-feasible-node"}
    assert hints
    assert all(hint.startswith("when all nodes of the drain are back, they take") for hint in hints)


def test_later_nodes_help_only_where_no_other_will_do() -> None:
    case = problem(
        [*small("n1", "n2", "n3"), vm("a", on="n1"), vm("b", on="n2")],
        goals=[empty("n1", "n2")],
    )
    assert all(item.to.node == "n3" for item in planned(case).moves)


def test_what_one_node_takes_another_may_need_more() -> None:
    """The big VM of n2 fits on n4 alone; n1's VM would choose it first by score."""
    case = problem(
        [
            *small("n1", "n2"),
            *small("n3", memory="2Gi"),
            *small("n4", memory="4Gi"),
            vm("a", on="n1", memory="2Gi"),
            vm("b", on="n2", memory="3Gi"),
        ],
        goals=[empty("n1", "n2")],
    )
    assert moved(planned(case)) == [("a", "n1", "n3", 0), ("b", "n2", "n4", 1)]


def test_what_would_step_aside_for_a_node_that_stays_is_not_in_the_bound() -> None:
    """Two VMs step aside for n1; n2 has no place. Each VM that must leave is one move, no more."""
    case = problem(
        [
            *small("n1", "n2", "t1", "t2"),
            vm("db", on="n1", memory="4Gi"),
            vm("big", on="n2", memory="4Gi"),
            *(vm(f"web{number}", on=f"t{number % 2 + 1}", memory="1Gi") for number in range(4)),
        ],
        goals=[empty("n1", "n2")],
    )
    plan = planned(case)
    assert [(len(item.emptied), len(item.kept)) for item in plan.drains] == [(1, 1)]
    assert (len(plan.moves), plan.bound.moves, plan.bound.proof) == (3, 2, "")


def test_a_vm_on_its_way_out_blocks_nothing() -> None:
    vmi, pod = vm("a", on="n1")
    status = {**vmi["status"], "migrationState": {"sourceNode": "n1", "targetNode": "n3"}}
    case = problem(
        [*small("n1", "n2", "n3"), {**vmi, "status": status}, pod, vm("b", on="n1")],
        goals=[empty("n1")],
    )
    plan = planned(case)
    assert [item.vm.name for item in plan.moves] == ["b"]
    assert plan.drains == (
        Drained(request=RequestId.read("request/default/drain"), emptied=("n1",), kept=()),
    )
    assert [(hold.vm.name, hold.code, hold.asked) for hold in plan.holds] == [
        ("a", "in-flight", False)
    ]


@pytest.mark.parametrize("block", [True, False])
def test_a_node_that_cannot_be_emptied_in_time(block: bool) -> None:
    times = (Interval(start=NOW, end=NOW + 80),)
    goal = EmptyNodes(request=request("drain", allowed=times), nodes=("n1", "n2"), block=block)
    case = problem([*small("n1", "n2", "n3", memory="9Gi"), vm("a", on="n1"), *ON_N2], goals=[goal])
    plan = planned(case)
    late = [hold.vm.name for hold in plan.holds if hold.code == "deadline"]
    assert all(hold.asked for hold in plan.holds)
    if block:
        assert [item[0] for item in moved(plan)] == ["a"]
        assert {hold.vm.name for hold in plan.holds} == {"b", "c", "d"}
    else:
        assert len(plan.moves) == 3
        assert late == ["d"]


def test_the_drain_of_one_node_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    case = full(8, fill=0.85, drained=1)
    monkeypatch.setattr(drain, "shortest", lambda *_, **__: pytest.fail("searched again"))
    plan = make_plan(bench_problem(case))
    assert (len(plan.moves), plan.holds) == (24, ())


def test_a_node_that_a_vm_only_steps_aside_from_stays_in_service() -> None:
    """Only one of the two nodes can be emptied, onto the other, from which a VM makes room."""
    scene: list[Any] = [
        *small("a", "b", memory="8Gi"),
        *small("c"),
        vm("a1", on="a", memory="5Gi"),
        vm("b1", on="b", memory="3Gi"),
        vm("b2", on="b", memory="2Gi"),
    ]
    plan = planned(problem(scene, goals=[empty("a", "b", block=False)]))
    assert moved(plan) == [("b2", "b", "c", 0), ("a1", "a", "b", 1)]
    assert plan.drains[0].kept == ("b",)
    assert plan.in_service() == {(request("drain").id, "b")}


def test_a_node_that_is_emptied_but_for_a_vm_that_stays_is_not_in_service() -> None:
    scene: list[Any] = [*small("a", "b"), vm("fixed", on="a", migratable=False), vm("free", on="a")]
    plan = planned(problem(scene, goals=[empty("a", block=False)]))
    assert moved(plan) == [("free", "a", "b", 0)]
    assert plan.drains[0].kept == ("a",)
    assert plan.in_service() == frozenset()


# all nodes at once


def rack(*, memory: str = "4Gi", room: str = "4Gi") -> list[Any]:
    """Three nodes, a VM each, and a fourth node with that room."""
    nodes = [*small("n1", "n2", "n3", memory=memory), *small("t", memory=room)]
    return [*nodes, *(vm(f"v{number}", on=f"n{number}") for number in (1, 2, 3))]


def together(*nodes: str, **fields: Any) -> EmptyNodes:
    return empty(*nodes, together=True, **fields)


@pytest.mark.parametrize("cordon", [False, True])
def test_together_is_one_group_and_none_of_its_nodes_takes_a_vm(cordon: bool) -> None:
    goal = together("n1", "n2", "n3", cordoned_by_gitbot=cordon)
    plan = planned(problem(rack(), goals=[goal]))
    assert [(move.source.node, move.to.node) for move in plan.moves] == [
        (f"n{number}", "t") for number in (1, 2, 3)
    ]
    assert {move.group for move in plan.moves} == {goal.request.id}
    assert [move.why for move in plan.moves] == [f"n{n} is emptied" for n in (1, 2, 3)]
    assert not any(move.after_return for move in plan.moves)
    assert plan.holds == ()
    assert plan.drains[0].emptied == ("n1", "n2", "n3")
    assert plan.in_service() == frozenset()


def test_together_all_or_nothing_with_what_could_go() -> None:
    """t has room for two VMs; the rolling drain would use nodes of the window."""
    plan = planned(problem(rack(room="2Gi"), goals=[together("n1", "n2", "n3")]))
    assert plan.moves == ()
    assert {hold.vm.name for hold in plan.holds} == {"v1", "v2", "v3"}
    assert all(hold.asked for hold in plan.holds)
    request_id = request("drain").id
    assert plan.drains == (
        Drained(
            request=request_id,
            emptied=(),
            kept=("n1", "n2", "n3"),
            together=True,
            could=("n1", "n2"),
        ),
    )
    (short,) = [hold for hold in plan.holds if hold.code == "not-together"]
    assert short.reason == (
        "no plan exists: n1, n2, n3 cannot all be emptied: v1, v2, v3 ask 3Gi memory; t has 2Gi"
    )
    assert short.hint.startswith("at least 1Gi more memory is needed on t")
    other = next(hold for hold in plan.holds if hold is not short)
    assert other.reason.startswith("n1, n2, n3 are emptied together or not at all: ")
    assert other.hint.startswith("n1, n2 could go without the others; mode: Rolling")


def test_one_node_is_not_called_several_nodes() -> None:
    scene: list[Any] = [*rack(), vm("fixed", on="n2", migratable=False)]
    plan = planned(problem(scene, goals=[together("n2", block=True)]))
    (other,) = [hold for hold in plan.holds if hold.vm.name == "v2"]
    assert other.reason.startswith("n2 is emptied whole or not at all: default/fixed cannot move")
    assert "Rolling" not in other.hint


@pytest.mark.parametrize("block", [True, False])
def test_together_with_a_vm_that_cannot_migrate(block: bool) -> None:
    scene: list[Any] = [*rack(), vm("fixed", on="n2", migratable=False)]
    plan = planned(problem(scene, goals=[together("n1", "n2", "n3", block=block)]))
    if block:
        assert plan.moves == ()
        assert plan.drains[0].could == ("n1", "n3")
        assert dict(held(plan)) == {
            "fixed": "restart-needed",
            **dict.fromkeys(("v1", "v2", "v3"), "blocked-node"),
        }
    else:
        assert {move.vm.name for move in plan.moves} == {"v1", "v2", "v3"}
        assert held(plan) == [("fixed", "restart-needed")]
        assert plan.in_service() == frozenset()


def test_together_makes_others_step_aside() -> None:
    scene: list[Any] = [
        *small("n1", "n2", "t1", "t2"),
        vm("big1", on="n1", memory="3Gi"),
        vm("big2", on="n2", memory="3Gi"),
        vm("x", on="t1", memory="2Gi"),
        *small("t3", memory="2Gi"),
    ]
    plan = planned(problem(scene, goals=[together("n1", "n2")]))
    assert sorted(move.vm.name for move in plan.moves) == ["big1", "big2", "x"]
    assert {move.to.node for move in plan.moves} == {"t1", "t2", "t3"}
    assert len({move.group for move in plan.moves}) == 1


def test_together_with_too_little_time_begins_nothing() -> None:
    times = (Interval(start=NOW, end=NOW + 60),)
    goal = EmptyNodes(
        request=request("drain", allowed=times), nodes=("n1", "n2"), block=False, together=True
    )
    scene: list[Any] = [*small("n1", "n2", "n3", memory="9Gi"), vm("a", on="n1"), *ON_N2]
    plan = planned(problem(scene, goals=[goal]))
    assert plan.moves == ()
    assert "deadline" in {hold.code for hold in plan.holds}


def test_replay_refuses_a_move_into_nodes_that_leave_together() -> None:
    rolling = planned(problem(rack(room="1Gi"), goals=[empty("n1", "n2", "n3", away=0)]))
    assert {move.to.node for move in rolling.moves} & {"n1", "n2", "n3"}
    said = replay(problem(rack(room="1Gi"), goals=[together("n1", "n2", "n3")]), rolling)
    assert "constraints/leaves-together" in {finding.code for finding in said}
