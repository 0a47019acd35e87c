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
from gitbot.model.text.names import IntentRef
from gitbot.simulation.port import SimulatedPort
from gitbot.snapshot import from_objects
from tests.doubles.customapp import customapp
from tests.doubles.problems import HOSTNAME, ZONE, node, pod, vm
from tests.scenarios.small_clusters import Objects, changed, evacuation, flat, machine

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AUDIT = Path(__file__).parents[3] / "gitbot" / "audit"
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
    """But for load, which has its own measurements and tests."""
    codes = {
        item.value
        for path in AUDIT.glob("*.py")
        if path.name != "node_load.py"
        for item in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and item.value.startswith("audit/")
    }
    assert {code for plant in PLANTS.values() for code, _ in plant.found} == codes
