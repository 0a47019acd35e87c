"""MigrationState: what holds a place while VMs move, and what each node says to one more move."""

from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.moves.target_nodes import NodeOption
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.errors import Bug
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import Pin, Reservation, Target
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

DB1, DB2 = vm_name("db-1"), vm_name("db-2")
SCENE: list[KubernetesObject] = [
    *zones("a", "b", memory="5Gi"),
    *machine("db-1", "a-1"),
    *machine("db-2", "b-1"),
]


def rule(*objects: KubernetesObject, required: bool = True) -> Any:
    return zone_anti_affinity(
        Instances(snapshot(*objects)),
        ref=rule_ref(),
        namespace="customapp",
        selector={"matchLabels": {"kubevirt.io/domain": "db"}},
        required=required,
    )


def option(transit: MigrationState, vm: str, where: str, pin: Pin = Pin.NODE) -> NodeOption:
    return next(item for item in transit.options(vm_name(vm), pin) if item.node == where)


def memory(transit: MigrationState, where: str) -> int:
    """Gibibytes free on a node."""
    return transit.world.free(where)["memory"] // 2**30


def test_a_move_holds_both_places_until_it_ends() -> None:
    transit = MigrationState.of(problem(*SCENE))
    assert (memory(transit, "a-1"), memory(transit, "a-2")) == (3, 5)
    transit.start(DB1, "a-2")
    assert transit.moving == {DB1: ("a-1", "a-2")}
    assert transit.occupancy[DB1] == {"a-1", "a-2"}
    assert transit.node_of(DB1) == "a-1"
    assert (memory(transit, "a-1"), memory(transit, "a-2")) == (3, 3)
    other = transit.fork()
    transit.finish(DB1)
    assert transit.node_of(DB1) == "a-2"
    assert transit.occupancy[DB1] == {"a-2"}
    assert (memory(transit, "a-1"), memory(transit, "a-2")) == (5, 3)
    other.fail(DB1)
    assert other.node_of(DB1) == "a-1"
    assert (memory(other, "a-1"), memory(other, "a-2")) == (3, 5)
    assert other.moving == {}
    transit.start(DB1, "b-1")  # a second move of the same VM, from where it is now
    assert transit.moving == {DB1: ("a-2", "b-1")}


@pytest.mark.parametrize("where", ["a-1", "a-2"])
def test_what_cannot_start_is_a_bug_of_the_caller(where: str) -> None:
    transit = MigrationState.of(problem(*SCENE))
    if where == "a-2":
        transit.start(DB1, "a-2")
    with pytest.raises(Bug, match="BUG: start of customapp/db-1"):
        transit.start(DB1, where)
    with pytest.raises(Bug, match="from nowhere"):
        transit.start(vm_name("unknown"), "a-1")


def test_migrations_of_others_hold_both_places() -> None:
    vmi, source = machine("db-1", "a-1")
    target = {**source, "metadata": {**source["metadata"], "name": "target", "uid": "t"}}
    target["spec"] = {**source["spec"], "nodeName": "a-2"}
    objects = [*zones("a", "b", memory="5Gi"), vmi, source, target, *machine("db-2", "b-1")]
    transit = MigrationState.of(problem(*objects, rules=(rule(*objects),)))
    assert transit.occupancy[DB1] == {"a-1", "a-2"}
    assert transit.node_of(DB1) == "a-1"
    assert memory(transit, "a-2") == 3
    text = option(transit, "db-2", "a-2").reasons
    assert text == (
        (
            "ZoneAntiAffinity/customapp/apart: zone a already holds db-1 on a-1+a-2, "
            "and zone b would hold none"
        ),
    )


def test_a_finished_source_pod_holds_nothing() -> None:
    vmi, source = machine("db-1", "a-1")
    old = {**source, "metadata": {**source["metadata"], "name": "old", "uid": "old"}}
    old["spec"] = {**source["spec"], "nodeName": "b-1"}
    old["status"] = {"phase": "Succeeded"}
    transit = MigrationState.of(problem(*zones("a", "b", memory="5Gi"), vmi, source, old))
    assert transit.occupancy == {DB1: frozenset({"a-1"})}
    assert memory(transit, "b-1") == 5


def test_a_reservation_counts_in_room_and_rules() -> None:
    reserved = Reservation(
        vm=DB2, node="a-2", allowed=(), request=RequestId.read("request/x/y"), pull_request=7
    )
    found = problem(*SCENE, rules=(rule(*SCENE),), reservations=(reserved,))
    transit = MigrationState.of(found)
    assert transit.occupancy[DB2] == {"b-1", "a-2"}
    assert memory(transit, "a-2") == 3
    assert transit.allowed(DB1, Pin.NODE) == ("a-2",)  # its own zone is worse already
    for where in ("gone", "b-1"):
        transit.reserve(DB2, where)
        transit.reserve(vm_name("unknown"), "a-1")
    assert transit.occupancy[DB2] == {"b-1", "a-2"}


def test_cordoned_nodes_refuse_from_then_on() -> None:
    transit = MigrationState.of(problem(*SCENE))
    fork = transit.fork()
    transit.cordon("a-2")
    assert transit.allowed(DB1, Pin.NODE) == ("b-1", "b-2")
    assert fork.allowed(DB1, Pin.NODE) == ("a-2", "b-1", "b-2")
    assert option(transit, "db-1", "a-2").reasons == (
        "NodeUnschedulable: the node will be cordoned by then (drain.cordon: Gitbot)",
    )
    transit.world.uncordon("a-2")
    assert transit.allowed(DB1, Pin.NODE) == fork.allowed(DB1, Pin.NODE)


def test_pins_are_labels_of_the_node() -> None:
    bare = node("bare", labels=CPU_LABEL)
    del bare["metadata"]["labels"][HOSTNAME]
    transit = MigrationState.of(problem(*SCENE, bare))
    assert transit.selector(Pin.NODE, "a-2") == {HOSTNAME: "a-2"}
    assert transit.selector(Pin.ZONE, "a-2") == {ZONE: "a"}
    assert transit.selector(Pin.NONE, "a-2") == {}
    assert transit.selector(Pin.NODE, "bare") == {}
    assert option(transit, "db-1", "bare").reasons == (
        f"addedNodeSelector: the node has no label {HOSTNAME}, so no move can be pinned to it",
    )
    assert transit.landings(DB1, Pin.ZONE, "b-2") == ("b-1", "b-2")
    assert "bare" in transit.landings(DB1, Pin.NONE, "b-2")


def test_a_zone_is_safe_only_where_all_of_its_landings_are() -> None:
    tight = [*zones("a", per_zone=1), *zones("b"), *machine("db-1", "a-1")]
    full = pod("load", "b-2", memory="63Gi")
    assert MigrationState.of(problem(*tight)).allowed(DB1, Pin.ZONE, Target(nodes=("b-1",))) == ()
    # the scheduler cannot choose b-2, so the zone is as good as a pin
    transit = MigrationState.of(problem(*tight, full))
    assert transit.allowed(DB1, Pin.ZONE, Target(nodes=("b-1",))) == ("b-1",)


def test_preferred_rules_refuse_nothing_and_are_asked_apart() -> None:
    soft = rule(*SCENE, required=False)
    transit = MigrationState.of(problem(*SCENE, rules=(soft,)))
    assert transit.allowed(DB1, Pin.NODE) == ("a-2", "b-1", "b-2")
    assert transit.worsened_by(DB1, "b-2") == ()
    (breach,) = transit.worsened_by(DB1, "b-2", required=False)
    assert (breach.key, breach.amount) == ("domain=b", 1)


def test_a_pin_narrows_the_domains_that_spread_counts() -> None:
    """nodeAffinityPolicy Honor: a pinned move may pass where the unpinned one is refused."""
    spread = {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"kubevirt.io/domain": "db"}},
            }
        ]
    }
    objects = [
        *zones("a", "b", "c"),
        *machine("db-1", "a-1", spec=spread),
        *machine("db-2", "b-1"),
    ]
    transit = MigrationState.of(problem(*objects))
    assert transit.allowed(DB1, Pin.NONE) == ("c-1", "c-2")
    assert transit.allowed(DB1, Pin.NODE) == ("a-2", "b-1", "b-2", "c-1", "c-2")
    ignoring = {**spread["topologySpreadConstraints"][0], "nodeAffinityPolicy": "Ignore"}
    objects = [
        *zones("a", "b", "c"),
        *machine("db-1", "a-1", spec={"topologySpreadConstraints": [ignoring]}),
        *machine("db-2", "b-1"),
    ]
    transit = MigrationState.of(problem(*objects))
    assert transit.allowed(DB1, Pin.NODE) == ("c-1", "c-2")
    assert (
        "PodTopologySpread: zone b holds 1 matching pods"
        in option(transit, "db-1", "b-2").reasons[0]
    )


@pytest.mark.parametrize("pin", [Pin.NODE, Pin.ZONE, Pin.NONE])
def test_options_and_allowed_agree_about_hotplugged_volumes(pin: Pin) -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"kubevirt.io/domain": "db"}},
    }
    vmi, launcher = machine("db-1", "a-1", spec={"topologySpreadConstraints": [spread]})
    source = {"claimName": "data", "hotpluggable": True}
    volumes = [{"name": "data", "persistentVolumeClaim": source}]
    vmi = {**vmi, "spec": {**vmi["spec"], "volumes": volumes}}
    claim: KubernetesObject = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "customapp",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"volumeName": "pv", "accessModes": ["ReadWriteMany"]},
        "status": {"phase": "Bound"},
    }
    volume: KubernetesObject = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {"accessModes": ["ReadWriteMany"]},
    }
    other = node("a-3", "a", labels={**CPU_LABEL, HOSTNAME: "elsewhere"})
    objects = [*zones("a", "b", "c"), other, vmi, launcher, claim, volume, *machine("db-2", "b-1")]
    transit = MigrationState.of(problem(*objects))
    found = {item.node for item in transit.options(DB1, pin) if item.ok}
    assert found == {*transit.allowed(DB1, pin)}
    c = {"c-1", "c-2"}
    expected = {Pin.NODE: {"a-2", "b-1", "b-2", *c}, Pin.ZONE: {"b-1", "b-2", *c}, Pin.NONE: c}
    assert found == expected[pin]


def test_unknown_vms_are_key_errors_and_vms_that_are_off_run_nowhere() -> None:
    transit = MigrationState.of(problem(*SCENE))
    with pytest.raises(KeyError):
        transit.options(vm_name("unknown"), Pin.NODE)
    assert transit.node_of(vm_name("unknown")) == ""
