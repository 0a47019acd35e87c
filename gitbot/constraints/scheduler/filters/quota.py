"""ResourceQuotas: a target pod is a second pod, and its namespace must have room for both.

Source: Kubernetes' quota evaluator of pods (pkg/quota/v1/evaluator/core/pods.go). The scheduler
does not check quotas; the API server refuses the pod, and the migration stays Pending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitbot.constraints.scheduler.filters.resources import amount_words
from gitbot.kubernetes.objects import KubernetesObject, at, name_of
from gitbot.kubernetes.quantities import milli, whole
from gitbot.model.cluster.pod import Pod
from gitbot.model.text.decoding import decoding

_COUNTS = frozenset({"pods", "count/pods"})
_SCOPES = frozenset({"NotTerminating", "NotBestEffort"})  # scopes that include a launcher pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The limits of one ResourceQuota and their current use, by its own names.

    cpu in milli, bytes and counts in whole units. Only names that pods count against.
    """

    name: str
    hard: Mapping[str, int]
    used: Mapping[str, int]

    def refusal(self, pods: Iterable[Pod]) -> str:
        """Why these additional pods, and their attachment pods, do not all fit; "" if they do."""
        both = ((pod, pod.attachment) for pod in pods)
        listed = [pod for pair in both for pod in pair if pod is not None]
        for name, hard in sorted(self.hard.items()):
            asked = sum(usage(pod, name) for pod in listed)
            used = self.used.get(name, 0)
            if asked and used + asked > hard:
                resource = name.partition(".")[2] or name
                words = [amount_words(resource, amount) for amount in (used, asked, hard)]
                return (
                    f"ResourceQuota {self.name}: {name}: {words[0]} used, {words[1]} more, "
                    f"{words[2]} allowed"
                )
        return ""


def usage(pod: Pod, name: str) -> int:
    """A pod's use of a quota's name; 0 for names that pods do not count against."""
    if name in _COUNTS:
        return 1
    kind, _, resource = name.partition(".")
    if kind == "limits":
        return pod.limits.get(resource, 0)
    return pod.requests.filtered.get(resource if kind == "requests" else name, 0)


def quotas_of(objects: Iterable[KubernetesObject], pods: Iterable[Pod]) -> tuple[Quota, ...]:
    """The quotas of one namespace. Without a status, the placed `pods` count as used."""
    placed = tuple(pods)
    found: list[Quota] = []
    for obj in sorted(objects, key=name_of):
        with decoding("ResourceQuota", obj):
            found += _quota(obj, placed)
    return tuple(found)


def _quota(obj: KubernetesObject, placed: tuple[Pod, ...]) -> Iterator[Quota]:
    """The quota of an object; empty if its scopes leave out these pods."""
    scopes = set(at(obj, "spec", "scopes", default=()))
    if not scopes <= _SCOPES or at(obj, "spec", "scopeSelector", "matchExpressions"):
        return
    hard = {key: _amount(key, value) for key, value in at(obj, "spec", "hard", default={}).items()}
    stated = at(obj, "status", "used")
    used = (
        {key: sum(usage(pod, key) for pod in placed) for key in hard}
        if stated is None
        else {key: _amount(key, value) for key, value in stated.items()}
    )
    yield Quota(name=name_of(obj).name, hard=hard, used=used)


def _amount(name: str, value: object) -> int:
    """Milli for cpu, else whole units of any size: the API server compares decimals here."""
    return milli(value) if name.rpartition(".")[2] == "cpu" else whole(value)
