"""Plans with measured load: better targets where asked, warnings about pressure, else nothing."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.load.ranking import NAMES
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.load import ClusterLoad, LoadValue
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.planner import make_plan
from tests.doubles.problems import NOW, node, problem, vm
from tests.unit.planner.reading import move, moved, planned

SYSTEM = "system 7 % (test, 40 s old)"
TRIMARAN = [name for name in NAMES if name != "MostAllocated"]


def load(**percents: int) -> ClusterLoad:
    """`n2_cpu=90` is 90 % CPU used on n2."""
    values = []
    for name, percent in percents.items():
        where, metric = name.split("_")
        values.append(
            LoadValue(node=where, metric=metric, amount=percent * 100, time=NOW - 40, source="test")
        )
    return ClusterLoad(values=tuple(sorted(values)))


def case(**changes: Any) -> PlacementProblem:
    nodes = [node("n1"), node("n2"), node("n3")]
    return replace(problem([*nodes, vm("db", on="n1")], goals=[move("db")]), **changes)


@pytest.mark.parametrize(("busy", "chosen"), [("n2", "n3"), ("n3", "n2")])
def test_a_ranking_chooses_the_target_with_less_load(busy: str, chosen: str) -> None:
    measured = load(**{"n2_cpu": 0, "n3_cpu": 0, f"{busy}_cpu": 95})
    found = planned(case(load=measured, ranking=("LoadVariationRiskBalancing",)))
    assert moved(found) == [("db", "n1", chosen, 0)]


def test_target_load_packing_fills_to_forty_percent_first() -> None:
    found = planned(case(load=load(n2_cpu=5, n3_cpu=35), ranking=("TargetLoadPacking",)))
    assert moved(found) == [("db", "n1", "n3", 0)]


def without_words(plan: PlacementPlan) -> PlacementPlan:
    moves = tuple(replace(item, checks=()) for item in plan.moves)
    return replace(plan, moves=moves)


@pytest.mark.parametrize("ranking", [(), tuple(TRIMARAN)])
def test_without_load_a_plan_is_the_same(ranking: tuple[str, ...]) -> None:
    assert make_plan(case(ranking=ranking)) == make_plan(case())


def test_without_a_ranking_load_chooses_nothing_and_is_only_shown() -> None:
    found = make_plan(case(load=load(n2_cpu=95, n3_cpu=5)))
    assert without_words(found) == without_words(make_plan(case()))
    (moves,) = found.moves
    shown = {check.name: check.message for check in moves.checks}
    assert shown["load"] == "n2: cpu 95 % (test, 40 s old)"


def warnings(target: KubernetesObject, measured: ClusterLoad) -> list[str]:
    found = planned(
        replace(
            problem([node("n1"), target, vm("db", on="n1")], goals=[move("db", to="n2")]),
            load=measured,
        )
    )
    (only,) = found.moves
    return [check.message for check in only.checks if check.outcome is Outcome.WARN]


def with_status(**changes: Any) -> KubernetesObject:
    found = dict(node("n2", cpu="60"))
    return {**found, "status": {**found["status"], **changes}}


def conditions(*types: str) -> list[dict[str, str]]:
    return [{"type": "Ready", "status": "True"}, *({"type": t, "status": "True"} for t in types)]


@pytest.mark.parametrize(
    ("target", "measured", "said"),
    [
        (with_status(), load(n2_cpu=99), []),
        (with_status(), load(n2_cpuPressure=10), []),
        (with_status(), load(n2_cpuPressure=11),
         ["n2 cpuPressure 11 % (test, 40 s old) is above 10 %"]),
        (with_status(), load(n1_cpuPressure=90), []),
        (with_status(conditions=conditions("MemoryPressure")), load(), ["n2 has MemoryPressure"]),
        (with_status(conditions=conditions("DiskPressure", "PIDPressure")), load(),
         ["n2 has DiskPressure; has PIDPressure"]),
        (with_status(capacity={"cpu": "64"}), load(n2_system=6), []),  # 3.84 of 4 cores
        (with_status(capacity={"cpu": "64"}), load(n2_system=7),
         [f"n2 uses 4480m CPU outside pods, 4000m is reserved for that: {SYSTEM}"]),
    ],
)  # fmt: skip
def test_pressure_on_a_target_is_a_warning(
    target: KubernetesObject, measured: ClusterLoad, said: list[str]
) -> None:
    assert warnings(target, measured) == said
