"""What the snapshot lacks to judge a pod: then no node is called feasible, and none unfit.

This is not a plugin of kube-scheduler. A dump of some kinds may lack the claims that a pod names,
and the type that sizes a VM; a claim that a running pod mounts exists, whatever the dump has.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.storage import class_of, is_bound
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.objects import at
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod

PLUGIN = "Snapshot"
_ADDS = "`kubectl get persistentvolumeclaims,persistentvolumes,storageclasses -A -o yaml` adds them"


class Unknown(Filter):
    """Rejects every node alike. kube-scheduler has no such verdict."""

    def __init__(self, state: State, reasons: tuple[str, ...]) -> None:
        self._state, self._reasons = state, reasons

    def whole(self) -> Rejection | None:
        return Rejection(plugin=PLUGIN, reasons=self._reasons, early=True, unknown=True)

    def mask(self) -> Mask:
        return self._state.columns.nowhere()

    def reject(self, node: int) -> Rejection | None:  # noqa: ARG002 - the same on every node
        return self.whole()


def prepare(state: State, pod: Pod) -> Unknown | None:
    reasons = [pod.unknown] if pod.unknown else []
    if pod.volumes and state.facts.unread:
        reasons += dict.fromkeys(_gaps(state, pod))
    return Unknown(state, tuple(reasons)) if reasons else None


def _gaps(state: State, pod: Pod) -> Iterator[str]:
    storage, unread = state.facts.storage, state.facts.unread
    for name in pod.claims:
        claim = storage.claim(pod, name)
        if claim is None:
            if "PersistentVolumeClaim" in unread:
                yield f"claim {name} is not in it, nor is any claim: {_ADDS}"
        elif is_bound(claim):
            if storage.volume_of(claim) is None and "PersistentVolume" in unread:
                volume = at(claim, "spec", "volumeName")
                yield f"volume {volume} of claim {name} is not in it, nor is any volume: {_ADDS}"
        elif class_of(claim) not in storage.classes and "StorageClass" in unread:
            named = class_of(claim) or "by default"
            yield f"the class {named} of claim {name} is not in it, nor is any class: {_ADDS}"
