"""virt-api's webhooks for VMIs, as far as placement needs them: defaults, and who may change what.

Source: KubeVirt, pkg/virt-api/webhooks. Its other refusals of a spec are left out.
"""

from __future__ import annotations

from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of
from gitbot.kubernetes.quantities import nanos
from gitbot.kubevirt import names
from gitbot.kubevirt.admission import Admitted, Cause, WebhookAnswer, denied, invalid
from gitbot.kubevirt.instance_defaults import with_instance_defaults
from gitbot.kubevirt.kubevirt_object import kubevirt_namespace

MUTATOR = "virtualmachineinstances-mutator.kubevirt.io"
_VMI_UPDATE = "virtualmachineinstances-update-validator.kubevirt.io"
RESERVED_LABELS = (
    names.CREATED_BY,
    names.MIGRATION_UID,
    names.NODE_NAME,
    names.TARGET_NODE_NAME,
    names.SCHEDULABLE,
    "kubevirt.io/install-strategy",
)
# virt-operator is none of them: it writes no VMI.
_ACCOUNTS = (
    "kubevirt-apiserver",
    "kubevirt-controller",
    "kubevirt-handler",
    "kubevirt-synchronization-controller",
)


def admit_guest(
    obj: KubernetesObject,
    old: KubernetesObject | None,
    *,
    user: str,
    kubevirt: KubernetesObject,
) -> WebhookAnswer:
    """Admit the creation (`old` None) or change of a VirtualMachine or VMI by `user`."""
    if obj["kind"] == "VirtualMachine":
        return Admitted(object=obj)
    if old is not None:
        return admit_instance_update(obj, old, user=user, kubevirt=kubevirt)
    problem = quantity_problem(obj.get("spec") or {})
    if problem:
        return denied(MUTATOR, 400, problem)
    return Admitted(object=with_instance_defaults(obj, kubevirt))


def quantity_problem(spec: Json) -> str:
    """Why an amount of the guest cannot be read; "" if all can."""
    memory: Json = at(spec, "domain", "memory", default={})
    resources: Json = at(spec, "domain", "resources", default={})
    given = [memory.get(key) for key in ("guest", "maxGuest")]
    for side in ("requests", "limits"):
        given.extend((resources.get(side) or {}).values())
    try:
        for amount in given:
            if amount is not None:
                nanos(amount)
    except ValueError:
        expression = "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        return f"quantities must match the regular expression {expression}"
    return ""


def admit_instance_update(
    new: KubernetesObject, old: KubernetesObject, *, user: str, kubevirt: KubernetesObject
) -> WebhookAnswer:
    """Admit a change of a VMI by `user`: its spec and six labels belong to KubeVirt.

    A change of its status by anybody else is silently reverted.
    """
    if is_kubevirt(user, kubevirt):
        return Admitted(object=new)
    problem = ""
    if (new.get("spec") or {}) != (old.get("spec") or {}):
        problem = "update of VMI object is restricted"
    elif any(labels_of(new).get(key) != labels_of(old).get(key) for key in RESERVED_LABELS):
        problem = (
            "modification of the following reserved kubevirt.io/ labels on a VMI object is "
            "prohibited"
        )
    if problem:
        return invalid(_VMI_UPDATE, Cause(reason="FieldValueNotSupported", message=problem))
    kept = {key: value for key, value in new.items() if key != "status"}
    return Admitted(object={**kept, "status": old["status"]} if "status" in old else kept)


def is_kubevirt(user: str, kubevirt: KubernetesObject) -> bool:
    """Whether a user is one of KubeVirt's own accounts."""
    namespace = kubevirt_namespace(kubevirt)
    return user in {f"system:serviceaccount:{namespace}:{account}" for account in _ACCOUNTS}
