"""Of a launcher pod what scheduling, quotas and selectors see, in a form to compare.

Amounts are compared as amounts (`1Gi` is `1024Mi`), lists with an arbitrary order as sets.
"""

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import annotations_of, at, labels_of
from gitbot.kubernetes.quantities import units_of

_SPEC = (
    "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints", "priorityClassName",
    "priority", "preemptionPolicy", "schedulerName", "runtimeClassName", "resourceClaims",
    "hostname", "schedulingGates",
)  # fmt: skip
_OURS = ("kubevirt.io/", "descheduler.")


def essence(pod: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a pod that are compared; `containers` by name, `order` their names in order."""
    spec = pod.get("spec") or {}
    annotations = {
        key: value for key, value in annotations_of(pod).items() if key.startswith(_OURS)
    }
    claims = (volume.get("persistentVolumeClaim") for volume in spec.get("volumes") or ())
    return {
        "metadata": {"labels": dict(labels_of(pod)), "annotations": annotations},
        "spec": {
            **{key: spec.get(key) for key in _SPEC},
            "overhead": _amounts(spec.get("overhead")),
            "containers": _containers(spec.get("containers")),
            "initContainers": _containers(spec.get("initContainers")),
            "order": [item["name"] for item in spec.get("containers") or ()],
            "claims": sorted(claim["claimName"] for claim in claims if claim),
        },
    }


def _containers(containers: Any) -> dict[str, Any]:
    return {
        item["name"]: {
            "restartPolicy": item.get("restartPolicy"),
            "requests": _amounts(at(item, "resources", "requests")),
            "limits": _amounts(at(item, "resources", "limits")),
            "claims": at(item, "resources", "claims"),
            "hostPorts": sorted(
                str(port["hostPort"]) + "/" + str(port.get("protocol", "TCP"))
                for port in item.get("ports") or ()
                if port.get("hostPort")
            ),
        }
        for item in containers or ()
    }


def _amounts(resources: Any) -> dict[str, int]:
    return {key: units_of(key, value) for key, value in (resources or {}).items()}
