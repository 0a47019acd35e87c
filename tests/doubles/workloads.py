"""Workloads that are not VMs, as objects."""

from collections.abc import Mapping
from typing import Any

from gitbot.simulation.building import template


def deployment(
    name: str, *, namespace: str, replicas: int, labels: Mapping[str, str], spec: Mapping[str, Any]
) -> dict[str, Any]:
    """A Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": template(labels, spec),
        },
    }
