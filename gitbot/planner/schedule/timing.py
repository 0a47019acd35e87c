"""How long a live migration is assumed to take, and when it may start.

Every plan prints the assumption: the guest's memory crosses the network once at the configured
bandwidth, or at KubeVirt's limit for this VM where that is lower, plus a fixed time for the start
of the target pod and the hand-over. It ignores pages that the guest writes meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.migration_policy import (
    matching_policy,
    migration_settings,
    most_bandwidth,
    time_to_copy,
)
from gitbot.model.plan.diagnosis import BANDWIDTH, Check, passed, warned
from gitbot.model.plan.problem import PlacementProblem, Request
from gitbot.model.text.decoding import decoding
from gitbot.model.text.instants import Interval, intersect, subtract

OVERHEAD_SECONDS = 20
"""Seconds of every migration that do not depend on memory: target pod, set-up, hand-over."""


_MEMORY = (
    ("status", "memory", "guestCurrent"),
    ("spec", "domain", "memory", "guest"),
    ("spec", "domain", "resources", "requests", "memory"),
    ("spec", "domain", "resources", "limits", "memory"),
)


def memory_of(vmi: KubernetesObject) -> int:
    """Bytes of guest memory: the amount plugged now, else the spec's, else the request."""
    for path in _MEMORY:
        found = at(vmi, *path)
        if found is not None:
            return whole(found)
    return 0


def estimate(memory: int, bandwidth: int) -> int:
    """Seconds that a migration of `memory` bytes takes at `bandwidth` bytes a second."""
    return -(-memory // max(1, bandwidth)) + OVERHEAD_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """How the memory of one VM is assumed to be copied, by the settings that its migration gets.

    `bandwidth` is in bytes a second, `limited_by` what makes it lower than the configured one, ""
    if nothing does. KubeVirt acts after `patience` seconds of copying, 0 for never: see `then`.
    """

    memory: int
    bandwidth: int
    limited_by: str
    patience: int
    then: str

    @property
    def seconds(self) -> int:
        return estimate(self.memory, self.bandwidth)

    def checks(self) -> tuple[Check, ...]:
        text = (
            f"{self.seconds} s: memory once at {_rate(self.bandwidth)},"
            f" and {OVERHEAD_SECONDS} s for target pod and hand-over"
        )
        found = [passed("estimate", text)]
        if self.limited_by:
            limit = f"{self.limited_by} allows no more than {_rate(self.bandwidth)}"
            found.append(passed(BANDWIDTH, limit))
        copying = self.seconds - OVERHEAD_SECONDS
        if 0 < self.patience < copying:
            late = f"copying takes {copying} s, and after {self.patience} s KubeVirt {self.then}"
            found.append(warned("completion-timeout", late))
        return tuple(found)


class Copies:
    """The copies of a problem's VMs, each worked out once."""

    def __init__(self, problem: PlacementProblem) -> None:
        snapshot = problem.snapshot
        self._bandwidth = problem.bandwidth
        self._kubevirt = next(iter(snapshot.of("KubeVirt")), {})
        self._policies = snapshot.of("MigrationPolicy")
        self._namespaces = {name_of(item).name: item for item in snapshot.of("Namespace")}
        self._settings: dict[str, dict[str, Any]] = {}
        self._known: dict[NamespacedName, Copy] = {}

    def of(self, vm: NamespacedName, vmi: KubernetesObject) -> Copy:
        known = self._known.get(vm)
        if known is None:
            namespace = self._namespaces.get(vm.namespace, {})
            known = self._known[vm] = self._copy(
                memory_of(vmi), matching_policy(self._policies, vmi, namespace)
            )
        return known

    def _copy(self, memory: int, policy: KubernetesObject | None) -> Copy:
        name = "" if policy is None else name_of(policy).name
        source = f"MigrationPolicy {name}" if name else "the KubeVirt object"
        with decoding("MigrationPolicy" if name else "KubeVirt", policy or self._kubevirt):
            if name not in self._settings:
                self._settings[name] = migration_settings(self._kubevirt, policy)
            settings = self._settings[name]
            most = most_bandwidth(settings)
            patience = time_to_copy(settings, memory)
        limited = 0 < most < self._bandwidth
        return Copy(
            memory=memory,
            bandwidth=most if limited else self._bandwidth,
            limited_by=source if limited else "",
            patience=patience,
            then=_then(settings),
        )


def _then(settings: Mapping[str, Any]) -> str:
    if settings["allowPostCopy"]:
        return "switches to post-copy: the guest runs slowly until all is copied"
    if settings["allowWorkloadDisruption"]:
        return "pauses the guest until all is copied"
    each = settings["completionTimeoutPerGiB"]
    return f"gives up (completionTimeoutPerGiB {each}): allow more bandwidth, or more time"


def _rate(bandwidth: int) -> str:
    mib, rest = divmod(bandwidth, 1024 * 1024)
    return f"{bandwidth} B/s" if rest else f"{mib} MiB/s"


def allowed_times(
    problem: PlacementProblem, request: Request, vm: NamespacedName
) -> tuple[Interval, ...]:
    """When the request may move the VM from now on: its allowed time minus the VM's freezes."""
    future = (Interval(start=problem.now, end=max(problem.now, _end(request))),)
    frozen = tuple(time for freeze in problem.freezes if vm in freeze.vms for time in freeze.times)
    return subtract(intersect(request.allowed, future), frozen)


def _end(request: Request) -> int:
    return max((interval.end for interval in request.allowed), default=0)


def first_chance(request: Request, now: int) -> int:
    """The first instant from `now` on at which the request may move anything."""
    return min((max(now, item.start) for item in request.allowed if item.end > now), default=now)
