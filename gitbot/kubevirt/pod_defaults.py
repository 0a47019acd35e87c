"""How the API server completes a launcher pod when it stores it. Idempotent.

Source: kube-apiserver with its default admission plugins: DefaultTolerationSeconds, Priority,
RuntimeClass, and the pod strategy for matchLabelKeys and mismatchLabelKeys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of, with_value

_EFFECTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_KEEP_SECONDS = 300
_SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassObjects:
    """PriorityClasses and RuntimeClasses by name; an unknown priority class counts as 0."""

    priority: Mapping[str, KubernetesObject] = field(default_factory=dict)
    runtime: Mapping[str, KubernetesObject] = field(default_factory=dict)

    def refusal(self, spec: Mapping[str, Any]) -> str:
        """Why the API server refuses a pod of this VM spec; "" if it does not, or is not known."""
        name = spec.get("priorityClassName")
        if not name or not self.priority or {*self.priority, *_SYSTEM_PRIORITIES} & {name}:
            return ""
        return f"the API server refuses the pod: found no PriorityClass {name}"


def stored_pod(pod: Mapping[str, Any], classes: ClassObjects) -> dict[str, Any]:
    """The pod as the API server stores it. This does not assign a name."""
    spec = dict(pod["spec"])
    spec.setdefault("schedulerName", "default-scheduler")
    spec["tolerations"] = _tolerations(spec.get("tolerations") or [])
    _prioritise(spec, classes)
    _run(spec, classes)
    labels = labels_of(pod)
    for kind in ("podAffinity", "podAntiAffinity"):
        if at(spec, "affinity", kind) is not None:
            terms = _affinity(spec["affinity"][kind], labels)
            spec["affinity"] = with_value(spec["affinity"], terms, kind)
    spread = spec.get("topologySpreadConstraints")
    if spread:
        spec["topologySpreadConstraints"] = [_with_label_keys(term, labels) for term in spread]
    return {**pod, "spec": spec}


def _tolerations(own: list[Json]) -> list[Json]:
    found = list(own)
    for key in _EFFECTS:
        covered = any(
            toleration.get("key") in (key, None, "")
            and toleration.get("effect") in ("NoExecute", None, "")
            for toleration in own
        )
        if not covered:
            found.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _KEEP_SECONDS,
                }
            )
    return found


def _prioritise(spec: dict[str, Any], classes: ClassObjects) -> None:
    name = spec.get("priorityClassName")
    if not name:
        chosen = [
            found for _, found in sorted(classes.priority.items()) if found.get("globalDefault")
        ]
        if chosen:
            name = spec["priorityClassName"] = at(chosen[0], "metadata", "name")
    found = classes.priority.get(name or "", {})
    spec["priority"] = int(found.get("value", _SYSTEM_PRIORITIES.get(name or "", 0)))
    spec["preemptionPolicy"] = found.get("preemptionPolicy", "PreemptLowerPriority")


def _run(spec: dict[str, Any], classes: ClassObjects) -> None:
    found = classes.runtime.get(spec.get("runtimeClassName") or "")
    if found is None:
        return
    overhead = at(found, "overhead", "podFixed")
    if overhead:
        spec["overhead"] = dict(overhead)
    scheduling: Json = found.get("scheduling") or {}
    if scheduling.get("nodeSelector"):
        # The pod's own value wins here; the API server refuses a pod with two different values.
        spec["nodeSelector"] = {**scheduling["nodeSelector"], **(spec.get("nodeSelector") or {})}
    extra = scheduling.get("tolerations") or []
    if extra:
        spec["tolerations"] = _merged([*(spec.get("tolerations") or []), *extra])


def _merged(tolerations: list[Json]) -> list[Json]:
    """Drop tolerations that another one covers; of equal ones, keep the last."""
    kept: list[Json] = []
    for index, one in enumerate(tolerations):
        later = tolerations[index + 1 :]
        if not any(_covers(other, one) for other in [*kept, *later]):
            kept.append(one)
    return kept


def _covers(wide: Json, narrow: Json) -> bool:
    if wide.get("tolerationSeconds") != narrow.get("tolerationSeconds"):
        return False
    if wide.get("effect") not in (None, "", narrow.get("effect")):
        return False
    if wide.get("operator") == "Exists":
        return wide.get("key") in (None, "", narrow.get("key"))
    same = ("key", "value")
    return narrow.get("operator") != "Exists" and all(
        (wide.get(key) or "") == (narrow.get(key) or "") for key in same
    )


def _affinity(affinity: Json, labels: Mapping[str, str]) -> dict[str, Any]:
    changed = dict(affinity)
    if changed.get(_REQUIRED):
        changed[_REQUIRED] = [_with_label_keys(term, labels) for term in changed[_REQUIRED]]
    if changed.get(_PREFERRED):
        changed[_PREFERRED] = [
            {**term, "podAffinityTerm": _with_label_keys(term["podAffinityTerm"], labels)}
            for term in changed[_PREFERRED]
        ]
    return changed


def _with_label_keys(term: Json, labels: Mapping[str, str]) -> Json:
    """Write matchLabelKeys and mismatchLabelKeys as expressions of the term's selector."""
    wanted = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field_name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(field_name) or ()
        if key in labels
    ]
    if not wanted or term.get("labelSelector") is None:
        return term
    own = term["labelSelector"].get("matchExpressions") or []
    added = [expression for expression in wanted if expression not in own]
    if not added:
        return term
    return with_value(term, [*own, *added], "labelSelector", "matchExpressions")
