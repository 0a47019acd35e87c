"""Statements about placement that users of the systems before us could test."""

from collections.abc import Sequence
from typing import Any

import pytest

from gitbot.constraints.explanation import Explainer
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.moves.target_pod import target_of
from gitbot.constraints.rules.domains import Domains, key_advice
from gitbot.constraints.rules.placement_rule import PlacementRule, placement_rules
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.problem import Pin, Target
from tests.unit.constraints.builders import (
    CPU_LABEL,
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

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MSSQL = {"matchLabels": {"kubevirt.io/domain": "mssql"}}


def feasible(objects: Sequence[KubernetesObject], new: KubernetesObject) -> tuple[str, ...]:
    return World.of(snapshot(*objects)).feasible(Pod.from_object(new))


def test_requests_decide_limits_do_not() -> None:
    scene = [node("a", cpu="2"), node("b", cpu="8")]
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "64"}}
    new = pod("p", spec={"containers": [{"name": "c", "resources": resources}]})
    assert feasible(scene, new) == ("a", "b")
    new = pod("p", cpu="4")
    assert feasible(scene, new) == ("b",)


def test_the_running_pods_requests_count_and_a_vm_without_one_is_an_estimate() -> None:
    objects = [*zones("a"), *machine("db-1", "a-1", cpu="1500m", memory="7Gi")]
    real = target_of(snapshot(*objects), vm_name("db-1"))
    assert (real.requests.filtered["cpu"], real.requests.filtered["memory"]) == (1500, 7 * 2**30)
    assert not real.estimated
    without = [obj for obj in objects if obj["kind"] != "Pod"]
    guess = target_of(snapshot(*without), vm_name("db-1"))
    assert guess.estimated
    # 4 vCPU at the default ratio of 10, 2 GiB with overhead, and the console log's container
    assert guess.requests.filtered["cpu"] == 400 + 5
    assert guess.requests.filtered["memory"] == 2340 * 2**20 + 35 * 10**6


def test_taking_a_label_from_one_node_drops_exactly_that_node() -> None:
    scene = [node(name, labels={"performance": "high"}) for name in "abc"]
    new = pod("p", spec={"nodeSelector": {"performance": "high"}})
    assert feasible([*scene], new) == ("a", "b", "c")
    assert feasible([scene[0], node("b"), scene[2]], new) == ("a", "c")


def test_terms_are_alternatives_expressions_add_up_and_a_soft_miss_is_no_refusal() -> None:
    def expression(key: str) -> dict[str, Any]:
        return {"key": key, "operator": "Exists"}

    scene = [
        node("a", labels={"x": "1", "y": "1"}),
        node("b", labels={"x": "1"}),
        node("c", labels={"z": "1"}),
    ]
    terms = [
        {"matchExpressions": [expression("x"), expression("y")]},
        {"matchExpressions": [expression("z")]},
    ]
    hard = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}
    assert feasible(list(scene), pod("p", spec=hard)) == ("a", "c")
    wish = {"weight": 50, "preference": terms[1]}
    soft = {"affinity": {"nodeAffinity": {PREFERRED: [wish]}}}
    world = World.of(snapshot(*scene))
    new = Pod.from_object(pod("p", spec=soft))
    assert world.feasible(new) == ("a", "b", "c")
    assert world.predicted(world.scores(new, world.feasible(new))) == ("c",)


def test_a_fourth_replica_in_three_zones_is_impossible_and_the_count_says_so() -> None:
    objects = zones("bcn", "sab", "scu")
    for number, where in enumerate(("bcn-1", "sab-1", "scu-1"), start=1):
        objects += machine(f"mssql-{number}", where)
    stopped = {
        "kind": "VirtualMachine",
        "metadata": {"name": "mssql-4", "namespace": "customapp"},
        "spec": {"template": {"metadata": {"labels": {"kubevirt.io/domain": "mssql"}}}},
    }

    def rule(*more: KubernetesObject) -> Any:
        return zone_anti_affinity(
            Instances(snapshot(*objects, *more)),
            ref=rule_ref(),
            namespace="customapp",
            selector=MSSQL,
        )

    assert rule().shortage() == ""
    assert rule(stopped).shortage() == (
        f"4 VMs, but 3 domains of {ZONE} (bcn, sab, scu) hold at most 1 each: 3 < 4"
    )
    transit = MigrationState.of(problem(*objects, rules=(rule(),)))
    (option,) = (
        item for item in transit.options(vm_name("mssql-1"), Pin.NODE) if item.node == "scu-2"
    )
    assert option.reasons == (
        (
            "ZoneAntiAffinity/customapp/apart: zone scu already holds mssql-3 on scu-1, "
            "and zone bcn would hold none"
        ),
    )
    assert transit.allowed(vm_name("mssql-1"), Pin.NODE) == ("bcn-2",)


def together_with_varnish(objects: Sequence[KubernetesObject]) -> tuple[PlacementRule, ...]:
    beside = {"matchLabels": {"kubevirt.io/domain": "varnish"}}
    return placement_rules(
        Instances(snapshot(*objects)),
        ref=rule_ref("pair", "PlacementRule"),
        namespace="customapp",
        selector={"matchLabels": {"kubevirt.io/domain": "blackbox"}},
        affinity={REQUIRED: [{"topologyKey": HOSTNAME, "labelSelector": beside}]},
    )


def test_a_pair_that_must_share_a_node_cannot_be_torn_apart_by_live_migration() -> None:
    """blackbox sits with varnish: neither may leave first, so no order of live moves exists."""
    objects = [*zones("a", "b", per_zone=1), *machine("varnish-1", "a-1")]
    objects += machine("blackbox-1", "a-1")
    transit = MigrationState.of(problem(*objects, rules=together_with_varnish(objects)))
    for name in ("varnish-1", "blackbox-1"):
        assert transit.allowed(vm_name(name), Pin.NODE) == ()
    objects += machine("varnish-2", "b-1")
    transit = MigrationState.of(problem(*objects, rules=together_with_varnish(objects)))
    assert transit.allowed(vm_name("blackbox-1"), Pin.NODE) == ("b-1",)
    assert transit.allowed(vm_name("varnish-1"), Pin.NODE) == ()
    transit.start(vm_name("blackbox-1"), "b-1")
    assert transit.allowed(vm_name("varnish-1"), Pin.NODE) == ()  # the first move may still fail
    transit.finish(vm_name("blackbox-1"))
    assert transit.allowed(vm_name("varnish-1"), Pin.NODE) == ("b-1",)


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        (ZONE, ("nodes without label topology.kubernetes.io/zone: bare",)),
        (HOSTNAME, ()),
        (
            "topology.kubernetes.io/hostname",
            ("no node has label topology.kubernetes.io/hostname; write kubernetes.io/hostname",),
        ),
        (
            "failure-domain.beta.kubernetes.io/zone",
            (
                f"failure-domain.beta.kubernetes.io/zone is deprecated; write {ZONE}",
                f"no node has label failure-domain.beta.kubernetes.io/zone; write {ZONE}",
            ),
        ),
        ("rack", ("no node has label rack",)),
    ],
)
def test_a_topology_key_that_nodes_lack_is_named_with_the_better_one(
    key: str, advice: tuple[str, ...]
) -> None:
    nodes = [Node.from_object(obj) for obj in (*zones("a", "b"), node("bare"))]
    assert key_advice(Domains(nodes), key) == advice
    assert key_advice(Domains(nodes), ZONE, among={"a-1"}) == ()


def test_a_vm_on_a_node_without_the_key_is_a_breach_of_its_own() -> None:
    objects = [*zones("a"), node("bare", labels=CPU_LABEL), *machine("mssql-1", "bare")]
    rule = zone_anti_affinity(
        Instances(snapshot(*objects)), ref=rule_ref(), namespace="customapp", selector=MSSQL
    )
    transit = MigrationState.of(problem(*objects, rules=(rule,)))
    (breach,) = transit.breaches()
    assert (breach.key, breach.amount) == ("unlabelled:customapp/mssql-1", 1)
    assert breach.message == f"mssql-1 is on bare, which has no label {ZONE}"
    transit.start(vm_name("mssql-1"), "a-1")
    transit.finish(vm_name("mssql-1"))
    assert transit.breaches() == ()
    assert transit.allowed(vm_name("mssql-1"), Pin.NODE) == ("a-2",)


def test_each_node_says_all_that_stands_against_a_move() -> None:
    """CPU model, taint, capacity and cordon of one node, in one answer."""
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    bad = node("bad", "b", memory="1Gi", taints=[taint], unschedulable=True)
    objects = [*zones("a"), bad, *machine("db-1", "a-1")]
    (found,) = (
        item
        for item in MigrationState.of(problem(*objects)).options(vm_name("db-1"), Pin.NODE)
        if item.node == "bad"
    )
    text = "\n".join(found.reasons)
    for words in (
        "NodeUnschedulable: the node is cordoned",
        "TaintToleration: the node has taint gpu=yes:NoSchedule",
        "nodeSelector wants cpu-model.node.kubevirt.io/Haswell-noTSX=true, the node has none",
        "NodeResourcesFit: memory: asks 2Gi, 1Gi of 1Gi free, 1Gi missing",
    ):
        assert words in text
    assert not found.ok
    assert not found.schedulable


def test_a_pod_that_is_pinned_by_hostname_fits_its_own_node_only_and_the_vm_beside_it_moves() -> (
    None
):
    stress = pod("stress", "a-1", cpu="8", spec={"nodeSelector": {HOSTNAME: "a-1"}})
    objects = [*zones("a", "b"), stress, *machine("db-1", "a-1")]
    explainer = Explainer(snapshot(*objects))
    name = vm_name("stress")
    assert explainer.pod(name).judgement.feasible == ("a-1",)
    assert explainer.vm(vm_name("db-1")).judgement.feasible == ("a-2", "b-1", "b-2")


@pytest.mark.parametrize(
    ("first", "second", "winners"),
    [
        ((20, 20), (20, 20), ("a", "b")),
        ((20, 10), (20, 20), ("a",)),
        ((20, 10), (10, 20), ("a", "b")),
    ],
)
def test_cpu_and_memory_weigh_the_same(
    first: tuple[int, int], second: tuple[int, int], winners: tuple[str, ...]
) -> None:
    """Percent of cpu and memory requested on two equal nodes."""
    objects: list[KubernetesObject] = []
    for name, (cpu, memory) in (("a", first), ("b", second)):
        objects.append(node(name, cpu="100", memory="100Gi"))
        objects.append(pod(f"load-{name}", name, cpu=str(cpu), memory=f"{memory}Gi"))
    world = World.of(snapshot(*objects))
    new = Pod.from_object(pod("new", cpu="1", memory="1Gi"))
    assert world.predicted(world.scores(new, ("a", "b"))) == winners


def test_admission_is_by_request_and_the_missing_amount_is_printed() -> None:
    world = World.of(snapshot(node("a", cpu="10", memory="10Gi"), pod("load", "a", cpu="500m")))
    assert world.feasible(Pod.from_object(pod("new", cpu="7"))) == ("a",)
    judgement = world.judge(Pod.from_object(pod("new", cpu="9800m")))
    (rejection,) = judgement.nodes[0].rejections
    assert rejection.reasons == ("Insufficient cpu",)
    assert rejection.details == ("cpu: asks 9800m, 9500m of 10 free, 300m missing",)
    assert rejection.resolvable


def test_a_foreign_scheduler_makes_the_prediction_uncertain() -> None:
    objects = [*zones("a"), pod("odd", spec={"schedulerName": "mine"}, phase="Pending")]
    (check,) = Explainer(snapshot(*objects)).pod(vm_name("odd")).checks
    assert (check.name, check.outcome) == ("scheduler", Outcome.WARN)
    assert "not guaranteed" in check.message


def test_a_target_names_nodes_or_labels_and_an_unpinned_move_must_be_safe_everywhere() -> None:
    objects = [*zones("a", "b"), *machine("db-1", "a-1")]
    transit = MigrationState.of(problem(*objects))
    zone_b = Target(node_selector={ZONE: "b"})
    assert transit.allowed(vm_name("db-1"), Pin.NODE, zone_b) == ("b-1", "b-2")
    assert transit.allowed(vm_name("db-1"), Pin.ZONE, zone_b) == ("b-1", "b-2")
    assert transit.allowed(vm_name("db-1"), Pin.NONE, zone_b) == ()
    assert transit.allowed(vm_name("db-1"), Pin.ZONE, Target(nodes=("b-1",))) == ()
    (option,) = (
        item for item in transit.options(vm_name("db-1"), Pin.NONE, zone_b) if item.node == "b-1"
    )
    assert option.reasons == (
        "the scheduler may also choose a-2, where the move may not land; pin it to a node",
    )


def test_all_whose_anti_affinity_closes_a_zone_are_one_line() -> None:
    apart = {
        "podAntiAffinity": {
            REQUIRED: [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}]
        }
    }
    shy = [pod(f"shy-{name}", name, spec={"affinity": apart}) for name in ("a-1", "a-2")]
    world = World.of(snapshot(*zones("a", "b"), *shy))
    new = Pod.from_object(pod("new", labels={"app": "db"}))
    (rejection,) = world.check(new, "a-2")
    assert rejection.details == (
        "the anti-affinity of customapp/shy-a-1 on a-1 forbids it in zone a (and 1 more)",
    )
    assert world.feasible(new) == ("b-1", "b-2")


def test_rules_that_ask_the_same_of_nodes_share_one_answer() -> None:
    """Each rule of a cluster asks all nodes: a thousand rules would ask five million times."""
    domains = Domains(Node.from_object(obj) for obj in zones("a", "b"))
    asked: list[str] = []

    def chooses(node: Node) -> bool:
        asked.append(node.name)
        return node.zone == "a"

    first = domains.chosen(("rule", True), chooses)
    assert {domains.nodes[name].zone for name in first} == {"a"}
    assert domains.chosen(("rule", True), chooses) is first
    assert len(asked) == len(domains.names)
    domains.chosen(("rule", False), chooses)
    assert len(asked) == 2 * len(domains.names)
