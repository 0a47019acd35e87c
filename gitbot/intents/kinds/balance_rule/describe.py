"""BalanceRule as a kind: its example, selectors, healing and goal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gitbot.intents.intent import Intent
from gitbot.intents.kinds.balance_rule.check import check
from gitbot.intents.kinds.balance_rule.spec import BalanceRuleSpec
from gitbot.intents.kinds.kind import Healing, Kind, Role, VmSelector
from gitbot.intents.request_history import RequestHistory
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.problem import Goal, Request

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.constraints.moves.instances import Instances


def _selectors(_: Intent, spec: BalanceRuleSpec) -> Iterator[VmSelector]:
    if spec.protected is not None:
        path = ("spec", "protected")
        yield VmSelector(path=path, selector=spec.protected, namespaces=spec.namespaces)


def _healing(spec: BalanceRuleSpec) -> Healing:
    return Healing(heal=spec.heal, sustained=spec.sustained, every=spec.every)


def _measured(
    asked: Iterable[tuple[Intent, BalanceRuleSpec]], snapshot: ClusterSnapshot, _: ClusterLoad
) -> tuple[RuleConstraint, ...]:
    from gitbot.intents.kinds.balance_rule.compile import uneven  # noqa: PLC0415 - numpy

    return uneven(asked, snapshot)


def _heal(
    spec: BalanceRuleSpec, request: Request, instances: Instances, past: RequestHistory
) -> Goal:
    from gitbot.intents.kinds.balance_rule.compile import even_out  # noqa: PLC0415 - numpy

    return even_out(spec, request, instances, past)


_EXAMPLE = """\
# Nodes that are new or back fill up, a few VMs a day. It looks at requests, not at load.
apiVersion: API_VERSION
kind: BalanceRule
metadata: {name: example-even}
spec:
  above: 30                         # percentage points between the fullest node and the emptiest
  maxMoves: 5
  every: P1D
  namespaces: [example]
  heal: Report                      # Propose opens a pull request
"""

KIND = Kind(
    name="BalanceRule",
    spec=BalanceRuleSpec,
    namespaced=False,
    role=Role.RULE,
    check=check,
    description="A standing wish: nodes that are new or back fill up, by requests, few VMs a time.",
    example=_EXAMPLE,
    selectors=_selectors,
    healing=_healing,
    measured=_measured,
    heal=_heal,
)
