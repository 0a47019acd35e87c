"""Selectors over VMs, and the labels that people look at in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.instances import Instances
from gitbot.documents.positions import Path
from gitbot.intents.compile.saying import warning
from gitbot.intents.intent import Intent
from gitbot.model.findings import Finding
from gitbot.model.names import NamespacedName
from gitbot.model.objects import Json, labels_of
from gitbot.model.selectors import LabelSelector

_SHOWN = 5


def machine_label_findings(
    intent: Intent, path: Path, selector: Json, instances: Instances
) -> Iterator[Finding]:
    """A warning where VirtualMachine objects carry the labels and their VMIs do not, or reversed.

    Selectors read the VMI (the VM's template where there is none), never the VM object's own
    labels, which KubeVirt does not pass on.
    """
    wanted = LabelSelector.of(selector)
    namespace = intent.ref.namespace
    fooled = [
        name
        for name, item in sorted(instances.items())
        if item.vm is not None
        and (not namespace or name.namespace == namespace)
        and wanted.matches(labels_of(item.vm))
        and not wanted.matches(item.labels)
    ]
    if fooled:
        yield warning(
            intent,
            path,
            "vm-labels",
            f"{_listed(fooled)} carry these labels as VirtualMachine objects only; the selector "
            "reads the labels of their VMIs and does not select them",
            "put the labels into spec.template.metadata.labels of the VM",
        )


def _listed(names: list[NamespacedName]) -> str:
    shown = ", ".join(str(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
