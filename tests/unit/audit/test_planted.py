"""Breaches of every kind, planted in the demo's cluster: each is found, and nothing else."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gitbot.audit import AuditFinding, Departure, audit_cluster
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.text.instants import parse_instant
from gitbot.model.text.names import IntentRef
from gitbot.simulation.port import SimulatedPort
from gitbot.snapshot import from_objects
from tests.doubles.customapp import customapp
from tests.doubles.problems import HOSTNAME, ZONE, node, pod, vm
from tests.scenarios.small_clusters import Objects, changed, evacuation, flat, machine

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AUDIT = Path(__file__).parents[3] / "gitbot" / "audit"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown"}
OLD = {
    "topologyKey": "failure-domain.beta.kubernetes.io/zone",
    "whenUnsatisfiable": "ScheduleAnyway",
}
SPARE, OTHER = "spare", "kni-worker"  # two nodes of zone scu, the first without other VMs


def term(app: str, key: str = HOSTNAME) -> dict[str, Any]:
    return {REQUIRED: [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}]}


def apart(app: str, key: str = HOSTNAME) -> dict[str, Any]:
    return {"podAntiAffinity": term(app, key)}


def zones(*values: str) -> dict[str, Any]:
    expression = {"key": ZONE, "operator": "In", "values": list(values)}
    return {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def unhappy(name: str) -> KubernetesObject:
    """The VMI of a VM that asks for nothing, with an eviction that stops it."""
    vmi, launcher = vm(name, on=SPARE)
    return changed(vmi, "spec", "evictionStrategy", value="None"), launcher  # type: ignore[return-value]


def replica(number: int) -> KubernetesObject:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "virt-api", "controller": True}
    obj = pod(f"virt-api-{number}", on=SPARE, namespace="kubevirt", labels={"app": "virt-api"})
    return changed(obj, "metadata", "ownerReferences", value=[owner])


def member(number: int, on: str = OTHER) -> tuple[KubernetesObject, ...]:
    vmi, launcher = vm(f"front-{number}", on=on)
    kind = "VirtualMachineInstanceReplicaSet"
    owner = {"apiVersion": "kubevirt.io/v1", "kind": kind, "name": "frontend", "controller": True}
    return changed(vmi, "metadata", "ownerReferences", value=[owner]), launcher


def uneven() -> dict[str, Any]:
    return {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "uneven"}},
    }


def left_over() -> Objects:
    vmi, launcher = vm("left", on=OTHER)
    asked = {"kubevirt.io/schedulable": "true", HOSTNAME: OTHER}
    return [vmi, changed(launcher, "spec", "nodeSelector", value=asked)]


def silent(name: str) -> KubernetesObject:
    since = {"reason": "NodeStatusUnknown", "lastTransitionTime": "2026-12-06T20:59:30Z"}
    ready = [{"type": "Ready", "status": "Unknown", **since}]
    return changed(node(name, zone="scu"), "status", "conditions", value=ready)


def tolerant(name: str, on: str) -> tuple[KubernetesObject, ...]:
    """A VM whose pod stays on a silent node for 300 s, as Kubernetes writes it into every pod."""
    vmi, launcher = vm(name, on=on)
    key = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    tolerations = [{**key, "tolerationSeconds": 300}]
    return vmi, changed(launcher, "spec", "tolerations", value=tolerations)


def waiting(name: str, **condition: str) -> KubernetesObject:
    """The launcher pod of a VM that starts."""
    vmi, launcher = vm(name, on="")
    del launcher["spec"]["nodeName"], vmi
    launcher["metadata"]["creationTimestamp"] = "2026-12-06T20:00:00Z"
    conditions = [{"type": "PodScheduled", **condition}] if condition else []
    return changed(launcher, "status", value={"phase": "Pending", "conditions": conditions})


@dataclass(frozen=True, kw_only=True)
class Plant:
    """What is planted, and the code and subject of each finding that must come of it."""

    found: set[tuple[str, str]]
    objects: Objects = field(default_factory=list)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # over VMs of app `name`
    manifests: tuple[tuple[str, KubernetesObject], ...] = ()
    drained: bool = False


PLANTS = {
    "node affinity": Plant(
        objects=[vm("ssd", on=OTHER, node_selector={"disk": "ssd"})],
        found={("audit/node-affinity", "ssd")},
    ),
    "pod anti-affinity": Plant(
        objects=[vm(name, on=OTHER, labels={"app": "db"}, affinity=apart("db")) for name in "ab"],
        found={("audit/pod-affinity", "a"), ("audit/pod-affinity", "b")},
    ),
    "topology spread": Plant(
        objects=[
            vm(name, on=on, labels={"app": "uneven"}, topology_spread=[uneven()])
            for name, on in (("even-1", OTHER), ("even-2", SPARE))
        ],
        found={("audit/topology-spread", "even-1"), ("audit/topology-spread", "even-2")},
    ),
    "a key that nodes lack": Plant(
        objects=[vm("racked", on=OTHER, affinity=apart("nobody", "example.com/rack"))],
        found={("audit/topology-key", "example.com/rack")},
    ),
    "a deprecated key in a wish": Plant(
        objects=[vm("old", on=OTHER, topology_spread=[{**uneven(), **OLD}])],
        found={("audit/deprecated-key", OLD["topologyKey"]), ("audit/topology-spread", "old")},
    ),
    "a replica set on one node": Plant(
        objects=[member(1), member(2)], found={("audit/gathered", "frontend")}
    ),
    "a pin": Plant(
        objects=[
            vm("pinned", on=OTHER, node_selector={HOSTNAME: OTHER}),
            machine("pinned", nodeSelector={HOSTNAME: OTHER}),
        ],
        found={("audit/pin", "pinned")},
    ),
    "what a migration left": Plant(objects=left_over(), found={("audit/left-selector", "left")}),
    "another template": Plant(
        objects=[vm("late", on=OTHER), machine("late", nodeSelector={ZONE: "bcn"})],
        found={("audit/live-differs", "late")},
    ),
    "drift from Git": Plant(
        objects=[vm("edited", on=OTHER), machine("edited")],
        manifests=(("vms/edited.yaml", machine("edited", nodeSelector={ZONE: "scu"})),),
        found={("audit/git-differs", "edited")},
    ),
    "a VM that cannot migrate": Plant(
        objects=[vm("heavy", on=OTHER, migratable=False)],
        found={("audit/not-migratable", "heavy")},
    ),
    "an eviction at odds with a window": Plant(
        objects=[unhappy("mortal")], drained=True, found={("audit/eviction-strategy", "mortal")}
    ),
    "all replicas on one node": Plant(
        objects=[replica(1), replica(2)], drained=True, found={("audit/single-point", "virt-api")}
    ),
    "somebody else's migration": Plant(
        objects=[vm("away", on=OTHER), evacuation("1", vmi="away", phase="Running")],
        found={("audit/other-mover", "kubevirt-evacuation-1")},
    ),
    "a broken rule": Plant(
        objects=[vm("ruled", on=OTHER, labels={"app": "ruled"})],
        rules={"ruled": {"node_affinity": zones("bcn")}},
        found={("audit/rule-broken", "ruled")},
    ),
    "a wish that is not met": Plant(
        objects=[vm("wishing", on=OTHER, labels={"app": "wish"})],
        rules={"wish": {"node_affinity": zones("bcn"), "required": False}},
        found={("audit/rule-wish", "wish")},
    ),
    "a rule that can never hold": Plant(
        objects=[vm("lost", on=OTHER, labels={"app": "never"})],
        rules={"never": {"node_affinity": zones("atlantis")}},
        found={("audit/rule-broken", "never"), ("audit/never-holds", "never")},
    ),
    "more VMs than the search for contradictions places": Plant(
        objects=[vm(f"many-{n}", on=OTHER, labels={"app": "many"}) for n in range(65)],
        rules={"many": {"node_affinity": zones("bcn")}},
        found={("audit/rule-broken", "many"), ("audit/undecided", "many")},
    ),
    "rules that contradict each other": Plant(
        objects=[vm("torn", on=OTHER, labels={"app": "torn"})],
        rules={
            "torn": {"node_affinity": zones("scu")},
            "torn/2": {"node_affinity": zones("bcn")},
        },
        found={("audit/rule-broken", "torn/2"), ("audit/contradiction", "torn")},
    ),
    "a node that does not answer": Plant(
        objects=[silent("quiet"), tolerant("patient", "quiet")],
        found={("audit/silent-node", "quiet")},
    ),
    "a node that is gone": Plant(
        objects=[vm("ghost", on="gone")], found={("audit/vanished-node", "gone")}
    ),
    "a node that is fenced": Plant(
        objects=[
            node("fenced", zone="scu", taints=[{**OUT_OF_SERVICE, "effect": "NoExecute"}]),
            vm("carried", on="fenced"),
        ],
        found={("audit/remediation", "fenced")},
    ),
    "a launcher pod that fits nowhere": Plant(
        objects=[waiting("late-start", status="False", reason="Unschedulable", message="0/9")],
        found={("audit/pending-launcher", "virt-launcher-late-start")},
    ),
    "a profile of the scheduler that is unknown": Plant(
        objects=[
            {
                "apiVersion": "config.openshift.io/v1",
                "kind": "Scheduler",
                "metadata": {"name": "cluster"},
                "spec": {"profile": "Mine"},
            }
        ],
        found={("audit/scheduler-profile", "schedulers.config.openshift.io/cluster")},
    ),
}


@cache
def demo() -> tuple[KubernetesObject, ...]:
    """The objects of the demo's application, and one node more without a VM."""
    found = SimulatedPort(customapp(step=6)).snapshot()
    objects = [{**obj, "kind": kind} for kind in found.objects for obj in found.of(kind)]
    return (*objects, node(SPARE, zone="scu"))


def audited(*plants: Plant) -> list[AuditFinding]:
    planted = [obj for plant in plants for obj in flat(plant.objects)]
    snapshot: ClusterSnapshot = from_objects("demo", (*demo(), *planted), 0)
    rules = [
        rule
        for plant in plants
        for name, parts in plant.rules.items()
        for rule in placement_rules(
            Instances.of(snapshot),
            ref=IntentRef(kind="PlacementRule", namespace="default", name=name),
            namespace="default",
            selector={"matchLabels": {"app": name.partition("/")[0]}},
            **parts,
        )
    ]
    window = IntentRef(kind="MaintenanceWindow", namespace="", name="soon")
    drained = any(plant.drained for plant in plants)
    departures = (Departure(window=window, nodes=(SPARE,), opens="now"),) if drained else ()
    manifests = [item for plant in plants for item in plant.manifests]
    return list(audit_cluster(snapshot, rules, departures=departures, manifests=manifests))


def named(found: list[AuditFinding]) -> set[tuple[str, str]]:
    return {(item.finding.code, item.name.name) for item in found}


def test_nothing_is_wrong_with_the_demo() -> None:
    assert audited() == []


@pytest.mark.parametrize("name", sorted(PLANTS))
def test_what_is_planted_is_found_and_nothing_else(name: str) -> None:
    assert named(audited(PLANTS[name])) == PLANTS[name].found


@pytest.mark.parametrize(
    ("objects", "severity", "message"),
    [
        (
            [silent("quiet"), tolerant("patient", "quiet")],
            "warning",
            (
                "it does not answer: Ready is Unknown since 2026-12-06T20:59:30Z "
                "(NodeStatusUnknown); "
                "1 VM there: default/patient; Kubernetes deletes their pods from "
                "2026-12-06T21:04:30Z on"
            ),
        ),
        (
            [silent("quiet")],
            "note",
            (
                "it does not answer: Ready is Unknown since 2026-12-06T20:59:30Z "
                "(NodeStatusUnknown); "
                "no VM is there"
            ),
        ),
        (
            [
                node("deaf", zone="scu", labels={"kubevirt.io/schedulable": "false"}),
                vm("heard", on="deaf"),
            ],
            "warning",
            (
                "virt-handler of its node deaf does not answer: label kubevirt.io/schedulable is "
                "false; 1 VM there: default/heard"
            ),
        ),
        (
            [vm("ghost", on="gone")],
            "warning",
            "the cluster has no such Node; 1 VM there: default/ghost",
        ),
        (
            [waiting("slow", status="False", reason="Unschedulable", message="0/9 nodes")],
            "warning",
            "Pending since 2026-12-06T20:00:00Z; Unschedulable: 0/9 nodes",
        ),
    ],
)
def test_what_is_lost_is_said_with_its_vms_and_times(
    objects: Objects, severity: str, message: str
) -> None:
    (found,) = audited(Plant(objects=objects, found=set()))
    assert (found.finding.severity, found.finding.message) == (severity, message)


@pytest.mark.parametrize(("minutes", "said"), [(4, []), (5, ["no scheduler looks at it"])])
def test_launcher_has_five_minutes_before_it_is_named(minutes: int, said: list[str]) -> None:
    created = parse_instant("2026-12-06T20:00:00Z")
    snapshot = from_objects("demo", (node("n1"), waiting("new")), created + 60 * minutes)
    found = [item.finding for item in audit_cluster(snapshot)]
    assert [item.message.partition("; ")[2] for item in found] == said


def test_a_dump_without_nodes_has_no_vanished_ones() -> None:
    snapshot = from_objects("demo", vm("ghost", on="gone"), 0)
    codes = {item.finding.code for item in audit_cluster(snapshot)}
    assert "audit/vanished-node" not in codes


def test_all_of_them_at_once() -> None:
    expected = set().union(*(plant.found for plant in PLANTS.values()))
    assert named(audited(*PLANTS.values())) == expected


@pytest.mark.parametrize(("on", "asked"), [(OTHER, 1), ("kni-worker4", 0)])
def test_scheduler_is_asked_only_about_members_in_one_place(
    on: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[str] = []
    feasible = World.feasible

    def noted(world: World, pod: Pod) -> tuple[str, ...]:
        questions.append(pod.name.name)
        return feasible(world, pod)

    demo()  # its scheduler starts the pods: not what is counted
    monkeypatch.setattr(World, "feasible", noted)
    audited(Plant(objects=[member(1), member(2, on)], found=set()))
    assert len(questions) == asked


def test_every_kind_is_planted() -> None:
    """But for load, which has its own measurements and tests.

    Pods of the demo have terms that the old admission plugin refuses, so there it is off.
    """
    codes = {
        item.value
        for path in AUDIT.glob("*.py")
        if path.name != "node_load.py"
        for item in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and item.value.startswith("audit/")
    }
    planted = {code for plant in PLANTS.values() for code, _ in plant.found}
    assert planted | {"audit/limited-key"} == codes
