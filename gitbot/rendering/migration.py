"""The only place that builds gitbot's VirtualMachineInstanceMigrations.

`render` shows, the plan's digest covers and `apply` creates the same object. Its `spec` is what
`virtctl migrate --addedNodeSelector` sends (KubeVirt, the migrate subresource: `vmiName` and
`addedNodeSelector`, nothing else).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.kubernetes.labels import MANAGED_BY
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.effect_id import EffectId, label_value
from gitbot.model.plan.plan import Move
from gitbot.rendering.template import render_object

TEMPLATE = "virtualmachineinstancemigration.json.j2"
PREFIX = "placement.gitbot.dev/"
TIMEOUT = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationContext:
    """The metadata of a migration besides the move. Empty fields are left out.

    `unschedulable_timeout` is in seconds, from the configuration; `request` is the ledger id, known
    once a plan is approved; `window` is the name of the MaintenanceWindow that the move belongs to;
    `reason` the request's reason; `version` the version of gitbot that creates the migration.
    """

    unschedulable_timeout: int
    request: str = ""
    window: str = ""
    commit: str = ""
    pull_request: int = 0
    reason: str = ""
    version: str = ""


def migration_manifest(
    *,
    move: Move,
    attempt: int = 1,
    context: MigrationContext,
    templates: Mapping[str, str],
) -> KubernetesObject:
    """The VMIM of one move and attempt. GitbotError if the template is missing or broken."""
    effect = EffectId(request=move.request, vmi_uid=move.vm.uid, move=move.id, attempt=attempt)
    return render_object(
        templates,
        TEMPLATE,
        {
            "name": effect.migration_name(vm=move.vm.name),
            "namespace": move.vm.namespace,
            "labels": _labels(move, context),
            "annotations": _annotations(move, attempt, context),
            "vmi_name": move.vm.name,
            "added_node_selector": dict(move.added_node_selector),
        },
    )


def _labels(move: Move, context: MigrationContext) -> dict[str, str]:
    labels = {MANAGED_BY: "gitbot", f"{PREFIX}request": label_value(move.request)}
    if context.window:
        labels[f"{PREFIX}window"] = label_value(context.window)
    return labels


def _annotations(move: Move, attempt: int, context: MigrationContext) -> dict[str, str]:
    known = {
        TIMEOUT: str(context.unschedulable_timeout),
        f"{PREFIX}request": context.request or str(move.request),
        f"{PREFIX}window": context.window,
        f"{PREFIX}move": str(move.id),
        f"{PREFIX}attempt": str(attempt),
        f"{PREFIX}intent": move.intent.id,
        f"{PREFIX}intent-path": move.intent.file,
        f"{PREFIX}commit": context.commit,
        f"{PREFIX}pull-request": str(context.pull_request or ""),
        f"{PREFIX}reason": context.reason,
        f"{PREFIX}version": context.version,
    }
    return {key: value for key, value in known.items() if value}
