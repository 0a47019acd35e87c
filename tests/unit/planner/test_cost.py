"""What planning spends on hints and on groups that cannot move."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan, plan
from gitbot.planner.search import budget, greedy
from gitbot.planner.search.exact import shortest
from tests.doubles.problems import HOSTNAME, node, problem, vm
from tests.unit.planner.test_drain import empty, together

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def full_rack() -> PlacementProblem:
    """Six nodes with a VM each, and room for two of them outside, in pieces that fit one."""
    names = [f"n{number}" for number in range(1, 7)]
    nodes = [*(node(name, memory="4Gi") for name in (*names, "t1", "t2"))]
    vms = [vm(f"v-{name}", on=name, memory="3Gi") for name in names]
    return problem([*nodes, *vms], goals=[together(*names)])


def test_hint_of_drain_that_cannot_begin_makes_no_complete_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[object] = []

    def noted(*words: Any, **fields: Any) -> Any:
        searches.append(words)
        return shortest(*words, **fields)

    monkeypatch.setattr(greedy, "shortest", noted)
    found = make_plan(full_rack())
    assert found.drains[0].could == ("n1", "n2")
    assert len(searches) <= 1


@dataclass(slots=True)
class Impatient:
    """An onlooker that asks to stop once so many plans are made."""

    made: int = 0
    most: int = 1_000_000

    def begins(self, stage: str) -> None:
        pass

    def planned(self, moves: int) -> None:
        pass

    def stopped(self) -> bool:
        return self.made > self.most


def pairs(count: int) -> PlacementProblem:
    """Pairs on n1 that a rule keeps on one node, and none of the 12 others has room for both."""
    vms = [
        vm(name, on="n1", memory="3Gi", labels={"pair": str(number)})
        for number in range(count)
        for name in (f"a{number:02}", f"b{number:02}")
    ]
    others = [node(f"t{number:02}", memory="5Gi") for number in range(12)]
    case = problem([node("n1", memory="900Gi"), *others, *vms], goals=[empty("n1")])
    return replace(case, rules=tuple(_kept(case, count)))


def _kept(case: PlacementProblem, count: int) -> Iterator[RuleConstraint]:
    for number in range(count):
        selector = {"matchLabels": {"pair": str(number)}}
        term = {"topologyKey": HOSTNAME, "labelSelector": selector}
        yield from placement_rules(
            Instances.of(case.snapshot),
            ref=IntentRef(kind="PlacementRule", namespace="default", name=f"pair-{number}"),
            namespace="default",
            selector=selector,
            affinity={REQUIRED: [term]},
        )


def test_groups_that_cannot_move_share_a_number_of_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "PLAN_QUESTIONS", 10**9)  # or that ends them first
    onlooker = counting(monkeypatch)
    make_plan(pairs(8), onlooker=onlooker)
    assert 32 < onlooker.made <= 1 + 32 + 7 + 8


def test_onlooker_ends_the_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    onlooker = counting(monkeypatch)
    onlooker.most = 3
    make_plan(pairs(8), onlooker=onlooker)
    assert onlooker.made == 4


def counting(monkeypatch: pytest.MonkeyPatch) -> Impatient:
    onlooker, alone = Impatient(), plan._alone

    def noted(problem: PlacementProblem, *words: Any) -> PlacementPlan:
        onlooker.made += 1
        return alone(problem, *words)

    monkeypatch.setattr(plan, "_alone", noted)
    return onlooker
