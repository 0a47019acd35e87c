"""One proposal: the plan of a concern, and the texts of its pull request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gitbot.intents.proposals import Proposal, write_proposal
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.plan import PlannerFault
from gitbot.model.plan.problem import EmptyNodes
from gitbot.planner import PullTitle, planner_of
from gitbot.reports import where_to
from gitbot.reports.own_templates import Values
from gitbot.workflows.core.context import PlanOf
from gitbot.workflows.core.draining_nodes import drains_due, plan_beside_drains
from gitbot.workflows.core.judged_plan import INTERNAL, JudgedPlan, fault_findings, judge_plan
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.ledger.request_history import reservations
from gitbot.workflows.propose.concerns import Concern, ConcernSources


def judge_concern(
    base: RevisionEngine, sources: ConcernSources, concern: Concern, plan_of: PlanOf
) -> JudgedPlan:
    snapshot = sources.problem.snapshot
    drains: tuple[EmptyNodes, ...] = ()
    if planner_of(concern.goal).avoids_drains:
        # a drain or a way home has its own times and may use nodes that close soon
        drains = tuple(drains_due(base, snapshot, now=sources.now, past=sources.past))
    mine = (concern.goal.request.id,)
    problem, plan, found = plan_beside_drains(
        base,
        snapshot,
        (concern.goal,),
        now=sources.problem.now,
        drains=drains,
        reservations=reservations(sources.approved, sources.records, but=mine),
        past=sources.past,
        plan_of=plan_of,
    )
    findings = [item for item in found if item.severity is not Severity.ERROR]
    return judge_plan(base.revision, problem, plan, findings=findings)


def is_unplanned(concern: Concern, judged: JudgedPlan) -> bool:
    """Whether a request asks for what no plan may do; False if everything is as it asks."""
    if not isinstance(concern.goal.request.id, MigrationRequestId):
        return False
    return bool(no_plan(judged)) and (bool(judged.plan.holds) or bool(judged.plan.moves))


def no_plan(judged: JudgedPlan) -> str:
    """Why a plan cannot be proposed; "" if it can."""
    plan = judged.plan
    if plan.does_nothing:
        if plan.faults:
            return f"there is no plan: {fault_findings(plan.faults)[0].message}"
        if not plan.holds:
            return "there is no plan: nothing to move"
        hold = plan.holds[0]
        return hold.reason if hold.proven else f"there is no plan: {hold.reason}"
    # a plan that leaves out what the planner contradicts itself about is a plan
    errors = [
        item.message
        for item in judged.findings
        if item.severity is Severity.ERROR and item.code != INTERNAL
    ]
    return f"the plan is refused: {errors[0]}" if errors else ""


def file_of(concern: Concern, judged: JudgedPlan) -> bytes:
    proposal = Proposal(
        concern=concern.name,
        intent=concern.intent,
        request=concern.goal.request.id,
        digest=judged.digest,
        expires_at=judged.expires_at,
        moves=judged.plan.moves,
        occurrence=concern.occurrence,
    )
    return write_proposal(proposal).encode("utf-8")


def title_of(concern: Concern, judged: JudgedPlan) -> str:
    """What merging does, in one line: `Empty kni-worker5 (2 VMs, Sun 22:00-02:00 ...)`."""
    moves = judged.plan.moves
    pull = PullTitle(moves=moves, where=where_to(moves), opening=concern.opening)
    title = planner_of(concern.goal).title(concern.goal, pull)
    return f"Finish: {title}" if concern.name.startswith("rest-") else title


def body_values(concern: Concern, cluster: str) -> Values:
    return {
        "cluster": cluster,
        "concern": concern.name,
        "why": f"{concern.why[:1].upper()}{concern.why[1:]}",
        "merging": "Merging approves exactly the moves in the file. Closing without a merge keeps "
        "gitbot silent until the plan changes.",
    }


def body_of(values: Values) -> str:
    """The text of a concern's pull request; the plan is in the comment."""
    return f"{values['why']}\n\n{values['merging']}\n"


class Did(StrEnum):
    """What a run did about a concern."""

    OPENED = "opened"
    UPDATED = "updated"
    RENEWED = "renewed"
    CLOSED = "closed"
    AUTO = "auto"
    UNCHANGED = "unchanged"
    WAITING = "waiting"
    SILENT = "silent"
    NOTHING = "nothing"


_QUIET = (*Did,)[5:]  # nothing is written


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernReport:
    """What was done about one concern, and why."""

    concern: str
    action: Did
    reason: str = ""
    pull_request: int = 0
    digest: str = ""
    unplanned: bool = False  # no plan can carry out this request of the base branch
    unsure: bool = False  # the planner gave no plan in time
    faults: tuple[PlannerFault, ...] = ()  # of its plan

    def __str__(self) -> str:
        number = f" (pull request {self.pull_request})" if self.pull_request else ""
        return f"{self.concern}: {self.action}{number}{f': {self.reason}' if self.reason else ''}"

    @property
    def did_nothing(self) -> bool:
        return self.action in _QUIET


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeResult:
    """What one run of propose did with each concern."""

    concerns: tuple[ConcernReport, ...] = ()
    entries: int = 0
    may_start: bool = False  # whether nothing stopped starts when it looked
    away: int | None = None  # VMs that are not at home; None if it was not asked

    @property
    def did_nothing(self) -> bool:
        return not self.entries and all(item.did_nothing for item in self.concerns)

    @property
    def failed(self) -> bool:
        """Whether the base branch asks for something that no plan can carry out."""
        return any(item.unplanned for item in self.concerns)

    @property
    def unsure(self) -> bool:
        """Whether it is not known what a concern needs: the planner gave no plan in time."""
        return any(item.unsure for item in self.concerns)

    @property
    def faults(self) -> tuple[PlannerFault, ...]:
        return tuple(fault for item in self.concerns for fault in item.faults)

    @property
    def internal(self) -> int:
        """How often the planner contradicted itself."""
        return len(self.faults)
