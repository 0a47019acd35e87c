"""Selectors that match VirtualMachines, although selectors read VMIs.

Selectors read the labels of the VMI, which come from the VM's template. A label that is only on the
VirtualMachine selects nothing, which people notice only when a rule has no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.documents import key_path
from gitbot.intents.intent import Intent, IntentSet
from gitbot.intents.kinds.kind import VmSelector
from gitbot.intents.registry import KINDS
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
        for asked in KINDS[intent.ref.kind].selectors(intent, intent.spec)
        for finding in _judge(intent, asked, known)
    )


def _judge(
    intent: Intent, asked: VmSelector, machines: list[KubernetesObject]
) -> Iterator[Finding]:
    matcher = LabelMatcher.of(asked.selector.plain())
    misled = [
        str(name_of(machine)).removeprefix("/")
        for machine in machines
        if asked.namespaces is None or name_of(machine).namespace in {"", *asked.namespaces}
        if matcher.matches(labels_of(machine))
        and not matcher.matches(at(machine, "spec", "template", "metadata", "labels", default={}))
    ]
    if not misled:
        return
    place = intent.positions.value(asked.path)
    yield Finding(
        code="intents/labels-of-the-vm",
        severity=Severity.WARNING,
        message="found a selector that matches the VirtualMachine's own labels of "
        f"{first_of(misled, _SHOWN)}, expected labels of the VMI",
        file=intent.ref.file,
        line=place.line,
        column=place.column,
        key_path=key_path(asked.path),
        hint="put the labels into spec.template.metadata.labels of the VirtualMachine",
    )
