"""Rules on a cluster: members, and what nodes and labels make of them."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.rules.unread_rule import UnreadRule
from gitbot.intents.compile import compile_rules
from gitbot.kubernetes.names import NamespacedName
from tests.doubles.problems import ZONE, node, problem, vm
from tests.unit.intents.compile_scene import (
    DB,
    intents_of,
    machine,
    said,
    small_cluster,
    snapshot_of,
)
from tests.unit.planner.reading import move, planned


def zone_rule(fields: str = "") -> str:
    return (
        "kind: ZoneAntiAffinity\nmetadata: {name: db, namespace: a}\n"
        f"spec: {{selector: {{matchLabels: {{tier: db}}}}{fields}}}"
    )


def placement(fields: str) -> str:
    return (
        "kind: PlacementRule\nmetadata: {name: p, namespace: a}\n"
        f"spec: {{selector: {{matchLabels: {{tier: db}}}}, {fields}}}"
    )


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
UNLABELLED = [*small_cluster(), node("n4"), node("n5")]


def bare(name: str, value: str | None = None) -> dict[str, Any]:
    """A node without zone, and with this value of KubeVirt's label; without the label for None."""
    made = dict(node(name))
    labels = {"kubernetes.io/hostname": name}
    if value is not None:
        labels["kubevirt.io/schedulable"] = value
    return {**made, "metadata": {**made["metadata"], "labels": labels}}


def beside(key: str) -> str:
    term = f"{{topologyKey: {key}, labelSelector: {{matchLabels: {{tier: web}}}}}}"
    return placement(f"affinity: {{{REQUIRED}: [{term}]}}")


def test_members_and_fields() -> None:
    rules, findings = compile_rules(
        intents_of(zone_rule(", enforcement: Preferred, maxPerDomain: 2")),
        snapshot_of(small_cluster()),
    )
    (rule,) = rules
    assert findings == ()
    assert rule.required is False
    assert {each.name for each in rule.members} == {"db-1", "db-2"}
    assert rule.ref.id == "ZoneAntiAffinity/a/db"


def test_a_placement_rule_gives_required_and_preferred_terms() -> None:
    preferred = (
        "preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, preference: "
        "{matchExpressions: [{key: disk, operator: Exists}]}}]"
    )
    needed = (
        f"{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: "
        f"[{{key: {ZONE}, operator: In, values: [x]}}]}}]}}"
    )
    rules, findings = compile_rules(
        intents_of(placement(f"nodeAffinity: {{{needed}, {preferred}}}")),
        snapshot_of(small_cluster()),
    )
    assert findings == ()
    assert [rule.required for rule in rules] == [True, False]
    occupancy = {NamespacedName(namespace="a", name="db-2"): frozenset({"n2"})}
    assert [len(rule.breaches(occupancy)) for rule in rules] == [1, 1]


def test_a_spread_without_selector_counts_the_vms_of_the_rule() -> None:
    spread = f"{{maxSkew: 1, topologyKey: {ZONE}, whenUnsatisfiable: DoNotSchedule}}"
    (rule,), _ = compile_rules(
        intents_of(placement(f"topologySpread: [{spread}]")), snapshot_of(small_cluster())
    )
    both = {
        NamespacedName(namespace="a", name=name): frozenset({"n2"}) for name in ("db-1", "db-2")
    }
    assert [breach.amount for breach in rule.breaches(both)] == [1]


@pytest.mark.parametrize(
    ("document", "objects", "expected"),
    [
        (zone_rule(), small_cluster(), []),
        (beside("kubernetes.io/hostname"), small_cluster(), []),
        # the blog's key: a label that no node carries
        (beside("topology.kubernetes.io/hostname"), small_cluster(),
         [(f"error unknown-topology-key spec.affinity.{REQUIRED}[0].topologyKey: no node "
          "has label topology.kubernetes.io/hostname; write kubernetes.io/hostname")]),
        (zone_rule(", topologyKey: rack"), small_cluster(),
         [("error unknown-topology-key spec.topologyKey: no node has label rack; "
          "see the node labels")]),
        # nodes without the key, all of them named; worse where a member stands on one
        (zone_rule(), UNLABELLED,
         [(f"warning partial-topology-key spec: nodes without label {ZONE}: n4, n5; "
          "label them, or the rule does not see what runs there")]),
        (zone_rule(), [*UNLABELLED, vm("db-3", on="n5", namespace="a", labels=DB)],
         [(f"error member-without-domain spec: a/db-3 is on n5, which has no label "
          f"{ZONE}; label the node, or move the VM"),
          (f"warning partial-topology-key spec: nodes without label {ZONE}: n4, n5; "
          "label them, or the rule does not see what runs there"),
          (f"error too-few-domains spec.selector: 3 VMs, but 2 domains of {ZONE} (x, y) "
          "hold at most 1 each: 2 < 3; " "raise maxPerDomain, select fewer VMs, or add a domain")]),
        (zone_rule(", enforcement: Preferred"),
         [*small_cluster(), vm("db-3", on="n3", namespace="a", labels=DB)],
         [(f"warning too-few-domains spec.selector: 3 VMs, but 2 domains of {ZONE} (x, y) "
          "hold at most 1 each: 2 < 3; " "raise maxPerDomain, select fewer VMs, or add a domain")]),
        (zone_rule(", topologyKey: failure-domain.beta.kubernetes.io/zone"),
         [node("n1", labels={"failure-domain.beta.kubernetes.io/zone": "x"}), node("n2",
          labels={"failure-domain.beta.kubernetes.io/zone": "y"}), *small_cluster()[3: 5]],
         [("warning deprecated-topology-key spec.topologyKey: "
          f"failure-domain.beta.kubernetes.io/zone is deprecated; write {ZONE}")]),
        (zone_rule(), small_cluster()[: 3],
         [("warning selects-nothing spec.selector: selects no VM in namespace a; "
          "selectors read the labels of VMIs; see kubectl get vmi --show-labels")]),
        (beside("kubernetes.io/hostname").replace("{tier: db}", "{tier: none}"), small_cluster(),
         [("warning selects-nothing spec.selector: selects no VM in namespace a; "
          "selectors read the labels of VMIs; see kubectl get vmi --show-labels")]),
        # labels on the VirtualMachine object select nothing
        (zone_rule(), [*small_cluster(), machine("web", labels=DB, template={"tier": "web"})],
         [("warning vm-labels spec.selector: a/web carry these labels as VirtualMachine "
          "objects only; the selector reads the labels of their VMIs and does not select "
          "them; put the labels into spec.template.metadata.labels of the VM")]),
    ],
)  # fmt: skip
def test_findings(document: str, objects: list[Any], expected: list[str]) -> None:
    _, findings = compile_rules(intents_of(document), snapshot_of(objects))
    assert said(findings) == expected


@pytest.mark.parametrize(
    ("spaces", "named"),
    [
        ("{}", False),
        ("{matchLabels: {kubernetes.io/metadata.name: b}}", False),
        ("{matchLabels: {team: x}}", True),
    ],
)
def test_a_rule_says_that_the_labels_of_namespaces_were_not_read(spaces: str, named: bool) -> None:
    term = "labelSelector: {matchLabels: {tier: web}}"
    near = beside("kubernetes.io/hostname").replace(term, f"{term}, namespaceSelector: {spaces}")
    unread = replace(snapshot_of(small_cluster()), missing_kinds=("Namespace",))
    for snapshot, expected in ((snapshot_of(small_cluster()), False), (unread, named)):
        (rule,), findings = compile_rules(intents_of(near), snapshot)
        assert [item.code for item in findings] == ["intents/unread-namespaces"] * expected
        assert isinstance(rule, UnreadRule) is expected
        assert not expected or {each.name for each in rule.members} == {"db-1", "db-2", "web"}


@pytest.mark.parametrize(
    ("change", "unread"),
    [
        (("", ""), True),
        (("enforcement: Required", "enforcement: Preferred"), False),
        (("tier: web", "tier: none"), False),  # no VM has the label, wherever it is
    ],
)
def test_what_labels_of_namespaces_decide_of_a_required_rule_is_not_planned(
    change: tuple[str, str], unread: bool
) -> None:
    term = "labelSelector: {matchLabels: {tier: web}}"
    near = beside("kubernetes.io/hostname, namespaceSelector: {matchLabels: {team: x}}")
    text = near.replace("spec: {", "spec: {enforcement: Required, ").replace(*change)
    assert term in near
    snapshot = replace(snapshot_of(small_cluster()), missing_kinds=("Namespace",))
    rules, _ = compile_rules(intents_of(text), snapshot)
    vms = tuple(NamespacedName(namespace="a", name=name) for name in ("db-1", "web"))
    goal = replace(move(to="n3"), vms=vms)
    plan = planned(replace(problem([], goals=[goal]), snapshot=snapshot, rules=rules))
    codes = [(hold.vm.name, hold.code) for hold in plan.holds]
    assert (codes == [("db-1", "unknown-rule"), ("web", "unknown-rule")]) is unread
    assert not unread or (plan.moves, plan.rules) == ((), ())


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ([bare("control")], ""),
        ([bare("control"), vm("lost", on="control", namespace="a")], "control"),
        ([bare("control"), bare("n4", "true"), bare("n5", "false")], "n4, n5"),
    ],
)
def test_nodes_on_which_no_vm_can_run_need_no_topology_key(more: list[Any], named: str) -> None:
    _, findings = compile_rules(intents_of(zone_rule()), snapshot_of([*small_cluster(), *more]))
    assert [each.message for each in findings] == (
        [f"nodes without label {ZONE}: {named}"] if named else []
    )


def test_where_no_node_tells_what_runs_vms_all_are_named() -> None:
    zoned = bare("n1")
    zoned["metadata"]["labels"][ZONE] = "x"
    _, findings = compile_rules(intents_of(zone_rule()), snapshot_of([zoned, bare("n2")]))
    assert f"nodes without label {ZONE}: n2" in [each.message for each in findings]


@pytest.mark.parametrize(
    ("fields", "plugins", "count"),
    [
        (", admission: Render", ["LimitPodHardAntiAffinityTopology"], 1),
        (", admission: Render", [], 0),
        ("", ["LimitPodHardAntiAffinityTopology"], 0),
        (
            ", admission: Render, topologyKey: kubernetes.io/hostname",
            ["LimitPodHardAntiAffinityTopology"],
            0,
        ),
    ],
)
def test_the_plugin_that_allows_hostname_only(fields: str, plugins: list[str], count: int) -> None:
    _, findings = compile_rules(
        intents_of(zone_rule(fields)), snapshot_of(small_cluster()), assume_plugins=plugins
    )
    assert [each.code for each in findings] == ["intents/admission-plugin"] * count
