from __future__ import annotations

import pytest

from gitbot.model.objects import at, labels_of
from gitbot.simulation.cluster import SimulatedCluster
from gitbot.simulation.scenes import NAMESPACE, customapp

W1, W2, W3, W4, W5, W6 = ("kni-worker", *(f"kni-worker{index}" for index in range(2, 7)))


def places(cluster: SimulatedCluster) -> dict[str, list[str]]:
    """Nodes of the living pods of each workload; "" where a pod waits."""
    found: dict[str, list[str]] = {}
    for pod in cluster.list("Pod", NAMESPACE):
        if at(pod, "status", "phase") not in ("Succeeded", "Failed"):
            labels = labels_of(pod)
            workload = labels.get("kubevirt.io/domain") or labels["app"]
            found.setdefault(workload, []).append(at(pod, "spec", "nodeName", default=""))
    return {workload: sorted(nodes) for workload, nodes in found.items()}


STORY = [
    (1, {"mssql2016": [W2, W4, W6]}),
    (2, {"mssql2016": [W4, W6, W6]}),
    (3, {"mssql2016": [W4, W6, W6]}),
    (4, {"mssql2016": [W2, W4, W6]}),
    (5, {"mssql2016": [W2, W4, W6], "cache": [W1, W3, W5]}),
    (6, {"mssql2016": [W2, W4, W6], "cache": [W1, W3, W5], "blackbox": [W1, W3, W5]}),
    (7, {"mssql2016": [W2, W4, W6], "cache": [W2, W3, W5], "blackbox": [W2, W3, W5]}),
    (8, {"mssql2016": [W2, W4, W6], "cache": [W2, W3, W5], "blackbox": [W2, W3, W5]}),
    (9, {"mssql2016": [W2, W4, W6], "cache": [W1, W3, W5], "blackbox": [W1, W3, W5]}),
    (10, {"mssql2016": ["", W2, W6], "cache": [W1, W3, W5], "blackbox": [W1, W3, W5]}),
]


@pytest.mark.parametrize(("step", "expected"), STORY)
def test_customapp_goes_as_in_its_source(step: int, expected: dict[str, list[str]]) -> None:
    assert places(customapp(step=step, live_migratable=False)) == expected
