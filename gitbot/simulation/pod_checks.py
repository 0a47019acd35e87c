"""What the API server refuses in a pod: invalid labels, and the default admission plugins.

Sources: Kubernetes, pkg/apis/core/validation, plugin/pkg/admission/{runtimeclass,limitranger}
and pod-security-admission, each only as far as a launcher pod can violate it: hugepages, the
nodeSelector, the seccomp rule of level restricted, minimum and maximum of a LimitRange.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of
from gitbot.kubernetes.quantities import units_of, whole
from gitbot.simulation.object_checks import label_causes
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.status_errors import ApiError, invalid
from gitbot.simulation.store import Store

_ENFORCE = "pod-security.kubernetes.io/enforce"
_PROFILES = ("RuntimeDefault", "Localhost")


def check_pod(store: Store, pod: KubernetesObject) -> None:
    """Raise 403 if a plugin refuses the pod, 422 if the pod itself is wrong."""
    _check_runtime_class(store, pod)
    _check_security(store, pod)
    _check_limit_ranges(store, pod)
    causes = [*_hugepages(pod), *_node_selector(pod)]
    causes += _label_keys(pod)
    if causes:
        raise invalid(BY_KIND["Pod"], _name(pod), causes)


def _label_keys(pod: KubernetesObject) -> Iterator[tuple[str, str, str]]:
    """Keys of `matchLabelKeys` that the selector has too; `mismatchLabelKeys` may have them.

    The pod is as the API server stores it: each key that the pod has was merged into the selector.
    """
    for where, term in _terms(pod):
        selector = term.get("labelSelector") or {}
        keys = [*(selector.get("matchLabels") or {})]
        keys += [each["key"] for each in selector.get("matchExpressions") or ()]
        for index, key in enumerate(term.get("matchLabelKeys") or ()):
            if keys.count(key) > 1:
                message = f'Invalid value: "{key}": exists in both matchLabelKeys and labelSelector'
                yield f"{where}[{index}]", "FieldValueInvalid", message


def _terms(pod: KubernetesObject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for family in ("podAffinity", "podAntiAffinity"):
        rules: Mapping[str, Any] = at(pod, "spec", "affinity", family, default={})
        for rule, terms in rules.items():
            for index, term in enumerate(terms):
                where = f"spec.affinity.{family}.{rule}[{index}]"
                inner = term.get("podAffinityTerm")
                yield (where, term) if inner is None else (f"{where}.podAffinityTerm", inner)
    for index, constraint in enumerate(at(pod, "spec", "topologySpreadConstraints", default=[])):
        yield f"spec.topologySpreadConstraints[{index}]", constraint


def _name(pod: KubernetesObject) -> str:
    metadata = pod["metadata"]
    return str(metadata.get("name") or metadata.get("generateName", ""))


def forbidden(pod: KubernetesObject, why: str) -> ApiError:
    return ApiError(f'pods "{_name(pod)}" is forbidden: {why}', code=403, reason="Forbidden")


def containers_of(pod: KubernetesObject) -> Iterator[tuple[str, Json]]:
    """The containers of a pod with the paths to them, init containers first."""
    for kind in ("initContainers", "containers"):
        for index, item in enumerate(at(pod, "spec", kind, default=[])):
            yield f"spec.{kind}[{index}]", item


def _node_selector(pod: KubernetesObject) -> Iterator[tuple[str, str, str]]:
    asked: Mapping[str, str] = at(pod, "spec", "nodeSelector", default={})
    return label_causes("spec.nodeSelector", dict(sorted(asked.items())))


def _hugepages(pod: KubernetesObject) -> Iterator[tuple[str, str, str]]:
    """Hugepages must be requested in whole pages."""
    listed = sorted(containers_of(pod), key=lambda item: "initContainers" in item[0])
    for path, item in listed:
        for side in ("limits", "requests"):
            for name, value in sorted(at(item, "resources", side, default={}).items()):
                page = name.removeprefix("hugepages-")
                if page != name and whole(value) % whole(page):
                    text = f"{value} is not positive integer multiple of {name}"
                    where = f"{path}.resources.{side}[{name}]"
                    yield where, "FieldValueInvalid", f'Invalid value: "{value}": {text}'


def _check_runtime_class(store: Store, pod: KubernetesObject) -> None:
    found = store.find("RuntimeClass", ("", at(pod, "spec", "runtimeClassName", default="")))
    asked: Mapping[str, str] = at(pod, "spec", "nodeSelector", default={})
    for key, value in sorted(at(found, "scheduling", "nodeSelector", default={}).items()):
        if asked.get(key, value) != value:
            raise forbidden(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {asked[key]}",
            )


def _check_security(store: Store, pod: KubernetesObject) -> None:
    namespace = store.find("Namespace", ("", pod["metadata"].get("namespace", "")))
    labels = labels_of(namespace or {})
    if labels.get(_ENFORCE) != "restricted" or _is_confined(pod["spec"]):
        return
    wrong = [item["name"] for _, item in containers_of(pod) if not _is_confined(item)]
    if not wrong:
        return
    version = labels.get(f"{_ENFORCE}-version", "latest")
    names = ", ".join(f'"{name}"' for name in wrong)
    plural = "s" if len(wrong) > 1 else ""
    raise forbidden(
        pod,
        f'violates PodSecurity "restricted:{version}": seccompProfile (pod or container{plural} '
        f"{names} must set securityContext.seccompProfile.type to "
        '"RuntimeDefault" or "Localhost")',
    )


def _is_confined(part: Json) -> bool:
    return at(part, "securityContext", "seccompProfile", "type") in _PROFILES


def _check_limit_ranges(store: Store, pod: KubernetesObject) -> None:
    for found in store.all("LimitRange", pod["metadata"].get("namespace", "")):
        wrong = [
            text
            for limit in at(found, "spec", "limits", default=[])
            if limit.get("type") == "Container"
            for _, item in containers_of(pod)
            for text in _outside(limit, item)
        ]
        if wrong:
            raise forbidden(pod, wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")


def _outside(limit: Json, container: Json) -> Iterable[str]:
    kind = limit["type"]
    requests: Json = at(container, "resources", "requests", default={})
    limits: Json = at(container, "resources", "limits", default={})
    for name, least in sorted((limit.get("min") or {}).items()):
        text = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            yield f"{text}.  No request is specified"
        elif units_of(name, requests[name]) < units_of(name, least):
            yield f"{text}, but request is {requests[name]}"
    for name, most in sorted((limit.get("max") or {}).items()):
        text = f"maximum {name} usage per {kind} is {most}"
        asked: Any = limits.get(name)
        if asked is None:
            yield f"{text}.  No limit is specified"
        elif units_of(name, asked) > units_of(name, most):
            yield f"{text}, but limit is {asked}"
