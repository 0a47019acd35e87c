"""A concern, the sources in which concerns are found, and what all of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gitbot.execution.admit_plans import can_admit, is_known
from gitbot.execution.cluster_facts import ClusterFacts
from gitbot.execution.executor_types import Approved, OutdatedGroup
from gitbot.execution.request_records import MoveRecord, RequestRecord, fold_requests, highest_move
from gitbot.intents.compile import RequestHistory, is_measured
from gitbot.model.grouping import grouped
from gitbot.model.ledger.events import MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import Goal, PlacementProblem, Request
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.names import IntentRef
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.ledger.request_history import request_history


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One topic of a proposal. `observation` identifies what was seen for `stabilize` seconds.

    `auto`: it needs no pull request. `soft`: nothing Required is broken, so VMs that moved lately
    are left alone. `opening` is the window's local time in words, `Sun 22:00-02:00 Europe/Madrid`.
    """

    name: str
    intent: IntentRef
    goal: Goal
    observation: str
    why: str
    occurrence: str = ""
    opening: str = ""
    stabilize: int = 0
    auto: bool = False
    soft: bool = False


@dataclass(frozen=True, kw_only=True)
class ConcernSources:
    """The state in which concerns are found.

    `facts` and `rules` index the whole cluster once; each concern asks them about its own part.
    """

    base: RevisionEngine
    ledger: Ledger
    approved: tuple[Approved, ...]
    stale: tuple[OutdatedGroup, ...]
    problem: PlacementProblem
    records: dict[RequestId, RequestRecord]
    now: int
    facts: ClusterFacts
    rules: Mapping[str, tuple[RuleConstraint, ...]]  # by the id of their intent

    @classmethod
    def of(cls, seen: CurrentState) -> ConcernSources:
        snapshot = seen.problem.snapshot
        rules = (rule for rule in seen.problem.rules if not is_measured(rule.ref))
        measured = seen.base.measured_rules(snapshot, now=seen.now)
        return cls(
            base=seen.base,
            ledger=seen.ledger,
            approved=seen.approvals.approved,
            stale=seen.steps.stale,
            problem=seen.problem,
            records=dict(fold_requests(seen.ledger, seen.problem.cluster)),
            now=seen.now,
            facts=ClusterFacts.of(
                seen.problem, tuple(snapshot.of("VirtualMachineInstanceMigration"))
            ),
            rules=grouped((rule.ref.id, rule) for rule in (*rules, *measured)),
        )

    @cached_property
    def past(self) -> RequestHistory:
        """Reads the whole ledger: once, and only where something is planned."""
        return request_history(self.ledger, self.cluster)

    @property
    def cluster(self) -> str:
        return self.problem.cluster


_LONGEST_NAME = 200


def concern_name(*parts: str) -> str:
    """The name of a concern: lower case, so that it can name a file, a branch and a proposal.

    A long name is cut to a prefix and ten hex digits of the whole (names of objects have up to 253
    characters, and a file or ref with a suffix has room for 255 bytes). So is a name that Git
    refuses as the end of a ref.
    """
    name = "-".join(part for part in parts if part).lower()
    if len(name) <= _LONGEST_NAME and not name.endswith(".lock"):
        return name
    return f"{name[: _LONGEST_NAME - 11].rstrip('-.')}-{short_digest(name, 10)}"


def full_name(ref: IntentRef) -> str:
    """Namespace and name; dashes of the namespace doubled, so that a/b-c differs from a-b/c."""
    return f"{ref.namespace.replace('-', '--')}-{ref.name}".removeprefix("-")


def heal_concern(ref: IntentRef) -> str:
    """The name of the concern about a rule that is broken."""
    return concern_name("heal", ref.kind, full_name(ref))


def numbered(sources: ConcernSources, request: Request) -> Request:
    """Let the move numbers continue after the highest in the ledger."""
    return replace(request, first_move=highest_move(sources.records, request.id) + 1)


def is_approved(sources: ConcernSources, planned: RequestId) -> bool:
    """Whether a valid approved plan exists for it, in the ledger or able to enter it."""
    return any(
        _stands(item, sources.records.get(item.id, RequestRecord(id=item.id)))
        for item in sources.approved
        if item.id == planned or any(move.request == planned for move in item.moves)
    )


def _stands(item: Approved, record: RequestRecord) -> bool:
    known = any(
        is_known(record, item, move) and record.moves[move.id].state is not MoveState.WITHDRAWN
        for move in item.moves
    )
    waits = bool(item.terms.consent)  # for people: it is planned, and not proposed again
    return not item.terms.void and (known or waits or can_admit(record, item, item.moves))


def stale_moves(sources: ConcernSources, record: RequestRecord | None) -> list[MoveRecord]:
    """The moves of a request's approved plan that no longer pass the checks."""
    if record is None:
        return []
    groups = {item.group for item in sources.stale if item.request == record.id}
    return [
        move
        for _, move in sorted(record.moves.items())
        if not move.final and not move.in_flight and move.group in groups
    ]


def stale_words(stale: list[MoveRecord]) -> str:
    """Why a plan is proposed again; "" if it is not."""
    if not stale:
        return ""
    return f"the approved plan no longer passes the checks: {stale[0].reason or 'see the new plan'}"
