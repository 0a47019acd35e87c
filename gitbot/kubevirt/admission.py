"""virt-api's webhooks for migrations and VMIs: what is let in, what is refused and how.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks; verdicts, codes and messages were compared with
recorded answers. Rights, names, conflicts and unknown fields are the API server's business; the
rules about the inside of a VMI's spec are in the instance_rules modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitbot.kubevirt import names
from gitbot.kubevirt.configuration import controller_user, gate
from gitbot.kubevirt.edits import with_value
from gitbot.kubevirt.instance_defaults import (
    network_problem,
    with_device_defaults,
    with_instance_defaults,
)
from gitbot.kubevirt.instance_device_defaults import with_guest_defaults
from gitbot.kubevirt.instance_metadata import RESERVED_LABELS, is_kubevirt, metadata_causes
from gitbot.kubevirt.instance_rules import first_causes, instance_only_causes, spec_causes
from gitbot.kubevirt.instance_rules_architecture import architecture_causes
from gitbot.kubevirt.instance_rules_hyperv import hyperv
from gitbot.kubevirt.instance_rules_schema import json_kind, quantity_problem, schema_causes
from gitbot.kubevirt.limits import is_final, phase_of
from gitbot.kubevirt.reconcile import FINAL_PHASES
from gitbot.kubevirt.verdicts import Admitted, Cause, Refused, Verdict, denied, invalid
from gitbot.model.objects import (
    KubernetesObject,
    at,
    condition_of,
    labels_of,
    name_of,
    uid_of,
)

_MUTATOR = "migrations-mutator.kubevirt.io"
_CREATE = "migration-create-validator.kubevirt.io"
_UPDATE = "migration-update-validator.kubevirt.io"
_VMI_MUTATOR = "virtualmachineinstances-mutator.kubevirt.io"
_VMI_CREATE = "virtualmachineinstances-create-validator.kubevirt.io"
_VMI_UPDATE = "virtualmachineinstances-update-validator.kubevirt.io"


def admit_migration(
    migration: KubernetesObject,
    *,
    user: str,
    vmi: KubernetesObject | None,
    migrations: Iterable[KubernetesObject],
    kubevirt: KubernetesObject,
) -> Verdict:
    """A VMIM about to be created by `user`.

    `vmi` is the VMI that it names, None where there is none; `migrations` are those of the
    namespace at this moment. Two creates at the same moment may both pass. Whether any node fits
    addedNodeSelector is not looked at.
    """
    malformed = malformed_migration(migration)
    if malformed is not None:
        return malformed
    refused = _refusal(migration, user, vmi, migrations, kubevirt)
    return refused if refused is not None else Admitted(object=_mutated(migration))


def _mutated(migration: KubernetesObject) -> KubernetesObject:
    """With the label by which others find it, and the finalizer that keeps it until its end."""
    labels = {**labels_of(migration), names.VMI_NAME: migration["spec"]["vmiName"]}
    finalizers = at(migration, "metadata", "finalizers", default=[])
    if names.MIGRATION_FINALIZER not in finalizers:
        finalizers = [*finalizers, names.MIGRATION_FINALIZER]
    changed = with_value(migration, labels, "metadata", "labels")
    return with_value(changed, finalizers, "metadata", "finalizers")


def malformed_migration(migration: KubernetesObject) -> Refused | None:
    """What the mutating webhook refuses, which sees an object before its schema is looked at."""
    wrong = _schema(migration)
    return invalid(_MUTATOR, *wrong) if wrong else None


def _schema(migration: KubernetesObject) -> tuple[Cause, ...]:
    wanted = {"vmiName": str, "addedNodeSelector": Mapping, "priority": str}
    spec: Mapping[str, Any] = migration.get("spec") or {}
    return tuple(
        Cause(
            message=(
                f"spec.{key} in body must be of type "
                f'{"string" if kind is str else "object"}: "{json_kind(spec[key])}"'
            )
        )
        for key, kind in wanted.items()
        if spec.get(key) is not None and not isinstance(spec[key], kind)
    )


def _refusal(
    migration: KubernetesObject,
    user: str,
    vmi: KubernetesObject | None,
    migrations: Iterable[KubernetesObject],
    kubevirt: KubernetesObject,
) -> Refused | None:
    spec = migration.get("spec") or {}
    if not spec.get("vmiName"):
        cause = Cause(
            reason="FieldValueRequired", message="vmiName is missing", field="spec.vmiName"
        )
        return invalid(_CREATE, cause)
    if spec.get("priority") is not None and user != controller_user(kubevirt):
        return invalid(
            _CREATE,
            Cause(
                reason="FieldValueForbidden",
                message=(
                    "Migration priority queue, only virt-controller is allowed to set priority "
                    "field"
                ),
                field="spec.migrationPriority",
            ),
        )
    problem = _vmi_problem(migration, vmi) or _in_flight(migration, migrations)
    if problem:
        return denied(_CREATE, 400, problem)
    return _decentralized(spec, kubevirt)


def _vmi_problem(migration: KubernetesObject, vmi: KubernetesObject | None) -> str:
    if vmi is None:
        namespace, name = name_of(migration).namespace, migration["spec"]["vmiName"]
        return f'the VMI "{namespace}/{name}" does not exist'
    if phase_of(vmi) in FINAL_PHASES:
        return "Cannot migrate VMI in finalized state."
    condition = condition_of(vmi, "LiveMigratable")
    if condition is None or condition.get("status") != "False":
        return ""
    reason = condition.get("reason", "")
    spec = migration["spec"]
    decentralized = (spec.get("sendTo") is None) != (spec.get("receive") is None)
    if reason == "DisksNotLiveMigratable" and decentralized:
        return ""
    return f"Cannot migrate VMI, Reason: {reason}, Message: {condition.get('message', '')}"


def _in_flight(migration: KubernetesObject, others: Iterable[KubernetesObject]) -> str:
    vmi_name = migration["spec"]["vmiName"]
    for other in others:
        if labels_of(other).get(names.VMI_NAME) == vmi_name and not is_final(other):
            return (
                f"in-flight migration detected. Active migration job ({uid_of(other)}) is "
                f"currently already in progress for VMI {at(other, 'spec', 'vmiName')}."
            )
    return ""


def _decentralized(spec: Mapping[str, Any], kubevirt: KubernetesObject) -> Refused | None:
    send, receive = spec.get("sendTo"), spec.get("receive")
    if send is None and receive is None:
        return None
    if not gate(kubevirt, "DecentralizedLiveMigration"):
        message = "DecentralizedLiveMigration feature gate is not enabled in kubevirt resource"
        return invalid(_CREATE, Cause(reason="FieldValueNotSupported", message=message))
    one, other = at(send, "migrationID"), at(receive, "migrationID")
    if send is not None and receive is not None and one != other:
        message = f"sendTo migrationID {one} does not match receive migrationID {other}"
        return invalid(_CREATE, Cause(reason="FieldValueInvalid", message=message))
    return None


def admit_migration_update(new: KubernetesObject, old: KubernetesObject) -> Verdict:
    """A VMIM about to be changed: its spec never, its label vmi-name not before its end."""
    problem = ""
    if (new.get("spec") or {}) != (old.get("spec") or {}):
        problem = "update of Migration object's spec is restricted"
    elif not is_final(new) and names.VMI_NAME in labels_of(old):
        if at(new, "metadata", "labels") is None:
            problem = "selector label can't be removed from an in-flight migration"
        elif labels_of(new).get(names.VMI_NAME) != labels_of(old)[names.VMI_NAME]:
            problem = "selector label can't be modified on an in-flight migration"
    if problem:
        return invalid(_UPDATE, Cause(reason="FieldValueNotSupported", message=problem))
    return Admitted(object=new)


def admit_instance(vmi: KubernetesObject, *, user: str, kubevirt: KubernetesObject) -> Verdict:
    """A VMI about to be created by `user`: defaults first, then every rule about what they make.

    Defaults that decide placement: CPU model, machine type, architecture amd64, the cluster's
    evictionStrategy (copied, so later changes of it do not reach this VMI).
    """
    wrong = schema_causes(vmi.get("spec") or {}, "spec")
    if wrong:
        return invalid(_VMI_MUTATOR, *wrong)
    given = vmi.get("spec") or {}
    problem = quantity_problem(given) or network_problem(given, kubevirt)
    if problem:
        return denied(_VMI_MUTATOR, 400, problem)
    made = with_instance_defaults(vmi, kubevirt)
    spec = with_guest_defaults(with_device_defaults(made["spec"], kubevirt))
    metadata: Mapping[str, Any] = vmi.get("metadata") or {}
    causes = (
        *first_causes(spec, "spec", kubevirt),
        *spec_causes(spec, "spec", kubevirt),
        *instance_only_causes(spec, "spec"),
        *metadata_causes(metadata, "metadata", user, kubevirt),
        *hyperv(spec, "spec"),
        *architecture_causes(spec, "spec"),
    )
    return invalid(_VMI_CREATE, *causes) if causes else Admitted(object=made)


def admit_instance_update(
    new: KubernetesObject, old: KubernetesObject, *, user: str, kubevirt: KubernetesObject
) -> Verdict:
    """A VMI about to be changed by `user`: its spec and six labels belong to KubeVirt.

    A change of its status by anybody else is taken back without a word.
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
