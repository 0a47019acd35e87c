"""Tidying away: once a week, a pull request that removes the files of finished requests."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.execution.request_records import RequestRecord
from gitbot.intents import (
    Intent,
    MaintenanceWindowSpec,
    MigrationRequestSpec,
    PlacementProposalSpec,
    proposal_file,
)
from gitbot.intents.compile import request_id
from gitbot.model.ledger.events import ConcernState
from gitbot.model.ledger.request_id import RequestId, parse_request_id
from gitbot.model.text.canonical import digest
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.propose.concerns import ConcernSources, ended_at
from gitbot.workflows.propose.proposal import ConcernReport, Did
from gitbot.workflows.propose.proposal_pull import ProposeRun, push_new

TIDY = "tidy"
WEEK = 7 * 86_400  # seconds for which a finished request keeps its file


def tidy(run: ProposeRun) -> list[ConcernReport]:
    """Once a week, a pull request that removes the files of finished requests."""
    busy = {proposal_file(run.shell.cluster_name, name) for name in run.open_pulls}
    files = [file for file in finished_files(run.sources) if file not in busy]
    identity = digest(files)
    record = run.record(TIDY)
    if TIDY in run.open_pulls or not files or identity in record.closed:
        return []
    shell = run.shell
    branch = concern_branch(shell.cluster_name, TIDY)
    if run.now - record.opened_at < WEEK:
        return []
    title = f"tidy: remove {len(files)} finished files"
    gone = dict.fromkeys(files)
    head, reason = push_new(shell, branch=branch, base=run.base.commit, files=gone, message=title)
    if not head:
        return [ConcernReport(concern=TIDY, action=Did.WAITING, reason=reason)]
    run.journal.note(run.event(TIDY, ConcernState.PROPOSED, digest=identity, commit=head))
    pull = shell.forge.open_pull(
        branch=branch,
        base_branch=shell.base_branch,
        title=title,
        body="What these files asked for is done. Removing them has no effect.\n",
        labels=("gitbot",),
    )
    run.note(TIDY, ConcernState.OPENED, pull, digest=identity)
    return [
        ConcernReport(concern=TIDY, action=Did.OPENED, pull_request=pull.number, digest=identity)
    ]


def finished_files(sources: ConcernSources) -> tuple[str, ...]:
    """Sorted paths of files whose documents have all been finished for at least a week."""
    done: dict[str, bool] = {}
    used = {spec.window for _, spec in sources.base.intents.migration_requests}
    for intent in sources.base.intents.intents:
        over = _is_over(intent, sources.records, sources.now)
        over = over or (intent.ref.name not in used and _window_is_over(intent, sources))
        over = over and not sources.base.revision.has_broken(intent.ref.file)
        done[intent.ref.file] = done.get(intent.ref.file, True) and over
    return tuple(sorted(file for file, over in done.items() if over and file))


def _window_is_over(intent: Intent, sources: ConcernSources) -> bool:
    """Of a window with nodes: its last opening is over, and each node that left is back."""
    ended = ended_at(sources, intent)
    if ended is not None:
        return sources.now - ended >= WEEK
    spec = intent.spec
    if not isinstance(spec, MaintenanceWindowSpec) or spec.nodes is None or not spec.schedule:
        return False  # a calendar may get more events
    opens_again = sources.base.opening(intent, now=sources.now - WEEK) is not None
    return not opens_again and intent.ref.name not in sources.past.emptying


def _is_over(intent: Intent, records: Mapping[RequestId, RequestRecord], now: int) -> bool:
    spec = intent.spec
    if isinstance(spec, MigrationRequestSpec):
        name: RequestId | None = request_id(intent)
    elif isinstance(spec, PlacementProposalSpec):
        planned = parse_request_id(spec.request)
        name = planned.approved(spec.digest) if planned is not None else None
    else:
        return False
    record = records.get(name) if name is not None else None
    if record is None or not record.finished:
        return False
    return now - (record.changed_at or now) >= WEEK
