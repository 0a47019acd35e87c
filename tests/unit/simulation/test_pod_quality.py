"""The QoS class of a pod, as kube-apiserver computes it."""

from typing import Any

import pytest

from gitbot.simulation.pod_quality import quality_of

FULL = {"cpu": "1", "memory": "1Gi"}
Container = dict[str, Any]


def container(requests: dict[str, str], limits: dict[str, str]) -> Container:
    return {"resources": {"requests": requests, "limits": limits}}


@pytest.mark.parametrize(
    ("containers", "helpers", "expected"),
    [
        ([{}], [], "BestEffort"),
        ([container({"ephemeral-storage": "1Gi"}, {})], [], "BestEffort"),
        ([container({"cpu": "0"}, {})], [], "BestEffort"),
        ([container(FULL, FULL)], [], "Guaranteed"),
        ([container(FULL, {"cpu": "1000m", "memory": "1024Mi"})], [], "Guaranteed"),
        ([container({"cpu": "1"}, FULL)], [], "Burstable"),
        ([container(FULL, {"cpu": "1"})], [], "Burstable"),
        ([container(FULL, FULL), {}], [], "Burstable"),
        ([container(FULL, FULL)], [container(FULL, FULL)], "Guaranteed"),
        ([container(FULL, FULL)], [container({"cpu": "1m"}, {})], "Burstable"),
    ],
)
def test_quality(containers: list[Container], helpers: list[Container], expected: str) -> None:
    assert quality_of({"spec": {"containers": containers, "initContainers": helpers}}) == expected
