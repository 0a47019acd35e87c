"""The API server's request semantics: validation, defaulting, admission, then the store.

The HTTP face, the in-process port and the controllers all use it. Stored objects are never changed
in place; callers get the stored objects themselves and must not change them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gitbot.errors import GitbotError
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.model.cluster.pod import Pod
from gitbot.simulation.disruption import check_budgets
from gitbot.simulation.object_checks import check_changed, check_new, check_patched, wrong_types
from gitbot.simulation.patching import json_patch, merge_patch, strategic_patch
from gitbot.simulation.pod_checks import check_pod
from gitbot.simulation.pod_defaults import with_defaults
from gitbot.simulation.quota_admission import check_quota
from gitbot.simulation.schema_parts import OPEN, Schema
from gitbot.simulation.schemas import SCHEMAS, missing_fields, prune
from gitbot.simulation.served_resources import BY_KIND, ServedResource
from gitbot.simulation.status_errors import (
    ApiError,
    already_exists,
    bad_request,
    invalid,
    not_found,
    precondition_failed,
)
from gitbot.simulation.store import Key, Store, key_of, with_metadata

FieldValidation = Literal["Ignore", "Warn", "Strict"]
CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller"
ADMIN = "kubernetes-admin"


class Admission(Protocol):
    """The admission webhooks. Every method raises ApiError to refuse."""

    def before_schema(self, obj: KubernetesObject) -> None:
        """The mutating webhooks' answer to a new object, before its schema is checked."""

    def admit(
        self, obj: KubernetesObject, old: KubernetesObject | None, *, user: str
    ) -> KubernetesObject:
        """The object that a create (`old` is None) or an update stores."""

    def evict(self, pod: KubernetesObject, eviction: KubernetesObject, *, dry_run: bool) -> None:
        """Refuse an eviction; may mark the pod's VMI first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a write: the object as stored, and the texts of `Warning` headers."""

    object: KubernetesObject
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The parameters of a write."""

    user: str = ADMIN
    dry_run: bool = False
    validation: FieldValidation = "Warn"


class Api:
    """One API server over one store."""

    def __init__(self, store: Store, admission: Admission) -> None:
        self.store = store
        self.admission = admission
        self.schemas: Mapping[str, Schema] = SCHEMAS

    def create(
        self, obj: KubernetesObject, *, namespace: str = "", asked: WriteOptions | None = None
    ) -> Answer:
        """Create an object. Raises ApiError 400, 404 (namespace), 409, 422."""
        asked = asked or WriteOptions()
        resource = resource_of(obj)
        check_new(resource, obj, namespace)
        placed = _placed(resource, obj, namespace)
        self._check_namespace(resource, placed)
        self.admission.before_schema(placed)
        checked, warnings = _checked(resource, placed, asked, self.schemas)
        check_required(resource, checked)
        stripped = with_metadata(
            checked, resourceVersion=None, uid=None, deletionTimestamp=None, selfLink=None
        )
        admitted = self.admission.admit(self._defaulted(stripped), None, user=asked.user)
        if resource.kind == "Pod":
            check_pod(self.store, admitted)
            check_quota(self.store, admitted)
        if not asked.dry_run:
            return Answer(object=self.store.create(admitted), warnings=warnings)
        prepared = self.store.prepare(admitted)
        if self.store.find(resource.kind, key_of(prepared)) is not None:
            raise already_exists(resource, prepared["metadata"]["name"])
        return Answer(object=prepared, warnings=warnings)

    def update(
        self, obj: KubernetesObject, *, subresource: str = "", asked: WriteOptions | None = None
    ) -> Answer:
        """Replace an object, or its status through the status subresource."""
        asked = asked or WriteOptions()
        resource = resource_of(obj)
        old = self.store.get(resource.kind, _key(resource, obj))
        checked, warnings = _checked(resource, obj, asked, self.schemas)
        new = _parts_to_write(resource, old, checked, subresource)
        check_changed(resource, old, new)
        if resource.custom:
            check_required(resource, new)
        admitted = self.admission.admit(new, old, user=asked.user)
        if asked.dry_run:
            self.store.check_current(admitted)
            return Answer(object=admitted, warnings=warnings)
        return Answer(object=self.store.replace(admitted), warnings=warnings)

    def patch(
        self,
        kind: str,
        key: Key,
        patch: Any,
        *,
        how: Literal["json", "merge", "strategic", "apply"] = "merge",
        subresource: str = "",
        asked: WriteOptions | None = None,
    ) -> Answer:
        """Patch an object; `apply` creates it if it does not exist."""
        if how == "apply" and self.store.find(kind, key) is None:
            return self.create(patch, namespace=key[0], asked=asked)
        old = self.store.get(kind, key)
        patched = _PATCHES[how](old, copy.deepcopy(patch))
        check_patched(BY_KIND[kind], old, patched)
        sent = at(patch, "metadata", "resourceVersion") if isinstance(patch, Mapping) else None
        if sent is None:
            patched = with_metadata(patched, resourceVersion=old["metadata"]["resourceVersion"])
        check_strict_patch(BY_KIND[kind], patched, asked, self.schemas)
        return self.update(patched, subresource=subresource, asked=asked)

    def delete(
        self,
        kind: str,
        key: Key,
        *,
        options: Mapping[str, Any] | None = None,
        asked: WriteOptions | None = None,
    ) -> KubernetesObject:
        """Delete an object; `options` is a DeleteOptions. Raises 404 and 409."""
        options, asked = options or {}, asked or WriteOptions()
        resource, old = BY_KIND[kind], self.store.get(kind, key)
        wanted = options.get("preconditions") or {}
        for field, what in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            if wanted.get(field) and wanted[field] != old["metadata"][field]:
                raise precondition_failed(resource, old, what, wanted[field])
        if asked.dry_run or options.get("dryRun"):
            return self.store.marked(old) if old["metadata"].get("finalizers") else old
        if options.get("propagationPolicy") == "Orphan":
            self._orphan(old)
        grace = _grace(old, options.get("gracePeriodSeconds")) if kind == "Pod" else 0
        return self.store.delete(kind, key, grace=grace)

    def evict(
        self, key: Key, eviction: KubernetesObject, *, asked: WriteOptions | None = None
    ) -> None:
        """The eviction subresource: webhooks, then PodDisruptionBudgets, then delete. 429, 404."""
        asked = asked or WriteOptions()
        options = eviction.get("deleteOptions") or {}
        dry_run = asked.dry_run or bool(options.get("dryRun"))
        pod = self.store.get("Pod", key)
        self.admission.evict(pod, eviction, dry_run=dry_run)
        check_budgets(self.store, pod)
        self.delete(
            "Pod", key, options=options, asked=WriteOptions(user=asked.user, dry_run=dry_run)
        )

    def _defaulted(self, obj: KubernetesObject) -> KubernetesObject:
        classes = ClassObjects()
        if obj["kind"] == "Pod":
            priority = {item["metadata"]["name"]: item for item in self.store.all("PriorityClass")}
            runtime = {item["metadata"]["name"]: item for item in self.store.all("RuntimeClass")}
            classes = ClassObjects(priority=priority, runtime=runtime)
        return with_defaults(obj, classes)

    def _orphan(self, owner: KubernetesObject) -> None:
        uid = owner["metadata"]["uid"]
        for kind in BY_KIND:
            for child in list(self.store.all(kind)):
                owners = at(child, "metadata", "ownerReferences", default=[])
                kept = [item for item in owners if item["uid"] != uid]
                if len(kept) != len(owners):
                    self.store.replace(with_metadata(child, ownerReferences=kept or None))

    def _check_namespace(self, resource: ServedResource, obj: KubernetesObject) -> None:
        namespace = obj["metadata"].get("namespace") or ""
        if resource.namespaced and self.store.find("Namespace", ("", namespace)) is None:
            raise not_found(BY_KIND["Namespace"], namespace)


def resource_of(obj: Any) -> ServedResource:
    """The resource of an object by kind and apiVersion; raises 400 for any other."""
    if not isinstance(obj, Mapping) or not isinstance(obj.get("metadata"), Mapping):
        raise bad_request("expected an object with apiVersion, kind and metadata")
    resource = BY_KIND.get(str(obj.get("kind")))
    if resource is None or obj.get("apiVersion") != resource.api_version:
        raise bad_request(
            f'no kind "{obj.get("kind")}" is registered for version "{obj.get("apiVersion")}"'
        )
    return resource


def _key(resource: ServedResource, obj: KubernetesObject) -> Key:
    key = key_of(obj)
    return key if resource.namespaced else ("", key[1])


def _placed(resource: ServedResource, obj: KubernetesObject, namespace: str) -> dict[str, Any]:
    metadata = dict(copy.deepcopy(obj["metadata"]))
    metadata.pop("namespace", None)
    if resource.namespaced:
        metadata["namespace"] = obj["metadata"].get("namespace") or namespace or "default"
    return {**copy.deepcopy(dict(obj)), "metadata": metadata}


def _checked(
    resource: ServedResource,
    obj: Mapping[str, Any],
    asked: WriteOptions,
    schemas: Mapping[str, Schema],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The object without unknown fields and the warnings; under Strict they raise 400."""
    kept, unknown, wrong = prune(obj, schemas.get(resource.kind, OPEN))
    if wrong:
        raise wrong_types(resource, obj, wrong)
    texts = tuple(f'unknown field "{path}"' for path in unknown)
    if texts and asked.validation == "Strict":
        raise ApiError(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(texts)}",
            code=400,
            reason="BadRequest",
        )
    return kept, texts if asked.validation == "Warn" else ()


def check_strict_patch(
    resource: ServedResource,
    patched: Mapping[str, Any],
    asked: WriteOptions | None,
    schemas: Mapping[str, Schema],
) -> None:
    """Under Strict, raise 422 (not 400) for a patch that brings unknown fields."""
    if asked is None or asked.validation != "Strict":
        return
    _, unknown, _ = prune(patched, schemas.get(resource.kind, OPEN))
    if unknown:
        texts = ", ".join(f'unknown field "{path}"' for path in unknown)
        message = f"Invalid value: {json.dumps(patched)}: strict decoding error: {texts}"
        cause = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
        raise ApiError(
            f' "" is invalid: patch: {message}',
            code=422,
            reason="Invalid",
            details={"causes": [cause]},
        )


def check_required(resource: ServedResource, obj: KubernetesObject) -> None:
    """Raise 422 if a field is missing that every controller needs."""
    missing = missing_fields(resource.kind, obj)
    if missing:
        name = str(at(obj, "metadata", "name", default=""))
        causes = [(path, "FieldValueRequired", "Required value") for path in missing]
        raise invalid(resource, name, causes)
    if resource.kind == "Pod":
        try:
            Pod.from_object(obj)
        except (GitbotError, ValueError) as error:
            name = str(at(obj, "metadata", "name", default=""))
            cause = ("spec.containers", "FieldValueInvalid", f"Invalid value: {error}")
            raise invalid(resource, name, [cause]) from error


def _parts_to_write(
    resource: ServedResource, old: KubernetesObject, new: Mapping[str, Any], subresource: str
) -> dict[str, Any]:
    """Only the status through `status`, everything but the status otherwise."""
    if not resource.status:
        return dict(new)
    if subresource == "status":
        metadata = {
            **old["metadata"],
            "resourceVersion": at(new, "metadata", "resourceVersion"),
        }
        return {**old, "metadata": metadata, "status": new.get("status") or {}}
    rest = {name: value for name, value in new.items() if name != "status"}
    return {**rest, "status": old["status"]} if "status" in old else rest


def _grace(pod: KubernetesObject, asked: int | None) -> int:
    """Seconds of grace: none for pods without a node or that already ended."""
    if is_final(pod) or not at(pod, "spec", "nodeName"):
        return 0
    usual = int(at(pod, "spec", "terminationGracePeriodSeconds", default=30))
    return usual if asked is None else asked


_PATCHES: Mapping[str, Callable[[Any, Any], Any]] = {
    "json": json_patch,
    "merge": merge_patch,
    "strategic": strategic_patch,
    "apply": merge_patch,
}
