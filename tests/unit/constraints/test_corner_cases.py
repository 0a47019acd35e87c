"""The corner cases of kube-scheduler 1.36 that models most often get wrong, one test each."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.moves.target_pod import target_of
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.problem import Pin
from tests.unit.constraints.builders import (
    HOSTNAME,
    ZONE,
    machine,
    node,
    pod,
    problem,
    snapshot,
    vm_name,
    zones,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}


def anti(selector: Mapping[str, Any] | None = None, key: str = ZONE, **more: Any) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": WEB if selector is None else selector, **more}
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}


def near(*selectors: Mapping[str, Any], key: str = ZONE) -> dict[str, Any]:
    terms = [{"topologyKey": key, "labelSelector": selector} for selector in selectors]
    return {"affinity": {"podAffinity": {REQUIRED: terms}}}


def spread(key: str = ZONE, selector: Any = WEB, **more: Any) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **more,
    }
    return {"topologySpreadConstraints": [constraint]}


def nodes(*terms: Mapping[str, Any]) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def feasible(
    objects: Sequence[KubernetesObject], spec: Mapping[str, Any], **labels: str
) -> tuple[str, ...]:
    """Where a new pod with that spec and those labels could run."""
    new = Pod.from_object(pod("new", labels=labels or {"app": "web"}, spec=spec))
    return World.of(snapshot(*objects)).feasible(new)


def web(name: str, where: str, **options: Any) -> KubernetesObject:
    return pod(name, where, labels={"app": "web"}, **options)


TERMINATING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def test_01_terminating_pods_count_for_anti_affinity_and_resources_but_not_for_spread() -> None:
    objects = [*zones("a", "b", per_zone=1, cpu="1"), web("w", "a-1", metadata=TERMINATING)]
    assert feasible(objects, anti()) == ("b-1",)
    assert feasible(objects, spread()) == ("a-1", "b-1")
    full = [*zones("a", "b", per_zone=1, cpu="1"), web("w", "a-1", cpu="1", metadata=TERMINATING)]
    assert feasible(full, {}) == ("b-1",)


def test_02_the_own_source_pod_keeps_the_target_out_of_its_zone() -> None:
    rule = anti({"matchLabels": {"kubevirt.io/domain": "db"}})
    objects = [*zones("a", "b", "c"), *machine("db-1", "a-1", spec=rule)]
    shot = snapshot(*objects, *machine("db-2", "b-1"), *machine("db-3", "c-1"))
    assert World.of(shot).feasible(target_of(shot, vm_name("db-1"))) == ()
    shot = snapshot(*objects, *machine("db-2", "b-1"))
    assert World.of(shot).feasible(target_of(shot, vm_name("db-1"))) == ("c-1", "c-2")
    rule = anti({"matchLabels": {"kubevirt.io/domain": "db"}})  # a new one: values do not change
    term = rule["affinity"]["podAntiAffinity"][REQUIRED][0]
    term["mismatchLabelKeys"] = ["kubevirt.io/created-by"]
    objects = [*zones("a", "b", "c"), *machine("db-1", "a-1", spec=rule)]
    shot = snapshot(*objects, *machine("db-2", "b-1"))
    assert World.of(shot).feasible(target_of(shot, vm_name("db-1"))) == ("a-2", "c-1", "c-2")


def test_03_anti_affinity_of_placed_pods_is_symmetric_and_crosses_namespaces() -> None:
    spaces = [
        {"kind": "Namespace", "metadata": {"name": "customapp", "labels": {"team": "red"}}},
        {"kind": "Namespace", "metadata": {"name": "other"}},
    ]
    for selector, expected in (
        ({"matchLabels": {"team": "red"}}, ("b-1",)),
        ({"matchLabels": {"team": "blue"}}, ("a-1", "b-1")),
        ({}, ("b-1",)),
        ({"matchLabels": {"kubernetes.io/metadata.name": "customapp"}}, ("b-1",)),
        ({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}, ("a-1", "b-1")),
    ):
        owner = pod("o", "a-1", namespace="other", spec=anti(namespaceSelector=selector))
        assert feasible([*zones("a", "b", per_zone=1), *spaces, owner], {}) == expected
    own_only = pod("o", "a-1", namespace="other", spec=anti())
    assert feasible([*zones("a", "b", per_zone=1), *spaces, own_only], {}) == ("a-1", "b-1")


def test_03b_an_incoming_selector_of_exclusions_alone_reaches_every_namespace() -> None:
    """A defect of 1.36 that the model follows."""
    term = anti(
        namespaceSelector={"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    )
    space = {"kind": "Namespace", "metadata": {"name": "red", "labels": {"team": "red"}}}
    objects = [*zones("a", "b", per_zone=1), space, web("w", "a-1", namespace="red")]
    assert feasible(objects, term) == ("b-1",)


def test_04_one_pod_must_meet_all_affinity_terms_and_anti_affinity_terms_stand_alone() -> None:
    both = near({"matchLabels": {"app": "web"}}, {"matchLabels": {"tier": "gold"}})
    split = [
        *zones("a", "b", per_zone=1),
        pod("w", "a-1", labels={"app": "web"}),
        pod("g", "a-1", labels={"tier": "gold"}),
    ]
    assert feasible(split, both, app="x") == ()
    whole = [*zones("a", "b", per_zone=1), pod("w", "a-1", labels={"app": "web", "tier": "gold"})]
    assert feasible(whole, both, app="x") == ("a-1",)
    terms = [*anti()["affinity"]["podAntiAffinity"][REQUIRED]]
    terms += anti({"matchLabels": {"tier": "gold"}})["affinity"]["podAntiAffinity"][REQUIRED]
    apart = {"affinity": {"podAntiAffinity": {REQUIRED: terms}}}
    objects = [
        *zones("a", "b", "c", per_zone=1),
        web("w", "a-1"),
        pod("g", "b-1", labels={"tier": "gold"}),
    ]
    assert feasible(objects, apart) == ("c-1",)


def test_05_a_node_without_the_key_fails_affinity_and_spread_and_passes_anti_affinity() -> None:
    objects = [*zones("a", "b", per_zone=1), node("bare"), web("w", "a-1"), web("v", "bare")]
    assert feasible(objects, anti()) == ("b-1", "bare")
    assert feasible(objects, near(WEB), app="x") == ("a-1",)
    assert feasible(objects, spread()) == ("b-1",)
    two = {
        "topologySpreadConstraints": [
            *spread()["topologySpreadConstraints"],
            *spread("rack")["topologySpreadConstraints"],
        ]
    }
    racks = [
        node("a-1", "a", labels={"rack": "r1"}),
        node("a-2", "a"),
        node("b-1", "b", labels={"rack": "r2"}),
        web("w", "a-2"),
    ]
    # a-2 lacks the rack, so its pod counts for no constraint, not even for the zone's
    assert feasible(racks, two) == ("a-1", "b-1")


def test_06_the_first_of_a_series_may_be_alone_until_a_pod_counts_somewhere() -> None:
    empty = zones("a", "b", per_zone=1)
    assert feasible(empty, near(WEB)) == ("a-1", "b-1")
    assert feasible(empty, near(WEB), app="x") == ()
    assert feasible([*empty, web("w", "a-1")], near(WEB)) == ("a-1",)
    # a match on a node without the key is not counted, so it does not end the exception
    assert feasible([*empty, node("bare"), web("w", "bare")], near(WEB)) == ("a-1", "b-1")
    assert feasible([*empty, node("bare")], near(WEB)) == ("a-1", "b-1")


def test_07_a_drained_zone_holds_the_minimum_at_zero_and_min_domains_forces_it() -> None:
    cordoned = [*zones("a", per_zone=1), *zones("b", per_zone=1)]
    cordoned += zones("c", per_zone=1, unschedulable=True)
    objects = [*cordoned, web("w", "a-1"), web("v", "b-1")]
    assert feasible(objects, spread()) == ()
    tainted = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    honoured = [*zones("a", "b", per_zone=1), *zones("c", per_zone=1, taints=tainted)]
    objects = [*honoured, web("w", "a-1"), web("v", "b-1")]
    assert feasible(objects, spread()) == ()
    assert feasible(objects, spread(nodeTaintsPolicy="Honor")) == ("a-1", "b-1")
    even = [*zones("a", "b", per_zone=1), web("w", "a-1"), web("v", "b-1")]
    assert feasible(even, spread()) == ("a-1", "b-1")
    assert feasible(even, spread(minDomains=3)) == ()


def test_08_empty_and_absent_selectors_differ_by_plugin() -> None:
    objects = [*zones("a", "b", per_zone=1), web("w", "a-1")]
    assert feasible(objects, anti({})) == ("b-1",)
    absent = {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": ZONE}]}}}
    assert feasible(objects, absent) == ("a-1", "b-1")
    # {} counts no placed pod for spread and still counts the newcomer itself
    assert feasible(objects, spread(selector={})) == ("a-1", "b-1")
    two = [*objects, web("v", "a-1")]
    assert feasible(two, spread(selector={})) == ("a-1", "b-1")
    assert feasible(two, spread(selector=None)) == ("a-1", "b-1")
    assert feasible(two, spread()) == ("b-1",)


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ({"matchExpressions": [{"key": "no", "operator": "NotIn", "values": ["x"]}]}, "abe"),
        ({"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]}, "abe"),
        ({"matchExpressions": [{"key": "n", "operator": "NotIn", "values": ["5"]}]}, "be"),
        ({}, ""),
        ({"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["4"]}]}, "a"),
        ({"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["4.0"]}]}, ""),
        ({"matchExpressions": [{"key": "n", "operator": "Gt", "values": ["4", "5"]}]}, ""),
        ({"matchExpressions": [{"key": "n", "operator": "Lt", "values": ["10"]}]}, "a"),
        ({"matchExpressions": [{"key": "n", "operator": "In", "values": ["-bad-"]}]}, ""),
        ({"matchExpressions": [{"key": "n", "operator": "Exists"}]}, "ab"),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["e"]}]}, "e"),
        ({"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["e"]}]}, "ab"),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "e"]}]}, ""),
        ({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["e"]}]}, ""),
    ],
)
def test_09_node_selector_terms(term: dict[str, Any], expected: str) -> None:
    """Node a has n=5, b has n=07_x (no number), e has none."""
    scene = [node("a", labels={"n": "5"}), node("b", labels={"n": "07_x"}), node("e")]
    assert feasible(scene, nodes(term)) == tuple(expected)
    # a malformed or empty term is silent beside one that matches
    sound = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    assert set(feasible(scene, nodes(term, sound))) == {*expected, "b"}


def requests(cpu: str, memory: str = "0") -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu, "memory": memory}}}


@pytest.mark.parametrize(
    ("spec", "milli"),
    [
        ({"containers": [requests("500m"), requests("1")]}, 1500),
        ({"containers": [requests("100u")]}, 1),
        ({"containers": [requests("0.0011"), requests("1100u")]}, 4),
        ({"containers": [requests("1")], "initContainers": [requests("3")]}, 3000),
        ({"containers": [requests("1")], "initContainers": [{**requests("2"),
         "restartPolicy": "Always"}, requests("3")]}, 5000),
        ({"containers": [requests("1")], "initContainers": [requests("3"), {**requests("2"),
         "restartPolicy": "Always"}]}, 3000),
        ({"containers": [requests("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [requests("1")], "resources": {"requests": {"cpu": "4"}},
         "overhead": {"cpu": "250m"}}, 4250),
        ({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}, 2000),
    ],
)  # fmt: skip
def test_10_requests_are_added_up_as_the_scheduler_does(spec: dict[str, Any], milli: int) -> None:
    """Sidecars by order, pod level over the sum, overhead on top, milli rounded up by container."""
    found = Pod.from_object({"metadata": {"name": "p"}, "spec": spec})
    assert found.requests.filtered["cpu"] == milli


def test_10b_a_resized_pod_holds_the_largest_of_asked_allocated_and_actual() -> None:
    status = {"name": "compute", "resources": {"requests": {"cpu": "2"}}}
    obj: dict[str, Any] = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "compute", **requests("1")}]},
        "status": {"containerStatuses": [{**status, "allocatedResources": {"cpu": "3"}}]},
    }
    assert Pod.from_object(obj).requests.held["cpu"] == 3000
    assert Pod.from_object(obj).requests.filtered["cpu"] == 1000
    obj["spec"] = {"containers": [{"name": "compute", **requests("8")}]}
    assert Pod.from_object(obj).requests.held["cpu"] == 8000
    infeasible = {"type": "PodResizePending", "reason": "Infeasible"}
    obj["status"] = {**obj["status"], "conditions": [infeasible]}
    assert Pod.from_object(obj).requests.held["cpu"] == 3000


def test_10c_pods_and_devices_are_counted_and_unknown_names_ignored() -> None:
    one = [node("a", pods=1), web("w", "a")]
    assert feasible(one, {}) == ()
    gpu = {"containers": [{"resources": {"requests": {"devices.kubevirt.io/vsock": "1"}}}]}
    assert feasible([node("a")], gpu) == ()
    assert feasible([node("a", extra={"devices.kubevirt.io/vsock": "1"})], gpu) == ("a",)
    odd = {"containers": [{"resources": {"requests": {"mystery": "1"}}}]}
    assert feasible([node("a")], odd) == ("a",)


def test_10d_a_read_write_once_pod_claim_in_use_refuses_every_node() -> None:
    claim: dict[str, Any] = {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "disk",
            "namespace": "customapp",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"accessModes": ["ReadWriteOncePod"], "volumeName": "v"},
        "status": {"phase": "Bound"},
    }
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}}
    spec = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "disk"}}]}
    base = [*zones("a", "b", per_zone=1), claim, volume]
    assert feasible(base, spec) == ("a-1", "b-1")
    assert feasible([*base, web("w", "a-1", spec=spec)], spec) == ()
    shared = {**claim, "spec": {**claim["spec"], "accessModes": ["ReadWriteMany"]}}
    objects = [*zones("a", "b", per_zone=1), shared, volume, web("w", "a-1", spec=spec)]
    assert feasible(objects, spec) == ("a-1", "b-1")


def test_11_a_container_without_requests_scores_100m_and_200mi_only_in_least_allocated() -> None:
    world = World.of(
        snapshot(node("a", cpu="1", memory="1000Mi"), node("b", cpu="2", memory="4Gi"))
    )
    bare = Pod.from_object({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}})
    scores = {item.node: item.scores for item in world.scores(bare, ("a", "b"))}
    assert scores["a"]["NodeResourcesFit"] == (90 + 80) // 2
    assert "NodeResourcesBalancedAllocation" not in scores["a"]
    assert scores["a"]["TaintToleration"] == 100


def test_11b_balanced_allocation_is_that_of_1_36() -> None:
    """32 CPU and 128 GiB at 8 CPU and 32 GiB, a pod of 4 CPU and 8 GiB: 73, not 96."""
    placed = pod("w", "a", cpu="8", memory="32Gi")
    world = World.of(snapshot(node("a", cpu="32", memory="128Gi"), placed))
    new = Pod.from_object(pod("new", cpu="4", memory="8Gi"))
    (score,) = world.scores(new, ("a",))
    assert score.scores["NodeResourcesBalancedAllocation"] == 73


def test_12_match_label_keys_are_merged_once_whether_admission_did_it_or_not() -> None:
    raw = anti(matchLabelKeys=["version"])
    stored = anti(
        {"matchExpressions": [{"key": "version", "operator": "In", "values": ["2"]}], **WEB},
        matchLabelKeys=["version"],
    )
    objects = [
        *zones("a", "b", per_zone=1),
        pod("old", "a-1", labels={"app": "web", "version": "1"}),
    ]
    for spec in (raw, stored):
        assert feasible(objects, spec, app="web", version="2") == ("a-1", "b-1")
        assert feasible(objects, spec, app="web", version="1") == (
            ("b-1",) if spec is raw else ("a-1", "b-1")
        )


def test_12b_services_give_vm_pods_default_spread_scores() -> None:
    service = {
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "customapp"},
        "spec": {"selector": {"app": "web"}},
    }
    objects = [*zones("a", "b", per_zone=1), web("w", "a-1")]
    new = Pod.from_object(web("new", ""))
    plain = World.of(snapshot(*objects)).scores(new, ("a-1", "b-1"))
    assert all("PodTopologySpread" not in item.scores for item in plain)
    served = World.of(snapshot(*objects, service)).scores(new, ("a-1", "b-1"))
    found = {item.node: item.scores["PodTopologySpread"] for item in served}
    assert found["b-1"] > found["a-1"]


def test_13_an_added_node_selector_never_overrides_the_vms_own() -> None:
    own = {"nodeSelector": {HOSTNAME: "a-2"}}
    shot = snapshot(*zones("a", "b"), *machine("db-1", "a-1", spec=own))
    added = target_of(shot, vm_name("db-1"), {HOSTNAME: "b-1", "extra": "x"})
    assert added.node_selector[HOSTNAME] == "a-2"
    assert added.node_selector["extra"] == "x"
    transit = MigrationState.of(problem(*zones("a", "b"), *machine("db-1", "a-1", spec=own)))
    assert transit.allowed(vm_name("db-1"), Pin.NODE) == ("a-2",)


def test_14_a_blanket_toleration_opens_cordoned_nodes() -> None:
    scene = [node("a", unschedulable=True), node("b")]
    assert feasible(scene, {}) == ("b",)
    assert feasible(scene, {"tolerations": [{"operator": "Exists"}]}) == ("a", "b")
    named = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert feasible(scene, {"tolerations": [named]}) == ("a", "b")
    assert feasible(scene, {"tolerations": [{**named, "effect": "NoExecute"}]}) == ("b",)
