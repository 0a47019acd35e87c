"""HealRule: every round of a healing breaks less than the last, so that planning ends."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.problem import HealRule, PlacementProblem
from gitbot.model.text.names import IntentRef
from tests.doubles.problems import node, problem, request, vm
from tests.unit.planner.reading import held, moved, planned
from tests.unit.planner.test_small_and_full import APART

NODES = [node("a1", zone="a"), node("a2", zone="a"), node("c1", zone="c")]
HEAL = HealRule(request=request("heal", intent=APART), rule=APART)


def migrated(name: str, *, source: str, target: str) -> tuple[KubernetesObject, ...]:
    """A VM that has just migrated; its old launcher pod still runs on the source."""
    instance, launcher = vm(name, on=target, labels={"app": "db"})
    old = {
        **launcher,
        "metadata": {**launcher["metadata"], "name": f"old-{name}", "uid": f"old-{name}"},
        "spec": {**launcher["spec"], "nodeName": source},
    }
    both = {**instance["status"]["activePods"], f"old-{name}": source}
    return ({**instance, "status": {**instance["status"], "activePods": both}}, launcher, old)


def healing(*objects: Any) -> PlacementProblem:
    """At most one of v2 and v3 in a zone; the rule is to be healed."""
    bare = problem(objects)
    rule = zone_anti_affinity(
        Instances(bare.snapshot),
        ref=APART,
        namespace="default",
        selector={"matchLabels": {"app": "db"}},
    )
    return replace(bare, rules=(rule,), goals=(HEAL,))


MIGRATED = migrated("v2", source="c1", target="a1")
STILL = vm("v3", on="c1", labels={"app": "db"})


@pytest.mark.timeout(10)
def test_an_old_launcher_pod_does_not_make_its_vm_move_again_and_again() -> None:
    plan = planned(healing(*NODES, MIGRATED, STILL))
    assert moved(plan) == []
    assert held(plan) == [("v2", "not-healed"), ("v3", "no-free-domain")]


@pytest.mark.timeout(10)
def test_beside_an_old_launcher_pod_the_other_vm_moves_to_a_free_zone() -> None:
    case = healing(*NODES, node("b1", zone="b"), MIGRATED, STILL)
    plan = planned(case)
    assert moved(plan) == [("v3", "c1", "b1", 0)]
    assert replay(case, plan) == ()


SSD = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        ]
    }
}


@pytest.mark.parametrize(
    ("required", "steps"),
    [
        pytest.param(True, [("w", "s1", "h1", 0), ("v", "h1", "s1", 1)], id="Required"),
        pytest.param(False, [], id="Preferred"),
    ],
)
def test_no_vm_makes_room_where_it_breaks_a_rule_of_the_same_weight(
    required: bool, steps: list[tuple[str, str, str, int]]
) -> None:
    """v and w both belong on ssd; the one node that has it takes one of them."""
    bare = problem(
        (
            node("s1", memory="2Gi", labels={"disk": "ssd"}),
            node("h1", memory="4Gi"),
            vm("v", on="h1", memory="2Gi", labels={"app": "v"}),
            vm("w", on="s1", memory="2Gi", labels={"app": "w"}),
        )
    )
    ours, theirs = (
        placement_rules(
            Instances(bare.snapshot),
            ref=IntentRef(kind="PlacementRule", namespace="default", name=name),
            namespace="default",
            selector={"matchLabels": {"app": name}},
            node_affinity=SSD,
            required=required and name == "v",
        )[0]
        for name in ("v", "w")
    )
    goal = HealRule(request=request("heal", intent=ours.ref), rule=ours.ref)
    plan = planned(replace(bare, rules=(ours, theirs), goals=(goal,)))
    assert moved(plan) == steps
    assert held(plan) == ([] if required else [("v", "no-feasible-node")])
