"""What virt-api's own schema refuses in a VMI, before any other rule is asked: shapes and sets.

Source: KubeVirt 1.9.0, pkg/util/webhooks (ValidateSchema) with Kubernetes' fields of a fixed set of
values. Lists have no index in its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitbot.kubernetes.objects import Json, at
from gitbot.kubevirt.webhook_answers import Cause

_DNS = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_TOLERATIONS = ("Equal", "Exists")
_OPERATORS = ("DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_SPREAD = {
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
}
_OBJECTS = (
    "domain",
    "domain.cpu",
    "domain.devices",
    "domain.features",
    "domain.features.hyperv",
    "domain.firmware",
    "domain.launchSecurity",
    "domain.machine",
    "domain.memory",
    "domain.resources",
    "dnsConfig",
    "livenessProbe",
    "readinessProbe",
)
_LISTS = (
    "accessCredentials",
    "domain.cpu.features",
    "domain.devices.disks",
    "domain.devices.filesystems",
    "domain.devices.gpus",
    "domain.devices.hostDevices",
    "domain.devices.inputs",
    "domain.devices.interfaces",
    "domain.devices.panicDevices",
    "networks",
    "resourceClaims",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
)
_KINDS = {str: "string", list: "array", bool: "boolean", type(None): "null"}
_KINDS |= {int: "number", float: "number"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def schema_causes(spec: Json, path: str) -> tuple[Cause, ...]:
    """Each part of a wrong shape; where there is none, each value that is none of its set."""
    found = dict.fromkeys((*_shapes(spec, path), *_nulls(spec, path)))
    shapes = tuple(Cause(message=text) for text in found)
    if shapes:
        return shapes
    wrong = (
        (where, known)
        for where, value, known in _fixed(spec, path)
        if value is not None and value not in known
    )
    texts = (f"{where} in body should be one of [{' '.join(known)}]" for where, known in wrong)
    return tuple(Cause(message=text) for text in texts)


def json_kind(value: object) -> str:
    """What JSON calls a value."""
    return _KINDS.get(type(value), "object")


def _wrong(where: str, wanted: str, value: object) -> str:
    return f'{where} in body must be of type {wanted}: "{json_kind(value)}"'


def _shapes(spec: Json, path: str) -> Iterator[str]:
    """Objects and lists of named objects; what is null counts as absent, but not in a list."""
    for name in _OBJECTS:
        value = _found(spec, name)
        if value is not None and not isinstance(value, Mapping):
            yield _wrong(f"{path}.{name}", "object", value)
    for name in _LISTS:
        value, where = _found(spec, name), f"{path}.{name}"
        if value is not None and not isinstance(value, list | tuple):
            yield _wrong(where, "array", value)
            continue
        for item in value or ():
            if not isinstance(item, Mapping):
                yield _wrong(where, "object", item)
            elif item.get("name") is not None and not isinstance(item["name"], str):
                yield _wrong(f"{where}.name", "string", item["name"])


def _nulls(value: object, where: str) -> Iterator[str]:
    """Every null in a list."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _nulls(inner, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for item in value:
            if item is None:
                yield _wrong(where, "object", item)
            else:
                yield from _nulls(item, where)


def _found(spec: Json, name: str) -> object:
    value: object = spec
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


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
        yield f"{path}.tolerations.operator", toleration.get("operator"), _TOLERATIONS
    for constraint in spec.get("topologySpreadConstraints") or ():
        for key, known in _SPREAD.items():
            yield f"{path}.topologySpreadConstraints.{key}", constraint.get(key), known


def _term(term: Json, where: str) -> Iterator[tuple[str, object, tuple[str, ...]]]:
    for part in ("matchExpressions", "matchFields"):
        for item in term.get(part) or ():
            yield f"{where}.{part}.operator", item.get("operator"), _OPERATORS
