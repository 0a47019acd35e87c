"""Which namespaces a file may act in: the `owners` of the configuration.

A path without an owner moves nothing: if the configuration has owners, a file that none of them
names is an error. So is a kind that acts in the whole cluster in a folder of single namespaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitbot.documents import TOP, Report, finding_at, shown, value_at
from gitbot.intents.intent import Intent
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.settings import OwnerSettings, Settings

_CLUSTER_WIDE = "acts in the whole cluster"


Everywhere = Callable[[Mapping[str, Any]], bool]
"""Whether the plain spec of a document without a namespace concerns VMs of every namespace."""


def check_owner(
    report: Report, settings: Settings, *, namespaced: bool, everywhere: Everywhere
) -> None:
    """Report a document whose folder does not own what it acts in."""
    if not settings.owners:
        return
    owner = owner_of(report.file, settings)
    if owner is None:
        report.at_value(
            ("kind",),
            "owner",
            f"found a file that no owner in {CONFIGURATION_FILE} names, expected one of "
            f"{', '.join(path for item in settings.owners for path in item.paths)}",
            "move the file, or add its folder to owners[].paths in a reviewed change",
        )
    elif "*" not in owner.namespaces:
        _check_namespaces(report, owner, everywhere, namespaced=namespaced)


def owner_of(file: str, settings: Settings) -> OwnerSettings | None:
    """The last owner with a path that holds the file, as in CODEOWNERS; None if none does."""
    holding = [item for item in settings.owners if item.holds(file)]
    return holding[-1] if holding else None


def _check_namespaces(
    report: Report, owner: OwnerSettings, everywhere: Everywhere, *, namespaced: bool
) -> None:
    value, own = report.document.value, ", ".join(owner.namespaces)
    where = ("metadata", "namespace") if namespaced else ("spec", "namespaces")
    found = value_at(value, where)
    for namespace in found if isinstance(found, list) else [found]:
        if isinstance(namespace, str) and not owner.owns(namespace):
            report.at_value(
                where,
                "owner",
                f"found {shown(namespace)}, expected a namespace of this folder: {own}",
                "move the file to a folder that owns the namespace",
            )
    spec = value_at(value, ("spec",))
    if not namespaced and found is None and isinstance(spec, dict) and everywhere(spec):
        report.at_value(
            ("kind",),
            "owner",
            f"found {value['kind']}, which {_CLUSTER_WIDE}, expected one of the namespaces of this "
            f"folder: {own}",
            "move it to a folder whose owner has namespaces: ['*']",
        )


def missing_owners(intents: Iterable[Intent], settings: Settings) -> list[Finding]:
    """One warning if several folders act in several namespaces and no owners bind them."""
    acting = [intent.ref for intent in intents if intent.ref.namespace]
    namespaces = sorted({ref.namespace for ref in acting})
    folders = {ref.file.rpartition("/")[0] for ref in acting}
    if settings.owners or len(namespaces) < 2 or len(folders) < 2:
        return []
    return [
        finding_at(
            CONFIGURATION_FILE,
            TOP,
            "intents/no-owners",
            f"found no owners, with folders that act in the namespaces {', '.join(namespaces[:5])}"
            f"{', ...' if len(namespaces) > 5 else ''}; expected owners that bind folders to them",
            hint=f"any file can move VMs of any namespace: add owners[] to {CONFIGURATION_FILE}",
            severity=Severity.WARNING,
        )
    ]
