"""Selectors that match VirtualMachines, although selectors read VMIs.

Selectors read the labels of the VMI, which come from the VM's template. A label that is only on the
VirtualMachine selects nothing, which people notice only when a rule has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.documents import Path, key_path
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.freeze_window.spec import FreezeWindowSpec
from gitbot.intents.kinds.load_rule.spec import LoadRuleSpec
from gitbot.intents.kinds.migration_request.spec import MigrationRequestSpec
from gitbot.intents.kinds.placement_rule.spec import PlacementRuleSpec
from gitbot.intents.kinds.zone_anti_affinity.spec import ZoneAntiAffinitySpec
from gitbot.intents.selectors import LabelSelector
from gitbot.kubernetes.objects import KubernetesObject, at, labels_of, name_of
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.wording import first_of

_SHOWN = 3


def misleading_labels(
    intents: IntentSet, machines: Iterable[KubernetesObject]
) -> tuple[Finding, ...]:
    """A warning for each selector that matches VirtualMachines' own labels, not their templates'.

    `machines` are VirtualMachine manifests; one without namespace counts for every namespace.
    """
    known = sorted(machines, key=lambda machine: str(name_of(machine)))
    return tuple(
        finding
        for intent in intents.intents
        for path, selector, namespaces in _selectors(intent)
        for finding in _judge(intent, path, selector, namespaces, known)
    )


def _selectors(
    intent: Intent,
) -> Iterator[tuple[Path, LabelSelector, tuple[str, ...] | None]]:
    """Each selector over VMs: its path, and the namespaces it applies to (None: all)."""
    own = (intent.ref.namespace,)
    match intent.spec:
        case ZoneAntiAffinitySpec() | PlacementRuleSpec():
            yield ("spec", "selector"), intent.spec.selector, own
        case MigrationRequestSpec():
            if intent.spec.vms.selector is not None:
                yield ("spec", "vms", "selector"), intent.spec.vms.selector, own
        case FreezeWindowSpec():
            if intent.spec.selector is not None:
                yield ("spec", "selector"), intent.spec.selector, intent.spec.namespaces
        case LoadRuleSpec():
            if intent.spec.protected is not None:
                yield ("spec", "protected"), intent.spec.protected, intent.spec.namespaces
        case _:
            return


def _judge(
    intent: Intent,
    path: Path,
    selector: LabelSelector,
    namespaces: tuple[str, ...] | None,
    machines: list[KubernetesObject],
) -> Iterator[Finding]:
    matcher = LabelMatcher.of(selector.plain())
    misled = [
        str(name_of(machine)).removeprefix("/")
        for machine in machines
        if namespaces is None or name_of(machine).namespace in {"", *namespaces}
        if matcher.matches(labels_of(machine))
        and not matcher.matches(at(machine, "spec", "template", "metadata", "labels", default={}))
    ]
    if not misled:
        return
    place = intent.positions.value(path)
    yield Finding(
        code="intents/labels-of-the-vm",
        severity=Severity.WARNING,
        message="found a selector that matches the VirtualMachine's own labels of "
        f"{first_of(misled, _SHOWN)}, expected labels of the VMI",
        file=intent.ref.file,
        line=place.line,
        column=place.column,
        key_path=key_path(path),
        hint="put the labels into spec.template.metadata.labels of the VirtualMachine",
    )
