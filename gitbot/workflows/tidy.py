"""Files of which nothing is left to do: finished requests, and proposals that are carried out."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.execution.requests import RequestRecord, fold_requests, ledger_id
from gitbot.intents import Intent
from gitbot.intents.kinds.migration_request import MigrationRequestSpec
from gitbot.intents.kinds.placement_proposal import PlacementProposalSpec
from gitbot.workflows.concerns import Scene

WEEK = 7 * 86_400  # seconds for which a finished request is left where it stands


def finished_files(scene: Scene) -> tuple[str, ...]:
    """Paths whose every document is finished for at least a week, sorted."""
    records = fold_requests(scene.ledger, scene.cluster)
    done: dict[str, bool] = {}
    for intent in scene.base.intents.intents:
        over = _is_over(intent, records, scene.now)
        done[intent.ref.file] = done.get(intent.ref.file, True) and over
    return tuple(sorted(file for file, over in done.items() if over and file))


def _is_over(intent: Intent, records: Mapping[str, RequestRecord], now: int) -> bool:
    spec = intent.spec
    if isinstance(spec, MigrationRequestSpec):
        name = f"request/{intent.ref.namespace}/{intent.ref.name}"
    elif isinstance(spec, PlacementProposalSpec):
        name = ledger_id(spec.request, spec.digest)
    else:
        return False
    record = records.get(name)
    if record is None or not record.finished:
        return False
    return now - max((move.changed_at for move in record.moves.values()), default=now) >= WEEK
