"""What CEL can say of virt-api's admission: policies that the API server itself carries out.

Messages are KubeVirt's own, so that a user recognises them; a policy's answer is 422 (Invalid)
where virt-api's is. What has to look at other objects is in `webhook`.
"""

from collections.abc import Sequence
from typing import Any

from gitbot.kubevirt import names
from gitbot.simulation.simulated_api import CONTROLLER

GROUP = "admissionregistration.k8s.io/v1"
ACCOUNTS = tuple(
    f"system:serviceaccount:kubevirt:kubevirt-{name}"
    for name in ("apiserver", "controller", "handler", "operator")
)
RESERVED_LABELS = (
    names.CREATED_BY, names.MIGRATION_UID, names.NODE_NAME, names.TARGET_NODE_NAME,
    names.SCHEDULABLE, "kubevirt.io/install-strategy",
)  # fmt: skip
_MINE = f"request.userInfo.username in [{', '.join(repr(name) for name in ACCOUNTS)}]"
FOREIGN = f"!({_MINE})"
"""A match condition: the request is none of KubeVirt's own accounts."""


def policies() -> tuple[dict[str, Any], ...]:
    """All policies with their bindings, in the order in which to create them."""
    made: list[dict[str, Any]] = []
    for policy in (_migration_create(), _migration_update(), _instance_update()):
        made += [policy, _binding(policy, "Validating", validationActions=["Deny"])]
    mutator = _migration_mutator()
    return (*made, mutator, _binding(mutator, "Mutating"))


def _validating(
    name: str, plural: str, operation: str, validations: Sequence[dict[str, str]]
) -> dict[str, Any]:
    return {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _matching(plural, operation),
            "validations": [{**item, "reason": "Invalid"} for item in validations],
        },
    }


def _matching(plural: str, operation: str) -> dict[str, Any]:
    rule = {
        "apiGroups": ["kubevirt.io"],
        "apiVersions": ["v1"],
        "operations": [operation],
        "resources": [plural],
    }
    return {"resourceRules": [rule]}


def _binding(policy: dict[str, Any], family: str, **more: Any) -> dict[str, Any]:
    name = policy["metadata"]["name"]
    return {
        "apiVersion": GROUP,
        "kind": f"{family}AdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, **more},
    }


def _migration_create() -> dict[str, Any]:
    return _validating(
        "migration-create-validator.kubevirt.io",
        "virtualmachineinstancemigrations",
        "CREATE",
        [
            {
                "expression": "has(object.spec.vmiName) && object.spec.vmiName != ''",
                "message": "vmiName is missing",
            },
            {
                "expression": "!has(object.spec.priority) || request.userInfo.username == "
                f"'{CONTROLLER}'",
                "message": "Migration priority queue, only virt-controller is allowed to set "
                "priority field",
            },
        ],
    )


def _migration_update() -> dict[str, Any]:
    label = f"'{names.VMI_NAME}'"
    in_flight = (
        "has(object.status) && has(object.status.phase) && "
        "object.status.phase in ['Succeeded', 'Failed']"
    )
    unlabelled = f"!has(oldObject.metadata.labels) || !({label} in oldObject.metadata.labels)"
    kept = (
        f"has(object.metadata.labels) && {label} in object.metadata.labels && "
        f"object.metadata.labels[{label}] == oldObject.metadata.labels[{label}]"
    )
    return _validating(
        "migration-update-validator.kubevirt.io",
        "virtualmachineinstancemigrations",
        "UPDATE",
        [
            {
                "expression": "object.spec == oldObject.spec",
                "message": "update of Migration object's spec is restricted",
            },
            {
                "expression": f"({in_flight}) || ({unlabelled}) || has(object.metadata.labels)",
                "message": "selector label can't be removed from an in-flight migration",
            },
            {
                "expression": f"({in_flight}) || ({unlabelled}) || ({kept})",
                "message": "selector label can't be modified on an in-flight migration",
            },
        ],
    )


def _instance_update() -> dict[str, Any]:
    keys = ", ".join(f"'{key}'" for key in RESERVED_LABELS)
    new, old = "object.metadata.?labels[?key]", "oldObject.metadata.?labels[?key]"
    policy = _validating(
        "virtualmachineinstances-update-validator.kubevirt.io",
        "virtualmachineinstances",
        "UPDATE",
        [
            {
                "expression": "object.spec == oldObject.spec",
                "message": "update of VMI object is restricted",
            },
            {
                "expression": f"[{keys}].all(key, {new} == {old})",
                "message": "modification of the following reserved kubevirt.io/ labels on a VMI "
                "object is prohibited",
            },
        ],
    )
    policy["spec"]["matchConditions"] = [{"name": "foreign", "expression": FOREIGN}]
    return policy


def _migration_mutator() -> dict[str, Any]:
    """The label by which others find a migration, the finalizer that keeps it until its end."""
    label, finalizer = names.VMI_NAME, names.MIGRATION_FINALIZER
    escaped = label.replace("/", "~1")
    labels = (
        "has(object.metadata.labels) ? "
        f'[JSONPatch{{op: "add", path: "/metadata/labels/{escaped}", value: variables.vmi}}] : '
        f'[JSONPatch{{op: "add", path: "/metadata/labels", value: {{"{label}": variables.vmi}}}}]'
    )
    finalizers = (
        "!has(object.metadata.finalizers) ? "
        f'[JSONPatch{{op: "add", path: "/metadata/finalizers", value: ["{finalizer}"]}}] : '
        f'"{finalizer}" in object.metadata.finalizers ? [] : '
        f'[JSONPatch{{op: "add", path: "/metadata/finalizers/-", value: "{finalizer}"}}]'
    )
    return {
        "apiVersion": GROUP,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "migrations-mutator.kubevirt.io"},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": _matching("virtualmachineinstancemigrations", "CREATE"),
            "matchConditions": [{"name": "named", "expression": "has(object.spec.vmiName)"}],
            "variables": [{"name": "vmi", "expression": "object.spec.vmiName"}],
            "mutations": [
                {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
                for expression in (labels, finalizers)
            ],
        },
    }
