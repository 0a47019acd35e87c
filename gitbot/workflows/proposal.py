"""One proposal: the plan of a concern, and what its pull request says and adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitbot.execution.requests import fold_requests
from gitbot.intents.proposals import Proposal, write_proposal
from gitbot.model.findings import Severity
from gitbot.model.plan import PlacementPlan
from gitbot.workflows.approvals import read_proposal
from gitbot.workflows.base import GitBase
from gitbot.workflows.concerns import Concern, Scene
from gitbot.workflows.past import reservations
from gitbot.workflows.review import Review
from gitbot.workflows.shell import Shell


def review_concern(base: GitBase, scene: Scene, concern: Concern) -> Review:
    """Plan and judge one concern on the cluster as it is."""
    records = dict(fold_requests(scene.ledger, scene.cluster))
    problem = replace(
        scene.problem,
        goals=(concern.goal,),
        reservations=reservations(scene.approved, records, but=(concern.goal.request.id,)),
    )
    return base.review(problem)


def is_unplanned(concern: Concern, review: Review) -> bool:
    """Whether a request asks for what no plan may do; not where all is already as it asks."""
    if concern.intent.kind != "MigrationRequest":
        return False
    return bool(no_plan(review)) and (bool(review.plan.holds) or bool(review.plan.moves))


def no_plan(review: Review) -> str:
    """Why what was planned cannot be proposed; "" where it can."""
    plan: PlacementPlan = review.plan
    if not plan.moves:
        why = plan.holds[0].reason if plan.holds else "nothing to move"
        return f"there is no plan: {why}"
    errors = [item.message for item in review.findings if item.severity is Severity.ERROR]
    return f"the plan is refused: {errors[0]}" if errors else ""


def file_of(concern: Concern, review: Review) -> bytes:
    """The proposal file that a pull request of the concern adds."""
    proposal = Proposal(
        concern=concern.name,
        intent=concern.intent,
        request=concern.goal.request.id,
        digest=review.digest,
        expires_at=review.expires_at,
        moves=review.plan.moves,
        occurrence=concern.occurrence,
    )
    return write_proposal(proposal).encode("utf-8")


def proposal_in(shell: Shell, head: str, concern: str) -> Mapping[str, str]:
    """Digest and expiry (`expires`, seconds UTC) of the proposal file at a head."""
    fact = read_proposal(shell, head, concern)
    return {} if fact is None else {"digest": fact.digest, "expires": str(fact.expires_at)}


def title_of(concern: Concern, review: Review) -> str:
    """The title of a concern's pull request."""
    moves = len(review.plan.moves)
    word = "move" if moves == 1 else "moves"
    return f"{concern.name}: {moves} {word}"


def body_of(concern: Concern) -> str:
    """The text of a concern's pull request; the plan stands in the comment."""
    return (
        f"{concern.why[:1].upper()}{concern.why[1:]}\n\n"
        "Merging approves exactly the moves in the file. Closing without a merge keeps gitbot "
        "silent until the plan changes.\n"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernReport:
    """What was done about one concern, in a word, and why."""

    concern: str
    action: str  # opened, updated, renewed, unchanged, waiting, silent, closed, auto, nothing
    reason: str = ""
    pull_request: int = 0
    digest: str = ""
    unplanned: bool = False  # a request of the base branch that no plan can carry out as it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeResult:
    """What one run of propose did, by concern."""

    concerns: tuple[ConcernReport, ...] = ()
    entries: int = 0

    @property
    def did_nothing(self) -> bool:
        """Whether nothing at all was written."""
        quiet = ("unchanged", "waiting", "silent", "nothing")
        return not self.entries and all(item.action in quiet for item in self.concerns)

    @property
    def failed(self) -> bool:
        """Whether the base branch asks for something that no plan can carry out."""
        return any(item.unplanned for item in self.concerns)
