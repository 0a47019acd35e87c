"""`audit --load`: nodes classified as a descheduler would, and the VMs that could relieve them."""

import json
from fractions import Fraction
from typing import Any

import pytest

from gitbot.audit import LoadQuestion, load_findings, read_policy
from gitbot.audit.descheduler import Utilization, classify
from gitbot.errors import SnapshotError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubernetes.selectors import parse_selector
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad, LoadValue
from gitbot.snapshot import from_objects
from tests.doubles.problems import NOW, node, pod, vm

NODES = ("a", "b", "c")

VMS = parse_selector("pool=vms")


def load(**percents: float) -> ClusterLoad:
    values = [
        LoadValue(node=name, metric=metric, amount=round(value * 100), time=NOW, source="test")
        for name, value in percents.items()
        for metric in ("cpu", "combined")
    ]
    return ClusterLoad(values=tuple(sorted(values)))


def snapshot(*more: KubernetesObject | tuple[KubernetesObject, ...]) -> ClusterSnapshot:
    objects: list[KubernetesObject] = []
    for item in (*(node(name, cpu="10", memory="10Gi") for name in NODES), *more):
        objects.extend(item) if isinstance(item, tuple) else objects.append(item)
    kept = {(item["kind"], item["metadata"]["name"]): item for item in objects}  # a later one wins
    return from_objects("test", list(kept.values()), NOW)


def asked(**fields: Any) -> Utilization:
    fields = {"under": {"cpu": Fraction(20)}, "over": {"cpu": Fraction(50)}, **fields}
    return Utilization(**fields)


def kinds(policy: Utilization, where: ClusterSnapshot, measured: ClusterLoad) -> str:
    """`o`ver, `u`nder or `b`etween for each node; `?` for one without a value."""
    found = classify(policy, where, measured)
    named = {item.node: item.kind[0] for item in found.nodes}
    return "".join(named.get(name, "?") for name in NODES)


BUSY = pod("busy", on="a", cpu="6", memory="1Gi")
DEVIATION = {"under": {"cpu": Fraction(10)}, "over": {"cpu": Fraction(10)}, "deviation": True}


@pytest.mark.parametrize(
    ("policy", "where", "measured", "expected"),
    [
        (asked(), snapshot(BUSY), load(), "ouu"),  # 60, 0, 0 % by requests
        (asked(), snapshot(pod("x", on="a", cpu="5")), load(), "buu"),  # at a threshold: not above
        (asked(), snapshot(pod("x", on="a", cpu="2")), load(), "uuu"),
        (asked(), snapshot(BUSY, node("b", cpu="10", unschedulable=True)), load(), "obu"),
        (asked(over={"cpu": Fraction(90), "memory": Fraction(5)},
               under={"cpu": Fraction(90), "memory": Fraction(5)}), snapshot(BUSY), load(), "ouu"),
        (asked(basis="load"), snapshot(BUSY), load(a=10, b=30, c=60), "ubo"),
        (asked(basis="load"), snapshot(BUSY), load(a=10, c=60), "u?o"),
        (asked(basis="load"), snapshot(BUSY), load(), "???"),
        # the average is 30: below 20, above 40
        (asked(basis="load", **DEVIATION), snapshot(), load(a=10, b=30, c=50), "ubo"),
        (asked(basis="load", **DEVIATION), snapshot(), load(a=20, b=30, c=40), "ubb"),
        # thresholds stay within 0 and 100
        (asked(basis="load", **DEVIATION), snapshot(), load(a=97, b=98, c=99), "bbb"),
        (asked(basis="load", **DEVIATION), snapshot(), load(a=0, b=0, c=9), "uub"),
        (asked(labels=VMS), snapshot(BUSY, node("b", labels={"pool": "vms"})), load(),
         "?u?"),
    ],
)  # fmt: skip
def test_nodes_are_classified_as_the_plugin_does(
    policy: Utilization, where: ClusterSnapshot, measured: ClusterLoad, expected: str
) -> None:
    assert kinds(policy, where, measured) == expected


@pytest.mark.parametrize(
    ("policy", "measured", "said"),
    [
        (asked(basis="load"), load(a=60, b=30, c=30), "no node is under-utilised"),
        (asked(basis="load"), load(a=10, b=30, c=30), "no node is over-utilised"),
        (asked(basis="load", spare=1), load(a=10, b=30, c=60),
         "only 1 under-utilised, numberOfNodes is 1"),
        (asked(basis="load"), load(a=10, b=30, c=60), ""),
    ],
)  # fmt: skip
def test_it_says_why_nothing_would_be_evicted(
    policy: Utilization, measured: ClusterLoad, said: str
) -> None:
    assert classify(policy, snapshot(), measured).idle == said


def test_a_class_has_metric_value_threshold_direction_and_time() -> None:
    found = classify(asked(basis="load", **DEVIATION), snapshot(), load(a=10, b=30, c=50))
    assert [item.words for item in found.nodes] == [
        "cpu 10 % (test at 2026-12-06T21:00:00Z) is not above 20 % (average 30 %)",
        "cpu 30 % (test at 2026-12-06T21:00:00Z) is within 20 % to 40 % (average 30 %)",
        "cpu 50 % (test at 2026-12-06T21:00:00Z) is above 40 % (average 30 %)",
    ]


POLICY = """
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: "pool=vms"
profiles:
- name: p
  pluginConfig:
  - name: LowNodeUtilization
    args:
      useDeviationThresholds: true
      thresholds: {MetricResource: 5}
      targetThresholds: {MetricResource: 10}
      metricsUtilization: {source: Prometheus, prometheus: {query: q}}
      evictableNamespaces: {exclude: [kube-system]}
      numberOfNodes: 3
  plugins: {balance: {enabled: [LowNodeUtilization]}}
"""
OPERATOR = """
kind: KubeDescheduler
spec: {mode: Automatic, profiles: [KubeVirtRelieveAndMigrate],
       profileCustomizations: {devDeviationThresholds: High}}
"""


def test_policies_are_read_from_policy_config_map_and_operator() -> None:
    (policy,) = read_policy("p.yaml", POLICY.encode())
    assert policy == Utilization(
        under={"MetricResource": Fraction(5)},
        over={"MetricResource": Fraction(10)},
        deviation=True,
        basis="combined",
        labels=VMS,
        keeps_local=True,
        spare=3,
        excluded=("kube-system",),
    )
    indented = POLICY.replace("\n", "\n    ")
    wrapped = f"kind: ConfigMap\ndata:\n  policy.yaml: |{indented}"
    assert read_policy("c.yaml", wrapped.encode()) == (policy,)
    (relieve,) = read_policy("k.yaml", OPERATOR.encode())
    assert relieve.under == relieve.over == {"MetricResource": Fraction(30)}
    assert relieve.acts
    (quiet,) = read_policy("k.yaml", OPERATOR.replace("mode: Automatic, ", "").encode())
    assert not quiet.acts
    listed = "kind: List\nitems:\n- " + OPERATOR.strip().replace("\n", "\n  ")
    assert read_policy("l.yaml", listed.encode()) == (relieve,)


def of_operator(**spec: object) -> Utilization:
    text = json.dumps({"kind": "KubeDescheduler", "spec": spec})
    (policy,) = read_policy("k.yaml", text.encode())
    return policy


def of_query(percent: int) -> dict[str, Fraction]:
    return {"MetricResource": Fraction(percent)}


def test_lifecycle_profiles_of_the_operator_count_requests_against_fixed_thresholds() -> None:
    plain = of_operator(profiles=["LongLifecycle"])
    assert plain.under == dict.fromkeys(("cpu", "memory", "pods"), Fraction(20))
    assert plain.over == dict.fromkeys(("cpu", "memory", "pods"), Fraction(50))
    assert (plain.basis, plain.deviation) == ("requests", False)
    given = {"devLowNodeUtilizationThresholds": "High", "devActualUtilizationProfile": "query:q"}
    measured = of_operator(profiles=["LifecycleAndUtilization"], profileCustomizations=given)
    assert (measured.under, measured.over) == (of_query(40), of_query(70))
    assert measured.basis == "combined"


def test_fixed_thresholds_replace_the_deviation_of_relieve_and_migrate() -> None:
    given = {"devLowNodeUtilizationThresholds": "Low"}
    policy = of_operator(profiles=["KubeVirtRelieveAndMigrate"], profileCustomizations=given)
    assert (policy.under, policy.over) == (of_query(10), of_query(30))
    assert not policy.deviation


V1ALPHA1 = """
apiVersion: descheduler/v1alpha1
kind: DeschedulerPolicy
strategies:
  LowNodeUtilization:
    enabled: true
    params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}}}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Pod", "f: found Pod, expected DeschedulerPolicy"),
        ("[]", "f: found no object"),
        (OPERATOR.replace("High", "Extreme"), "f: the policy has another form: KeyError"),
        (OPERATOR.replace("High", "High, devLowNodeUtilizationThresholds: Low"), "expected one"),
        (OPERATOR.replace("KubeVirtRelieveAndMigrate", "CompactAndScale"), "HighNodeUtilization"),
        (OPERATOR.replace("KubeVirtRelieveAndMigrate", "AffinityAndTaints"),
         "found AffinityAndTaints in spec.profiles, expected an enabled LowNodeUtilization"),
        ("kind: ConfigMap\ndata: {a: b}", "f: found no plugin that compares the load of nodes"),
        (V1ALPHA1, "found apiVersion descheduler/v1alpha1, expected descheduler/v1alpha2"),
        (POLICY.replace("[LowNode", "[HighNode"), "f: found HighNodeUtilization in p"),
        (POLICY.replace("  plugins", "    plugins"), "LowNodeUtilization in p, not enabled"),
        (POLICY.replace("pluginConfig", "pluginConfigs"), "in p without a pluginConfig"),
        (POLICY.replace("targetThresholds", "target"), "expected the same resources"),
        (POLICY.replace("pool=vms", "pool in a"), "nodeSelector: found 'pool in"),
    ],
)  # fmt: skip
def test_a_file_without_a_policy_that_is_understood_is_refused(text: str, said: str) -> None:
    with pytest.raises(SnapshotError, match=said):
        read_policy("f", text.encode())


def test_relief_names_vm_target_and_what_stays() -> None:
    where = snapshot(
        vm("web", on="a", labels={"app": "web"}),
        vm("fixed", on="a", migratable=False),
        vm("owned", on="a", labels={"placement.gitbot.dev/move": "never"}),
        vm("pinned", on="a", node_selector={"kubernetes.io/hostname": "a"}),
        vm("elsewhere", on="b"),
        pod("stress", on="a"),
    )
    found = {
        (item.finding.code, item.name.name): item.finding
        for item in load_findings(where, LoadQuestion(load=load(a=95, b=60, c=5)))
    }
    relief = found["audit/relief", "web"]
    assert relief.message == "could relieve a: best target c (cpu 5 %), 2 possible"
    assert relief.hint == "gitbot move vm/web -n default --to c"
    stays = found["audit/immovable", "a"].message
    assert stays.removeprefix("4 here cannot move: ").split(", ") == [
        "default/fixed (LiveMigratable is DisksNotLiveMigratable)",
        "default/owned (placement.gitbot.dev/move=never)",
        "default/pinned (no node that is not over-utilised takes it)",
        "default/stress (a pod)",
    ]
    assert {name for code, name in found if code == "audit/relief"} == {"web"}


def test_a_descheduler_that_acts_may_send_a_vm_to_a_crowded_node() -> None:
    crowded = vm("web", on="a"), pod("x", on="c", cpu="8")
    policy = asked(basis="load", mode="Automatic")
    question = LoadQuestion(load=load(a=95, b=90, c=5), policies=(policy,))
    (relief,) = [
        item.finding.message
        for item in load_findings(snapshot(*crowded), question)
        if item.finding.code == "audit/relief"
    ]
    assert relief.startswith("could relieve a: best target c (cpu 5 %), 1 possible; evicted by")
    assert relief.endswith("it may land on b, also over")


def test_without_values_nothing_is_classified_and_it_is_said_once() -> None:
    (only,) = load_findings(snapshot(vm("web", on="a")), LoadQuestion(load=ClusterLoad()))
    assert only.finding.code == "audit/load-missing"
    assert "not classified, as a value is missing: a, b, c" in only.finding.message
