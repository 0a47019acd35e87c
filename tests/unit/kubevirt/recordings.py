"""Recorded facts about KubeVirt's own controllers, kept in compact form beside this file.

Source of every file: KubeVirt v1.9.0 virt-controller and virt-api on Kubernetes 1.36.3, recorded
2026-11-21. Inputs are generated scenarios, outputs are what those programs did.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from gitbot.kubernetes.quantities import units_of

_FOLDER = Path(__file__).parent / "recorded"


@cache
def recorded(name: str) -> Any:
    """The content of `recorded/<name>.json.gz`. Shared: never change it."""
    return json.loads(gzip.decompress((_FOLDER / f"{name}.json.gz").read_bytes()))


def kubevirt_object(settings: str) -> dict[str, Any]:
    """The KubeVirt object of one of the named settings."""
    found = recorded("pods")["settings"][settings]
    return {
        "metadata": {"namespace": "kubevirt", "annotations": found["annotations"]},
        "spec": found["spec"],
    }


def essence(pod: dict[str, Any]) -> dict[str, Any]:
    """Of a pod what scheduling and quotas see, amounts as integers, as the recordings keep it."""
    spec, metadata = pod["spec"], pod["metadata"]
    claims = (volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ())
    ours = ("kubevirt.io", "descheduler")
    return {
        "labels": metadata["labels"],
        "ann": {k: v for k, v in metadata["annotations"].items() if k.startswith(ours)},
        "nodeSelector": spec.get("nodeSelector"),
        "affinity": spec.get("affinity"),
        "tolerations": spec.get("tolerations"),
        "spread": spec.get("topologySpreadConstraints") or [],
        "pc": spec.get("priorityClassName"),
        "prio": spec.get("priority"),
        "pre": spec.get("preemptionPolicy"),
        "sched": spec.get("schedulerName"),
        "rc": spec.get("runtimeClassName"),
        "ov": spec.get("overhead"),
        "claims": spec.get("resourceClaims"),
        "hostname": spec.get("hostname"),
        "pvcs": sorted(claim["claimName"] for claim in claims if claim),
        "corder": [container["name"] for container in spec["containers"]],
        "containers": {c["name"]: _amounts(c) for c in spec["containers"]},
        "init": {
            c["name"]: [_amounts(c), c.get("restartPolicy")]
            for c in spec.get("initContainers") or ()
        },
        "ports": [c["ports"] for c in spec["containers"] if c.get("ports")],
    }


def _amounts(container: dict[str, Any]) -> dict[str, dict[str, int]]:
    resources = container.get("resources") or {}
    return {
        side: {key: units_of(key, value) for key, value in (resources.get(side) or {}).items()}
        for side in ("requests", "limits")
    }
