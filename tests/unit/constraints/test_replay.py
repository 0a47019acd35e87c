"""Replay: what is wrong with a plan, move by move and instant by instant."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, NodeRef, PlacementPlan, VmRef, Wave
from gitbot.model.plan.problem import (
    EmptyNodes,
    Freeze,
    Limits,
    MoveVms,
    Pin,
    PlacementProblem,
    Request,
    Reservation,
    Target,
)
from gitbot.model.text.instants import FOREVER, Interval
from gitbot.model.text.names import IntentRef
from tests.doubles.tiny_objects import tiny_migration
from tests.unit.constraints.builders import (
    HOSTNAME,
    ZONE,
    machine,
    node,
    pod,
    problem,
    rule_ref,
    snapshot,
    vm_name,
    zones,
)

INTENT = IntentRef(
    kind="MigrationRequest", namespace="customapp", name="r", file="intents/prod/r.yaml", line=3
)
REQUEST = Request(id=RequestId.read("request/customapp/r"), intent=INTENT)
DB = {"matchLabels": {"kubevirt.io/domain": "db"}}
PAIR = {"pair": "yes"}


def move(vm: str, source: str, to: str, *, number: int = 1, wave: int = 0, **changes: Any) -> Move:
    base = Move(
        id=number,
        request=REQUEST.id,
        group=REQUEST.id,
        intent=INTENT,
        vm=VmRef(namespace="customapp", name=vm, uid=f"uid-{vm}"),
        source=NodeRef(node=source, zone=source[0]),
        to=NodeRef(node=to, zone=to[0]),
        allowed_nodes=(to,),
        pin=Pin.NODE,
        added_node_selector={HOSTNAME: to},
        memory_bytes=2**31,
        estimated_seconds=60,
        wave=wave,
    )
    return replace(base, **changes)


def plan(*moves: Move) -> PlacementPlan:
    indexes = sorted({item.wave for item in moves})
    waves = tuple(Wave(index=index, starts=index * 100, ends=index * 100 + 90) for index in indexes)
    return PlacementPlan(cluster="prod", moves=moves, waves=waves)


def goal(*names: str, **changes: Any) -> MoveVms:
    return MoveVms(
        request=replace(REQUEST, **changes),
        vms=tuple(vm_name(name) for name in names),
        target=Target(),
        pin=Pin.NODE,
    )


def apart(*objects: KubernetesObject, required: bool = True) -> Any:
    return zone_anti_affinity(
        Instances(snapshot(*objects)),
        ref=rule_ref(),
        namespace="customapp",
        selector=DB,
        required=required,
    )


def codes(found: PlacementProblem, *moves: Move) -> list[str]:
    return [item.code.removeprefix("constraints/") for item in replay(found, plan(*moves))]


SCENE = [*zones("a", "b", "c"), *machine("db-1", "a-1"), *machine("db-2", "b-1")]


def test_a_sound_plan_has_no_findings() -> None:
    found = problem(*SCENE, goals=(goal("db-1"),), rules=(apart(*SCENE),))
    assert codes(found, move("db-1", "a-1", "c-1")) == []
    assert codes(found, move("db-1", "a-1", "a-2")) == []
    assert codes(found) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"vm": VmRef(namespace="customapp", name="db-1", uid="other")}, "unknown-vm"),
        ({"vm": VmRef(namespace="customapp", name="gone", uid="x")}, "unknown-vm"),
        ({"source": NodeRef(node="b-1", zone="b")}, "wrong-source"),
        ({"to": NodeRef(node="nowhere", zone="")}, "unknown-node"),
        ({"allowed_nodes": ("b-2",)}, "landing"),
        ({"added_node_selector": {HOSTNAME: "c-2"}}, "pin"),
        ({"added_node_selector": {}}, "pin"),
        ({"pin": Pin.NONE}, "pin"),
        ({"allowed_nodes": ("c-1", "c-2")}, "pin"),
        ({"request": "request/customapp/other"}, "unknown-request"),
    ],
)
def test_a_move_that_lies_is_found(changes: dict[str, Any], code: str) -> None:
    found = problem(*SCENE, goals=(goal("db-1"),))
    assert code in codes(found, replace(move("db-1", "a-1", "c-1"), **changes))


def test_a_finding_stands_at_the_line_of_its_intent() -> None:
    (found,) = replay(problem(*SCENE, goals=(goal("db-1"),)), plan(move("db-1", "b-1", "c-1")))
    assert found.where == "intents/prod/r.yaml:3"
    assert found.message == ("move 1 of customapp/db-1 from b-1 to c-1: the VM runs on a-1 then")


def test_a_full_node_takes_nothing() -> None:
    small = [*zones("a", "b"), node("c-1", "c", memory="1Gi")]
    scene = [*small, *machine("db-1", "a-1")]
    (found,) = replay(problem(*scene, goals=(goal("db-1"),)), plan(move("db-1", "a-1", "c-1")))
    assert found.code == "constraints/not-schedulable"
    assert "memory: asks 2Gi, 1Gi of 1Gi free, 1Gi missing" in found.message


def test_two_moves_of_one_wave_need_room_for_both_and_later_waves_do_not() -> None:
    """The place of a source is free only after its wave."""
    nodes = [*zones("a", "b", per_zone=1, memory="3Gi"), *zones("c", per_zone=1, memory="3Gi")]
    scene = [*nodes, *machine("db-1", "a-1"), *machine("db-2", "b-1")]
    found = problem(*scene, goals=(goal("db-1", "db-2"),))
    first = move("db-1", "a-1", "c-1")
    second = move("db-2", "b-1", "a-1", number=2)
    assert codes(found, first, second) == ["not-schedulable"]
    assert codes(found, first, replace(second, wave=1)) == []


def test_a_move_has_the_room_that_the_moves_it_waits_for_have_left() -> None:
    """Whatever else has ended: the planned times promise nothing."""
    nodes = [*zones("a", "b", per_zone=1, memory="3Gi"), *zones("c", per_zone=1, memory="3Gi")]
    scene = [*nodes, *machine("db-1", "a-1"), *machine("db-2", "b-1")]
    found = problem(*scene, goals=(goal("db-1", "db-2"),))
    first = move("db-1", "a-1", "c-1", after=())
    second = move("db-2", "b-1", "a-1", number=2, wave=1, after=(first.ref,))
    assert codes(found, first, second) == []
    assert codes(found, first, replace(second, after=())) == ["not-schedulable"]
    assert codes(found, first, replace(second, starts=30)) == ["order"]


def test_a_vm_moves_again_only_after_its_first_move() -> None:
    found = problem(*SCENE, goals=(goal("db-1"),))
    first = move("db-1", "a-1", "c-1", after=())
    second = move("db-1", "c-1", "c-2", number=2, wave=1, after=(first.ref,))
    assert codes(found, first, second) == []
    assert codes(found, first, replace(second, after=())) == ["duplicate-move"]


def test_a_swap_in_one_wave_breaks_the_rule_while_both_pods_stand() -> None:
    scene = [*zones("a", "b"), *machine("db-1", "a-1"), *machine("db-2", "b-1")]
    found = problem(*scene, goals=(goal("db-1", "db-2"),), rules=(apart(*scene),))
    swap = (move("db-1", "a-1", "b-2"), move("db-2", "b-1", "a-2", number=2))
    assert codes(found, *swap) == ["rule-worsened"]
    assert codes(found, swap[0], replace(swap[1], wave=1)) == ["rule-worsened"]


def test_a_preferred_rule_never_makes_a_finding() -> None:
    soft = apart(*SCENE, required=False)
    assert (
        codes(problem(*SCENE, goals=(goal("db-1"),), rules=(soft,)), move("db-1", "a-1", "b-2"))
        == []
    )


def test_a_breach_that_stood_before_may_stay_but_not_grow() -> None:
    scene = [*zones("a", "b"), *machine("db-1", "a-1"), *machine("db-2", "a-2")]
    found = problem(*scene, goals=(goal("db-1"),), rules=(apart(*scene),))
    assert codes(found, move("db-1", "a-1", "b-1")) == []
    third = [*scene, *machine("db-3", "b-2")]
    found = problem(*third, goals=(goal("db-1"),), rules=(apart(*third),))
    assert codes(found, move("db-1", "a-1", "b-1")) == ["rule-worsened"]


def test_company_that_leaves_first_is_seen_in_any_order_of_completion() -> None:
    """web needs db in its zone: neither can leave it alone, or in a group of its own."""
    scene = [*zones("a", "b"), *machine("db-1", "a-1"), *machine("web-1", "a-2")]
    near = placement_rules(
        Instances(snapshot(*scene)),
        ref=rule_ref("near", "PlacementRule"),
        namespace="customapp",
        selector={"matchLabels": {"kubevirt.io/domain": "web"}},
        affinity={
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": ZONE, "labelSelector": DB}
            ]
        },
    )
    found = problem(*scene, goals=(goal("db-1", "web-1"),), rules=near)
    both = (move("db-1", "a-1", "b-1"), move("web-1", "a-2", "b-2", number=2))
    assert codes(found, both[0], replace(both[1], group="of-its-own")) == ["rule-worsened"]
    assert codes(found, both[0]) == ["rule-worsened"]
    assert codes(found, both[1]) == ["rule-worsened"]
    assert codes(found, move("db-1", "a-1", "a-2")) == []


TRIO = [
    *zones("a", "b", "c"),
    *(item for name in ("p-1", "p-2", "p-3") for item in machine(name, "a-1", labels=PAIR)),
    *machine("foe", "c-1", labels={"app": "foe"}),
]


def trio(key: str = HOSTNAME) -> PlacementProblem:
    """Three VMs that stay together on one node, and apart from a fourth one."""
    selector = {"matchLabels": PAIR}
    foe = {"matchLabels": {"app": "foe"}}
    rules = placement_rules(
        Instances(snapshot(*TRIO)),
        ref=rule_ref("as-one", "PlacementRule"),
        namespace="customapp",
        selector=selector,
        affinity={
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": key, "labelSelector": selector}
            ]
        },
        anti_affinity={
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": HOSTNAME, "labelSelector": foe}
            ]
        },
    )
    limits = Limits(parallel=9, per_source_node=9, per_target_node=9)
    return problem(*TRIO, goals=(goal("p-1", "p-2", "p-3"),), rules=rules, limits=limits)


def follow(*targets: str, **changes: Any) -> list[Move]:
    """Moves of p-1, p-2, p-3 to these nodes; the changes are those of the last."""
    moves = [
        move(f"p-{number}", "a-1", to, number=number) for number, to in enumerate(targets, start=1)
    ]
    return [*moves[:-1], replace(moves[-1], **changes)]


def test_a_group_that_a_rule_keeps_together_may_move_as_one() -> None:
    assert codes(trio(), *follow("b-1", "b-1", "b-1")) == []
    slow = follow("b-1", "b-1", "b-1", starts=50)
    assert codes(trio(), *slow) == []


@pytest.mark.parametrize(
    "moves",
    [
        follow("b-1"),  # the others stay
        follow("b-1", "b-1"),
        follow("b-1", "b-1", "b-2"),  # one goes elsewhere
        follow("b-1", "b-1", "b-1", group="later"),
        follow("b-1", "b-1", "b-1", after_return=True),
        follow("b-1", "b-1", "b-1", starts=161),  # after a pause
        follow("c-1", "c-1", "c-1"),  # where another term of the rule forbids it
    ],
)
def test_nothing_else_passes_through_the_exception_for_groups(moves: list[Move]) -> None:
    assert "rule-worsened" in codes(trio(), *moves)


@pytest.mark.parametrize("targets", [("b-1", "b-1", "b-1"), ("b-1", "b-1", "b-2")])
def test_a_group_waits_for_all_nodes_of_its_domain_to_return(targets: tuple[str, ...]) -> None:
    """All start when they are back (test_nodes.py), so one that waits for none would be alone."""
    moves = [replace(each, after_return=True) for each in follow(*targets)]
    assert codes(trio(ZONE), *moves) == []
    mixed = [replace(moves[0], after_return=False), *moves[1:]]
    assert "rule-worsened" in codes(trio(ZONE), *mixed)


@pytest.mark.parametrize(("back", "expected"), [(True, []), (False, ["not-schedulable"])])
def test_a_move_that_makes_room_for_a_drain_cordons_no_node(
    back: bool, expected: list[str]
) -> None:
    """a-1 is back once db-1 has left it, whether or not web-1 has moved."""
    scene = [*zones("a", "b", "c"), *machine("db-1", "a-1"), *machine("db-2", "b-1")]
    scene += machine("web-1", "c-1")
    drain = EmptyNodes(request=REQUEST, nodes=("a-1", "b-1"), away=600, cordoned_by_gitbot=True)
    off_a, off_b = (drain.group_of(node) for node in drain.nodes)
    moves = (
        move("db-1", "a-1", "c-1", group=off_a, after=()),
        move("web-1", "c-1", "c-2", number=2, group=off_a, after=()),
        move("db-2", "b-1", "a-1", number=3, group=off_b, after=(), after_return=back, wave=1),
    )
    assert codes(problem(*scene, goals=(drain,)), *moves) == expected


@pytest.mark.parametrize(("allow", "passes"), [(0, False), (160, False), (161, True)])
def test_a_pause_passes_only_as_long_as_the_request_allows(allow: int, passes: bool) -> None:
    """The last lands 161 s after the first."""
    slow = follow("b-1", "b-1", "b-1", starts=161)
    assert ("rule-worsened" not in codes(allowing(allow), *slow)) == passes


@pytest.mark.parametrize(
    "moves",
    [
        follow("b-1", "b-1"),
        follow("b-1", "b-1", "b-2"),
        follow("b-1", "b-1", "b-1", group="later"),
        follow("b-1", "b-1", "b-1", after_return=True),
        follow("c-1", "c-1", "c-1"),
    ],
)
def test_nothing_but_a_pause_passes_by_allow_breach(moves: list[Move]) -> None:
    assert "rule-worsened" in codes(allowing(FOREVER), *moves)


def allowing(seconds: int) -> PlacementProblem:
    found = trio()
    goals = tuple(
        replace(each, request=replace(each.request, allow_breach=seconds)) for each in found.goals
    )
    return replace(found, goals=goals)


def test_a_breach_that_one_move_heals_is_not_brought_back_by_the_next() -> None:
    """Two VMs in zone b, one in c, none in a: one may go to a, the other to c only before that."""
    scene = [*zones("a", "b", "c"), *machine("db-1", "b-1"), *machine("db-2", "b-2")]
    scene += machine("db-3", "c-1")
    even = placement_rules(
        Instances(snapshot(*scene)),
        ref=rule_ref("even", "PlacementRule"),
        namespace="customapp",
        selector=DB,
        topology_spread=[
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": DB,
            }
        ],
    )
    found = problem(*scene, goals=(goal("db-1", "db-2"),), rules=even)
    heals, shifts = move("db-1", "b-1", "a-1"), move("db-2", "b-2", "c-2", number=2)
    assert codes(found, heals) == codes(found, shifts) == []
    for first, second in ((heals, shifts), (shifts, heals)):
        assert codes(found, replace(first, after=()), replace(second, after=(), wave=1)) == [
            "rule-worsened"
        ]
    waits = replace(heals, after=(shifts.ref,), wave=1)
    assert codes(found, replace(shifts, after=()), waits) == []
    waits = replace(shifts, after=(heals.ref,), wave=1)
    assert codes(found, replace(heals, after=()), waits) == ["rule-worsened"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(), []),
        (Limits(parallel=2, reserve=1), ["limit"]),
        (Limits(per_source_node=1), ["limit", "limit"]),
        (Limits(per_target_node=1), ["limit", "limit"]),
        (Limits(per_zone=1), ["limit", "limit", "limit", "limit"]),
    ],
)
def test_limits_hold_for_each_wave(limits: Limits, expected: list[str]) -> None:
    scene = [*zones("a", "b"), *machine("db-1", "a-1"), *machine("web-1", "a-1")]
    found = problem(*scene, goals=(goal("db-1", "web-1"),), limits=limits)
    pair = (move("db-1", "a-1", "b-1"), move("web-1", "a-1", "b-1", number=2))
    assert codes(found, *pair) == expected
    assert codes(found, pair[0], replace(pair[1], wave=1)) == []


def test_nothing_runs_outside_its_time_or_into_a_freeze() -> None:
    window = (Interval(start=0, end=50), Interval(start=100, end=200))
    found = problem(*SCENE, goals=(goal("db-1", allowed=window),))
    assert codes(found, move("db-1", "a-1", "c-1")) == ["outside-allowed-time"]
    assert codes(found, move("db-1", "a-1", "c-1", wave=1)) == []
    freeze = Freeze(
        intent=rule_ref("close", "FreezeWindow"),
        vms=frozenset({vm_name("db-1")}),
        times=(Interval(start=150, end=400),),
        reason="quarter close",
    )
    frozen = replace(found, freezes=(freeze,))
    (said,) = replay(frozen, plan(move("db-1", "a-1", "c-1", wave=1)))
    assert said.code == "constraints/frozen"
    assert "(quarter close)" in said.message


def test_an_unpinned_move_names_every_landing() -> None:
    found = problem(*SCENE, goals=(goal("db-1"),))
    free: dict[str, Any] = {"pin": Pin.NONE, "added_node_selector": {}}
    everywhere = ("a-2", "b-1", "b-2", "c-1", "c-2")
    loose = move("db-1", "a-1", "c-1", **free, allowed_nodes=everywhere)
    assert codes(found, loose) == []
    assert codes(found, replace(loose, allowed_nodes=("c-1",))) == ["landing"]


def migrating(vm: str, source: str) -> list[KubernetesObject]:
    """A VM whose migration has begun, without a target pod so far."""
    migration = tiny_migration(vm, {"vmiName": vm}, {}, uid=f"m-{vm}")
    migration["metadata"]["namespace"] = "customapp"
    return [*machine(vm, source), migration]


def old_launcher(vm: str, node: str, on: str) -> list[KubernetesObject]:
    """A VM that runs here, and its launcher pod on the node that it has left."""
    (vmi, launcher), (_, old) = machine(vm, on), machine(vm, node)
    old["metadata"].update(name=f"virt-launcher-{vm}-old", uid="old")
    return [vmi, launcher, old]


def terminating(name: str, node: str) -> list[KubernetesObject]:
    gone = {"deletionTimestamp": "2026-07-01T00:00:00Z"}
    return [pod(name, node, memory="2Gi", metadata=gone)]


@pytest.mark.parametrize(
    "leaves",
    [
        migrating("web-1", "b-1"),
        old_launcher("web-1", "b-1", "c-1"),
        terminating("job", "b-1"),
    ],
)
def test_a_place_that_is_about_to_be_free_is_a_landing_of_a_move_that_starts_now(
    leaves: list[KubernetesObject],
) -> None:
    nodes = [*zones("a", "c", per_zone=1), *zones("b", per_zone=1, memory="3Gi")]
    found = problem(*nodes, *machine("db-1", "a-1"), *leaves, goals=(goal("db-1"),))
    free: dict[str, Any] = {"pin": Pin.NONE, "added_node_selector": {}}
    loose = move("db-1", "a-1", "c-1", **free)
    assert codes(found, loose) == []
    (said,) = replay(replace(found, at_once=True), plan(loose))
    assert said.code == "constraints/landing"
    assert "may put it on b-1, which is not in its allowedNodes" in said.message
    assert codes(replace(found, at_once=True), move("db-1", "a-1", "c-1")) == []


def test_an_unpinned_landing_that_would_break_a_rule_is_found() -> None:
    found = problem(*SCENE, goals=(goal("db-1"),), rules=(apart(*SCENE),))
    loose = move(
        "db-1",
        "a-1",
        "c-1",
        pin=Pin.NONE,
        added_node_selector={},
        allowed_nodes=("a-2", "b-1", "b-2", "c-1", "c-2"),
    )
    assert codes(found, loose) == ["rule-worsened"]


def test_a_place_that_another_request_reserved_is_taken() -> None:
    nodes = [*zones("a", "b", per_zone=1), *zones("c", per_zone=1, memory="3Gi")]
    scene = [*nodes, *machine("db-1", "a-1"), *machine("db-2", "b-1")]
    reserved = Reservation(
        vm=vm_name("db-2"),
        node="c-1",
        allowed=(),
        request=RequestId.read("request/customapp/other"),
    )
    found = problem(*scene, goals=(goal("db-1"),), reservations=(reserved,))
    assert codes(found, move("db-1", "a-1", "c-1")) == ["not-schedulable"]


def test_a_vm_that_is_not_migratable_is_named_with_its_reason() -> None:
    scene = [*SCENE]
    vmi = next(obj for obj in scene if name_of(obj) == vm_name("db-1"))
    vmi["status"]["conditions"] = [
        {"type": "LiveMigratable", "status": "False", "message": "PVC disk is not shared"}
    ]
    (found,) = replay(problem(*scene, goals=(goal("db-1"),)), plan(move("db-1", "a-1", "c-1")))
    vmi["status"]["conditions"] = [{"type": "LiveMigratable", "status": "True"}]
    assert found.code == "constraints/not-migratable"
    assert "PVC disk is not shared" in found.message


def test_a_selector_that_the_vm_overrides_is_a_finding() -> None:
    own = {"nodeSelector": {HOSTNAME: "a-2"}}
    scene = [*zones("a", "b", "c"), *machine("db-1", "a-1", spec=own)]
    found = problem(*scene, goals=(goal("db-1"),))
    assert "selector-collision" in codes(found, move("db-1", "a-1", "c-1"))


def test_a_wave_that_outgrows_the_quota_is_a_finding() -> None:
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "customapp"},
        "spec": {"hard": {"pods": "3"}},
        "status": {"used": {"pods": "2"}},
    }
    found = problem(*SCENE, quota, goals=(goal("db-1", "db-2"),))
    pair = (move("db-1", "a-1", "a-2"), move("db-2", "b-1", "b-2", number=2))
    assert codes(found, *pair) == ["quota"]
    assert codes(found, pair[0], replace(pair[1], wave=1)) == []
