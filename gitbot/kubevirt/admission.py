"""virt-api's webhooks for migrations: what they admit, what they refuse and how.

Source: KubeVirt, pkg/virt-api/webhooks; verdicts, codes and messages were compared with
recorded answers. Permissions, names, conflicts and unknown fields are up to the API server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.kubernetes.objects import (
    KubernetesObject,
    at,
    condition_of,
    labels_of,
    name_of,
    uid_of,
    with_value,
)
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import controller_user, gate

_MUTATOR = "migrations-mutator.kubevirt.io"
_CREATE = "migration-create-validator.kubevirt.io"
_KINDS = {str: "string", list: "array", bool: "boolean", int: "number", float: "number"}
_UPDATE = "migration-update-validator.kubevirt.io"
IN_FLIGHT = "in-flight migration detected"
"""Start of the webhook's message about another unfinished migration of the VMI."""


def admit_migration(
    migration: KubernetesObject,
    *,
    user: str,
    vmi: KubernetesObject | None,
    migrations: Iterable[KubernetesObject],
    kubevirt: KubernetesObject,
) -> WebhookAnswer:
    """Decide about a new VMIM that `user` creates.

    `vmi` is the VMI that it names, None if it does not exist; `migrations` are those of the
    namespace now. Two creates at the same moment may both pass. Whether any node fits
    addedNodeSelector is not checked.
    """
    malformed = malformed_migration(migration)
    if malformed is not None:
        return malformed
    refused = _refusal(migration, user, vmi, migrations, kubevirt)
    return refused if refused is not None else Admitted(object=_mutated(migration))


def _mutated(migration: KubernetesObject) -> KubernetesObject:
    """Add the label that selects migrations of a VMI, and the finalizer that keeps it meanwhile."""
    labels = {**labels_of(migration), names.VMI_NAME: migration["spec"]["vmiName"]}
    finalizers = at(migration, "metadata", "finalizers", default=[])
    if names.MIGRATION_FINALIZER not in finalizers:
        finalizers = [*finalizers, names.MIGRATION_FINALIZER]
    changed = with_value(migration, labels, "metadata", "labels")
    return with_value(changed, finalizers, "metadata", "finalizers")


def malformed_migration(migration: KubernetesObject) -> Refused | None:
    """The mutating webhook's refusal; it sees an object before the API server checks its schema."""
    wrong = _schema(migration)
    return invalid(_MUTATOR, *wrong) if wrong else None


def _schema(migration: KubernetesObject) -> tuple[Cause, ...]:
    wanted = {"vmiName": str, "addedNodeSelector": Mapping, "priority": str}
    spec: Mapping[str, Any] = migration.get("spec") or {}
    return tuple(
        Cause(
            message=f'spec.{key} in body must be of type {_kind(kind)}: "{_kind(type(spec[key]))}"'
        )
        for key, kind in wanted.items()
        if spec.get(key) is not None and not isinstance(spec[key], kind)
    )


def _kind(python: type) -> str:
    return _KINDS.get(python, "object")


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
    if is_final(vmi):
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
                f"{IN_FLIGHT}. Active migration job ({uid_of(other)}) is "
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


def admit_migration_update(new: KubernetesObject, old: KubernetesObject) -> WebhookAnswer:
    """Decide about a changed VMIM: its spec is fixed, its label vmi-name is fixed until it ends."""
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


RUN_STRATEGIES = ("Halted", "Manual", "Always", "RerunOnFailure", "Once", "WaitAsReceiver")
"""The last one only with feature gate DecentralizedLiveMigration."""


def run_strategy_causes(vm: KubernetesObject, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Why the webhook refuses a VirtualMachine's run strategy (vms-admitter.go); empty if not."""
    running, strategy = at(vm, "spec", "running"), at(vm, "spec", "runStrategy")
    if running is not None and strategy is not None:
        text = "Running and RunStrategy are mutually exclusive. Note that Running is deprecated, "
        yield invalid_value("spec.running", f"{text}please use RunStrategy instead")
    if running is None and strategy is None:
        yield invalid_value("spec.running", "RunStrategy must be specified")
    if strategy == "WaitAsReceiver":
        if not gate(kubevirt, "DecentralizedLiveMigration"):
            text = "DecentralizedLiveMigration feature gate is not enabled in kubevirt resource"
            yield invalid_value("spec.runStrategy", f"Invalid RunStrategy ({strategy}), {text}")
    elif strategy is not None and strategy not in RUN_STRATEGIES:
        yield invalid_value("spec.runStrategy", f"Invalid RunStrategy ({strategy})")


_MOST_CAUSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause in a Status: `reason` in Kubernetes' words (FieldValueRequired, ...)."""

    reason: str = ""
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Accepted, with the resulting object.

    `effects` are other objects that the webhook writes.
    """

    object: KubernetesObject = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    effects: tuple[KubernetesObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Rejected: HTTP code, Kubernetes reason ("" if the webhook gives none), message.

    `effects` are objects that the webhook writes although it refuses: an eviction leaves its mark.
    """

    code: int
    message: str
    reason: str = ""
    causes: tuple[Cause, ...] = ()
    effects: tuple[KubernetesObject, ...] = ()


WebhookAnswer = Admitted | Refused


def invalid_value(field: str, message: str) -> Cause:
    return Cause(reason="FieldValueInvalid", message=message, field=field)


def denied(
    webhook: str, code: int, text: str, *, effects: tuple[KubernetesObject, ...] = ()
) -> Refused:
    """A refusal without causes, in the API server's words."""
    message = f'admission webhook "{webhook}" denied the request: {text}'
    return Refused(code=code, message=message, effects=effects)


def invalid(webhook: str, *causes: Cause) -> Refused:
    """A refusal because of the object's content: 422, the first ten causes, and how many more.

    Source: KubeVirt, pkg/util/webhooks, ToAdmissionResponse.
    """
    told, more = causes[:_MOST_CAUSES], len(causes) - _MOST_CAUSES
    text = ", ".join(cause.message for cause in told)
    if more > 0:
        text += f", and {more} more validation errors"
    message = f'admission webhook "{webhook}" denied the request: {text}'
    return Refused(code=422, reason="Invalid", message=message, causes=told)
