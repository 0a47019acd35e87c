"""Random mornings: clusters that are not at rest, under several intents of any kind.

Pods are pending, failed, terminating or linger after a migration; migrations of others run; nodes
are cordoned, tainted or silent; limits are tight. A morning is a folder that `gitbot plan` reads.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import ZONE, node, pod, vm

API = "placement.gitbot.dev/v1alpha1"
NOW = "2026-12-06T21:00:00Z"
LEFT = "2026-12-06T20:59:30Z"
CONFIGURATION = "Configuration"
UNREST = (
    *("old", "ending", "ended", "failed", "pending", "flying"),
    *("asked", "starting", "stopped", "over"),
)
"""What a VM may have beside its launcher pod, or instead of it."""

Document = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Morning:
    """A cluster and a repository. The objects of a VM stay together when a morning shrinks."""

    nodes: tuple[KubernetesObject, ...]
    vms: tuple[tuple[KubernetesObject, ...], ...]
    strangers: tuple[KubernetesObject, ...]
    limits: Document
    intents: tuple[Document, ...]

    def objects(self) -> list[KubernetesObject]:
        return [*self.nodes, *(obj for group in self.vms for obj in group), *self.strangers]

    def write(self, folder: Path) -> None:
        """`.gitbot.yaml`, intents and `cluster.yaml`; JSON is YAML, too."""
        (folder / "intents" / "lab").mkdir(parents=True, exist_ok=True)
        spec = {"mode": "Enforce", "clusters": [{"name": "lab", "limits": dict(self.limits)}]}
        configuration = _document(CONFIGURATION, "default", spec)
        (folder / ".gitbot.yaml").write_text(json.dumps(configuration, indent=1))
        for number, intent in enumerate(self.intents):
            path = folder / "intents" / "lab" / f"{number}.yaml"
            path.write_text(json.dumps(intent, indent=1))
        cluster = {"apiVersion": "v1", "kind": "List", "items": self.objects()}
        (folder / "cluster.yaml").write_text(json.dumps(cluster, indent=1))

    def simpler(self) -> Iterator["Morning"]:
        """The mornings with one thing less, the largest things first."""
        for index in range(len(self.intents)):
            yield replace(self, intents=_without(self.intents, index))
        if self.limits:
            yield replace(self, limits={})
        for size in (16, 4, 1):
            for index in range(0, len(self.vms), size):
                yield replace(self, vms=_without(self.vms, index, size))
        for index in range(len(self.strangers)):
            yield replace(self, strangers=_without(self.strangers, index))
        for index in range(len(self.nodes)):
            yield replace(self, nodes=_without(self.nodes, index))


def _without(items: tuple[T, ...], index: int, size: int = 1) -> tuple[T, ...]:
    return (*items[:index], *items[index + size :])


def _document(kind: str, name: str, spec: Document, namespace: str = "") -> Document:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec}


def morning(seed: int, *, most: int = 12) -> Morning:
    """The morning of a seed, with 3 to `most` nodes that are 30 to 97 % full."""
    draw = random.Random(seed)
    nodes = tuple(_nodes(draw, draw.randint(3, most)))
    groups = tuple(_vms(draw, nodes))
    limits: dict[str, int] = {}
    if draw.random() < 0.6:
        limits = {
            "parallel": draw.randint(2, 6),
            "perSourceNode": draw.choice((1, 2, 3)),
            "perTargetNode": draw.choice((1, 2, 5)),
            "reserve": draw.choice((0, 1)),
        }
    return Morning(
        nodes=nodes,
        vms=groups,
        strangers=tuple(_strangers(draw, nodes)),
        limits=limits,
        intents=tuple(_intents(draw, nodes, groups)),
    )


def _nodes(draw: random.Random, count: int) -> Iterator[KubernetesObject]:
    zones = draw.randint(1, min(4, count))
    for number in range(count):
        taints = []
        if draw.random() < 0.07:
            effect = draw.choice(("NoSchedule", "NoExecute", "PreferNoSchedule"))
            taints = [{"key": "dedicated", "value": "x", "effect": effect}]
        yield node(
            f"n{number:02}",
            zone=f"z{number % zones}",
            labels={"disk": "ssd"} if draw.random() < 0.6 else {},
            cpu=draw.choice(("8", "16")),
            memory=draw.choice(("8Gi", "12Gi", "16Gi")),
            unschedulable=draw.random() < 0.08,
            taints=taints,
        )


def _vms(
    draw: random.Random, nodes: Sequence[KubernetesObject]
) -> Iterator[tuple[KubernetesObject, ...]]:
    full = draw.uniform(0.3, 0.97)
    number = 0
    for host in nodes:
        left = full * gib(host["status"]["allocatable"]["memory"])
        while left >= (size := draw.choice((1, 1, 2, 2, 3, 4))):
            left -= size
            yield _machine(draw, f"vm{number:03}", host, size, nodes)
            number += 1


def gib(text: str) -> int:
    return int(text.removesuffix("Gi"))


def _machine(
    draw: random.Random,
    name: str,
    host: KubernetesObject,
    size: int,
    nodes: Sequence[KubernetesObject],
) -> tuple[KubernetesObject, ...]:
    app = f"app{draw.randint(0, 3)}"
    affinity = None
    if draw.random() < 0.1:
        term = {
            "labelSelector": {"matchLabels": {"app": app}},
            "topologyKey": "kubernetes.io/hostname",
        }
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        affinity = {"podAntiAffinity": {required: [term]}}
    ssd = "disk" in host["metadata"]["labels"] and draw.random() < 0.15
    made = vm(
        name,
        on=host["metadata"]["name"],
        namespace=draw.choice(("team-0", "team-1")),
        labels={"app": app},
        memory=f"{size}Gi",
        cpu=draw.choice(("100m", "500m")),
        migratable=draw.random() > 0.05,
        node_selector={"disk": "ssd"} if ssd else None,
        affinity=affinity,
    )
    if draw.random() < 0.15:
        others = [item["metadata"]["name"] for item in nodes if item is not host]
        return tuple(_disturbed(made, draw.choice(UNREST), draw.choice(others)))
    return made


def _disturbed(
    made: tuple[KubernetesObject, ...], unrest: str, other: str
) -> Iterator[KubernetesObject]:
    """The objects of a VM with one kind of unrest; `other` is the second node of that."""
    vmi, launcher = made
    status: dict[str, Any] = dict(vmi["status"])
    if unrest == "stopped":
        yield _stopped(vmi)
        return
    if unrest == "starting":
        yield {**vmi, "status": {"phase": "Scheduling", "activePods": status["activePods"]}}
        yield {**launcher, "status": {"phase": "Pending"}}
        return
    if unrest == "over":
        yield {**vmi, "status": {**status, "phase": "Succeeded"}}
        yield {**launcher, "status": {"phase": "Succeeded"}}
        return
    uid = f"{launcher['metadata']['uid']}-2"
    if unrest in ("old", "flying", "pending", "ending"):
        status["activePods"] = {**status["activePods"], uid: other}
    if unrest == "flying":
        source = status["nodeName"]
        status["migrationState"] = {"sourceNode": source, "targetNode": other}
    yield {**vmi, "status": status}
    yield launcher
    if unrest != "asked":
        yield _beside(launcher, unrest, uid, other)
    phases = {"old": "Succeeded", "flying": "Running", "pending": "Scheduling", "asked": "Pending"}
    if unrest in phases:
        yield _migration(vmi, phases[unrest])


def _stopped(vmi: KubernetesObject) -> KubernetesObject:
    metadata = vmi["metadata"]
    template = {"metadata": {"labels": metadata["labels"]}, "spec": vmi["spec"]}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {**metadata, "uid": f"vm-{metadata['name']}"},
        "spec": {"runStrategy": "Halted", "template": template},
        "status": {"printableStatus": "Stopped"},
    }


def _beside(launcher: KubernetesObject, unrest: str, uid: str, other: str) -> KubernetesObject:
    metadata = {**launcher["metadata"], "name": f"{launcher['metadata']['name']}-2", "uid": uid}
    if unrest == "ending":
        metadata["deletionTimestamp"] = LEFT
    phases = {"ended": "Succeeded", "failed": "Failed", "pending": "Pending"}
    return {
        **launcher,
        "metadata": metadata,
        "spec": {**launcher["spec"], "nodeName": other},
        "status": {"phase": phases.get(unrest, "Running")},
    }


def _migration(vmi: KubernetesObject, phase: str) -> KubernetesObject:
    name, namespace = vmi["metadata"]["name"], vmi["metadata"]["namespace"]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": f"hand-{name}", "namespace": namespace, "uid": f"vmim-{name}"},
        "spec": {"vmiName": name},
        "status": {"phase": phase},
    }


def _strangers(
    draw: random.Random, nodes: Sequence[KubernetesObject]
) -> Iterator[KubernetesObject]:
    for number in range(draw.choice((0, 1, 3))):
        on = draw.choice(["", *(item["metadata"]["name"] for item in nodes)])
        made: dict[str, Any] = dict(pod(f"web-{number}", on=on, namespace="team-0", memory="256Mi"))
        match draw.choice(("", "ending", "failed")):
            case "ending":
                made["metadata"] = {**made["metadata"], "deletionTimestamp": LEFT}
            case "failed":
                made["status"] = {"phase": "Failed"}
        yield made


def _intents(
    draw: random.Random,
    nodes: Sequence[KubernetesObject],
    groups: Sequence[tuple[KubernetesObject, ...]],
) -> Iterator[Document]:
    hosts = [item["metadata"]["name"] for item in nodes]
    draw.shuffle(hosts)
    for number in range(draw.choice((0, 1, 1, 2))):
        mine = [hosts.pop() for _ in range(draw.randint(1, max(1, len(hosts) // 2))) if hosts]
        if mine:
            yield _document("MaintenanceWindow", f"w{number}", _window(draw, mine))
    for number in range(draw.choice((0, 1, 2, 3)) if groups else 0):
        namespace = draw.choice(("team-0", "team-1"))
        spec = _request(draw, namespace, nodes, groups)
        yield _document("MigrationRequest", f"q{number}", spec, namespace)
    for number in range(draw.choice((0, 0, 1, 2))):
        namespace = draw.choice(("team-0", "team-1"))
        yield _rule(draw, f"r{number}", namespace)
    if draw.random() < 0.15:
        spec = {"selector": {"matchLabels": {"app": "app2"}}, "reason": "quarter close"}
        yield _document("FreezeWindow", "f0", spec)


def _window(draw: random.Random, names: Sequence[str]) -> Document:
    drain: dict[str, Any] = {
        "cordon": draw.choice(("Gitbot", "External")),
        "maxNodesAtOnce": draw.choice((1, 1, 2)),
        "notMigratable": draw.choice(("BlockNode", "LeaveRunning")),
    }
    if draw.random() < 0.4:
        drain["reboot"] = "PT10M"
    if draw.random() < 0.2:
        drain["order"] = "ByZone"
    spec: dict[str, Any] = {"nodes": {"names": sorted(names)}, "drain": drain}
    spec["returnHome"] = draw.choice(("Never", "Propose"))
    if draw.random() < 0.4:
        opens = draw.choice(("2026-12-06T20:50", "2026-12-06T22:00"))
        length = draw.choice(("PT15M", "PT1H", "PT4H"))
        spec["schedule"] = {"start": opens, "timeZone": "UTC", "duration": length}
    return spec


def _request(
    draw: random.Random,
    namespace: str,
    nodes: Sequence[KubernetesObject],
    groups: Sequence[tuple[KubernetesObject, ...]],
) -> Document:
    inside = [each[0] for each in groups if each[0]["metadata"]["namespace"] == namespace]
    names = [item["metadata"]["name"] for item in inside]
    app = f"app{draw.randint(0, 3)}"
    vms: dict[str, Any] = {"selector": {"matchLabels": {"app": app}}}
    match draw.choice(("names", "names", "selector", "most", "node")):
        case "names" if names:
            vms = {"names": sorted(draw.sample(names, min(len(names), draw.choice((1, 1, 2, 3)))))}
        case "most":
            vms["maxCount"] = 2
        case "node":
            vms = {"onNode": draw.choice(nodes)["metadata"]["name"]}
    host = draw.choice(nodes)["metadata"]
    target: Document | None = draw.choice(
        (
            *(None, {"node": host["name"]}, {"node": host["name"]}, {"zone": host["labels"][ZONE]}),
            *({"nodeSelector": {"disk": "ssd"}}, {"balance": "Requests"}),
        )
    )
    spec: dict[str, Any] = {"vms": vms}
    if target is not None:
        spec["target"] = target
    if draw.random() < 0.3 and not (target and "balance" in target):
        spec["pin"] = "Node"
    if draw.random() < 0.15:
        spec["deadline"] = draw.choice(("2026-12-06T21:01:00Z", "2026-12-06T21:30:00Z"))
    return spec


def _rule(draw: random.Random, name: str, namespace: str) -> Document:
    match = {"matchLabels": {"app": f"app{draw.randint(0, 3)}"}}
    key = draw.choice((ZONE, "kubernetes.io/hostname"))
    spec: dict[str, Any] = {
        "selector": match,
        "enforcement": draw.choice(("Required", "Preferred")),
        "heal": draw.choice(("Propose", "Report")),
    }
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    term = {"topologyKey": key, "labelSelector": match}
    match draw.choice(("most", "apart", "near", "ssd", "even")):
        case "most":
            spec |= {"topologyKey": key, "maxPerDomain": draw.choice((1, 2, 3))}
            return _document("ZoneAntiAffinity", name, spec, namespace)
        case "apart":
            spec["antiAffinity"] = {required: [term]}
        case "near":
            spec["affinity"] = {required: [term]}
        case "ssd":
            expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
            terms = [{"matchExpressions": [expression]}]
            spec["nodeAffinity"] = {required: {"nodeSelectorTerms": terms}}
        case "even":
            one = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
            spec["topologySpread"] = [{**one, "labelSelector": match}]
    return _document("PlacementRule", name, spec, namespace)
