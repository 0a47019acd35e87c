"""The variables of expressions: what each is, where it is known, and what makes it.

`PlanVariables` computes those that ship; an entry with `make` is computed from plan and problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem

VM = "VM"  # over every VM of the cluster: only `gitbot policy eval`, no policy
OWN = "variables"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVariable:
    """One variable. `over` has the scopes that know it; it is a map, or a timestamp."""

    what: str
    over: frozenset[str]
    is_time: bool = False
    make: Callable[[PlacementPlan, PlacementProblem], Any] | None = None


_ALL = frozenset({"Plan", "Move", "Intent", VM})
_POLICIES = _ALL - {VM}
VARIABLES: dict[str, PolicyVariable] = {
    "plan": PolicyVariable(what="the plan", over=_ALL),
    "move": PolicyVariable(what="the move that is judged", over=frozenset({"Move"})),
    "vm": PolicyVariable(what="its VM", over=frozenset({"Move", VM})),
    "source": PolicyVariable(what="the node that it leaves", over=frozenset({"Move", VM})),
    "node": PolicyVariable(what="its target", over=frozenset({"Move"})),
    "intent": PolicyVariable(
        what="the intent that is judged, or that of the move", over=_POLICIES - {"Plan"}
    ),
    "cluster": PolicyVariable(what="the cluster as the snapshot shows it", over=_ALL),
    OWN: PolicyVariable(what="the policy's own", over=_POLICIES),
    "now": PolicyVariable(what="a timestamp, the only clock", over=_ALL, is_time=True),
}


def names_over(scope: str) -> frozenset[str]:
    """The variables that expressions over this scope know."""
    return frozenset(name for name, variable in VARIABLES.items() if scope in variable.over)
