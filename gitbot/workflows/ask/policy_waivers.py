"""What passes though a policy denies it: exemptions of the base branch, overrides of plans."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitbot.execution.request_records import fold_requests
from gitbot.model.text.instants import format_instant
from gitbot.ports.forge import PullRequest
from gitbot.workflows.current_state import CurrentState


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWaiver:
    """An exemption by name, or an override ("") of the plan of a pull request.

    `until` in seconds UTC, 0 for an override: it lasts as long as its plan.
    """

    policy: str
    name: str
    by: str
    reason: str
    subjects: tuple[str, ...] = ()
    until: int = 0
    expired: bool = False
    pull_request: int = 0
    digest: str = ""

    @property
    def words(self) -> str:
        if not self.name:
            plan = self.digest.removeprefix("sha256:")[:12]
            where = f"on pull request {self.pull_request} (plan {plan})"
            return f"{self.policy}: overridden by {self.by} {where}: {self.reason}"
        when = f"{'expired at' if self.expired else 'until'} {format_instant(self.until)}"
        ends = " and no longer counts" if self.expired else ""
        whom = f" for {', '.join(self.subjects)}" if self.subjects else ""
        return (
            f"{self.policy}: exemption {self.name} of {self.by}{whom} {when}{ends}: {self.reason}"
        )


def exceptions(seen: CurrentState, opened: Iterable[PullRequest]) -> tuple[PolicyWaiver, ...]:
    """All exemptions, and the overrides of plans that are open or unfinished; by policy."""
    records = fold_requests(seen.ledger, seen.problem.cluster)
    running = {
        item.approval.digest
        for item in seen.approvals.approved
        if (record := records.get(item.id)) is None or not record.finished
    }
    numbers = {pull.number for pull in opened}
    found = [
        PolicyWaiver(
            policy=item.policy,
            name=item.name,
            by=item.owner,
            reason=item.reason,
            subjects=item.subjects,
            until=item.expires,
            expired=item.expires <= seen.now,
        )
        for item in seen.base.revision.policies.exemptions
    ]
    found += [
        PolicyWaiver(
            policy=item.override.policy,
            name="",
            by=item.author,
            reason=item.reason,
            pull_request=item.pull_request,
            digest=item.digest,
        )
        for item in seen.ledger.overrides(seen.problem.cluster)
        if item.pull_request in numbers or item.digest in running
    ]
    return tuple(sorted(found, key=lambda item: (item.policy, item.name, item.pull_request)))
