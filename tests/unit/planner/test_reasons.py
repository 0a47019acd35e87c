"""What a hold says when no node takes a VM: the fewest reasons, and what would help."""

from typing import Any

import pytest

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import HealRule, Reservation
from gitbot.model.text.instants import FOREVER, Interval, format_instant
from tests.doubles.problems import HOSTNAME, NOW, ZONE, named, node, problem, request, vm
from tests.unit.planner.reading import SPREAD, move, planned, spread
from tests.unit.planner.test_drain import empty

LATER = NOW + 20 * 86_400

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
FAST = {"speed": "fast"}
DB = {"app": "db"}


def apart(key: str = ZONE, **more: Any) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": DB}, "topologyKey": key, **more}
    return {"podAntiAffinity": {REQUIRED: [term]}}


@pytest.mark.parametrize(
    ("nodes", "subject", "reason"),
    [
        pytest.param([node("n2"), node("n3")], {"node_selector": FAST},
            "no node takes it: 2 nodes lack speed=fast", id="labels"),
        pytest.param([node("n2", memory="4Gi"), node("n3", memory="4Gi")], {"memory": "6Gi"},
            "no plan exists: a asks 6Gi memory; none of n2 and n3 can have that free", id="room"),
        pytest.param([node("n2", unschedulable=True), node("n3", memory="4Gi",
            unschedulable=True)], {"memory": "6Gi"}, "no node takes it: 2 nodes are cordoned",
            id="the one reason that all have"),
        pytest.param([node("n2", unschedulable=True), node("n3", labels=FAST, memory="4Gi"),
            node("n4", labels=FAST, taints=[{"key": "gpu", "effect": "NoSchedule"}])],
            {"memory": "6Gi", "node_selector": FAST},
            "no plan exists: a asks 6Gi memory; n3, the only node for it (speed=fast), has 4Gi",
            id="two reasons for three nodes"),
    ],
)  # fmt: skip
def test_reasons(nodes: list[Any], subject: dict[str, Any], reason: str) -> None:
    case = problem(
        [node("n1", labels=FAST), *nodes, vm("a", on="n1", **subject)], goals=[move("a")]
    )
    (hold,) = planned(case).holds
    assert hold.reason == reason
    assert [item.node for item in hold.nodes] == sorted(item["metadata"]["name"] for item in nodes)


def test_a_node_that_gitbot_will_cordon_is_not_called_cordoned_before() -> None:
    objects = [node("n1"), node("n2"), *vm("a", on="n1"), *vm("b", on="n2")]
    case = problem(objects, goals=[empty("n1", cordoned_by_gitbot=True), move("b")])
    (hold,) = planned(case).holds
    (item,) = hold.nodes
    assert item.reasons[1] == (
        "NodeUnschedulable: the node will be cordoned by then (drain.cordon: Gitbot)"
    )


ZONES = [
    node("a1", zone="a", labels=FAST),
    node("a2", zone="a"),
    node("b1", zone="b", labels=FAST),
]


def test_no_free_zone_for_a_rule_names_the_stand_by_node() -> None:
    vms = [vm("x", on="a1", labels=DB, node_selector=FAST), vm("y", on="b1", labels=DB)]
    (hold,) = planned(spread(problem([*ZONES, *vms], goals=[move("x")]))).holds
    assert (hold.code, hold.reason) == (
        "no-free-domain",
        "no free zone with a speed=fast node for spread",
    )
    assert hold.hint.startswith("a stand-by node with speed=fast in zone a would do; or override")


def test_no_free_zone_for_the_vms_own_words_says_that_its_own_pod_counts() -> None:
    vms = [vm("x", on="a1", labels=DB, affinity=apart()), vm("y", on="b1", labels=DB)]
    (hold,) = planned(problem([*ZONES, *vms], goals=[move("x")])).holds
    assert hold.reason == "no free zone with a node that takes it for db"
    assert "mismatchLabelKeys [kubevirt.io/created-by]" in hold.hint


def test_company_is_no_free_zone() -> None:
    near = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": HOSTNAME}
    lonely = vm("x", on="a1", affinity={"podAffinity": {REQUIRED: [near]}})
    (hold,) = planned(problem([*ZONES, lonely], goals=[move("x")])).holds
    assert hold.reason == "no node takes it: 2 nodes lack the pods that it must be near"


@pytest.mark.parametrize(
    ("allowed", "until"),
    [
        ((), ""),
        ((Interval(start=NOW, end=FOREVER),), ""),
        ((Interval(start=NOW + 1, end=LATER),), f" until {format_instant(LATER)}"),
    ],
)
def test_room_that_is_reserved_names_the_pull_request_and_its_end(
    allowed: tuple[Interval, ...], until: str
) -> None:
    case = problem(
        [
            node("n1"),
            node("n2", memory="4Gi"),
            vm("a", on="n1", memory="3Gi"),
            vm("b", on="n1", memory="3Gi"),
        ],
        goals=[move("a", to="n2")],
        reservations=[
            Reservation(
                vm=named("b"),
                node="n2",
                allowed=allowed,
                request=RequestId.read("request/a/other"),
                pull_request=7,
            )
        ],
    )
    (hold,) = planned(case).holds
    assert hold.code == "no-feasible-node"
    kept = f"; room there is kept for request/a/other (pull request #7){until}"
    assert hold.hint.endswith(kept)


def test_more_vms_than_domains_can_hold() -> None:
    vms = [vm(name, on="a1", labels=DB) for name in "xyz"]
    goal = HealRule(request=request("heal"), rule=SPREAD)
    plan = planned(spread(problem([*ZONES, *vms], goals=[goal])))
    assert len(plan.moves) == 1
    assert {hold.code for hold in plan.holds} == {"not-healed"}
    assert plan.holds[0].reason.startswith("no plan exists: 3 VMs, 2 zones for them (a, b)")
    assert all(hold.asked and "enforcement: Preferred" in hold.hint for hold in plan.holds)


def test_a_preferred_rule_that_cannot_be_kept_blocks_nothing() -> None:
    vms = [vm(name, on="a1", labels=DB) for name in "xyz"]
    goal = HealRule(request=request("heal"), rule=SPREAD)
    plan = planned(spread(problem([*ZONES, *vms], goals=[goal]), required=False))
    assert {hold.code for hold in plan.holds} == {"not-healed"}
    assert not any(hold.asked or "Preferred" in hold.hint for hold in plan.holds)


def test_a_node_that_does_not_answer_takes_no_vm_although_the_scheduler_would() -> None:
    silent = node("w")
    silent["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    plan = planned(problem([node("n"), silent, vm("v", on="n")], goals=[move("v", to="w")]))
    (hold,) = plan.holds
    assert hold.code == "no-feasible-node"
    assert hold.reason == "w does not take it: the node does not answer: Ready is False"


def test_a_node_that_kubevirt_closes_to_vms_lacks_no_label_of_the_vm() -> None:
    closed = {"kubevirt.io/schedulable": "false", **FAST}
    nodes = [node("n1", labels=FAST), node("n2", labels=closed), node("n3", unschedulable=True)]
    case = problem([*nodes, vm("a", on="n1", node_selector=FAST)], goals=[move("a")])
    (hold,) = planned(case).holds
    assert hold.reason == (
        "no node takes it: n3 lacks speed=fast, n2 has no kubevirt.io/schedulable=true"
    )
