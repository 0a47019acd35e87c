"""What the base branch asks for and nothing carries out yet: what a status must not hide."""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.execution.accept import is_known, may_enter
from gitbot.execution.requests import RequestRecord, fold_requests
from gitbot.execution.state import fold_concern
from gitbot.execution.values import Approved
from gitbot.ports.forge import PullRequest
from gitbot.workflows.approvals import concern_branch
from gitbot.workflows.base import GitBase
from gitbot.workflows.concerns import Scene, meaningless
from gitbot.workflows.concerns.requests import requests
from gitbot.workflows.look import Look
from gitbot.workflows.proposal import no_plan, review_concern
from gitbot.workflows.shell import Shell

OBSERVE = "mode Observe applies nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplied:
    """An approved request of which the ledger knows nothing yet. Pull request 0: by policy."""

    pull_request: int
    request: str
    next_command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPlanned:
    """A request on the base branch without an approved plan, and why."""

    request: str
    reason: str
    next_command: str = ""


def not_applied(seen: Look, cluster: str) -> tuple[NotApplied, ...]:
    """Merged and approved, but no pass of apply has taken it up."""
    records = fold_requests(seen.ledger, cluster)
    return tuple(
        NotApplied(
            pull_request=item.approval.pull_request,
            request=item.id,
            next_command=apply_command(seen),
        )
        for item in seen.approvals.approved
        if _is_new(item, records.get(item.id, RequestRecord(id=item.id)))
    )


def _is_new(item: Approved, record: RequestRecord) -> bool:
    new = tuple(move for move in item.moves if not is_known(record, item, move))
    return bool(new) and may_enter(record, item, new)


def apply_command(seen: Look) -> str:
    """What lets approved work go on."""
    if seen.base.settings.mode == "Observe":
        return "mode: Enforce in .gitbot.yaml"
    return "gitbot resume --by NAME" if seen.stop else "gitbot apply"


def not_planned(shell: Shell, seen: Look, pulls: tuple[PullRequest, ...]) -> tuple[NotPlanned, ...]:
    """Requests of the base branch that nobody approved a plan for; not those with an open pull."""
    if not isinstance(seen.base, GitBase):
        return ()
    scene = Scene(
        base=seen.base,
        ledger=seen.ledger,
        approved=seen.approvals.approved,
        stale=seen.steps.stale,
        problem=seen.problem,
        now=seen.now,
    )
    records = dict(fold_requests(seen.ledger, shell.cluster_name))
    found = [
        NotPlanned(request=request, reason=f"there is no plan: {why}")
        for request, why in meaningless(scene, records).values()
    ]
    branches = {pull.branch for pull in pulls}
    for concern in requests(scene, records):
        if concern_branch(shell.cluster_name, concern.name) in branches:
            continue
        review = review_concern(seen.base, scene, concern)
        record = fold_concern(seen.ledger, cluster=shell.cluster_name, concern=concern.name)
        reason, command = no_plan(review), ""
        if not reason and review.digest in record.closed:
            reason = "its plan was closed without a merge"
        elif not reason:
            reason, command = "no plan for it is approved", "gitbot propose"
        found.append(
            NotPlanned(request=concern.goal.request.id, reason=reason, next_command=command)
        )
    return tuple(sorted(found, key=lambda item: item.request))
