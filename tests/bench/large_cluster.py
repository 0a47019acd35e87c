"""A large cluster as a snapshot file, with intents for it, both made from a seed.

Six VMs a node, 75 % of the memory requested; applications of five VMs on five nodes of five zones;
one standing rule for each application, in 50 files; one window. All rules hold at the start.
"""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitbot.kubevirt.target_pod import source_pod
from gitbot.simulation.building import ZONE, kubevirt, machine, namespace, node
from gitbot.snapshot import from_objects, write_snapshot
from tests.bench.intent_repository import CONFIGURATION

TAKEN_AT = 1_796_590_800  # 2026-12-06T21:00:00Z
ZONES, TEAMS, GROUP = 10, 50, 5
VMS_ON_A_NODE = 6
SIZES = (4, 8, 8, 16, 16, 16, 24, 32)  # GiB of guest memory, drawn by seed
_KEPT = 0.75
_HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: {kind}\nmetadata:\n  name: {name}\n"
_SELECTED = (
    "  namespace: team-{team:02}\nspec:\n  selector:\n    matchLabels:\n      app: app-{n}\n"
)
_APART = """\
  antiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            app: app-{n}
"""
_SPREAD = """\
  topologySpread:
    - topologyKey: topology.kubernetes.io/zone
      maxSkew: 1
      whenUnsatisfiable: DoNotSchedule
      nodeAffinityPolicy: Ignore
"""
_NODES = """\
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        - matchExpressions:
            - key: kubernetes.io/arch
              operator: In
              values: [amd64]
"""
_WISH = """\
  antiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 10
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchExpressions:
              - key: app
                operator: In
                values: [app-{n}]
"""
_PARTS = (
    ("ZoneAntiAffinity", "  maxPerDomain: 1\n  enforcement: Required\n"),
    ("PlacementRule", _APART),
    ("ZoneAntiAffinity", "  topologyKey: kubernetes.io/hostname\n"),
    ("PlacementRule", _SPREAD),
    ("ZoneAntiAffinity", "  maxPerDomain: 2\n  enforcement: Preferred\n"),
    ("PlacementRule", _NODES + _WISH),
)


def write(root: Path, nodes: int, *, rules: int, files: int = 50, drained: int = 1) -> Path:
    """Write the repository and the snapshot of its cluster into a folder; returns the snapshot."""
    (root / ".gitbot.yaml").write_text(CONFIGURATION)
    folder = write_rules(root, rules, files=files)
    names = ", ".join(_node_name(number * nodes // drained) for number in range(drained))
    window = _HEAD.format(kind="MaintenanceWindow", name="window")
    drain = f"spec:\n  nodes:\n    names: [{names}]\n  drain:\n    maxNodesAtOnce: 5\n"
    (folder / "window.yaml").write_text(window + drain + "    cordon: Gitbot\n")
    snapshot = from_objects("prod", objects(nodes), TAKEN_AT, kubernetes_version="v1.36.3")
    file = root / "cluster.json.gz"
    file.write_bytes(write_snapshot(snapshot))
    return file


def write_rules(root: Path, rules: int, *, files: int = 50) -> Path:
    """Write that many rules below a folder; returns the folder of their files."""
    folder = root / "intents" / "prod"
    folder.mkdir(parents=True)
    texts = [_rule(number) for number in range(rules)]
    for number in range(files):
        held = texts[number::files]
        if held:
            (folder / f"rules-{number:02}.yaml").write_text("---\n".join(held))
    return folder


def _rule(number: int) -> str:
    kind, parts = _PARTS[number % len(_PARTS)]
    head = _HEAD.format(kind=kind, name=f"rule-{number}")
    return head + (_SELECTED + parts).format(team=number % TEAMS, n=number)


def _node_name(number: int) -> str:
    return f"worker-{number:05}"


def objects(nodes: int) -> Iterator[dict[str, Any]]:
    draw = random.Random(1)
    texts = {gib: _text(gib) for gib in sorted(set(SIZES))}
    count = nodes * VMS_ON_A_NODE
    gibs = [draw.choice(SIZES) for _ in range(count)]
    room = f"{round(sum(gibs) / nodes / _KEPT)}Gi"
    yield kubevirt(evictionStrategy="LiveMigrate")
    yield from (namespace(f"team-{team:02}") for team in range(TEAMS))
    for number in range(nodes):
        labels = {ZONE: f"zone-{number % ZONES}"}
        yield node(_node_name(number), labels=labels, cpu="64", memory=room)
    for number, gib in enumerate(gibs):
        words = {
            "NUMBER": f"{number:06}",
            "TEAM": f"{number // GROUP % TEAMS:02}",
            "APP": str(number // GROUP),
            "NODE": _node_name(number % nodes),
        }
        yield from json.loads(_filled(texts[gib], words))


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub("@([A-Z]+)@", lambda found: words[found[1]], text)


def _text(gib: int) -> str:
    """VirtualMachine, instance and launcher pod of one size, with words to be replaced."""
    domain = {"cpu": {"cores": 2}, "devices": {}, "memory": {"guest": f"{gib}Gi"}}
    spec = {"architecture": "amd64", "domain": domain, "evictionStrategy": "LiveMigrate"}
    name, space, on = "vm-@NUMBER@", "team-@TEAM@", "@NODE@"
    labels = {"app": "app-@APP@", "size": f"{gib}Gi"}
    owner = machine(name, namespace=space, labels=labels, spec=spec)
    owner["metadata"]["uid"] = "vm-uid-@NUMBER@"
    instance = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": name, "namespace": space, "uid": "uid-@NUMBER@", "labels": labels},
        "spec": spec,
        "status": {
            "phase": "Running",
            "nodeName": on,
            "selinuxContext": "none",
            "activePods": {"pod-@NUMBER@": on},
            "conditions": [
                {"type": "LiveMigratable", "status": "True"},
                {"type": "Ready", "status": "True"},
            ],
        },
    }
    pod = dict(source_pod(instance, kubevirt(evictionStrategy="LiveMigrate")))
    made = {"name": "virt-launcher-@NUMBER@", "uid": "pod-@NUMBER@"}
    pod["metadata"] = {**pod["metadata"], **made}
    pod["spec"] = {**pod["spec"], "nodeName": on}
    pod["status"] = {"phase": "Running"}
    return json.dumps([owner, instance, pod])
