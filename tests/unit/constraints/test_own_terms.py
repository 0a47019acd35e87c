"""VMs' own required affinity and spread as rules: no move breaks what a VM that stays requires."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.rules.vm_spec_rules import own_rules
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.plan import PlacementPlan
from tests.doubles.problems import HOSTNAME, ZONE, named, node, pod, problem, vm
from tests.unit.planner.reading import held, move, moved, planned

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = [node("a-1", zone="a"), node("a-2", zone="a"), node("b-1", zone="b")]
Objects = Sequence[KubernetesObject | tuple[KubernetesObject, ...]]


def near(app: str, key: str = ZONE, **more: Any) -> Mapping[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    return {"podAffinity": {REQUIRED: [term]}}


def even(**more: Any) -> Mapping[str, Any]:
    return {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def cache(on: str = "a-1") -> tuple[KubernetesObject, ...]:
    return vm("cache", on=on, labels={"app": "cache"})


def webs(*places: str, **more: Any) -> Objects:
    return [
        vm(f"web-{n}", on=on, labels={"app": "web"}, topology_spread=[even(**more)])
        for n, on in enumerate(places, 1)
    ]


def moving(objects: Objects, name: str, to: str) -> PlacementPlan:
    case = problem([*NODES, *objects], goals=[move(name, to=to)])
    return planned(replace(case, rules=own_rules(case.snapshot)))


@pytest.mark.parametrize(
    ("objects", "name", "to", "lawful"),
    [
        ([cache(), vm("app", on="a-1", affinity=near("cache"))], "cache", "b-1", False),
        ([cache(), vm("app", on="a-1", affinity=near("cache"))], "cache", "a-2", True),
        ([cache(), vm("app", on="a-1", affinity=near("cache", HOSTNAME))], "cache", "a-2", False),
        ([cache(), vm("cache-2", on="a-2", labels={"app": "cache"}), vm("app", on="a-1",
         affinity=near("cache"))], "cache", "b-1", True),
        ([cache(), pod("sidekick", on="a-2", labels={"app": "cache"}), vm("app", on="a-1",
         affinity=near("cache"))], "cache", "b-1", True),
        ([cache("b-1"), vm("app", on="a-1", affinity=near("cache"))], "cache", "a-2", True),
        ([cache("b-1"), vm("app", on="a-1", affinity=near("cache"))], "cache", "a-1", True),
        (webs("a-1", "b-1"), "web-2", "a-2", False),
        (webs("a-1", "b-1", maxSkew=2), "web-2", "a-2", True),
        (webs("a-1", "b-1", whenUnsatisfiable="ScheduleAnyway"), "web-2", "a-2", True),
        ([*webs("a-1"), vm("plain", on="b-1", labels={"app": "web"})], "plain", "a-2", False),
        ([*webs("a-1"), vm("other", on="b-1", labels={"app": "db"})], "other", "a-2", True),
    ],
    ids=[
        "the anchor of another leaves its zone", "the anchor stays in the zone",
        "the anchor leaves the node that counts", "a second anchor stays",
        "a pod that is not a VM stays", "broken before, and not made worse",
        "broken before, and healed", "a pin hides the domain that it empties", "within the skew",
        "only a wish", "counted without a constraint of its own", "not counted",
    ],
)  # fmt: skip
def test_a_move_keeps_what_other_vms_require(
    objects: Objects, name: str, to: str, lawful: bool
) -> None:
    plan = moving(objects, name, to)
    if lawful:
        assert [(item[0], item[2]) for item in moved(plan)] == [(name, to)]
    else:
        assert held(plan) == [(name, "no-feasible-node")]


def test_the_reason_names_whose_rule_it_is() -> None:
    plan = moving([cache(), vm("app", on="a-1", affinity=near("cache"))], "cache", "b-1")
    assert "VirtualMachineInstance/default/app: zone a has no VM or pod that app must be near" in (
        plan.holds[0].reason
    )


def test_vms_that_require_the_same_share_a_rule() -> None:
    apps = [vm(f"app-{n}", on="a-1", affinity=near("cache")) for n in (1, 2)]
    (rule,) = own_rules(problem([*NODES, cache(), *apps]).snapshot)
    assert (rule.ref.id, rule.required) == ("VirtualMachineInstance/default/app-1", True)
    assert rule.members == {named("app-1"), named("app-2"), named("cache")}


def test_selectors_read_the_labels_of_launcher_pods() -> None:
    """A VM's term may name what KubeVirt writes on the pod alone."""
    term = {"labelSelector": {"matchLabels": {"kubevirt.io": "virt-launcher"}}}
    apart = {"podAffinity": {REQUIRED: [{**term, "topologyKey": ZONE}]}}
    (rule,) = own_rules(problem([*NODES, cache(), vm("app", on="a-1", affinity=apart)]).snapshot)
    assert named("cache") in rule.members


def test_what_no_vm_asks_costs_no_rule() -> None:
    anti = {"podAntiAffinity": {REQUIRED: [{"labelSelector": {}, "topologyKey": ZONE}]}}
    assert own_rules(problem([*NODES, cache(), vm("lone", on="b-1", affinity=anti)]).snapshot) == ()


def test_a_zone_without_nodes_for_vms_is_no_empty_domain() -> None:
    """The pod's own selector (kubevirt.io/schedulable) says which domains count."""
    control = node("c-1", zone="c", labels={"kubevirt.io/schedulable": "false"})
    (rule,) = own_rules(problem([*NODES, control, *webs("a-1", "a-2", "b-1")]).snapshot)
    assert rule.breaches({named(f"web-{n}"): frozenset({"a-1"}) for n in (1, 2)})[0].amount == 1
