"""Mornings on richer clusters: own terms of VMs, volumes, quotas, silent nodes, KubeVirt's limits.

A wide morning is a morning of `tests.laws.mornings` to which this file adds what most of those
clusters lack.
"""

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import HOSTNAME, ZONE
from tests.laws.mornings import API, Document, Morning, gib, morning

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LOST = ("2026-12-06T20:59:00Z", "2026-12-06T20:30:00Z")
CLASS: KubernetesObject = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "shared", "uid": "class-shared"},
    "provisioner": "example.org/shared",
    "volumeBindingMode": "Immediate",
}


def wide_morning(seed: int, *, most: int = 8) -> Morning:
    """The wide morning of a seed; a third of them has calm nodes and VMs, but for the rest."""
    draw, plain = random.Random(f"wide {seed}"), morning(seed, most=most)
    share = draw.choice((0.0, 0.5, 1.0))
    nodes = tuple(_node(draw, copy.deepcopy(dict(item)), share) for item in plain.nodes)
    vms = tuple(tuple(_machine(draw, group, nodes, share)) for group in plain.vms)
    windows = [
        item["metadata"]["name"] for item in plain.intents if item["kind"] == "MaintenanceWindow"
    ]
    intents = tuple(_intent(draw, copy.deepcopy(dict(item)), windows) for item in plain.intents)
    added = (*plain.strangers, CLASS, *_limits(draw), *_quotas(draw, vms, share))
    intents = (*intents, *_company(draw), *_even(draw))
    return replace(plain, nodes=nodes, vms=vms, strangers=added, intents=intents)


def _node(draw: random.Random, made: dict[str, Any], share: float) -> KubernetesObject:
    chance = draw.random()
    if chance < 0.06 * share:
        since = draw.choice(LOST)
        ready = {"type": "Ready", "status": "Unknown", "lastTransitionTime": since}
        made["status"]["conditions"] = [ready]
        made["spec"].setdefault("taints", []).extend(
            {"key": "node.kubernetes.io/unreachable", "effect": effect, "timeAdded": since}
            for effect in ("NoSchedule", "NoExecute")
        )
    elif chance < 0.12 * share:
        made["metadata"]["labels"]["kubevirt.io/schedulable"] = "false"
    if draw.random() < 0.15 * share:
        made["status"]["allocatable"] |= {"pods": str(draw.randint(4, 12))}
    return made


def _machine(
    draw: random.Random,
    group: Sequence[KubernetesObject],
    nodes: Sequence[KubernetesObject],
    share: float,
) -> Iterator[KubernetesObject]:
    """The objects of a VM, with terms or a volume of a zone added to its pods as to itself."""
    made = [copy.deepcopy(dict(item)) for item in group]
    head, storage = made[0], list[KubernetesObject]()
    running = [item for item in made if item["kind"] in ("VirtualMachineInstance", "Pod")]
    if head["kind"] == "VirtualMachineInstance":
        if "affinity" not in head["spec"] and draw.random() < 0.25 * share:
            term = _terms(draw, head["metadata"]["labels"]["app"])
            for item in running:
                item["spec"].update(copy.deepcopy(term))
        if draw.random() < 0.12 * share:
            claim = {"claimName": head["metadata"]["name"]}
            for item in running:
                item["spec"]["volumes"] = [{"name": "root", "persistentVolumeClaim": claim}]
            storage = _volume(draw, made, nodes)
    yield from (*made, *storage)


def _terms(draw: random.Random, app: str) -> Document:
    """A required or preferred term about the VMs of the same app, or about nodes."""
    chosen = {"labelSelector": {"matchLabels": {"app": app}}}
    key = draw.choice((ZONE, HOSTNAME))
    near: Document = {**chosen, "topologyKey": key}
    match draw.choice(("apart", "rather", "near", "spread", "evenly", "ssd", "not-z0")):
        case "apart":
            return {"affinity": {"podAntiAffinity": {REQUIRED: [near]}}}
        case "rather":
            term = {"weight": 50, "podAffinityTerm": near}
            return {"affinity": {"podAntiAffinity": {PREFERRED: [term]}}}
        case "near":
            return {"affinity": {"podAffinity": {REQUIRED: [near]}}}
        case "spread":
            hard = {**near, "maxSkew": draw.choice((1, 2)), "whenUnsatisfiable": "DoNotSchedule"}
            return {"topologySpreadConstraints": [hard]}
        case "evenly":
            soft = {**near, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
            return {"topologySpreadConstraints": [soft]}
        case "ssd":
            return _on_nodes({"key": "disk", "operator": "In", "values": ["ssd"]})
        case _:
            return _on_nodes({"key": ZONE, "operator": "NotIn", "values": ["z0"]})


def _on_nodes(expression: Document) -> Document:
    terms = [{"matchExpressions": [expression]}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def _volume(
    draw: random.Random, made: Sequence[KubernetesObject], nodes: Sequence[KubernetesObject]
) -> list[KubernetesObject]:
    """A bound claim, whose volume one or two zones reach."""
    head = made[0]["metadata"]
    on = next(item["spec"]["nodeName"] for item in made if item["kind"] == "Pod")
    zones = {item["metadata"]["name"]: item["metadata"]["labels"][ZONE] for item in nodes}
    values = sorted({zones[on], draw.choice(sorted(zones.values()))})
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": values}]}
    modes, size = ["ReadWriteMany"], {"storage": "1Gi"}
    own = {"name": head["name"], "namespace": head["namespace"], "uid": f"claim-{head['name']}"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{head['name']}", "uid": f"pv-{head['name']}"},
        "spec": {
            "accessModes": modes,
            "capacity": size,
            "storageClassName": "shared",
            "claimRef": {"kind": "PersistentVolumeClaim", **own},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
        "status": {"phase": "Bound"},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**own, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {
            "accessModes": modes,
            "volumeName": f"pv-{head['name']}",
            "storageClassName": "shared",
            "resources": {"requests": size},
        },
        "status": {"phase": "Bound", "accessModes": modes},
    }
    return [claim, volume]


def _limits(draw: random.Random) -> Iterator[KubernetesObject]:
    """KubeVirt's own limits of migrations, which may be stricter than the repository's."""
    if draw.random() < 0.3:
        most = {
            "parallelMigrationsPerCluster": draw.randint(1, 6),
            "parallelOutboundMigrationsPerNode": draw.randint(1, 3),
        }
        yield {
            "apiVersion": "kubevirt.io/v1",
            "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": "kubevirt", "uid": "kubevirt"},
            "spec": {"configuration": {"migrations": most}},
            "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.9.0"},
        }


def _quotas(
    draw: random.Random, vms: Sequence[Sequence[KubernetesObject]], share: float
) -> Iterator[KubernetesObject]:
    """Quotas with room for no, one or a few target pods more."""
    for namespace in ("team-0", "team-1"):
        if draw.random() < 0.12 * share:
            used = sum(
                gib(item["spec"]["containers"][0]["resources"]["requests"]["memory"])
                for group in vms
                for item in group
                if item["kind"] == "Pod"
                and item["metadata"]["namespace"] == namespace
                and item["status"]["phase"] not in ("Succeeded", "Failed")
            )
            hard = {"requests.memory": f"{used + draw.choice((0, 1, 2, 4, 8))}Gi"}
            yield {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "memory", "namespace": namespace, "uid": f"quota-{namespace}"},
                "spec": {"hard": hard},
                "status": {"hard": hard, "used": {"requests.memory": f"{used}Gi"}},
            }


def _intent(draw: random.Random, made: dict[str, Any], windows: Sequence[str]) -> Document:
    spec = made["spec"]
    match made["kind"]:
        case "MaintenanceWindow":
            _window(draw, spec)
        case "MigrationRequest":
            _request(draw, spec, windows)
        case "FreezeWindow" if draw.random() < 0.5:
            length = draw.choice(("PT1H", "PT65M", "PT4H"))
            spec["schedule"] = {"start": "2026-12-06T20:00", "timeZone": "UTC", "duration": length}
    return made


def _window(draw: random.Random, spec: dict[str, Any]) -> None:
    drain = spec["drain"]
    if draw.random() < 0.4:
        for field in ("maxNodesAtOnce", "order", "reboot"):
            drain.pop(field, None)
        drain["mode"] = "Together"
    if "schedule" in spec and draw.random() < 0.5:
        drain["lead"] = draw.choice(("PT30M", "PT2H", "Auto"))
    if draw.random() < 0.2:
        spec["allowBreach"] = "PT10M"
    if draw.random() < 0.2:
        spec["overrun"] = "Finish"


def _request(draw: random.Random, spec: dict[str, Any], windows: Sequence[str]) -> None:
    if draw.random() < 0.15:
        spec["allowBreach"] = "PT30M"
    if draw.random() < 0.1 and windows:
        spec["window"] = draw.choice(windows)
    if draw.random() < 0.1:
        spec["notBefore"] = "2026-12-06T21:10:00Z"
    if "selector" in spec["vms"] and draw.random() < 0.3:
        values = sorted({f"app{draw.randint(0, 3)}", f"app{draw.randint(0, 3)}"})
        spec["vms"]["selector"] = {
            "matchExpressions": [{"key": "app", "operator": "In", "values": values}]
        }


def _company(draw: random.Random) -> Iterator[Document]:
    """A rule about VMs of another app than its own members."""
    if draw.random() < 0.3:
        mine, others = ({"matchLabels": {"app": f"app{draw.randint(0, 3)}"}} for _ in range(2))
        term: Mapping[str, Any] = {
            "topologyKey": draw.choice((ZONE, HOSTNAME)),
            "labelSelector": others,
        }
        spec = {
            "selector": mine,
            "enforcement": draw.choice(("Required", "Preferred")),
            "heal": "Propose",
            draw.choice(("affinity", "antiAffinity")): {REQUIRED: [term]},
        }
        metadata = {"name": "x0", "namespace": draw.choice(("team-0", "team-1"))}
        yield {"apiVersion": API, "kind": "PlacementRule", "metadata": metadata, "spec": spec}


def _even(draw: random.Random) -> Iterator[Document]:
    """A BalanceRule."""
    if draw.random() < 0.25:
        spec: dict[str, Any] = {
            "above": draw.choice((10, 15, 25)),
            "maxMoves": draw.randint(1, 5),
        }
        if draw.random() < 0.3:
            spec["namespaces"] = ["team-0"]
        metadata = {"name": "even"}
        yield {"apiVersion": API, "kind": "BalanceRule", "metadata": metadata, "spec": spec}
