"""GoalPlanner: all that the planner knows of one type of goal, as one value with hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from gitbot.model.plan.plan import Move
from gitbot.model.plan.problem import Goal
from gitbot.model.text.wording import counted

if TYPE_CHECKING:  # a pass with nothing to do plans nothing
    from gitbot.planner.holds import Late
    from gitbot.planner.plan_types import Closed, Draft
    from gitbot.planner.state.plan_state import PlanState

G = TypeVar("G", bound=Goal)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullTitle:
    """What a title may say of a plan.

    `where` is ` to NODE`, or the zones, "" if unknown; `opening` the local time of the window, ""
    without one.
    """

    moves: tuple[Move, ...]
    where: str
    opening: str = ""

    @property
    def vms(self) -> list[str]:
        return sorted({str(move.vm.namespaced_name) for move in self.moves})

    @property
    def amount(self) -> str:
        return counted(len(self.vms), "VM")


class Order(Protocol[G]):
    """The order in which several goals of one type leave each other room."""

    def __call__(
        self, board: PlanState, goals: Sequence[G], closed: Closed, late: Late, *, wide: bool
    ) -> list[G]: ...


def request_words(goal: Goal) -> str:
    return goal.request.id


def first_stage(_goal: Any) -> int:
    return 0


def never(_goal: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalPlanner(Generic[G]):
    """One type of goal.

    `draft` plans goals, one unless they `joins`, and is asked whether large VMs step aside (wide).
    `title` names the pull request that proposes the moves, `preview` a plan that is only shown.
    Goals of a later `stage` find the VMs where earlier ones put them, and undo nothing of theirs: 0
    for what people ask for, 1 for healings, 2 for what evens out. With `order`, the planner also
    tries these goals in that order, with and without wide. `avoids_drains`: no VM goes to a node
    that a window empties soon. `may_fail`: a preview that cannot reach the goal warns, and fails no
    check.
    """

    goal: type[G]
    draft: Callable[[PlanState, Sequence[G], Closed, Late, bool], Draft]
    title: Callable[[G, PullTitle], str]
    preview: Callable[[G], str] = request_words
    stage: Callable[[G], int] = first_stage
    joins: Callable[[G], bool] = never
    order: Order[G] | None = None
    avoids_drains: bool = False
    may_fail: bool = False
