"""Selectors over VMs, and labels that people set in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.moves.instances import Instances
from gitbot.documents import Path
from gitbot.intents.intent import Intent
from gitbot.intents.intent_findings import warning
from gitbot.kubernetes.objects import Json
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.plan.findings import Finding
from gitbot.model.text.wording import first_of

_SHOWN = 5


def machine_label_findings(
    intent: Intent, path: Path, selector: Json, instances: Instances
) -> Iterator[Finding]:
    """A warning if VirtualMachine objects carry the labels and their VMIs do not, or reversed.

    Selectors read the VMI (the VM's template if there is no VMI), never the VM object's own labels,
    which KubeVirt does not copy.
    """
    wanted = LabelMatcher.of(selector)
    namespace = intent.ref.namespace
    found = instances.by_machine_label.matching(wanted, (namespace,) if namespace else None)
    fooled = sorted(name for name in found if not wanted.matches(instances[name].labels))
    if fooled:
        yield warning(
            intent,
            path,
            "vm-labels",
            f"{first_of(fooled, _SHOWN)} carry these labels as VirtualMachine objects only; the "
            "selector reads the labels of their VMIs and does not select them",
            "put the labels into spec.template.metadata.labels of the VM",
        )
