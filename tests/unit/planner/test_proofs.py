"""Proofs that no plan exists, in words."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import NodePart
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.model.cluster.opt_out import LABEL
from gitbot.model.plan.plan import Hold
from gitbot.model.plan.problem import EmptyNodes, Goal, HealRule, MoveVms, Pin, Target
from gitbot.model.text.names import IntentRef
from tests.doubles.problems import named, node, problem, request, vm
from tests.unit.audit.test_conflicts import APART, IN_A, TOGETHER, rules_of
from tests.unit.planner.reading import SPREAD, planned, spread

HIGH = {"performance": "high"}


def drain(*nodes: str) -> EmptyNodes:
    return EmptyNodes(request=request("drain"), nodes=nodes)


def to(name: str, *vms: str) -> MoveVms:
    return MoveVms(
        request=request("move"),
        vms=tuple(map(named, vms)),
        target=Target(nodes=(name,)),
        pin=Pin.NODE,
    )


def first_hold(objects: list[Any], *goals: Goal, apart: bool = False) -> Hold:
    case = problem(objects, goals=goals)
    found = planned(spread(case) if apart else case).holds
    return next(hold for hold in found if hold.code != "blocked-node")


@pytest.mark.parametrize(
    ("objects", "goal", "reason", "hint"),
    [
        (  # all room of the open nodes
            [
                node("n1", memory="16Gi"),
                node("n2", memory="9Gi"),
                node("n3", memory="8Gi"),
                vm("a", on="n1", memory="4Gi"),
                vm("b", on="n1", memory="5Gi"),
                vm("c", on="n2", memory="5Gi"),
                vm("d", on="n3", memory="4Gi"),
            ],
            drain("n1"),
            "a, b ask 9Gi memory; n2 and n3 have 8Gi beside 2 VMs that can be nowhere else",
            "at least 1Gi more memory is needed on n2 or n3",
        ),
        (  # the only node of a kind, and what cannot leave it
            [
                node("n1", memory="64Gi", labels=HIGH),
                node("n2", memory="32Gi", labels=HIGH),
                node("n3", memory="64Gi"),
                vm("db-2", on="n1", memory="16Gi", node_selector=HIGH),
                vm("db-1", on="n2", memory="22Gi", node_selector=HIGH),
                vm("web", on="n2", memory="4Gi"),
            ],
            drain("n1"),
            "db-2 asks 16Gi memory; n2, the only node for it (performance=high), has 10Gi beside 1",
            "at least 6Gi more memory is needed on n2",
        ),
        (  # room enough, but in pieces
            [
                node("n1", memory="16Gi"),
                node("n2", memory="8Gi"),
                node("n3", memory="8Gi"),
                vm("a", on="n1", memory="6Gi"),
                vm("c", on="n2", memory="5Gi"),
                vm("d", on="n3", memory="5Gi"),
            ],
            drain("n1"),
            "a asks 5Gi memory; none of n2 and n3 can have that free beside 2 VMs",
            "at least 5Gi memory must be free on one of n2 or n3",
        ),
        (  # several of one request
            [
                node("n1", memory="64Gi"),
                node("n2", memory="10Gi"),
                *(vm(name, on="n1", memory="4Gi") for name in "abcd"),
            ],
            to("n2", "a", "b", "c", "d"),
            "4 VMs ask 16Gi memory; n2 has 10Gi",
            "at least 6Gi more memory is needed on n2",
        ),
    ],
    ids=["sum", "kind", "pieces", "request"],
)
def test_room(objects: list[Any], goal: Goal, reason: str, hint: str) -> None:
    hold = first_hold(objects, goal)
    assert hold.proven
    assert hold.reason.startswith(f"no plan exists: {reason}")
    assert hold.hint.startswith(hint)


NEVER = {LABEL: "never"}
STUCK = [
    vm("stuck", on="n1", memory="8Gi", migratable=False),
    vm("never", on="n1", memory="8Gi", labels=NEVER),
]
"""VMs that cannot move at all: they need no room elsewhere."""


@pytest.mark.parametrize(
    ("goal", "there", "reason", "more"),
    [
        (to("n2", "a", "b", "stuck", "never"), [], "a, b ask 16Gi memory; n2 has 12Gi", 4),
        (  # what stays there in any plan takes room
            to("n2", "a", "b", "stuck", "never"),
            [vm("s", on="n2", labels=NEVER), vm("t", on="n2", labels={LABEL: "only-requested"})],
            "a, b ask 16Gi memory; n2 has 10Gi beside 2 VMs",
            6,
        ),
        (  # and what another goal moves does not
            to("n2", "a", "b", "stuck", "never"),
            [vm("s", on="n2"), vm("t", on="n2")],
            "a, b ask 16Gi memory; n2 has 12Gi",
            4,
        ),
        (drain("n1"), [], "a, b ask 16Gi memory; n2 has 12Gi", 4),
    ],
    ids=["request", "residents", "bystanders", "drain"],
)
def test_a_shortage_counts_the_vms_that_would_move(
    goal: Goal, there: list[Any], reason: str, more: int
) -> None:
    def objects(memory: int) -> list[Any]:
        others = [vm("a", on="n1", memory="8Gi"), vm("b", on="n1", memory="8Gi")]
        wide = [] if isinstance(goal, EmptyNodes) else [node("n3")]
        nodes = [node("n1"), node("n2", memory=f"{memory}Gi"), *wide]
        return [*nodes, *STUCK, *others, *there]

    goal = replace(goal, block=False) if isinstance(goal, EmptyNodes) else goal
    holds = {hold.vm.name: hold for hold in planned(problem(objects(12), goals=[goal])).holds}
    assert {"stuck", "never"} < holds.keys()
    (short,) = (hold for hold in holds.values() if hold.proven)
    assert short.reason.startswith(f"no plan exists: {reason}")
    assert short.hint.startswith(f"at least {more}Gi more memory is needed on n2")
    left = planned(problem(objects(12 + more), goals=[goal])).holds
    assert {hold.vm.name for hold in left} == {"stuck", "never"}


def test_no_proof_if_a_resident_could_make_room() -> None:
    objects: list[Any] = [
        node("n1", memory="64Gi", labels=HIGH),
        node("n2", memory="24Gi", labels=HIGH),
        node("n3", memory="2Gi"),
        vm("db", on="n1", memory="16Gi", node_selector=HIGH),
        vm("web", on="n2", memory="9Gi", node_selector={"kubernetes.io/hostname": "n2"}),
    ]
    assert "no plan exists" in first_hold(objects, drain("n1")).reason
    objects[-1] = vm("web", on="n2", memory="2Gi")
    assert planned(problem(objects, goals=[drain("n1")])).holds == ()


def test_replicas_and_zones() -> None:
    objects: list[Any] = [
        *(node(f"n{zone}", zone=zone) for zone in "abc"),
        *(vm(f"db-{n}", on=f"n{zone}", labels={"app": "db"}) for n, zone in enumerate("abca")),
    ]
    goal = HealRule(request=request("heal"), rule=SPREAD)
    hold = first_hold(objects, goal, apart=True)
    assert hold.reason == (
        "no plan exists: no free zone with a node that takes it for spread (4 VMs, 3 zones for"
        " them (a, b, c): ZoneAntiAffinity/default/spread allows 1 in each)"
    )


def test_two_intents_that_contradict_each_other_by_file_and_line() -> None:
    asking = IntentRef(
        kind="MigrationRequest", namespace="default", name="move", file="a.yaml", line=3
    )
    window = IntentRef(kind="MaintenanceWindow", namespace="", name="rack", file="b.yaml", line=7)
    objects: list[Any] = [node("n1"), node("n2"), vm("a", on="n1")]
    move = replace(to("n2", "a"), request=request("move", intent=asking))
    empty = replace(drain("n2"), request=request("drain", intent=window))
    (hold,) = planned(problem(objects, goals=[move, empty])).holds
    assert hold.reason == (
        "no plan exists: MigrationRequest/default/move (a.yaml:3) asks for n2,"
        " but MaintenanceWindow/rack (b.yaml:7) empties n2"
    )
    assert hold.hint.startswith("change a.yaml:3 or b.yaml:7")


def test_a_vm_that_is_only_starting_does_not_end_the_search_for_a_proof() -> None:
    vmi, pod = vm("starting", on="n2", memory="4Gi")
    scheduling = {"phase": "Scheduling", "activePods": {}, "conditions": []}
    objects = [
        node("n1", memory="16Gi"),
        node("n2", memory="8Gi"),
        vm("a", on="n1", memory="6Gi"),
        ({**vmi, "status": scheduling}, pod),
    ]
    said = first_hold(objects, drain("n1")).reason
    assert said == "no plan exists: a asks 6Gi memory; n2, the only node for it, has 4Gi"


def test_a_rule_that_keeps_vms_off_other_nodes_belongs_to_the_proof() -> None:
    only = IntentRef(kind="PlacementRule", namespace="default", name="only", file="p.yaml", line=1)
    apart = replace(SPREAD, file="s.yaml", line=4)
    objects: list[Any] = [
        *(node(f"n{zone}", zone=zone) for zone in "abc"),
        *(vm(f"db-{n}", on=f"n{zone}", labels={"app": "db"}) for n, zone in enumerate("aab")),
    ]
    vms = frozenset(named(f"db-{n}") for n in range(3))
    part = NodePart(
        name="node", subjects=vms, nodes=frozenset({"na", "nb"}), wanted="nodes of zone a or b"
    )
    keeps = PlacementRule(ref=only, parts=(part,), members=vms)
    goal = HealRule(request=request("heal", intent=apart), rule=apart)
    case = spread(problem(objects, goals=[goal]))
    (rule,) = case.rules
    assert isinstance(rule, ZoneAntiAffinity)
    case = replace(case, rules=(replace(rule, ref=apart), keeps))
    hold = planned(case).holds[0]
    assert hold.reason == (
        "no plan exists: 3 VMs, 2 zones for them (a, b): ZoneAntiAffinity/default/spread (s.yaml:4)"
        " allows 1 in each; PlacementRule/default/only (p.yaml:1) keeps db-0, db-1, db-2 on nodes"
        " of zone a or b"
    )
    assert "enforcement: Preferred in s.yaml:4, or change p.yaml:1" in hold.hint


def test_a_window_that_closes_other_nodes_belongs_to_the_proof() -> None:
    window = IntentRef(kind="MaintenanceWindow", namespace="", name="rack", file="b.yaml", line=7)
    other = replace(drain("n3"), request=request("drain", intent=window))
    objects = [
        node("n1", memory="16Gi"),
        node("n2", memory="8Gi"),
        node("n3", memory="16Gi"),
        vm("a", on="n1", memory="12Gi"),
    ]
    hold = first_hold(objects, drain("n1"), other)
    assert hold.reason == (
        "no plan exists: a asks 12Gi memory; n2, the only node for it, has 8Gi;"
        " MaintenanceWindow/rack (b.yaml:7) empties n3"
    )
    assert hold.hint.startswith("at least 4Gi more memory is needed on n2, or change b.yaml:7")


BOTH = (
    "no plan exists: PlacementRule/default/healed (a.yaml:1) and"
    " PlacementRule/default/other (b.yaml:2) cannot both hold for db-0, db-1"
)


@pytest.mark.parametrize(
    ("places", "healed", "other", "reason"),
    [
        pytest.param(
            "ab",
            TOGETHER,
            APART,
            BOTH,
            id="apart now, to be together",
        ),
        pytest.param("bb", APART, IN_A, "", id="what is broken already may stay broken"),
        pytest.param("ab", IN_A, APART, BOTH, id="all in one zone, and apart"),
    ],
)
def test_rules_that_cannot_both_hold_are_named_by_file_and_line(
    places: str, healed: dict[str, Any], other: dict[str, Any], reason: str
) -> None:
    labels = {"app": "db"}
    objects: list[Any] = [
        *(node(f"n{zone}", zone=zone) for zone in "abc"),
        *(vm(f"db-{n}", on=f"n{zone}", labels=labels) for n, zone in enumerate(places)),
    ]
    case = problem(objects)
    rules = rules_of(Instances(case.snapshot), {"healed": healed, "other": other})
    wheres = (("a.yaml", 1), ("b.yaml", 2))
    rules = [
        replace(rule, ref=replace(rule.ref, file=file, line=line))
        for rule, (file, line) in zip(rules, wheres, strict=True)
    ]
    goal = HealRule(request=request("heal", intent=rules[0].ref), rule=rules[0].ref)
    holds = planned(replace(case, rules=tuple(rules), goals=(goal,))).holds
    assert {hold.reason for hold in holds} == ({reason} if reason else set())
    assert all("a.yaml:1 or b.yaml:2" in hold.hint for hold in holds)
