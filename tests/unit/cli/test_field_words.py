"""The commands' words on shapes of real clusters: leftovers, pods that end, queues."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import node, vm
from tests.scenarios.small_clusters import kubevirt, machine
from tests.unit.cli.desk import typed

HOST = "kubernetes.io/hostname"
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "db"}}}
        ]
    }
}


def written(folder: Path, *objects: KubernetesObject | tuple[KubernetesObject, ...]) -> str:
    items: list[Any] = []
    for item in objects:
        items.extend(item) if isinstance(item, tuple) else items.append(item)
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(file)


@pytest.mark.parametrize(
    ("runs_on", "words"),
    [("n1", "allows no other node than n2"), ("n2", "keeps it on n2")],
)
def test_a_pin_says_which_node_it_is_a_pin_to(tmp_path: Path, runs_on: str, words: str) -> None:
    left = vm("web", on=runs_on, node_selector={HOST: "n2"})
    scene = written(tmp_path, node("n1"), node("n2"), node("n3"), left)
    said = typed("audit", "--no-intents", "--rule", "audit/pin", "-o", "wide", "--snapshot", scene)
    assert f"its own spec {words}: nodeSelector {HOST}=n2" in said.out, said.text
    assert "--to n2`" in said.out


def test_a_launcher_pod_that_ends_is_called_terminating(tmp_path: Path) -> None:
    old = vm("db-2", on="n2", labels={"app": "db"})
    old[-1]["metadata"]["deletionTimestamp"] = "2026-12-01T00:59:00Z"
    scene = written(tmp_path, node("n1"), node("n2"), vm("db-1", on="n1", affinity=APART), old)
    said = typed("explain", "db-1", "--snapshot", scene)
    assert f"already holds default/{old[-1]['metadata']['name']} (terminating) on n2" in said.out


def owned(name: str, on: str, kind: str) -> tuple[KubernetesObject, ...]:
    vmi, launcher = vm(name, on=on)
    owner = {"apiVersion": "kubevirt.io/v1", "kind": kind, "name": "web", "uid": "w"}
    vmi["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return vmi, launcher


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ("n1 n1", "all 2 members are on node n1, while n2, n3 could take one"),
        ("n1 n2", "all 2 members are on zone a, while b could take one"),
        ("n1 n3", ""),
        ("n1", ""),
    ],
)
def test_members_of_one_set_that_gather_are_noted(tmp_path: Path, places: str, said: str) -> None:
    zones = {"n1": "a", "n2": "a", "n3": "b"}
    pool = [node(name, zone=zone) for name, zone in zones.items()]
    kind = "VirtualMachineInstanceReplicaSet"
    mine = [owned(f"web-{n}", on, kind) for n, on in enumerate(places.split())]
    asked = ("audit", "--no-intents", "-o", "json", "--snapshot")
    found = json.loads(typed(*asked, written(tmp_path, *pool, *mine)).out)["items"]
    assert [item["message"] for item in found if item["code"] == "audit/gathered"] == [said] * bool(
        said
    )


def test_deprecated_labels_in_a_vms_own_terms_are_named(tmp_path: Path) -> None:
    zone = "failure-domain.beta.kubernetes.io/zone"
    pool = [node(name, labels={zone: "a"}) for name in ("n1", "n2")]
    scene = written(tmp_path, *pool, vm("web", on="n1", node_selector={zone: "a"}))
    said = typed("audit", "--no-intents", "--rule", "audit/deprecated-key", "--snapshot", scene)
    assert f"{zone} is deprecated, and nodes may lose it; the terms of 1 VM read it" in said.out
    said = typed("explain", "web", "--no-intents", "--snapshot", scene)
    assert f"deprecated-key: its terms read labels that nodes may lose: {zone} (now " in said.out


@pytest.mark.parametrize("running", [False, True])
def test_what_the_old_admission_plugin_refuses_is_named(tmp_path: Path, running: bool) -> None:
    """A pod with such a term shows that the plugin is off."""
    term = {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    mine = vm("other", on="n1", affinity=apart) if running else ()
    objects = [node("n1", zone="a"), kubevirt(), machine("web", affinity=apart), *mine]
    scene = written(tmp_path, *objects)
    said = typed("audit", "--no-intents", "--snapshot", scene)
    words = "if admission plugin LimitPodHardAntiAffinityTopology is on, it refuses theirs: web"
    assert (words in said.out) == (not running), said.text
    said = typed("explain", "web", "--no-intents", "--snapshot", scene)
    words = "it refuses the pod: required anti-affinity by topology.kubernetes.io/zone"
    assert (words in said.out) == (not running), said.text
