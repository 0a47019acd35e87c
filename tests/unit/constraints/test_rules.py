"""ZoneAntiAffinity and PlacementRule over occupancies: breach keys, amounts and words."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import PlacementRule, placement_rules
from gitbot.constraints.rules.worsening import worsened
from gitbot.constraints.rules.zone_anti_affinity import (
    ZoneAntiAffinity,
    all_apart,
    zone_anti_affinity,
)
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.constraint import Occupancy
from tests.unit.constraints.builders import (
    HOSTNAME,
    ZONE,
    machine,
    node,
    pod,
    rule_ref,
    snapshot,
    vm_name,
    zones,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DB = {"matchLabels": {"kubevirt.io/domain": "db"}}
WEB = {"matchLabels": {"kubevirt.io/domain": "web"}}
NODES = [*zones("a", "b", "c"), node("bare")]


def places(**held: str) -> Occupancy:
    """db_1="a-1+b-1" is VM db-1 on two nodes."""
    return {
        vm_name(name.replace("_", "-")): frozenset(nodes.split("+")) for name, nodes in held.items()
    }


def scene(*names: str, more: Sequence[KubernetesObject] = ()) -> Instances:
    machines = [obj for name in names for obj in machine(name, "a-1")]
    return Instances(snapshot(*NODES, *machines, *more))


def zone_rule(**changes: Any) -> ZoneAntiAffinity:
    return zone_anti_affinity(
        scene("db-1", "db-2", "db-3", "web-1"),
        ref=rule_ref(),
        namespace="customapp",
        selector=DB,
        **changes,
    )


def said(rule: ZoneAntiAffinity | PlacementRule, occupancy: Occupancy) -> list[tuple[str, int]]:
    return [(breach.key, breach.amount) for breach in rule.breaches(occupancy)]


def test_members_are_the_vms_of_the_namespace_by_the_labels_of_their_vmis() -> None:
    stopped = {
        "kind": "VirtualMachine",
        "metadata": {"name": "db-9", "namespace": "customapp", "labels": {"app": "x"}},
        "spec": {"template": {"metadata": {"labels": {"kubevirt.io/domain": "db"}}}},
    }
    foreign = machine("db-1", "a-1", namespace="other")
    rule = zone_anti_affinity(
        scene("db-1", "web-1", more=[stopped, *foreign]),
        ref=rule_ref(),
        namespace="customapp",
        selector=DB,
    )
    assert rule.members == {vm_name("db-1"), vm_name("db-9")}


@pytest.mark.parametrize(
    ("occupancy", "most", "expected"),
    [
        (places(db_1="a-1", db_2="b-1", db_3="c-1"), 1, []),
        (places(db_1="a-1", db_2="a-2", db_3="c-1"), 1, [("domain=a", 1)]),
        (places(db_1="a-1", db_2="a-2", db_3="a-1"), 1, [("domain=a", 2)]),
        (places(db_1="a-1", db_2="a-2", db_3="a-1"), 2, [("domain=a", 1)]),
        (places(db_1="a-1", web_1="a-1"), 1, []),
        # a VM that moves counts once in each of its domains
        (places(db_1="a-1+a-2"), 1, []),
        (places(db_1="a-1+b-1", db_2="b-2"), 1, [("domain=b", 1)]),
        (places(db_1="bare"), 1, [("unlabelled:customapp/db-1", 1)]),
        (
            places(db_1="bare+a-1", db_2="a-1"),
            1,
            [("domain=a", 1), ("unlabelled:customapp/db-1", 1)],
        ),
        ({}, 1, []),
    ],
)
def test_breaches_of_a_zone_rule(
    occupancy: Occupancy, most: int, expected: list[tuple[str, int]]
) -> None:
    assert said(zone_rule(max_per_domain=most), occupancy) == expected


@pytest.mark.parametrize(
    ("occupancy", "apart"),
    [
        (places(db_1="a-1", db_2="b-1", db_3="c-1"), True),
        (places(db_1="a-1", db_2="b-1", db_3="c-1", web_1="a-1"), True),
        (places(db_1="a-1", db_2="a-2", db_3="c-1"), False),
        (places(db_1="a-1", db_2="b-1"), False),  # db-3 does not run: not told, but nothing broken
        (places(db_1="a-1", db_2="b-1", db_3="bare"), False),
        # db-1 leaves the zone of db-2, where it still holds a place
        (places(db_1="a-1+b-1", db_2="a-1", db_3="c-1"), False),
        (places(db_1="a-1+b-1", db_2="a-1", db_3="b-1"), False),
    ],
)
def test_the_quick_test_finds_rules_whose_vms_are_in_domains_of_their_own(
    occupancy: Occupancy, apart: bool
) -> None:
    rule = zone_rule()
    assert all_apart([rule], occupancy) == ({0} if apart else set())
    assert not (apart and rule.breaches(occupancy))


def test_a_zone_rule_speaks_of_zones_and_names() -> None:
    rule = zone_rule()
    (breach,) = rule.breaches(places(db_1="a-1", db_2="a-2"))
    assert breach.message == (
        "zone a holds 2 of at most 1: db-1 on a-1, db-2 on a-2; zone b and zone c hold none"
    )
    assert breach.vms == (vm_name("db-1"), vm_name("db-2"))
    occupancy = places(db_1="a-1", db_2="b-1")
    assert rule.explain(vm_name("db-2"), "a-2", occupancy) == (
        "zone a already holds db-1 on a-1, and zone b and zone c would hold none"
    )
    assert rule.explain(vm_name("db-1"), "a-2", occupancy) == ""
    assert rule.explain(vm_name("web-1"), "a-2", occupancy) == ""
    assert rule.explain(vm_name("db-2"), "bare", occupancy) == (
        f"node bare has no label {ZONE}, so the rule cannot place it"
    )
    (breach,) = zone_rule(topology_key=HOSTNAME).breaches(places(db_1="a-1", db_2="a-1"))
    assert breach.message == "node a-1 holds 2 of at most 1: db-1 on a-1, db-2 on a-1"
    (breach,) = zone_rule(topology_key="kubernetes.io/arch").breaches(
        places(db_1="a-1", db_2="b-1")
    )
    assert breach.message.startswith("kubernetes.io/arch=amd64 holds 2 of at most 1")


def rules(instances: Instances, **parts: Any) -> tuple[PlacementRule, ...]:
    return placement_rules(
        instances,
        ref=rule_ref("rule", "PlacementRule"),
        namespace="customapp",
        selector=parts.pop("selector", WEB),
        **parts,
    )


def on_label(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


def test_node_affinity_required_and_preferred_are_two_rules() -> None:
    hard, soft = rules(
        scene("web-1"),
        node_affinity={
            REQUIRED: {"nodeSelectorTerms": [on_label(ZONE, "a"), on_label(ZONE, "b")]},
            PREFERRED: [{"weight": 70, "preference": on_label(HOSTNAME, "a-1")}],
        },
    )
    assert (hard.required, soft.required) == (True, False)
    assert said(hard, places(web_1="a-2")) == []
    assert said(hard, places(web_1="c-1")) == [("node-affinity:customapp/web-1", 1)]
    assert said(hard, places(web_1="b-1+bare")) == [("node-affinity:customapp/web-1", 1)]
    assert said(soft, places(web_1="a-2")) == [("preferred-node-affinity[0]:customapp/web-1", 70)]
    assert said(soft, places(web_1="a-1")) == []
    assert hard.explain(vm_name("web-1"), "c-1", {}) == (
        f"web-1 belongs on nodes with {ZONE} in (a) or nodes with {ZONE} in (b), which c-1 is not"
    )


def test_enforcement_preferred_makes_no_hard_rule() -> None:
    (rule,) = rules(
        scene("web-1"),
        node_affinity={REQUIRED: {"nodeSelectorTerms": [on_label(ZONE, "a")]}},
        required=False,
    )
    assert not rule.required


def term(selector: Mapping[str, Any], key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": selector, **more}


@pytest.mark.parametrize(
    ("occupancy", "expected"),
    [
        (places(web_1="a-1", db_1="a-2"), []),
        (places(web_1="b-1", db_1="a-2"), [("affinity:customapp/web-1", 1)]),
        (places(web_1="b-1", db_1="a-2+b-2"), []),
        (places(web_1="a-1+b-1", db_1="a-2"), [("affinity:customapp/web-1", 1)]),
        (places(web_1="bare", db_1="bare"), [("affinity:customapp/web-1", 1)]),
        (places(db_1="a-1"), []),
        (places(web_1="a-1"), [("affinity:customapp/web-1", 1)]),
    ],
)
def test_affinity_wants_company_in_the_domain(
    occupancy: Occupancy, expected: list[tuple[str, int]]
) -> None:
    (rule,) = rules(scene("web-1", "db-1"), affinity={REQUIRED: [term(DB)]})
    assert said(rule, occupancy) == expected
    assert rule.members == {vm_name("web-1"), vm_name("db-1")}
    assert not rule.monotone


def test_affinity_to_ones_own_kind_may_begin_alone() -> None:
    (rule,) = rules(scene("web-1", "web-2"), affinity={REQUIRED: [term(WEB)]})
    assert said(rule, places(web_1="a-1")) == []
    assert said(rule, places(web_1="a-1", web_2="a-2")) == []
    assert said(rule, places(web_1="a-1", web_2="b-1")) == [
        ("affinity:customapp/web-1", 1),
        ("affinity:customapp/web-2", 1),
    ]


def test_affinity_to_pods_that_are_no_vms_holds_them_where_they_stand() -> None:
    cache = pod("cache", "b-1", labels={"app": "cache"})
    (rule,) = rules(
        scene("web-1", more=[cache]),
        affinity={REQUIRED: [term({"matchLabels": {"app": "cache"}})]},
    )
    assert said(rule, places(web_1="b-2")) == []
    assert said(rule, places(web_1="a-1")) == [("affinity:customapp/web-1", 1)]


@pytest.mark.parametrize(
    ("occupancy", "expected"),
    [
        (places(web_1="a-1", db_1="b-1"), []),
        (places(web_1="a-1", db_1="a-2"), [(f"anti-affinity:{ZONE}=a", 1)]),
        (places(web_1="a-1+b-1", db_1="a-2+b-2"), [(f"anti-affinity:{ZONE}={z}", 1) for z in "ab"]),
        (places(web_1="bare", db_1="bare"), []),
        (places(web_1="a-1", db_1="a-2", db_2="a-1"), [(f"anti-affinity:{ZONE}=a", 2)]),
    ],
)
def test_anti_affinity_counts_pairs(occupancy: Occupancy, expected: list[tuple[str, int]]) -> None:
    (rule,) = rules(scene("web-1", "db-1", "db-2"), anti_affinity={REQUIRED: [term(DB)]})
    assert said(rule, occupancy) == expected
    assert rule.monotone


def test_anti_affinity_to_ones_own_kind_explains_both_sides() -> None:
    (rule,) = rules(scene("web-1", "web-2"), anti_affinity={REQUIRED: [term(WEB)]})
    assert said(rule, places(web_1="a-1", web_2="a-2")) == [(f"anti-affinity:{ZONE}=a", 1)]
    occupancy = places(web_1="a-1", web_2="b-1")
    assert rule.explain(vm_name("web-2"), "a-2", occupancy) == "zone a already holds web-1 on a-1"
    assert rule.explain(vm_name("web-2"), "c-1", occupancy) == ""


def test_anti_affinity_binds_the_other_side_too() -> None:
    (rule,) = rules(scene("web-1", "db-1"), anti_affinity={REQUIRED: [term(DB)]})
    occupancy = places(web_1="a-1", db_1="b-1")
    assert rule.explain(vm_name("db-1"), "a-2", occupancy) == "zone a already holds web-1 on a-1"


def test_preferred_terms_weigh() -> None:
    (rule,) = rules(
        scene("web-1", "db-1"),
        affinity={PREFERRED: [{"weight": 30, "podAffinityTerm": term(DB)}]},
        anti_affinity={PREFERRED: [{"weight": 50, "podAffinityTerm": term(DB, HOSTNAME)}]},
    )
    assert not rule.required
    assert said(rule, places(web_1="b-1", db_1="a-1")) == [
        ("preferred-affinity[0]:customapp/web-1", 30)
    ]
    assert said(rule, places(web_1="a-1", db_1="a-1")) == [
        (f"preferred-anti-affinity[0]:{HOSTNAME}=a-1", 50)
    ]


def spread(**more: Any) -> list[dict[str, Any]]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": WEB,
            **more,
        }
    ]


@pytest.mark.parametrize(
    ("occupancy", "changes", "expected"),
    [
        (places(web_1="a-1", web_2="b-1"), {}, []),
        (places(web_1="a-1", web_2="a-1"), {}, [("spread[0]", 1)]),
        (places(web_1="a-1", web_2="a-1", web_3="a-2"), {}, [("spread[0]", 2)]),
        (places(web_1="a-1", web_2="a-1"), {"maxSkew": 2}, []),
        (places(web_1="a-1", web_2="b-1", web_3="c-1"), {"minDomains": 4}, []),
        (places(web_1="a-1+b-1", web_2="a-1+c-1"), {}, []),
    ],
)
def test_topology_spread(
    occupancy: Occupancy, changes: dict[str, Any], expected: list[tuple[str, int]]
) -> None:
    (rule,) = rules(scene("web-1", "web-2", "web-3"), topology_spread=spread(**changes))
    assert said(rule, occupancy) == expected


@pytest.mark.parametrize(
    ("occupancy", "expected"),
    [
        (places(web_1="a-1", web_2="b-1", web_3="a-1"), []),
        (places(web_1="a-1", web_2="a-1", web_3="b-1"), [("spread[0]:rev=1", 1)]),
    ],
)
def test_match_label_keys_count_each_revision_alone(
    occupancy: Occupancy, expected: list[tuple[str, int]]
) -> None:
    """As in a pod; a key that no VM has restricts nothing."""
    revisions = {"web-1": "1", "web-2": "1", "web-3": "2"}
    vms = [
        obj
        for name, revision in revisions.items()
        for obj in machine(name, "a-1", labels={"kubevirt.io/domain": "web", "rev": revision})
    ]
    asked = spread(matchLabelKeys=["rev", "absent"])
    (rule,) = rules(Instances(snapshot(*NODES, *vms)), topology_spread=asked)
    assert said(rule, occupancy) == expected


TAINT = {"key": "role", "value": "arbiter", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("arbiter", "changes", "own", "counts"),
    [
        ({}, {}, {}, True),
        ({"labels": {"kubevirt.io/schedulable": "false"}}, {}, {}, False),
        (
            {"labels": {"kubevirt.io/schedulable": "false"}},
            {"nodeAffinityPolicy": "Ignore"},
            {},
            True,
        ),
        ({"taints": [TAINT]}, {}, {}, True),  # nodeTaintsPolicy: Ignore is the default
        ({"taints": [TAINT]}, {"nodeTaintsPolicy": "Honor"}, {}, False),
        (
            {"taints": [TAINT]},
            {"nodeTaintsPolicy": "Honor"},
            {"tolerations": [{"key": "role", "operator": "Exists"}]},
            True,
        ),
        ({}, {}, {"nodeSelector": {"disk": "ssd"}}, False),
    ],
)
def test_a_zone_that_no_launcher_pod_can_use_is_no_domain(
    arbiter: dict[str, Any], changes: dict[str, Any], own: dict[str, Any], counts: bool
) -> None:
    """As in the scheduler's filter for a pod (matchNodeInclusionPolicies)."""
    nodes = [node(name, name[0], labels={"disk": "ssd"}) for name in ("a-1", "b-1")]
    vms = [
        {**item, "spec": {**item["spec"], **own}}
        if item["kind"] == "VirtualMachineInstance"
        else item
        for name in ("web-1", "web-2")
        for item in machine(name, "a-1")
    ]
    instances = Instances(snapshot(*nodes, node("z-1", "z", **arbiter), *vms))
    (rule,) = rules(instances, topology_spread=spread(**changes))
    even = places(web_1="a-1+b-1", web_2="a-1+b-1")  # two in a, two in b
    assert said(rule, even) == ([("spread[0]", 1)] if counts else [])


def test_schedule_anyway_is_a_wish_and_node_affinity_narrows_the_domains() -> None:
    (rule,) = rules(scene("web-1"), topology_spread=spread(whenUnsatisfiable="ScheduleAnyway"))
    assert not rule.required
    hard = rules(
        scene("web-1", "web-2"),
        topology_spread=spread(),
        node_affinity={REQUIRED: {"nodeSelectorTerms": [on_label(ZONE, "a")]}},
    )
    # only zone a counts, so two VMs in it are even
    assert [said(rule, places(web_1="a-1", web_2="a-2")) for rule in hard] == [[]]


def test_moves_beside_each_other_see_what_is_left_when_company_leaves_first() -> None:
    (rule,) = rules(scene("web-1", "db-1"), affinity={REQUIRED: [term(DB)]})
    resting, flying = places(web_1="a-1", db_1="a-2"), places(web_1="a-1+b-1", db_1="a-2+b-2")
    moves = [(vm_name("web-1"), "a-1", "b-1"), (vm_name("db-1"), "a-2", "b-2")]
    assert rule.breaches(flying) == ()
    (worse,) = worsened(rule, resting, moves)
    assert worse.key == "affinity:customapp/web-1"
    assert worsened(zone_rule(), resting, moves) == ()


def test_a_move_may_not_bring_back_what_the_move_beside_it_has_healed() -> None:
    (rule,) = rules(scene("web-1", "web-2", "web-3"), topology_spread=spread())
    resting = places(web_1="b-1", web_2="b-2", web_3="c-1")  # none in zone a
    heals, shifts = (vm_name("web-1"), "b-1", "a-1"), (vm_name("web-2"), "b-2", "c-2")
    assert rule.breaches(resting)
    assert worsened(rule, resting, [heals]) == worsened(rule, resting, [shifts]) == ()
    for moves in ([heals, shifts], [shifts, heals]):
        (worse,) = worsened(rule, resting, moves)
        assert worse.key == "spread[0]"
        assert worsened(rule, resting, moves, lambda stages: stages == (0, 0)) == ()


def test_many_moves_of_one_rule_are_judged_without_all_combinations() -> None:
    names = [f"web-{number}" for number in range(1, 9)]
    (rule,) = rules(scene(*names), topology_spread=spread(maxSkew=3))
    resting = {vm_name(name): frozenset({"a-1"}) for name in names[:4]}
    resting |= {vm_name(name): frozenset({"b-1"}) for name in names[4:]}
    moves = [(vm_name(name), "b-1", "a-1") for name in names[4:]]
    moves += [(vm_name(name), "a-1", "a-2") for name in names[:4]]
    (worse,) = worsened(rule, resting, moves)
    assert worse.amount == 5  # all eight in one zone, and none elsewhere
