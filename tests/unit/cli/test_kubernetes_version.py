"""The cluster's own version decides whose verdict it is, that of its newest kubelet in a dump."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.problems import node, pod
from tests.unit.cli.desk import typed

ELSEWHERE = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["a"]}]}
APART = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "db"}},
    "namespaceSelector": ELSEWHERE,
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def explained(kubelets: list[str], waiting: dict[str, Any], **status: Any) -> Any:
    """What explain says of a pod that waits, with another pod in the namespace of team a on n0."""
    nodes = []
    for number, version in enumerate(kubelets):
        made = dict(node(f"n{number}", memory="8Gi"))
        made["status"] = {**made["status"], **status, "nodeInfo": {"kubeletVersion": version}}
        nodes.append(made)
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in (("default", {}), ("other", {"team": "a"}))
    ]
    placed = pod("db-0", on="n0", namespace="other", labels={"app": "db"})
    asked: KubernetesObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "waits", "namespace": "default"},
        "spec": {"containers": [{"name": "one", "image": "app:v1"}], **waiting},
        "status": {"phase": "Pending"},
    }
    items = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *spaces, placed, asked]}
    Path("cluster.json").write_text(json.dumps(items))
    said = typed("explain", "pod/waits", "--snapshot", "cluster.json", "-o", "json").out
    return json.loads(said)["subjects"][0]


@pytest.mark.parametrize(
    ("kubelets", "takes", "checks"),
    [
        (["", ""], ["n1"], ["namespace-selector"]),
        (["v1.36.3", "v1.35.1"], ["n1"], ["namespace-selector"]),
        (["v1.37.2-gke.100", "v1.36.3"], ["n0", "n1"], []),
        (["v1.34.0", "v1.34.0"], ["n1"], ["kubernetes-version", "namespace-selector"]),
        (["v1.40.1", "nonsense"], ["n0", "n1"], ["kubernetes-version"]),
    ],
)
def test_a_defect_of_one_minor_is_judged_in_that_minor(
    kubelets: list[str], takes: list[str], checks: list[str]
) -> None:
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": [APART]}
    found = explained(kubelets, {"affinity": {"podAntiAffinity": anti}})
    assert found["feasible"] == takes
    assert [item["name"] for item in found["preflight"]] == checks


@pytest.mark.parametrize(("version", "score"), [("v1.36.3", 89), ("v1.37.0", 44)])
def test_image_volumes_count_as_images_from_1_37_on(version: str, score: int) -> None:
    # 100 * (900 - 23) / (1000 - 23) with one image, and / (2000 - 23) with two
    images = [{"names": ["app:v1"], "sizeBytes": 900 * 2**20}]
    volumes = [{"name": "disk", "image": {"reference": "disk:v1"}}]
    found = explained([version, version], {"volumes": volumes}, images=images)
    assert {item["scores"]["ImageLocality"] for item in found["nodes"]} == {score}
