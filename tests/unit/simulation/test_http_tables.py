from typing import Any

import pytest

from gitbot.simulation.http.tables import human_duration, table

NOW = 1_764_550_800  # 2025-12-01T01:00:00Z
METADATA = {"name": "x", "creationTimestamp": "2025-12-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (312, "5m12s"),
        (600, "10m"),
        (3600, "60m"),
        (10_800, "3h"),
        (11_100, "3h5m"),
        (28_800, "8h"),
        (172_800, "2d"),
        (180_000, "2d2h"),
        (864_000, "10d"),
    ],
)
def test_ages_are_written_like_kubectl_writes_them(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text


def _node(**spec: Any) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True"}
    return {
        "kind": "Node",
        "metadata": {**METADATA, "labels": {"node-role.kubernetes.io/control-plane": ""}},
        "spec": spec,
        "status": {"conditions": [condition], "nodeInfo": {"kubeletVersion": "v1.36.3"}},
    }


def _pod(phase: str, **metadata: str) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {**METADATA, **metadata},
        "spec": {"containers": [{"name": "a"}], "nodeName": "n"},
        "status": {"phase": phase, "containerStatuses": [{"ready": phase == "Running"}]},
    }


UNKNOWN = ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]
"""What a node that tells nothing of itself has in the wide columns."""
ON_N = ["<none>", "n", "<none>", "<none>"]


@pytest.mark.parametrize(
    ("obj", "cells"),
    [
        (_node(), ["x", "Ready", "control-plane", "60m", "v1.36.3", *UNKNOWN]),
        (_node(unschedulable=True),
         ["x", "Ready,SchedulingDisabled", "control-plane", "60m", "v1.36.3", *UNKNOWN]),
        (_pod("Running"), ["x", "1/1", "Running", "0", "60m", *ON_N]),
        (_pod("Pending"), ["x", "0/1", "ContainerCreating", "0", "60m", *ON_N]),
        (_pod("Succeeded"), ["x", "0/1", "Completed", "0", "60m", *ON_N]),
        (_pod("Running", deletionTimestamp="2025-12-01T00:59:00Z"),
         ["x", "1/1", "Terminating", "0", "60m", *ON_N]),
        ({"kind": "VirtualMachineInstanceMigration", "metadata": METADATA,
          "spec": {"vmiName": "v"}}, ["x", "", "v"]),
        ({"kind": "Lease", "metadata": METADATA}, ["x", "60m"]),
    ],
)  # fmt: skip
def test_rows(obj: dict[str, Any], cells: list[Any]) -> None:
    printed = table(obj["kind"], [obj], now=NOW, metadata={})
    assert printed["rows"][0]["cells"] == cells
    assert len(printed["columnDefinitions"]) == len(cells)


@pytest.mark.parametrize(
    ("include", "kind"), [("Metadata", "PartialObjectMetadata"), ("Object", "Node"), ("None", None)]
)
def test_what_a_row_carries(include: str, kind: str | None) -> None:
    row = table("Node", [_node()], now=NOW, metadata={}, include=include)["rows"][0]
    assert row.get("object", {}).get("kind") == kind
