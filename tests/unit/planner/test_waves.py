"""Waves: limits, other people's migrations, allowed times, freezes, deadlines."""

from collections import Counter
from typing import Any

import pytest

from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import Freeze, Limits
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from gitbot.planner.schedule.in_flight import MOST_COUNTED
from tests.doubles.problems import NOW, ZONE, named, node, problem, vm
from tests.unit.planner.reading import held, move, moved, planned

NODES = [node(f"n{number}", zone="ab"[number % 2]) for number in range(1, 9)]
GIB_SECONDS = 36  # 1 GiB at 64 MiB/s and 20 s of overhead


def largest(plan: PlacementPlan, **by: Any) -> int:
    """The most moves of one wave that share source, target or zone; without `by`: of one wave."""
    keys: Counter[Any] = Counter()
    for item in plan.moves:
        places = {"source": [item.source.node], "target": [item.to.node]}
        places["zone"] = sorted({item.source.zone, item.to.zone})
        for place in places[by["of"]] if by else [""]:
            keys[item.wave, place] += 1
    return max(keys.values())


@pytest.mark.parametrize(
    ("limits", "by", "most"),
    [
        pytest.param(Limits(), {}, 4, id="parallel 5 minus reserve 1"),
        pytest.param(Limits(parallel=3), {}, 2, id="parallel 3"),
        pytest.param(Limits(parallel=1), {}, 1, id="never less than one"),
        pytest.param(Limits(), {"of": "source"}, 2, id="two leave a node at once"),
        pytest.param(Limits(per_source_node=1), {"of": "source"}, 1, id="one leaves a node"),
        pytest.param(Limits(), {"of": "target"}, 2, id="two come to a node at once"),
        pytest.param(Limits(per_zone=1), {"of": "zone"}, 1, id="one in a zone"),
    ],
)
def test_limits(limits: Limits, by: dict[str, str], most: int) -> None:
    vms = [vm(f"v{number}", on=f"n{number % 2 + 1}") for number in range(8)]
    goal = move(*(f"v{number}" for number in range(8)), to=("n5", "n6", "n7", "n8"))
    plan = planned(problem([*NODES, *vms], goals=[goal], limits=limits))
    assert len(plan.moves) == 8
    assert largest(plan, **by) == most


def even(app: str) -> list[dict[str, Any]]:
    """At most two more of an app in one zone than in another, by the VMs' own constraint."""
    selector = {"matchLabels": {"app": app}}
    common = {"maxSkew": 2, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    return [{**common, "labelSelector": selector}]


def test_many_vms_with_an_even_spread_of_their_own_leave_in_one_wave() -> None:
    """Each asks for every state of the moves that it counts, not of all moves at once."""
    apps = [(f"v{number}", f"a{number // 2}") for number in range(16)]
    vms = [
        vm(name, on=f"n{1 + index % 2}", labels={"app": app}, topology_spread=even(app))
        for index, (name, app) in enumerate(apps)
    ]
    most = Limits(parallel=50, per_source_node=50, per_target_node=50, per_zone=50)
    goal = move(*(name for name, _ in apps), to=("n5", "n6", "n7", "n8"))
    plan = planned(problem([*NODES, *vms], goals=[goal], limits=most))
    assert len(plan.moves) == 16
    assert {item.wave for item in plan.moves} == {0}


def test_vms_whose_spread_counts_many_moves_leave_by_and_by() -> None:
    vms = [
        vm(f"v{number}", on=f"n{1 + number % 2}", labels={"app": "a"}, topology_spread=even("a"))
        for number in range(12)
    ]
    most = Limits(parallel=50, per_source_node=50, per_target_node=50, per_zone=50)
    goal = move(*(f"v{number}" for number in range(12)), to=("n5", "n6", "n7", "n8"))
    plan = planned(problem([*NODES, *vms], goals=[goal], limits=most))
    assert len(plan.moves) == 12
    assert largest(plan) <= MOST_COUNTED + 1


def test_migrations_of_others_take_slots_until_they_end() -> None:
    others = []
    for number in range(3):
        vmi, pod = vm(f"o{number}", on="n4")
        migration = {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"namespace": "default", "name": f"m{number}"},
            "spec": {"vmiName": f"o{number}"},
            "status": {"phase": "Running"},
        }
        others += [vmi, pod, migration]
    vms = [vm(f"v{number}", on=f"n{number + 1}") for number in range(3)]
    goal = move("v0", "v1", "v2", to=("n5", "n6"))
    plan = planned(problem([*NODES, *vms, *others], goals=[goal]))
    assert [item.wave for item in plan.moves] == [0, 1, 1]


def test_a_wave_lasts_as_long_as_its_longest_move() -> None:
    vms = [vm("a", on="n1"), vm("b", on="n2", memory="4Gi")]
    plan = planned(problem([*NODES, *vms], goals=[move("a", "b", to=("n5", "n6"))]))
    assert [(wave.starts - NOW, wave.ends - NOW) for wave in plan.waves] == [(0, 84)]
    assert plan.bound.seconds == 84


@pytest.mark.parametrize(
    ("allowed", "starts", "holds"),
    [
        pytest.param([(0, 1000)], [0], [], id="now"),
        pytest.param([(500, 1000)], [500], [], id="later"),
        pytest.param([(0, 20), (500, 1000)], [500], [], id="the first is too short"),
        pytest.param([(-900, -1)], [], [("a", "deadline")], id="over"),
        pytest.param([(0, GIB_SECONDS - 1)], [], [("a", "deadline")], id="a second too short"),
        pytest.param([(0, GIB_SECONDS)], [0], [], id="just enough"),
    ],
)
def test_allowed_times(
    allowed: list[tuple[int, int]], starts: list[int], holds: list[tuple[str, str]]
) -> None:
    times = tuple(Interval(start=NOW + start, end=NOW + end) for start, end in allowed)
    case = problem([*NODES, vm("a", on="n1")], goals=[move("a", to="n5", allowed=times)])
    plan = planned(case)
    assert [wave.starts - NOW for wave in plan.waves] == starts
    assert held(plan) == holds


def test_what_does_not_fit_any_more_is_held() -> None:
    vms = [vm(name, on="n1") for name in "abc"]
    times = (Interval(start=NOW, end=NOW + 2 * GIB_SECONDS),)
    goal = move("a", "b", "c", to="n5", allowed=times)
    case = problem([*NODES, *vms], goals=[goal], limits=Limits(parallel=1))
    plan = planned(case)
    assert [item[0] for item in moved(plan)] == ["a", "b"]
    (hold,) = plan.holds
    assert (hold.vm.name, hold.code) == ("c", "deadline")
    assert "its estimated 36 s do not fit into the allowed time (which ends 2026-12-" in hold.reason


@pytest.mark.parametrize(
    ("frozen", "starts", "holds"),
    [
        pytest.param([(0, 600)], [600], [], id="waits for its end"),
        pytest.param([(20, 600)], [600], [], id="does not fit before"),
        pytest.param([(GIB_SECONDS, 600)], [0], [], id="fits before"),
        pytest.param([(0, 5000)], [], [("a", "frozen")], id="covers everything"),
    ],
)
def test_freezes(
    frozen: list[tuple[int, int]], starts: list[int], holds: list[tuple[str, str]]
) -> None:
    freeze = Freeze(
        intent=IntentRef(kind="FreezeWindow", namespace="", name="quarter"),
        vms=frozenset({named("a")}),
        times=tuple(Interval(start=NOW + start, end=NOW + end) for start, end in frozen),
        reason="quarter close",
    )
    times = (Interval(start=NOW, end=NOW + 1000),)
    case = problem(
        [*NODES, vm("a", on="n1")],
        goals=[move("a", to="n5", allowed=times)],
        freezes=[freeze],
    )
    plan = planned(case)
    assert [wave.starts - NOW for wave in plan.waves] == starts
    assert held(plan) == holds
    assert all("quarter close" in hold.reason for hold in plan.holds)


def test_who_may_start_first_is_not_kept_waiting_by_who_may_start_later() -> None:
    later = (Interval(start=NOW + 9000, end=NOW + 9900),)
    soon = (Interval(start=NOW, end=NOW + 600),)
    case = problem(
        [*NODES, vm("a", on="n1"), vm("b", on="n2")],
        goals=[
            move("a", to="n5", name="later", allowed=later),
            move("b", to="n6", name="soon", allowed=soon),
        ],
    )
    plan = planned(case)
    assert [(item[0], item[3]) for item in moved(plan)] == [("b", 0), ("a", 1)]
    assert [wave.starts - NOW for wave in plan.waves] == [0, 9000]


def test_who_must_end_first_goes_first() -> None:
    """Else `big` would take the only slot until the other request is too late."""
    big, small = vm("big", on="n1", memory="16Gi"), vm("small", on="n2")
    soon = (Interval(start=NOW, end=NOW + GIB_SECONDS),)
    goals = [move("big", to="n6", name="a"), move("small", to="n6", name="b", allowed=soon)]
    plan = planned(problem([*NODES, big, small], goals=goals, limits=Limits(parallel=1)))
    assert [name for name, *_ in moved(plan)] == ["small", "big"]
    assert held(plan) == []


def test_requests_that_all_come_too_late_for_one_vm_are_each_held() -> None:
    """More rounds than VMs: each round leaves the VM to the next request, which is late too."""
    big, small = vm("big", on="n1", memory="16Gi"), vm("small", on="n2")
    soon = (Interval(start=NOW, end=NOW + 300),)  # big takes 276 s, and small 36 s after it
    late = [move("small", to="n6", name=f"b{number}", allowed=soon) for number in range(5)]
    goals = [move("big", to="n6", name="a", allowed=soon), *late]
    plan = planned(problem([*NODES, big, small], goals=goals, limits=Limits(parallel=1)))
    assert [name for name, *_ in moved(plan)] == ["big"]
    assert held(plan) == [("small", "deadline")] * 5


def test_move_beyond_a_limit_that_others_use_up_stays_alone_until_it_ends() -> None:
    """It starts alone, as it waits for the migration of others; none starts beside it."""
    vmi, pod = vm("other", on="n1")
    target = {**pod, "metadata": {**pod["metadata"], "name": "t", "uid": "t"}}
    flying = {
        **vmi,
        "status": {**vmi["status"], "migrationState": {"sourceNode": "n1", "targetNode": "n6"}},
    }
    theirs = (flying, pod, {**target, "spec": {**pod["spec"], "nodeName": "n6"}})
    vms = [vm("a", on="n1"), vm("b", on="n2")]
    limits = Limits(per_source_node=1)
    plan = planned(problem([*NODES, *vms, theirs], goals=[move("a", "b", to="n5")], limits=limits))
    assert sorted(wave for *_, wave in moved(plan)) == [0, 1]
