"""Which VMs a MigrationRequest names on this cluster, and findings about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.rules.zone_anti_affinity import select_vms
from gitbot.documents import Path
from gitbot.intents.intent import Intent
from gitbot.intents.intent_findings import error, warning
from gitbot.intents.kinds.migration_request.spec import VmsSpec
from gitbot.intents.machine_labels import machine_label_findings
from gitbot.intents.selected_nodes import missing_node
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.model.plan.findings import Finding
from gitbot.model.text.wording import first_of, nearest

_VMS: Path = ("spec", "vms")
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedVms:
    """The VMs of a request, sorted; empty if the findings say why."""

    vms: tuple[NamespacedName, ...] = ()
    findings: tuple[Finding, ...] = ()


def choose_vms(
    intent: Intent, spec: VmsSpec, instances: Instances, *, begun: bool = False
) -> SelectedVms:
    """Resolve names, selector or onNode in the request's namespace.

    Unknown names stay chosen, so that the plan holds them by name. A VM that is not where the
    request expects it is not chosen, unless the request has `begun`.
    """
    namespace = intent.ref.namespace
    if spec.names is not None:
        found = [NamespacedName(namespace=namespace, name=name) for name in spec.names]
        findings = [
            finding
            for number, vm in enumerate(found)
            for finding in _unknown(intent, (*_VMS, "names", number), vm, instances)
        ]
        if spec.source is not None and not begun:
            findings += _elsewhere(intent, found[0], spec.source, instances)
            found = found if not findings else []
        return SelectedVms(vms=tuple(sorted(found)), findings=tuple(findings))
    if spec.on_node is not None:
        return _on_node(intent, spec.on_node, instances)
    assert spec.selector is not None, "BUG: a request without VMs"
    return _selected(intent, spec.selector.plain(), spec.max_count, instances)


def _unknown(
    intent: Intent, path: Path, vm: NamespacedName, instances: Instances
) -> Iterator[Finding]:
    item = instances.get(vm)
    if item is not None and item.vmi is not None:
        if is_final(item.vmi):
            message = (
                f"VMI {vm} has ended (phase {phase_of(item.vmi)}), so there is nothing to migrate"
            )
            yield error(intent, path, "vm-ended", message, "start the VM first")
        return
    if item is not None:
        status = at(item.vm, "status", "printableStatus", default="Stopped")
        message = f"VM {vm} is stopped ({status}), so there is nothing to migrate"
        yield error(intent, path, "vm-stopped", message, "start the VM first")
        return
    elsewhere = sorted(each.namespace for each in instances if each.name == vm.name)
    if elsewhere:
        places = ", ".join(elsewhere)
        message = f"there is no VM {vm.name} in namespace {vm.namespace}, but in {places}"
        hint = "a request acts in its own namespace only; see metadata.namespace"
        yield error(intent, path, "vm-in-other-namespace", message, hint)
        return
    near = nearest(vm.name, [each.name for each in instances if each.namespace == vm.namespace])
    hint = f"did you mean {near}?" if near else "names are those of VMIs; see kubectl get vmi"
    yield error(intent, path, "unknown-vm", f"there is no VM {vm}", hint)


def _elsewhere(
    intent: Intent, vm: NamespacedName, source: str, instances: Instances
) -> Iterator[Finding]:
    path: Path = (*_VMS, "from")
    yield from missing_node(intent, path, source, instances)
    here = instances[vm].node if vm in instances else ""
    if here and here != source:
        message = f"{vm} runs on {here}, and the request expects it on {source}"
        hint = f"look why it moved; then write from: {here}, or remove it"
        yield error(intent, path, "vm-elsewhere", message, hint)


def _on_node(intent: Intent, node: str, instances: Instances) -> SelectedVms:
    path: Path = (*_VMS, "onNode")
    missing = tuple(missing_node(intent, path, node, instances))
    namespace = intent.ref.namespace
    found = tuple(name for name in instances.on_node.get(node, ()) if name.namespace == namespace)
    if missing or found:
        return SelectedVms(vms=() if missing else found, findings=missing)
    message = f"no VM of namespace {namespace} runs on {node}: nothing to do"
    return SelectedVms(findings=(warning(intent, path, "nothing-to-do", message),))


def _not_running(intent: Intent, path: Path, left: Sequence[Instance]) -> Iterator[Finding]:
    if not left:
        return
    listed = first_of([f"{item.name.name} ({_state(item)})" for item in left], _SHOWN)
    message = f"selects VMs that run on no node, and leaves them out: {listed}"
    yield warning(intent, path, "not-running", message, "a request moves running VMs only")


def _state(item: Instance) -> str:
    if item.vmi is not None:
        return phase_of(item.vmi)
    return str(at(item.vm, "status", "printableStatus", default="Stopped"))


def _selected(
    intent: Intent, selector: dict[str, Any], most: int | None, instances: Instances
) -> SelectedVms:
    path: Path = (*_VMS, "selector")
    namespace = intent.ref.namespace
    matching = select_vms(instances, namespace, selector)
    found = tuple(sorted(vm for vm in matching if instances[vm].node))
    findings = (
        *machine_label_findings(intent, path, selector, instances),
        *_not_running(intent, path, [instances[vm] for vm in sorted(matching - set(found))]),
    )
    if not found:
        message = f"selects no running VM in namespace {namespace}"
        hint = "selectors read the labels of VMIs; see kubectl get vmi --show-labels"
        return SelectedVms(
            findings=(*findings, error(intent, path, "selects-nothing", message, hint))
        )
    if most is not None and len(found) > most:
        message = f"selects {len(found)} VMs, more than maxCount {most}: the request moves none"
        hint = "narrow the selector, or raise maxCount"
        wide = error(intent, (*_VMS, "maxCount"), "blast-radius", message, hint)
        return SelectedVms(findings=(*findings, wide))
    return SelectedVms(vms=found, findings=findings)
