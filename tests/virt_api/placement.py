"""virt-api's rules about affinity and spread: Kubernetes' own, checked before any pod is made.

Source: KubeVirt 1.9.0, validate-k8s-utils.go (a copy of Kubernetes' validation.go). Paths begin at
the spec: `spec.podAntiAffinity...`, without `affinity`.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.labels import (
    label_key_problems,
    label_value_problems,
    subdomain_problems,
)
from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.names import label_problems

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def affinity(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """The affinity of a VMI."""
    found: Json = spec.get("affinity") or {}
    yield from _node_affinity(found.get("nodeAffinity") or {}, f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(found.get(kind) or {}, f"{path}.{kind}")


def _problem(field: str, problem: str) -> Cause:
    return invalid_value(field, f"{field}: {problem}")


def _key(text: str, field: str) -> Iterator[Cause]:
    for problem in label_key_problems(text):
        yield _problem(field, f'Invalid value: "{text}": {problem}')


def _node_affinity(found: Json, path: str) -> Iterator[Cause]:
    required = found.get(_REQUIRED)
    if required is not None:
        field = f"{path}.{_REQUIRED}.nodeSelectorTerms"
        terms = required.get("nodeSelectorTerms") or []
        if not terms:
            yield _problem(field, "Required value: must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _node_term(term, f"{field}[{index}]")
    for index, item in enumerate(found.get(_PREFERRED) or ()):
        field = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(item, field)
        yield from _node_term(item.get("preference") or {}, f"{field}.preference")


def _weight(item: Json, field: str) -> Iterator[Cause]:
    weight = item.get("weight", 0)
    if not 1 <= weight <= 100:
        yield _problem(f"{field}.weight", f"Invalid value: {weight}: must be in the range 1-100")


def _node_term(term: Json, path: str) -> Iterator[Cause]:
    for index, item in enumerate(term.get("matchExpressions") or ()):
        field, operator = f"{path}.matchExpressions[{index}]", item.get("operator", "")
        values = item.get("values") or []
        if operator in ("In", "NotIn") and not values:
            text = "Required value: must be specified when `operator` is 'In' or 'NotIn'"
            yield _problem(f"{field}.values", text)
        elif operator in ("Exists", "DoesNotExist") and values:
            text = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield _problem(f"{field}.values", text)
        elif operator in ("Gt", "Lt") and len(values) != 1:
            text = "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield _problem(f"{field}.values", text)
        elif operator not in _NODE_OPERATORS:
            text = f'Invalid value: "{operator}": not a valid selector operator'
            yield _problem(f"{field}.operator", text)
        yield from _key(str(item.get("key", "")), f"{field}.key")
    for index, item in enumerate(term.get("matchFields") or ()):
        yield from _node_field(item, f"{path}.matchFields[{index}]")


def _node_field(item: Json, field: str) -> Iterator[Cause]:
    """Only the name of a node, and only one."""
    operator, key, values = item.get("operator", ""), item.get("key", ""), item.get("values") or []
    if operator not in ("In", "NotIn"):
        text = f'Invalid value: "{operator}": not a valid selector operator'
        yield _problem(f"{field}.operator", text)
    elif len(values) != 1:
        text = "Required value: must be only one value when `operator` is 'In' or 'NotIn' for node"
        yield _problem(f"{field}.values", f"{text} field selector")
    if key != "metadata.name":
        text = f'Invalid value: "{key}": not a valid field selector key'
        yield _problem(f"{field}.key", text)
        return
    for index, value in enumerate(values):
        for problem in subdomain_problems(str(value)):
            yield _problem(f"{field}.values[{index}]", f'Invalid value: "{value}": {problem}')


def _pod_affinity(found: Json, path: str) -> Iterator[Cause]:
    for index, term in enumerate(found.get(_REQUIRED) or ()):
        yield from _pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, item in enumerate(found.get(_PREFERRED) or ()):
        field = f"{path}.{_PREFERRED}[{index}]"
        yield from _weight(item, field)
        yield from _pod_term(item.get("podAffinityTerm") or {}, f"{field}.podAffinityTerm")


def _pod_term(term: Json, path: str) -> Iterator[Cause]:
    for name in ("labelSelector", "namespaceSelector"):
        yield from _selector(term.get(name) or {}, f"{path}.{name}")
    for name in term.get("namespaces") or ():
        for problem in label_problems(str(name)):
            yield _problem(f"{path}.namespace", f'Invalid value: "{name}": {problem}')
    topology = str(term.get("topologyKey") or "")
    if not topology:
        yield _problem(f"{path}.topologyKey", "Required value: can not be empty")
    yield from _key(topology, f"{path}.topologyKey")


def _selector(selector: Json, path: str) -> Iterator[Cause]:
    for key, value in sorted((selector.get("matchLabels") or {}).items()):
        yield from _key(key, f"{path}.matchLabels")
        for problem in label_value_problems(str(value)):
            yield _problem(f"{path}.matchLabels", f'Invalid value: "{value}": {problem}')
    for index, item in enumerate(selector.get("matchExpressions") or ()):
        field, operator = f"{path}.matchExpressions[{index}]", item.get("operator", "")
        values = item.get("values") or []
        if operator in ("In", "NotIn") and not values:
            text = "Required value: must be specified when `operator` is 'In' or 'NotIn'"
            yield _problem(f"{field}.values", text)
        elif operator in ("Exists", "DoesNotExist") and values:
            text = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield _problem(f"{field}.values", text)
        elif operator not in _LABEL_OPERATORS:
            text = f'Invalid value: "{operator}": not a valid selector operator'
            yield _problem(f"{field}.operator", text)
        yield from _key(str(item.get("key", "")), f"{field}.key")
        for place, value in enumerate(values):
            for problem in label_value_problems(str(value)):
                text = f'Invalid value: "{value}": {problem}'
                yield _problem(f"{field}.values[{place}]", text)


def spread(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """The topology spread constraints of a VMI."""
    where = f"{path}.topologySpreadConstraints"
    given = list(spec.get("topologySpreadConstraints") or ())
    for index, item in enumerate(given):
        field = f"{where}[{index}]"
        skew = item.get("maxSkew", 0)
        if skew <= 0:
            text = f"Invalid value: {skew}: must be greater than zero"
            yield _problem(f"{field}.maxSkew", text)
        key = str(item.get("topologyKey") or "")
        if key:
            yield from _key(key, f"{field}.topologyKey")
        else:
            yield _problem(f"{field}.topologyKey", "Required value: can not be empty")
        action = item.get("whenUnsatisfiable", "")
        if action not in ("DoNotSchedule", "ScheduleAnyway"):
            text = f'Unsupported value: "{action}": supported values: "DoNotSchedule", '
            yield _problem(f"{field}.whenUnsatisfiable", f'{text}"ScheduleAnyway"')
        # upstream names the selector of every constraint by the list, without an index
        yield from _selector(at(item, "labelSelector", default={}), f"{where}.labelSelector")
        if any(
            other.get("topologyKey") == key and other.get("whenUnsatisfiable") == action
            for other in given[index + 1 :]
        ):
            named = f"{field}.{{topologyKey, whenUnsatisfiable}}"
            yield _problem(named, f'Duplicate value: "{{{key}, {action}}}"')
