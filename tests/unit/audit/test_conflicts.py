"""Rules that cannot all hold: the smallest set is named, and what can hold is never in one."""

from typing import Any

import pytest

from gitbot.audit import audit_cluster, contradictions
from gitbot.constraints.audit_placement import PlacedPod
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import PlacementRule, placement_rules
from gitbot.model.text.names import IntentRef
from gitbot.snapshot import from_objects
from tests.doubles.problems import ZONE, node, vm
from tests.scenarios.small_clusters import flat

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NODES = [node(f"n-{zone}", zone=zone) for zone in ("a", "b", "c")]


def zones(operator: str, *values: str) -> dict[str, Any]:
    expression = {"key": ZONE, "operator": operator, "values": list(values)}
    return {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def term(app: str) -> dict[str, Any]:
    return {REQUIRED: [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}]}


APART, TOGETHER = {"anti_affinity": term("db")}, {"affinity": term("db")}
IN_A, IN_B = {"node_affinity": zones("In", "a")}, {"node_affinity": zones("In", "b")}
NOT_C = {"node_affinity": zones("NotIn", "c")}
NOWHERE = {"node_affinity": zones("In", "z")}


def rules_of(instances: Instances, wanted: dict[str, dict[str, Any]]) -> list[PlacementRule]:
    return [
        rule
        for name, parts in wanted.items()
        for rule in placement_rules(
            instances,
            ref=IntentRef(kind="PlacementRule", namespace="default", name=name),
            namespace="default",
            selector={"matchLabels": {"app": "db"}},
            **parts,
        )
    ]


@pytest.mark.parametrize(
    ("places", "wanted", "expected"),
    [
        pytest.param("a", {"x": IN_A, "y": IN_B}, [{"x", "y"}], id="two zones for one VM"),
        pytest.param("c", {"x": IN_A, "y": NOT_C}, [], id="broken, but a and not c can hold"),
        pytest.param("aa", {"x": APART, "y": TOGETHER}, [{"x", "y"}], id="apart and together"),
        pytest.param("aa", {"x": APART, "y": IN_A, "z": NOT_C}, [{"x", "y"}], id="z is not in it"),
        pytest.param("aab", {"x": APART, "y": NOT_C}, [{"x", "y"}], id="three VMs, two zones"),
        pytest.param("aabc", {"x": APART}, [{"x"}], id="four VMs, three zones"),
        pytest.param("aab", {"x": APART}, [], id="three VMs, three zones"),
        pytest.param("a", {"x": NOWHERE}, [{"x"}], id="a zone that does not exist"),
        pytest.param("ab", {"x": APART, "y": NOT_C}, [], id="all hold"),
    ],
)
def test_the_smallest_sets(
    places: str, wanted: dict[str, dict[str, Any]], expected: list[set[str]]
) -> None:
    vms = [vm(f"db-{n}", on=f"n-{zone}", labels={"app": "db"}) for n, zone in enumerate(places)]
    snapshot = from_objects("test", tuple(flat([*NODES, *vms])), 0)
    rules = rules_of(Instances.of(snapshot), wanted)
    found = [
        item.finding
        for item in audit_cluster(snapshot, rules)
        if item.finding.code in ("audit/contradiction", "audit/never-holds")
    ]
    named = [{name for name in wanted if f"/{name} " in item.message + " "} for item in found]
    assert named == expected
    assert [item.code == "audit/never-holds" for item in found] == [len(s) == 1 for s in expected]


def test_makes_no_placed_pods_while_all_rules_hold() -> None:
    asked: list[str] = []

    def pods() -> tuple[PlacedPod, ...]:
        asked.append(places)
        return ()

    for places in ("ab", "aa"):
        vms = [vm(f"db-{n}", on=f"n-{zone}", labels={"app": "db"}) for n, zone in enumerate(places)]
        snapshot = from_objects("test", tuple(flat([*NODES, *vms])), 0)
        rules = rules_of(Instances.of(snapshot), {"x": APART})
        assert not list(contradictions(snapshot, rules, pods, []))
    assert asked == ["aa"]


def test_what_the_search_cannot_finish_is_not_claimed_and_said() -> None:
    """Thirty VMs in twenty-nine zones: too many placements to try them all."""
    nodes = [node(f"n-{number}", zone=f"z{number}") for number in range(29)]
    vms = [vm(f"db-{n}", on=f"n-{n % 29}", labels={"app": "db"}) for n in range(30)]
    snapshot = from_objects("test", tuple(flat([*nodes, *vms])), 0)
    found = audit_cluster(snapshot, rules_of(Instances.of(snapshot), {"x": APART}))
    assert [item.finding.code for item in found] == ["audit/rule-broken", "audit/undecided"]
    assert "PlacementRule/default/x" in found[1].finding.message
    assert "was cut" in found[1].finding.message


def test_more_vms_than_the_search_places_are_said() -> None:
    """All in one zone, all wanted in another: only their number is in the way."""
    vms = [vm(f"db-{n}", on="n-a", labels={"app": "db"}) for n in range(65)]
    for count, expected in ((64, []), (65, ["audit/undecided"])):
        snapshot = from_objects("test", tuple(flat([*NODES, *vms[:count]])), 0)
        found = audit_cluster(snapshot, rules_of(Instances.of(snapshot), {"x": IN_B}))
        codes = [item.finding.code for item in found if item.finding.code != "audit/rule-broken"]
        assert [code for code in codes if code == "audit/undecided"] == expected


def test_a_set_that_may_be_too_large_has_a_note_beside_it() -> None:
    """y and z cannot both hold; without one of them, x leaves too many placements to try all."""
    nodes = [node(f"n-{number}", zone=f"z{number}") for number in range(29)]
    vms = [vm(f"db-{n}", on=f"n-{n % 29}", labels={"app": "db"}) for n in range(30)]
    snapshot = from_objects("test", tuple(flat([*nodes, *vms])), 0)
    rules = {"x": APART, "y": {"node_affinity": zones("In", "z1")}}
    rules["z"] = {"node_affinity": zones("In", "z2")}
    found = audit_cluster(snapshot, rules_of(Instances.of(snapshot), rules))
    codes = [item.finding.code for item in found]
    assert {"audit/contradiction", "audit/undecided"} <= set(codes)
