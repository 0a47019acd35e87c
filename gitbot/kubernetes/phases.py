"""Phases of pods, VMIs and migrations. All three share the same final phases."""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, at

FINAL_PHASES = ("Succeeded", "Failed")


def phase_of(obj: KubernetesObject) -> str:
    """The phase in an object's status; "" if it has none yet."""
    status = obj.get("status")
    if type(status) is dict:  # nearly always so, and a third of the time
        return str(status.get("phase") or "")
    return str(at(status, "phase", default=""))


def is_final(obj: KubernetesObject) -> bool:
    return phase_of(obj) in FINAL_PHASES
