"""virt-api's webhook for new VMIs: defaults first, then every rule about what they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.webhook_answers import Admitted, Refused, WebhookAnswer, denied, invalid
from gitbot.simulation.kubevirt.instance_admission import (
    MUTATOR,
    admit_instance_update,
    quantity_problem,
)
from gitbot.simulation.kubevirt.instance_defaults import with_instance_defaults
from tests.virt_api.architecture import architecture_causes
from tests.virt_api.device_defaults import with_guest_defaults
from tests.virt_api.enlightenments import with_enlightenments
from tests.virt_api.hyperv import hyperv
from tests.virt_api.machines import admit_machine
from tests.virt_api.metadata import metadata_causes
from tests.virt_api.networks import network_problem, with_device_defaults
from tests.virt_api.rules import first_causes, instance_only_causes, spec_causes
from tests.virt_api.shapes import schema_causes

_VMI_CREATE = "virtualmachineinstances-create-validator.kubevirt.io"


def admit_guest(
    obj: KubernetesObject,
    old: KubernetesObject | None,
    *,
    user: str,
    kubevirt: KubernetesObject,
) -> WebhookAnswer:
    """A VirtualMachine or VMI about to be created (`old` None) or changed by `user`."""
    if obj["kind"] == "VirtualMachine":
        return admit_machine(obj, user=user, kubevirt=kubevirt, old=old)
    if old is not None:
        return admit_instance_update(obj, old, user=user, kubevirt=kubevirt)
    return admit_instance(obj, user=user, kubevirt=kubevirt)


def admit_instance(
    vmi: KubernetesObject, *, user: str, kubevirt: KubernetesObject
) -> WebhookAnswer:
    """A VMI about to be created by `user`: defaults first, then every rule about what they make.

    Defaults that decide placement: CPU model, machine type, architecture amd64, the cluster's
    evictionStrategy (copied, so later changes of it do not reach this VMI).
    """
    malformed = malformed_instance(vmi)
    if malformed is not None:
        return malformed
    problem = network_problem(vmi.get("spec") or {}, kubevirt)
    if problem:
        return denied(MUTATOR, 400, problem)
    complete = {**vmi, "spec": with_enlightenments(dict(vmi.get("spec") or {}))}
    made = with_instance_defaults(complete, kubevirt)
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


def malformed_instance(vmi: KubernetesObject) -> Refused | None:
    """What the mutating webhook refuses: shapes that its schema does not have, unread amounts."""
    spec = vmi.get("spec") or {}
    wrong = schema_causes(spec, "spec")
    if wrong:
        return invalid(MUTATOR, *wrong)
    problem = quantity_problem(spec)
    return denied(MUTATOR, 400, problem) if problem else None
