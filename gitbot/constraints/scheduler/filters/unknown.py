"""What the snapshot lacks to judge a pod: then no node is called feasible, and none unfit.

This is not a plugin of kube-scheduler. A dump of some kinds may lack the claims that a pod names,
and the type that sizes a VM; a claim that a running pod mounts exists, whatever the dump has.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.scheduler.filters.inter_pod_affinity import incoming_in_doubt
from gitbot.constraints.scheduler.node_state import State
from gitbot.constraints.scheduler.scorer import Filter
from gitbot.constraints.scheduler.storage import class_of, is_bound
from gitbot.constraints.scheduler.verdicts import Rejection
from gitbot.kubernetes.objects import at
from gitbot.model.cluster.cluster import ADDS_NAMESPACES
from gitbot.model.cluster.columns import Mask
from gitbot.model.cluster.pod import Pod
from gitbot.model.text.wording import first_of

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
    if "Namespace" in state.facts.unread and (spaces := sorted(set(_spaces(state, pod)))):
        labels = f"the labels of namespace {first_of(spaces, 3)} decide a namespaceSelector"
        reasons.append(f"{labels}, and no Namespace is in it: {ADDS_NAMESPACES}")
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


def _spaces(state: State, pod: Pod) -> Iterator[str]:
    """The namespaces whose labels decide which pods a required term is about."""
    for term in (*pod.affinity.required_pods, *pod.affinity.required_anti):
        if term.namespace_selector is not None:
            about = {other.namespace for other, _ in state.select(term.selector)}
            about |= {pod.namespace} if term.selector.matches(pod.labels) else set()
            yield from (each for each in about if incoming_in_doubt(term, each, state))
    if any(term.in_doubt(pod.namespace) for term in state.anti.about(pod.labels)):
        yield pod.namespace
