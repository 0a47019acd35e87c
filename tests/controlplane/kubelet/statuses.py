"""What a kubelet writes into the status of pods and nodes."""

import hashlib
from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, at, condition_of
from gitbot.model.text.instants import format_instant
from gitbot.simulation.controllers.kubelet import running_status

PRESSURES = {
    "MemoryPressure": "KubeletHasSufficientMemory",
    "DiskPressure": "KubeletHasNoDiskPressure",
    "PIDPressure": "KubeletHasSufficientPID",
}


def running(pod: KubernetesObject, *, now: int, address: str, host: str) -> dict[str, Any]:
    """The status of a pod whose containers run: with addresses, image digests, readiness gates."""
    status = running_status(pod, now)
    containers = [
        {**each, "imageID": image_id(each["image"])} for each in status["containerStatuses"]
    ]
    return {
        "phase": "Running",
        "startTime": status["startTime"],
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [*_conditions(status), readiness(pod, now)],
        "containerStatuses": containers,
        "initContainerStatuses": [_init_status(each, now) for each in _init_containers(pod)],
    }


def _conditions(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    own = ("PodReadyToStartContainers", "Initialized", "ContainersReady")
    return [each for each in status["conditions"] if each["type"] in own]


def readiness(pod: KubernetesObject, now: int) -> dict[str, Any]:
    """The Ready condition: False while a readiness gate of the pod is not True."""
    gates = [gate["conditionType"] for gate in at(pod, "spec", "readinessGates", default=[])]
    waiting = [gate for gate in gates if not _is_true(pod, gate)]
    condition: dict[str, Any] = {
        "type": "Ready",
        "status": "False" if waiting else "True",
        "lastTransitionTime": format_instant(now),
        "reason": None,
        "message": None,
    }
    if waiting:
        condition["reason"] = "ReadinessGatesNotReady"
        condition["message"] = f'corresponding condition of pod readiness gate "{waiting[0]}" '
        condition["message"] += "does not exist or is not True."
    return condition


def _is_true(pod: KubernetesObject, condition: str) -> bool:
    return (condition_of(pod, condition) or {}).get("status") == "True"


def _init_containers(pod: KubernetesObject) -> list[Mapping[str, Any]]:
    return list(at(pod, "spec", "initContainers", default=[]))


def _init_status(container: Mapping[str, Any], now: int) -> dict[str, Any]:
    text = format_instant(now)
    image = str(container.get("image", ""))
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": text, "finishedAt": text}
    sidecar = container.get("restartPolicy") == "Always"
    state = {"running": {"startedAt": text}} if sidecar else {"terminated": ended}
    return {
        "name": container["name"],
        "image": image,
        "imageID": image_id(image),
        "ready": True,
        "started": sidecar,
        "restartCount": 0,
        "state": state,
    }


def image_id(image: str) -> str:
    """An image by its digest, as container runtimes report it; made up from the name."""
    name = image.partition("@")[0]
    if ":" in name.rpartition("/")[2]:
        name = name.rpartition(":")[0]
    return f"{name}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def finished(pod: KubernetesObject, *, now: int, phase: str, reason: str = "") -> dict[str, Any]:
    """The status of a pod whose containers have ended, well (Succeeded) or not (Failed)."""
    code = 0 if phase == "Succeeded" else 1
    ended = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "finishedAt": format_instant(now),
    }
    statuses = [
        {**each, "ready": False, "started": False, "state": {"terminated": ended}}
        for each in at(pod, "status", "containerStatuses", default=[])
    ]
    not_ready = {
        "status": "False",
        "reason": "PodCompleted" if not code else "PodFailed",
        "lastTransitionTime": format_instant(now),
    }
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": [{"type": name, **not_ready} for name in ("Ready", "ContainersReady")],
        "containerStatuses": statuses,
    }
    return {**status, "reason": reason} if reason else status


def refused(*, now: int, reason: str, message: str) -> dict[str, Any]:
    """The status of a pod that the kubelet did not admit."""
    started = {"startTime": format_instant(now)}
    return {**started, "phase": "Failed", "reason": reason, "message": message}


def restarted(pod: KubernetesObject, *, now: int) -> dict[str, Any]:
    """The status of a pod whose containers were started again."""
    text = format_instant(now)
    statuses = [
        {
            **each,
            "ready": True,
            "started": True,
            "restartCount": each["restartCount"] + 1,
            "state": {"running": {"startedAt": text}},
        }
        for each in at(pod, "status", "containerStatuses", default=[])
    ]
    return {"containerStatuses": statuses, "conditions": [readiness(pod, now)]}


def node_conditions(*, now: int, ready: bool, reason: str = "") -> list[dict[str, Any]]:
    """The conditions of a node."""
    times = {"lastHeartbeatTime": format_instant(now), "lastTransitionTime": format_instant(now)}
    found = [
        {"type": name, "status": "False", "reason": why, "message": "", **times}
        for name, why in PRESSURES.items()
    ]
    status = "True" if ready else "False"
    why = "KubeletReady" if ready else reason or "KubeletNotReady"
    message = "kubelet is posting ready status" if ready else "held by the test"
    last = {"type": "Ready", "status": status, "reason": why, "message": message, **times}
    return [*found, last]
