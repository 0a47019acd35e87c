"""What the API server refuses in any object: names, labels, annotations, finalizers, patched parts.

Sources: Kubernetes, apimachinery/pkg/api/validation/objectmeta.go, and the answers of a real
kube-apiserver, to which tests/contracts/api_server holds both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitbot.kubernetes.labels import (
    label_key_problems,
    label_value_problems,
    subdomain_problems,
)
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.simulation.served_resources import ServedResource
from gitbot.simulation.status_errors import ApiError, bad_request, invalid

Cause = tuple[str, str, str]  # field, reason, message
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_STANDARD_FINALIZERS = frozenset({"foregroundDeletion", "kubernetes", "orphan"})
_POD_SPEC_MAY_CHANGE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations")
_POD_WORDS = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
    "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set "
    "to 1 if it was previously negative)"
)


def check_new(resource: ServedResource, obj: KubernetesObject, namespace: str) -> None:
    """Raise 400 or 422 if the metadata of a new object is wrong. `namespace` is the URL's."""
    metadata = obj["metadata"]
    inside = metadata.get("namespace") or ""
    if namespace and inside and inside != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if not metadata.get("name") and not metadata.get("generateName"):
        message = "Required value: name or generateName is required"
        raise invalid(resource, "", [("metadata.name", "FieldValueRequired", message)])
    _raise(resource, obj, [*_name(resource, obj), *_metadata(obj)])


def check_labels(resource: ServedResource, obj: KubernetesObject) -> None:
    """Raise 422 for invalid labels that a webhook added."""
    causes = [cause for cause in _metadata(obj) if cause[0] == "metadata.labels"]
    _raise(resource, obj, causes)


def check_changed(resource: ServedResource, old: KubernetesObject, new: KubernetesObject) -> None:
    """Raise 422 if an update changes what it must not, or makes the metadata wrong."""
    causes = [*_metadata(new), *_late_finalizers(old, new)]
    if resource.kind == "Pod":
        causes += _pod_spec(old, new)
    _raise(resource, new, causes)


def check_replacement(resource: ServedResource, obj: KubernetesObject) -> None:
    """Raise 422 if a custom resource is replaced without a resourceVersion."""
    if resource.custom and not at(obj, "metadata", "resourceVersion"):
        message = "Invalid value: 0: must be specified for an update"
        name = str(obj["metadata"].get("name", ""))
        raise invalid(resource, name, [("metadata.resourceVersion", "FieldValueInvalid", message)])


def check_patched(resource: ServedResource, old: KubernetesObject, new: KubernetesObject) -> None:
    """Raise 400 if a patch renames an object, 422 if it changes its uid."""
    name, wanted = old["metadata"]["name"], at(new, "metadata", "name")
    if wanted != name:
        raise another_name(wanted, name)
    uid = at(new, "metadata", "uid")
    if uid not in (None, old["metadata"]["uid"]):
        message = f'Invalid value: "{uid}": field is immutable'
        raise invalid(resource, name, [("metadata.uid", "FieldValueInvalid", message)])


def another_name(found: Any, expected: str) -> ApiError:
    """400: the object in the body has another name than the URL."""
    return bad_request(
        f"the name of the object ({found}) does not match the name on the URL ({expected})"
    )


def wrong_types(resource: ServedResource, obj: Mapping[str, Any], wrong: Iterable[str]) -> ApiError:
    """The answer to fields of a wrong type: decoding fails, or the CRD's schema refuses."""
    texts = list(wrong)
    if resource.custom:
        causes = [
            (text.split(":")[0], "FieldValueTypeInvalid", text.split(": ", 1)[1]) for text in texts
        ]
        return invalid(resource, str(at(obj, "metadata", "name", default="")), causes)
    path, _, problem = texts[0].partition(": ")
    found, _, expected = problem.removeprefix('Invalid value: "').partition('": must be of type ')
    field = re.split(r"[.\[]", path)[0]
    words = {"integer": "number", "bool": "bool", "dict": "object", "list": "array"}
    return bad_request(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: '
        f"json: cannot unmarshal {words.get(found, found)} into Go struct field "
        f"{resource.kind}.{field} of type {expected}"
    )


def _raise(resource: ServedResource, obj: KubernetesObject, causes: list[Cause]) -> None:
    if causes:
        raise invalid(resource, str(obj["metadata"].get("name", "")), causes)


def _name(resource: ServedResource, obj: KubernetesObject) -> Iterator[Cause]:
    name = obj["metadata"].get("name")
    if not name:
        return
    problems = subdomain_problems(name)
    if resource.kind == "Namespace":
        problems = [] if _LABEL.fullmatch(name) and len(name) <= 63 else [_LABEL_WORDS]
    for problem in problems:
        yield "metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {problem}'


def label_causes(field: str, labels: Mapping[str, str]) -> Iterator[Cause]:
    """Why keys and values are not valid labels."""
    for key, value in labels.items():
        problems = [(key, problem) for problem in label_key_problems(key)]
        problems += [(value, problem) for problem in label_value_problems(value)]
        for text, problem in problems:
            yield field, "FieldValueInvalid", f'Invalid value: "{text}": {problem}'


def _metadata(obj: KubernetesObject) -> Iterator[Cause]:
    yield from label_causes("metadata.labels", labels_of(obj))
    for key in at(obj, "metadata", "annotations", default={}):
        for problem in label_key_problems(key.lower()):
            message = f'Invalid value: "{key}": {problem}'
            yield "metadata.annotations", "FieldValueInvalid", message
    for index, finalizer in enumerate(at(obj, "metadata", "finalizers", default=[])):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            field = f"metadata.finalizers[{index}]"
            yield field, "FieldValueInvalid", f'Invalid value: "{finalizer}": {message}'


def _late_finalizers(old: KubernetesObject, new: KubernetesObject) -> Iterator[Cause]:
    if "deletionTimestamp" not in old["metadata"]:
        return
    before = set(at(old, "metadata", "finalizers", default=[]))
    added = sorted(set(at(new, "metadata", "finalizers", default=[])) - before)
    if added:
        listed = ", ".join(f'"{name}"' for name in added)
        message = (
            "Forbidden: no new finalizers can be added if the object is being deleted, found new "
            f"finalizers []string{{{listed}}}"
        )
        yield "metadata.finalizers", "FieldValueForbidden", message


def _pod_spec(old: KubernetesObject, new: KubernetesObject) -> Iterator[Cause]:
    if at(old, "spec", "schedulingGates") or _fixed(old) == _fixed(new):
        return
    yield "spec", "FieldValueForbidden", _POD_WORDS


def _fixed(pod: KubernetesObject) -> dict[str, Any]:
    """The parts of a pod's spec that no update may change."""
    spec = dict(pod["spec"])
    for name in _POD_SPEC_MAY_CHANGE:
        spec.pop(name, None)
    for name in ("containers", "initContainers"):
        spec[name] = [
            {key: value for key, value in each.items() if key != "image"}
            for each in spec.get(name) or ()
        ]
    return spec
