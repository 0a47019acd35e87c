"""virt-api's webhook for VirtualMachines, as far as their template and run strategy go.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.admission import run_strategy_causes
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.kubevirt.webhook_answers import (
    Admitted,
    Cause,
    WebhookAnswer,
    denied,
    invalid,
    invalid_value,
)
from gitbot.simulation.kubevirt.instance_admission import quantity_problem
from gitbot.simulation.kubevirt.instance_defaults import with_spec_defaults
from tests.virt_api.causes import required_value
from tests.virt_api.memory import hotplug_problem
from tests.virt_api.metadata import metadata_causes
from tests.virt_api.network import discontinued, discontinued_gates
from tests.virt_api.networks import network_problem, with_device_defaults
from tests.virt_api.rules import spec_causes
from tests.virt_api.shapes import schema_causes

_WEBHOOK = "virtualmachine-validator.kubevirt.io"
_MUTATOR = "virtualmachines-mutator.kubevirt.io"
_RUNNING = "spec.running is deprecated, please use spec.runStrategy instead."


def admit_machine(
    vm: KubernetesObject,
    *,
    user: str,
    kubevirt: KubernetesObject,
    old: KubernetesObject | None = None,
) -> WebhookAnswer:
    """A VirtualMachine about to be created (`old` None) or changed by `user`."""
    if at(vm, "metadata", "deletionTimestamp") is not None:
        return Admitted(object=vm)
    template = at(vm, "spec", "template")
    if not isinstance(template, Mapping):
        missing = required_value("spec.template", "missing virtual machine template.")
        return invalid(_WEBHOOK, missing)
    given = template.get("spec") or {}
    wrong = schema_causes(given, "spec.template.spec")
    if wrong:
        return invalid(_MUTATOR, *wrong)
    unread = quantity_problem(given)
    if unread:
        return denied(_MUTATOR, 400, unread)
    problem = network_problem(given, kubevirt)
    if problem:
        return denied(_WEBHOOK, 400, problem)
    if old is None:
        for rule in (discontinued_gates, discontinued):
            gone = tuple(rule(given, "spec", kubevirt))
            if gone:
                return invalid(_WEBHOOK, *gone)
    causes = tuple(_causes(vm, template, user, kubevirt))
    if causes:
        return invalid(_WEBHOOK, *causes)
    running = at(vm, "spec", "running") is not None
    return Admitted(object=vm, warnings=(_RUNNING,) if running else ())


def _causes(
    vm: KubernetesObject, template: Json, user: str, kubevirt: KubernetesObject
) -> Iterator[Cause]:
    spec = with_spec_defaults(template.get("spec") or {}, kubevirt)
    spec = dict(with_device_defaults(spec, kubevirt))
    metadata = template.get("metadata") or {}
    yield from metadata_causes(metadata, "spec.template.metadata", user, kubevirt)
    yield from spec_causes(spec, "spec.template.spec", kubevirt)
    yield from run_strategy_causes(vm, kubevirt)
    if setting(kubevirt, "vmRolloutStrategy", default="LiveUpdate") == "LiveUpdate":
        yield from _live_update(spec)


def _live_update(spec: KubernetesObject) -> Iterator[Cause]:
    cpu = at(spec, "domain", "cpu", default={})
    most, sockets = int(cpu.get("maxSockets") or 0), int(cpu.get("sockets") or 0)
    if most and sockets > most:
        text = "Number of sockets in CPU topology is greater than the maximum sockets allowed"
        yield invalid_value("spec.template.spec.domain.cpu.sockets", text)
    if at(spec, "domain", "memory", "maxGuest") is not None:
        problem = hotplug_problem(spec)
        if problem:
            yield invalid_value("spec.template.spec.domain.memory.guest", problem)
