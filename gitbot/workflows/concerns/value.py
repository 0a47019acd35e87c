"""A concern, the scene in which concerns are found, and what all of them share."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitbot.execution.accept import is_known, may_enter
from gitbot.execution.facts import ClusterFacts
from gitbot.execution.requests import MoveRecord, RequestRecord, fold_requests, highest_move
from gitbot.execution.values import Approved, Stale
from gitbot.model.canonical import short_digest
from gitbot.model.ledger import Ledger, MoveState
from gitbot.model.names import IntentRef
from gitbot.model.problem import (
    Goal,
    PlacementProblem,
    Request,
)
from gitbot.workflows.base import GitBase


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """One thing to propose. `observation` identifies what was seen, for `stabilize` seconds.

    `auto` says that no pull request is needed; `soft` that nothing Required is broken, so that
    VMs moved lately are left alone; `urgent` that it is about something already approved.
    """

    name: str
    intent: IntentRef
    goal: Goal
    observation: str
    why: str
    occurrence: str = ""
    stabilize: int = 0
    auto: bool = False
    soft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What concerns are found in. `open_requests` are planned ids that open pulls are about."""

    base: GitBase
    ledger: Ledger
    approved: tuple[Approved, ...]
    stale: tuple[Stale, ...]
    problem: PlacementProblem
    now: int

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.problem.cluster

    @property
    def facts(self) -> ClusterFacts:
        """The cluster by name."""
        return ClusterFacts.of(
            self.problem, tuple(self.problem.snapshot.of("VirtualMachineInstanceMigration"))
        )


_LONGEST_NAME = 200


def concern_name(*parts: str) -> str:
    """The name of a concern: lower case, so that it can name a file, a branch and a proposal.

    Cut to a prefix and ten hex digits of the whole where it is long (names of objects have up to
    253 characters, and a file or ref with a suffix has room for 255 bytes), or where Git would
    refuse it as the end of a ref.
    """
    name = "-".join(part for part in parts if part).lower()
    if len(name) <= _LONGEST_NAME and not name.endswith(".lock"):
        return name
    return f"{name[: _LONGEST_NAME - 11].rstrip('-.')}-{short_digest(name, 10)}"


def full_name(ref: IntentRef) -> str:
    """Namespace and name; dashes of the namespace doubled, so that a/b-c is not a-b/c."""
    return f"{ref.namespace.replace('-', '--')}-{ref.name}"


def numbered(request: Request, records: dict[str, RequestRecord]) -> Request:
    """Continue the move numbers after the highest in the ledger."""
    return replace(request, first_move=highest_move(records, request.id) + 1)


def is_approved(scene: Scene, planned: str) -> bool:
    """Whether an approved plan for it stands: not void, and in the ledger or able to enter it."""
    records = fold_requests(scene.ledger, scene.cluster)
    return any(
        _stands(item, records.get(item.id, RequestRecord(id=item.id)))
        for item in scene.approved
        if any(move.request == planned for move in item.moves)
    )


def _stands(item: Approved, record: RequestRecord) -> bool:
    known = any(
        is_known(record, item, move) and record.moves[move.id].state is not MoveState.WITHDRAWN
        for move in item.moves
    )
    return not item.terms.void and (known or may_enter(record, item, item.moves))


def stale_moves(scene: Scene, record: RequestRecord | None) -> list[MoveRecord]:
    """The moves of a request whose approved plan no longer keeps the law."""
    if record is None:
        return []
    groups = {item.group for item in scene.stale if item.request == record.id}
    return [
        move
        for _, move in sorted(record.moves.items())
        if not move.final and not move.under_way and move.group in groups
    ]


def stale_words(stale: list[MoveRecord]) -> str:
    """Why a plan is proposed anew; "" where it is not."""
    if not stale:
        return ""
    return f"the approved plan no longer keeps the law: {stale[0].reason or 'see the new plan'}"


def some(names: tuple[str, ...], *, most: int = 3) -> str:
    """The first names, and how many more."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
