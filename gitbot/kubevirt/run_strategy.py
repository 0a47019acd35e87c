"""Who starts a VM again, and when."""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject, at


def run_strategy(vm: KubernetesObject) -> str:
    """The run strategy of a VirtualMachine; the old field `running` counts as Always or Halted."""
    strategy = at(vm, "spec", "runStrategy")
    if strategy:
        return str(strategy)
    return "Always" if at(vm, "spec", "running") else "Halted"
