"""What the planner's parts hand each other: wishes, tasks, steps, and drafts of goals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitbot.model.names import NamespacedName
from gitbot.model.plan import Hold
from gitbot.model.problem import Pin, Request, Target

ANYWHERE = Target()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Where a VM may be sent: nodes of the target that are not closed, demanded by the pin.

    `closed` maps a node that is no target to the reason.
    """

    target: Target = ANYWHERE
    pin: Pin = Pin.NODE
    closed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One migration as the planner thinks of it.

    `node` is where it will land, by pin or by prediction; `landings` are all nodes where it may.
    A `helper` step makes room for another VM of the same task.
    """

    vm: NamespacedName
    source: str
    node: str
    landings: tuple[str, ...]
    wish: Wish = field(default_factory=Wish)
    selector: Mapping[str, str] = field(default_factory=dict)
    helper: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """VMs that may be moved together, and the nodes on which each is content.

    A VM is moved to content by its wish in `wishes`, out of the way by `aside` (None: never).
    """

    content: Mapping[NamespacedName, frozenset[str]]
    wishes: Mapping[NamespacedName, Wish]
    aside: Wish | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A step with what it is made for. Steps of a group stand or fall together."""

    step: Step
    request: Request
    group: str
    why: str
    leaves: str = ""  # the node that the group empties: no move goes there once it has begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What came of one goal: steps in a lawful order, holds, and a lower bound on the steps.

    At most `lanes` groups of the draft may be under way at once (0: any number). With `cordon` a
    node that a group empties is unschedulable from the group's first move on.
    """

    planned: tuple[Planned, ...] = ()
    holds: tuple[Hold, ...] = ()
    least: int = 0
    lanes: int = 0
    cordon: bool = False
