"""A small, very full cluster with preferences on every VM is searched once, with few questions."""

import random
from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.replay.replay import replay
from gitbot.constraints.rules.placement_rule import placement_rules
from gitbot.constraints.rules.worsening import kind, total
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.model.plan.plan import OptimalityProof, PlacementPlan
from gitbot.model.plan.problem import EmptyNodes, HealRule, PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.planner import move_groups, plan
from gitbot.planner.problem_index import ProblemIndex
from gitbot.planner.search import budget, exact
from gitbot.planner.search.move_cache import KnownMoves
from gitbot.planner.search.reachability import Openings
from gitbot.planner.state.plan_state import PlanState
from gitbot.reports.sentence import objective
from tests.doubles.problems import HOSTNAME, node, problem, request, vm
from tests.laws.test_same_bytes import GIB, SIZES, resident
from tests.laws.tiny import problem_of, tiny
from tests.laws.tiny_verdict import shortfall
from tests.unit.planner.reading import planned

NODES = 10
APART = IntentRef(kind="ZoneAntiAffinity", namespace="default", name="apart")


def full() -> PlacementProblem:
    """Ten nodes, 90 to 97 % full: one to empty, and a rule that is broken."""
    draw = random.Random(1)
    objects: list[Any] = [
        node(f"n{number:02}", zone="abc"[number % 3], memory=f"{GIB}Gi", cpu="16")
        for number in range(NODES)
    ]
    for number in range(NODES):
        free, count = round(GIB * draw.uniform(0.90, 0.97)), 0
        while free >= SIZES[0]:
            size = draw.choice([size for size in SIZES if size <= free])
            objects += resident(f"vm-{number:02}-{count}", f"n{number:02}", size, draw)
            free, count = free - size, count + 1
    bare = problem(objects)
    rule = zone_anti_affinity(
        Instances(bare.snapshot),
        ref=APART,
        namespace="default",
        selector={"matchLabels": {"app": "app-1"}},
        topology_key=HOSTNAME,
    )
    goals = (
        EmptyNodes(request=request("empty"), nodes=("n03",)),
        HealRule(request=request("heal"), rule=APART),
    )
    return replace(bare, rules=(rule,), goals=goals)


def test_no_search_is_made_twice_and_the_board_is_asked_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches, questions = Counter[object](), Counter[str]()
    run, totals = exact._Search.run, MigrationState.totals

    def counted(self: exact._Search) -> exact.Found:
        searches[(*sorted(self.home), *sorted(self.board.occupancy.items()))] += 1
        return run(self)

    def scored(self: MigrationState, *arguments: Any) -> Any:
        questions["scored"] += 1
        return totals(self, *arguments)

    monkeypatch.setattr(exact._Search, "run", counted)
    monkeypatch.setattr(MigrationState, "totals", scored)
    planned(full())
    assert searches
    assert set(searches.values()) == {1}
    print(questions, len(searches))
    assert questions["scored"] < 500


def test_wishes_about_spread_do_not_keep_the_search_from_knowing_moves() -> None:
    board = PlanState.of(ProblemIndex.of(full()))
    movers = sorted(board.occupancy)
    known = KnownMoves(board, movers, Openings(board, movers))
    assert all(map(known.tells, range(len(movers))))


def test_the_amount_of_a_rule_is_that_of_its_breaches() -> None:
    broken = 0
    for seed in range(60):
        case, draw = problem_of(tiny(seed)), random.Random(seed)
        nodes = [*(item.name for item in tiny(seed).nodes), "gone"]
        for rule in case.rules:
            for _ in range(20):
                held = {vm: draw.sample(nodes, draw.choice((0, 1, 1, 2))) for vm in rule.members}
                places = {vm: frozenset(nodes) for vm, nodes in held.items()}
                amount = sum(item.amount for item in rule.breaches(places))
                assert total(rule, places) == amount
                broken += amount > 0
                for one, other in combinations(sorted(places), 2):
                    if kind(rule, one) == kind(rule, other):
                        changed = {**places, one: places[other], other: places[one]}
                        assert total(rule, changed) == amount
    assert broken > 500


def test_a_long_search_that_knows_most_answers_goes_on() -> None:
    assert shortfall(tiny(1_004_263)) == ""


def test_searches_of_one_plan_share_a_budget_and_a_plan_that_is_cut_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    run = exact._Search.run

    def counted(self: exact._Search) -> exact.Found:
        found = run(self)
        asked.append(self.asked)
        return found

    monkeypatch.setattr(exact._Search, "run", counted)
    monkeypatch.setattr(budget, "PLAN_QUESTIONS", 2_000)
    monkeypatch.setattr(budget, "OF_VM", 0)
    case = full()
    cut = planned(case)
    assert len(asked) > 1
    assert sum(asked) < 2_000 + len(asked) * NODES * len(case.snapshot.of("Pod"))
    assert (cut.bound.proof, replay(case, cut)) == (OptimalityProof.CUT, ())
    assert objective(cut).endswith("the search ended at its budget: a better plan may exist")


def test_a_plan_that_has_spent_its_budget_tries_no_other_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    orders, in_order = Counter[str](), plan._in_order

    def counted(*arguments: Any, **options: Any) -> Any:
        orders["tried"] += 1
        return in_order(*arguments, **options)

    monkeypatch.setattr(plan, "_in_order", counted)
    case = problem_of(tiny(47))
    planned(case)
    assert orders.total() == 4
    orders.clear()
    monkeypatch.setattr(budget, "PLAN_QUESTIONS", 1)
    monkeypatch.setattr(budget, "OF_VM", 0)
    cut = planned(case)
    assert (cut.bound.proof, orders.total()) == (OptimalityProof.CUT, 1)


def test_a_plan_whose_groups_were_not_tried_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    selector = {"matchLabels": {"app": "pair"}}
    near = {"labelSelector": selector, "topologyKey": HOSTNAME}
    objects: list[Any] = [
        *(node(f"n{number}", memory="64Gi") for number in (1, 2)),
        *(vm(name, on="n1", memory="4Gi", labels={"app": "pair"}) for name in "ab"),
    ]
    case = problem(objects, goals=[EmptyNodes(request=request("drain"), nodes=("n1",))])
    rules = placement_rules(
        Instances.of(case.snapshot),
        ref=IntentRef(kind="PlacementRule", namespace="default", name="together"),
        namespace="default",
        selector=selector,
        affinity={"requiredDuringSchedulingIgnoredDuringExecution": [near]},
    )
    case = replace(case, rules=rules)
    whole = planned(case)
    assert (len(whole.moves), whole.holds) == (2, ())
    assert whole.bound.proof is not OptimalityProof.CUT
    real = move_groups.with_groups

    def after_all_was_asked(*given: Any) -> PlacementPlan:
        given[-1].asked = 10**9  # of the budget, which the first plan has not spent
        return real(*given)

    monkeypatch.setattr(plan, "with_groups", after_all_was_asked)
    cut = planned(case)
    assert (cut.bound.proof, len(cut.holds)) == (OptimalityProof.CUT, 2)
