"""What has no approved plan and no pull request, and why: for `status`. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.calendar import format_duration
from gitbot.errors import LimitExceeded
from gitbot.execution.ledger_folds import concerns_of, fold_concern
from gitbot.model.ledger.request_id import DrainId, MigrationRequestId, RequestId
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approval.known_requests import NotPlanned
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.propose.concerns import (
    Concern,
    ConcernSources,
    breaches_of,
    drains,
    ended_windows,
    find_concerns,
    heals_of_intents,
    requests,
    unplannable_requests,
)
from gitbot.workflows.propose.proposal import judge_concern, no_plan


def not_planned(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> tuple[NotPlanned, ...]:
    """Requests and open drains without an approved plan and without an open pull request.

    A drain that can be planned and has a schedule is left to the next openings.
    """
    sources = ConcernSources.of(seen)
    found = [
        NotPlanned(request=request, reason=f"there is no plan: {why}")
        for request, why in (unplannable_requests(sources) | ended_windows(sources)).values()
    ]
    branches = {pull.branch for pull in pulls}
    found += _not_planned_in_time(sources)
    for concern in (*drains(sources), *requests(sources)):
        record = fold_concern(seen.ledger, cluster=shell.cluster_name, concern=concern.name)
        if record.no_plan or concern_branch(shell.cluster_name, concern.name) in branches:
            continue
        try:
            judged = judge_concern(seen.base, sources, concern, shell.plan_soon)
        except LimitExceeded as error:
            found.append(NotPlanned(request=concern.goal.request.id, reason=error.message))
            continue
        reason = no_plan(judged)
        command = explain_command(concern.goal.request.id) if reason else ""
        if not reason and judged.digest in record.closed:
            reason = "its plan was closed without a merge"
        elif not reason and concern.opening:
            continue
        elif not reason:
            reason, command = "no plan for it is approved", "gitbot propose"
        still = seen.standstill
        if still is not None and not still.healthy:  # a plan made now would say nothing
            command = still.next_command
        found.append(
            NotPlanned(request=concern.goal.request.id, reason=reason, next_command=command)
        )
    return tuple(sorted(found, key=lambda item: item.request))


def unhealed(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> tuple[NotPlanned, ...]:
    """Broken rules whose healing has no open pull request, and why."""
    sources, branches = ConcernSources.of(seen), {pull.branch for pull in pulls}
    found = []
    for concern in heals_of_intents(sources):
        if concern_branch(shell.cluster_name, concern.name) in branches:
            continue
        record = fold_concern(seen.ledger, cluster=shell.cluster_name, concern=concern.name)
        same = record.observation == concern.observation
        left = concern.stabilize - (seen.now - record.observed_since if same else 0)
        then, command = "gitbot proposes its healing in the next pass", "gitbot propose"
        if record.opened:
            then = f"pull request {record.pull_request}, which heals it, is no longer open"
        elif record.closed and record.ended == "closed":
            then, command = "its healing was closed without a merge", "gitbot plan"
        elif record.no_plan:
            then, command = f"there is no plan: {record.no_plan}", "gitbot plan"
        elif left > 0:
            told = format_duration(left)
            then, command = f"gitbot proposes its healing if that lasts {told} more", "gitbot plan"
        elif why := _why_no_plan(shell, seen, sources, concern):
            then, command = why, "gitbot plan"
        broken = breaches_of(sources, concern.intent, required=not concern.soft)[0].message
        found.append(
            NotPlanned(
                request=concern.goal.request.id, reason=f"{broken}; {then}", next_command=command
            )
        )
    return tuple(found)


def _why_no_plan(
    shell: RunContext, seen: CurrentState, sources: ConcernSources, concern: Concern
) -> str:
    """Why `gitbot propose` finds no plan now; "" if it finds one."""
    try:
        return no_plan(judge_concern(seen.base, sources, concern, shell.plan_soon))
    except LimitExceeded as error:
        return error.message


def unproposed(
    shell: RunContext, seen: CurrentState, pulls: tuple[PullRequest, ...]
) -> frozenset[RequestId]:
    """Planned ids of the concerns that have no open pull request, and that time was no limit for.

    `gitbot propose` plans them.
    """
    branches, cluster = {pull.branch for pull in pulls}, shell.cluster_name
    return frozenset(
        item.goal.request.id.planned
        for item in find_concerns(ConcernSources.of(seen))
        if concern_branch(cluster, item.name) not in branches
        and not fold_concern(seen.ledger, cluster=cluster, concern=item.name).no_plan
    )


def _not_planned_in_time(sources: ConcernSources) -> Iterator[NotPlanned]:
    """The concerns that the last pass could not plan in time, whatever they are about."""
    ledger, cluster = sources.ledger, sources.cluster
    late = {
        name: record.no_plan
        for name in concerns_of(ledger, cluster)
        if (record := fold_concern(ledger, cluster=cluster, concern=name)).no_plan
    }
    for concern in find_concerns(sources) if late else ():
        if concern.name in late:
            yield NotPlanned(request=concern.goal.request.id, reason=late[concern.name])


def explain_command(request: RequestId) -> str:
    """The command that shows what keeps a request or drain from its plan."""
    match request:
        case MigrationRequestId():
            return f"gitbot explain --request {request.namespace}/{request.name}"
        case DrainId(occurrence=occurrence):
            return f"gitbot explain --window {occurrence.window}"
        case _:
            return ""
