"""MoveVms: what moves, where to, in which order, and what is held."""

from dataclasses import replace

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import HoldState
from gitbot.model.plan.problem import HealRule, MoveVms, Pin, Reservation
from gitbot.model.text.instants import FOREVER, Interval
from tests.doubles.problems import NOW, ZONE, named, node, problem, request, vm
from tests.unit.planner.reading import SPREAD, held, move, moved, planned, spread

Moves = list[tuple[str, str, str, int]]
DB = {"app": "db"}
NODES = [node("n1", zone="a"), node("n2", zone="b"), node("n3", zone="a"), node("n4", zone="b")]


@pytest.mark.parametrize(
    ("goal", "moves", "holds"),
    [
        pytest.param(move("db", to="n3"), [("db", "n1", "n3", 0)], [], id="to a node"),
        pytest.param(move("on3", to="n3"), [], [], id="is there already"),
        pytest.param(move("db", labels={ZONE: "b"}), [("db", "n1", "n4", 0)], [], id="to a zone"),
        pytest.param(move("db"), [("db", "n1", "n3", 0)], [], id="anywhere but here"),
        pytest.param(move("gone", to="n3"), [], [("gone", "not-found")], id="no such VM"),
        pytest.param(move("disk", to="n3"), [], [("disk", "restart-needed")], id="restart needed"),
        pytest.param(move("huge", to="n3"), [], [("huge", "no-feasible-node")], id="no room"),
        pytest.param(move("db", to="n9"), [], [("db", "no-such-node")], id="no such node"),
        pytest.param(
            move("tied", to="n3"), [], [("tied", "selector-collision")], id="its own selector wins"
        ),
        pytest.param(move("free", to="n3"), [("free", "n1", "n3", 0)], [], id="its own selector"),
        pytest.param(
            move("db", "disk", to="n3"),
            [("db", "n1", "n3", 0)],
            [("disk", "restart-needed")],
            id="the rest is planned",
        ),
    ],
)
def test_one_request(goal: MoveVms, moves: Moves, holds: list[tuple[str, str]]) -> None:
    plan = planned(
        problem(
            [
                *NODES,
                vm("db", on="n1"),
                vm("disk", on="n1", migratable=False),
                vm("on3", on="n3", memory="2Gi", migratable=False),
                vm("huge", on="n2", memory="255Gi"),
                vm("tied", on="n1", node_selector={"kubernetes.io/hostname": "n1"}),
                vm("free", on="n1", node_selector={"kubernetes.io/arch": "amd64"}),
            ],
            goals=[goal],
        )
    )
    assert (moved(plan), held(plan)) == (moves, holds)


@pytest.mark.parametrize(
    ("version", "pin", "holds"),
    [
        ("v1.5.2", Pin.NODE, [("db", "no-selector")]),
        ("v1.5.2", Pin.NONE, []),
        ("v1.6.0", Pin.NODE, []),
    ],
)
def test_a_kubevirt_without_added_node_selector_takes_no_pinned_move(
    version: str, pin: Pin, holds: list[tuple[str, str]]
) -> None:
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
    }
    kubevirt |= {"status": {"phase": "Deployed", "observedKubeVirtVersion": version}}
    goal = replace(move("db"), pin=pin)
    plan = planned(problem([*NODES, kubevirt, vm("db", on="n1")], goals=[goal]))
    assert (held(plan), len(plan.moves)) == (holds, 1 - len(holds))


def test_the_pin_is_the_label_value_and_not_the_name_of_the_node() -> None:
    nodes = [node("n1", hostname="one.example"), node("n2", hostname="two.example")]
    plan = planned(problem([*nodes, vm("db", on="n1")], goals=[move("db", to="n2")]))
    assert [dict(item.added_node_selector) for item in plan.moves] == [
        {"kubernetes.io/hostname": "two.example"}
    ]


def test_a_hostname_that_two_nodes_share_cannot_be_pinned() -> None:
    nodes = [node("n1"), node("n2", hostname="same"), node("n3", hostname="same")]
    (hold,) = planned(problem([*nodes, vm("db", on="n1")], goals=[move("db", to="n2")])).holds
    assert hold.reason == (
        "n2 does not take it: addedNodeSelector: its label kubernetes.io/hostname is that of n3"
        " as well, so no move can be pinned to it"
    )


def test_a_collision_shows_both_values() -> None:
    tied = vm("tied", on="n1", node_selector={"kubernetes.io/hostname": "n1"})
    plan = planned(problem([*NODES, tied], goals=[move("tied", to="n3")]))
    key = "kubernetes.io/hostname"
    words = f"the move demands {key}=n3, the VM's own nodeSelector {key}=n1"
    assert [hold.reason for hold in plan.holds] == [words]


def test_restart_needed_quotes_kubevirt_and_is_asked_for() -> None:
    disk = vm("disk", on="n1", migratable=False, why_not="DisksNotLiveMigratable")
    (hold,) = planned(problem([*NODES, disk], goals=[move("disk", to="n3")])).holds
    assert hold.asked
    assert hold.reason.startswith(
        "restart needed: LiveMigratable is False (DisksNotLiveMigratable:"
    )


def test_a_vm_leaves_before_another_takes_its_room() -> None:
    small = [node("n1", memory="4Gi"), node("n2", memory="4Gi"), node("n3", memory="4Gi")]
    plan = planned(
        problem(
            [*small, vm("a", on="n1", memory="3Gi"), vm("b", on="n2", memory="3Gi")],
            goals=[
                move("a", to="n2", name="first"),
                move("b", to="n3", name="second"),
            ],
        )
    )
    assert moved(plan) == [("b", "n2", "n3", 0), ("a", "n1", "n2", 1)]


def test_eleven_vms_go_to_one_host_with_its_limits() -> None:
    vms = [vm(f"v{number:02}", on=f"n{number % 3 + 1}", memory="2Gi") for number in range(11)]
    plan = planned(problem([*NODES, *vms], goals=[move(*(f"v{n:02}" for n in range(11)), to="n4")]))
    assert (len(plan.moves), plan.holds) == (11, ())
    assert len(plan.waves) == 6  # two at once into one node
    assert sum(item.memory_bytes for item in plan.moves) == 22 * 1024**3


def test_a_reserved_place_is_taken_and_names_the_pull_request() -> None:
    small = [node("n1", memory="8Gi"), node("n2", memory="4Gi"), node("n3", memory="4Gi")]
    case = problem(
        [*small, vm("a", on="n1", memory="3Gi"), vm("b", on="n1", memory="3Gi")],
        goals=[move("a", "b", labels={"kubernetes.io/arch": "amd64"})],
        reservations=[
            Reservation(
                vm=named("b"),
                node="n2",
                allowed=(),
                request=RequestId.read("request/default/other"),
                pull_request=7,
            )
        ],
    )
    goal = move("a", "b", to=("n2", "n3"))
    plan = planned(replace(case, goals=(goal,)))
    assert moved(plan) == [("a", "n1", "n3", 0)]
    assert [(hold.code, "pull request #7" in hold.reason) for hold in plan.holds] == [
        ("reserved", True)
    ]


@pytest.mark.parametrize(
    ("name", "start", "until", "words", "cancel"),
    [
        (
            "drain/night/20261206T210000Z",
            NOW + 60,
            NOW + 3660,
            "to n2 from 2026-12-06T21:01:00Z until 2026-12-06T22:01:00Z",
            "gitbot cancel drain/night/20261206T210000Z (all its nodes and VMs then stay)",
        ),
        ("request/default/other", 0, FOREVER, "to n2", "gitbot cancel request/default/other"),
    ],
)
def test_a_vm_that_another_request_moves_waits_if_that_ends(
    name: str, start: int, until: int, words: str, cancel: str
) -> None:
    place = Reservation(
        vm=named("b"),
        node="n2",
        allowed=(Interval(start=start, end=until),),
        request=RequestId.read(name),
        pull_request=7,
    )
    case = problem([*NODES, vm("b", on="n1")], goals=[move("b", to="n3")], reservations=[place])
    (hold,) = planned(case).holds
    assert hold.reason == f"{name} (pull request #7) is approved to move this VM {words}"
    assert hold.hint.endswith(f"; to end that now: {cancel}")
    ends = until < FOREVER
    assert hold.state is (HoldState.WAITS if ends else HoldState.BLOCKED)
    assert hold.until == (until if ends else 0)


def test_a_move_that_would_break_a_rule_is_held_with_the_rule() -> None:
    case = spread(
        problem(
            [
                *NODES,
                vm("a", on="n1", labels=DB),
                vm("b", on="n2", labels=DB),
            ],
            goals=[move("a", to="n4")],
        )
    )
    (hold,) = planned(case).holds
    assert hold.code == "no-feasible-node"
    assert "ZoneAntiAffinity/default/spread: zone b" in hold.reason


def test_an_unrelated_breach_stands_in_nobodys_way() -> None:
    case = spread(
        problem(
            [
                *NODES,
                vm("a", on="n1", labels=DB),
                vm("b", on="n3", labels=DB),
                vm("c", on="n1"),
            ],
            goals=[move("c", to="n2")],
        )
    )
    plan = planned(case)
    assert moved(plan) == [("c", "n1", "n2", 0)]
    assert [(state.before, state.after) for state in plan.rules] == [(1, 1)]


def test_heal_with_one_move_of_the_smaller_vm() -> None:
    case = spread(
        problem(
            [
                *NODES,
                vm("a", on="n1", labels=DB, memory="4Gi"),
                vm("b", on="n3", labels=DB, memory="2Gi"),
            ],
            goals=[HealRule(request=request("heal"), rule=SPREAD)],
        )
    )
    plan = planned(case)
    assert moved(plan) == [("b", "n3", "n2", 0)]
    assert [(state.before, state.after) for state in plan.rules] == [(1, 0)]
    assert (plan.bound.moves, plan.moves[0].why) == (
        1,
        "zone a holds 2 of at most 1: a on n1, b on n3; zone b holds none",
    )


def test_one_large_vm_makes_room_for_several_healings() -> None:
    """Each rule alone would send the smallest VM away: six moves instead of four."""
    apps = ("one", "two", "three")
    refs = [replace(SPREAD, name=app) for app in apps]
    residents = [vm("large", on="a1", memory="12Gi")]
    residents += [vm(f"small-{number}", on="a1", memory="4Gi") for number in range(3)]
    residents += [
        vm(f"{app}-{number}", on=on, labels={"app": app}, memory="4Gi")
        for app in apps
        for number, on in enumerate(("b1", "b1", "c1"))
    ]
    case = problem(
        [*(node(f"{zone}1", zone=zone, memory="24Gi") for zone in "abc"), *residents],
        goals=[HealRule(request=request(ref.name), rule=ref) for ref in refs],
    )
    instances = Instances(case.snapshot)
    rules = tuple(
        zone_anti_affinity(
            instances,
            ref=ref,
            namespace="default",
            selector={"matchLabels": {"app": ref.name}},
        )
        for ref in refs
    )
    plan = planned(replace(case, rules=rules))
    assert sorted(move.vm.name for move in plan.moves) == ["large", "one-0", "three-0", "two-0"]
    assert not plan.holds


def test_breach_that_only_a_kept_place_makes_names_who_keeps_it() -> None:
    kept = Reservation(
        vm=named("b"), node="n1", allowed=(), request=RequestId.read("request/default/other")
    )
    vms = [vm("a", on="n1", labels=DB), vm("b", on="n2", labels=DB), vm("c", on="n3")]
    case = spread(problem([*NODES, *vms], goals=[move("c", to="n4")], reservations=[kept]))
    (rule,) = planned(case).rules
    words = ", counting the places that request/default/other keeps"
    assert rule.before_messages == rule.after_messages
    assert [words in message for message in rule.before_messages] == [True] * rule.before
    both = [vm("a", on="n1", labels=DB), vm("b", on="n1", labels=DB), vm("c", on="n3")]
    case = spread(problem([*NODES, *both], goals=[move("c", to="n4")], reservations=[kept]))
    (rule,) = planned(case).rules
    assert rule.before
    assert not any(words in message for message in rule.before_messages)
