"""virt-api's webhooks for VirtualMachines and new VMIs: defaults first, then every rule.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks/validating-webhook/admitters (vms-admitter.go,
vmi-create-admitter.go).
"""

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.admission import (
    Admitted,
    Cause,
    WebhookAnswer,
    denied,
    invalid,
    invalid_value,
    run_strategy_causes,
)
from gitbot.kubevirt.instance_defaults import with_instance_defaults, with_spec_defaults
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.simulation.kubevirt.instance_admission import (
    MUTATOR,
    admit_instance_update,
    quantity_problem,
)
from tests.virt_api.rules import architecture_causes, metadata_causes, spec_causes

_VMI_CREATE = "virtualmachineinstances-create-validator.kubevirt.io"
_VM = "virtualmachine-validator.kubevirt.io"
_GIBIBYTE = 2**30


def admit_guest(
    obj: KubernetesObject,
    old: KubernetesObject | None,
    *,
    user: str,
    kubevirt: KubernetesObject,
) -> WebhookAnswer:
    """Admit the creation (`old` None) or change of a VirtualMachine or VMI by `user`."""
    if obj["kind"] == "VirtualMachine":
        return admit_machine(obj, user=user, kubevirt=kubevirt)
    if old is not None:
        return admit_instance_update(obj, old, user=user, kubevirt=kubevirt)
    return admit_instance(obj, user=user, kubevirt=kubevirt)


def admit_instance(
    vmi: KubernetesObject, *, user: str, kubevirt: KubernetesObject
) -> WebhookAnswer:
    """Admit a new VMI with its defaults.

    Defaults that decide placement: CPU model, machine type, architecture amd64, the cluster's
    evictionStrategy (copied, so later changes of it do not reach this VMI).
    """
    problem = quantity_problem(vmi.get("spec") or {})
    if problem:
        return denied(MUTATOR, 400, problem)
    made = with_instance_defaults(vmi, kubevirt)
    causes = (
        *spec_causes(made["spec"], "spec", kubevirt),
        *metadata_causes(vmi.get("metadata") or {}, "metadata", user, kubevirt),
        *architecture_causes(made["spec"], "spec"),
    )
    return invalid(_VMI_CREATE, *causes) if causes else Admitted(object=made)


def admit_machine(vm: KubernetesObject, *, user: str, kubevirt: KubernetesObject) -> WebhookAnswer:
    """Admit a VirtualMachine, as far as its template and run strategy go."""
    path = "spec.template.spec"
    spec = with_spec_defaults(at(vm, "spec", "template", "spec", default={}), kubevirt)
    metadata = at(vm, "spec", "template", "metadata", default={})
    causes = (
        *metadata_causes(metadata, "spec.template.metadata", user, kubevirt),
        *spec_causes(spec, path, kubevirt),
        *run_strategy_causes(vm, kubevirt),
        *_hotplug(spec, kubevirt),
    )
    return invalid(_VM, *causes) if causes else Admitted(object=vm)


def _hotplug(spec: Json, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Why memory cannot be plugged into a guest with a `maxGuest` (pkg/liveupdate/memory)."""
    memory: Json = at(spec, "domain", "memory", default={})
    live = setting(kubevirt, "vmRolloutStrategy", default="LiveUpdate") == "LiveUpdate"
    if memory.get("maxGuest") is None or not live:
        return
    field = "spec.template.spec.domain.memory.guest"
    if at(spec, "domain", "cpu", "numa", "guestMappingPassthrough") is not None:
        text = "Memory hotplug is not compatible with guest mapping passthrough"
        yield invalid_value(field, text)
    elif whole(memory["guest"]) < _GIBIBYTE:
        text = "Memory hotplug is only available for VMs with at least 1Gi of guest memory"
        yield invalid_value(field, text)
