"""What virt-api's own schema refuses in a VMI's placement, before any other rule is asked.

Source: KubeVirt 1.9.0, pkg/util/webhooks (ValidateSchema) with Kubernetes' fields of a fixed set of
values. Lists have no index in its words.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubevirt.verdicts import Cause
from gitbot.model.objects import Json, at

_DNS = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_OPERATORS = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_SPREAD = {
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def schema_causes(spec: Json, path: str) -> tuple[Cause, ...]:
    """Each value that is none of its set."""
    found = (
        (where, known)
        for where, value, known in _fixed(spec, path)
        if value is not None and value not in known
    )
    texts = (f"{where} in body should be one of [{' '.join(known)}]" for where, known in found)
    return tuple(Cause(message=text) for text in texts)


def _fixed(spec: Json, path: str) -> Iterator[tuple[str, object, tuple[str, ...]]]:
    where = f"{path}.affinity.nodeAffinity"
    nodes = at(spec, "affinity", "nodeAffinity", default={})
    for weighted in nodes.get(_PREFERRED) or ():
        term = weighted.get("preference") or {}
        yield from _term(term, f"{where}.{_PREFERRED}.preference")
    for term in at(nodes, _REQUIRED, "nodeSelectorTerms", default=[]):
        yield from _term(term, f"{where}.{_REQUIRED}.nodeSelectorTerms")
    yield f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS
    for toleration in spec.get("tolerations") or ():
        yield f"{path}.tolerations.effect", toleration.get("effect"), _EFFECTS
    for constraint in spec.get("topologySpreadConstraints") or ():
        for key, known in _SPREAD.items():
            yield f"{path}.topologySpreadConstraints.{key}", constraint.get(key), known


def _term(term: Json, where: str) -> Iterator[tuple[str, object, tuple[str, ...]]]:
    for part in ("matchExpressions", "matchFields"):
        for item in term.get(part) or ():
            yield f"{where}.{part}.operator", item.get("operator"), _OPERATORS
