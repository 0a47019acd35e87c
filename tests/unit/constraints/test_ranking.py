"""Optional scorers: NodeResourcesFit's MostAllocated and Trimaran's three formulas."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gitbot.cli.commands.explain import SCORERS
from gitbot.cli.commands.explain import explain as explains
from gitbot.constraints.explanation import Explainer
from gitbot.constraints.load.beta_distribution import (
    largest_deviation,
    probability_of_moments,
    probability_up_to,
)
from gitbot.constraints.load.measures import LoadMeasure, loads_of
from gitbot.constraints.load.ranking import NAMES, Ranking
from gitbot.constraints.load.trimaran import (
    Place,
    balanced,
    effective,
    low_risk_over_commitment,
    packed,
    target_load_packing,
)
from gitbot.errors import SnapshotError, UsageError
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.snapshot import load_of
from tests.unit.constraints.builders import node, pod, snapshot

AT = 1_796_590_800  # 2026-12-06T21:00:00Z
NEW = NamespacedName(namespace="customapp", name="new")


def measures(**values: float) -> dict[str, Any]:
    """load-watcher's entries: cpu_avg, cpu_std, memory_avg, memory_std, cpu_latest."""
    kinds = {"cpu": "CPU", "memory": "Memory"}
    operators = {"avg": "AVG", "std": "STD", "latest": "Latest"}
    entries = []
    for name, value in values.items():
        kind, operator = name.split("_")
        entries.append({"type": kinds[kind], "operator": operators[operator], "value": value})
    return {"metrics": entries}


def report(**nodes: dict[str, Any]) -> dict[str, Any]:
    names = {name.replace("_", "-"): entry for name, entry in nodes.items()}
    return {"window": {"start": AT - 900, "end": AT}, "data": {"NodeMetricsMap": names}}


@pytest.mark.parametrize(
    ("percent", "score"),
    # 40 % is best; below it a line up from 40, above it a line down to 0 at 100 %
    [(0, 40), (20, 70), (40, 100), (40.4, 40), (70, 20), (100, 0), (100.1, 0), (250, 0)],
)
def test_target_load_packing_fills_up_to_forty_percent(percent: float, score: int) -> None:
    assert packed(percent) == score


@pytest.mark.parametrize(
    ("resources", "score"),
    [
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, 70),  # the limit: 2 of 10 cores
        ({"requests": {"cpu": "1"}}, 63),  # one and a half times the request
        ({}, 55),  # a core where nothing is said
    ],
)
def test_target_load_packing_predicts_a_container(resources: dict[str, Any], score: int) -> None:
    asked = {"spec": {"containers": [{"resources": resources}]}}
    empty = Place(node=node("a", cpu="10"), load={"cpu": LoadMeasure(current=0.0)})
    assert target_load_packing(asked, empty) == score
    unknown = Place(node=node("a", cpu="10"), load={"memory": LoadMeasure(current=1.0)})
    assert target_load_packing(asked, unknown) == 0


@pytest.mark.parametrize(
    ("margin_sensitivity", "capacity", "used", "deviation", "score"),
    [
        ((1, 1), 100, 40, 36, 57),
        ((1, 2), 0, 40, 36, 0),
        ((1, 2), 100, -40, 36, 65),
        ((1, 2), 100, 200, 36, 20),
        ((1, 2), 100, 40, -36, 75),
        ((1, 2), 100, 40, 120, 25),
        ((-1, 1), 100, 40, 36, 75),
        ((1, -1), 100, 40, 36, 57),
        ((1, 0), 100, 40, 36, 75),
    ],
)
def test_load_variation_risk_balancing_is_the_published_formula(
    margin_sensitivity: tuple[float, float],
    capacity: float,
    used: float,
    deviation: float,
    score: int,
) -> None:
    found = balanced(
        capacity=capacity,
        used=used,
        deviation=deviation,
        asked=10,
        margin=margin_sensitivity[0],
        sensitivity=margin_sensitivity[1],
    )
    assert round(found) == score


@pytest.mark.parametrize(
    ("alpha", "beta", "limit", "expected"),
    [
        (2, 2, 0.5, 0.5),
        (3, 1, 0.5, 0.125),
        (1, 2, 0.3, 0.51),
        (0.5, 0.5, 0.25, 1 / 3),
        (2, 2, 0, 0),
        (2, 2, 1, 1),
        (1, 1, 0.7, 0.7),
        (2, 3, 0.4, 0.5248),
    ],
)
def test_the_beta_distribution(alpha: float, beta: float, limit: float, expected: float) -> None:
    assert probability_up_to(alpha, beta, limit) == pytest.approx(expected, abs=1e-12)


def test_a_beta_distribution_of_moments() -> None:
    uniform = (1 / 12) ** 0.5
    assert probability_of_moments(0.5, uniform, 0.25) == pytest.approx(0.25, abs=1e-12)
    assert probability_of_moments(0.5, 0.5, 0.25) is None
    assert largest_deviation(0.5) == 0.5
    assert largest_deviation(1) == 0


def load_pod(cpu: str, limit: str) -> KubernetesObject:
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": limit}}
    return {"spec": {"containers": [{"resources": resources}]}}


@pytest.mark.parametrize(
    ("mine", "others", "load", "score"),
    [
        # nothing asked: not the business of this scorer
        ({"spec": {"containers": [{}]}}, [], {"cpu": LoadMeasure()}, 0),
        # no metrics at all
        (load_pod("1", "1"), [], {}, 0),
        # limits within the node, no load: no risk
        (load_pod("1", "2"), [load_pod("1", "2")], {"cpu": LoadMeasure()}, 100),
        # limits of 12 on 10 cores, requests 2: a fifth cannot be kept, half of that counts
        (load_pod("1", "6"), [load_pod("1", "6")], {"cpu": LoadMeasure()}, 90),
        # a steady load of 50 % where 10 % are requested: overuse is certain
        (load_pod("1", "2"), [load_pod("1", "20")], {"cpu": LoadMeasure(average=50)}, 20),
        # a steady load of 5 % stays within the requests
        (load_pod("1", "2"), [load_pod("1", "20")], {"cpu": LoadMeasure(average=5)}, 70),
    ],
)
def test_low_risk_over_commitment_weighs_limits_and_load(
    mine: KubernetesObject, others: list[KubernetesObject], load: Any, score: int
) -> None:
    place = Place(node=node("a", cpu="10"), load=load, pods=tuple(others))
    assert low_risk_over_commitment(mine, place) == score


def test_trimaran_takes_the_largest_init_container_and_knows_no_sidecars() -> None:
    def container(cpu: str, **fields: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **fields}

    asked = {
        "spec": {
            "containers": [container("1"), container("500m")],
            "initContainers": [container("2", restartPolicy="Always")],
            "overhead": {"cpu": "100m"},
        }
    }
    assert effective(asked, "requests") == {"cpu": 2100, "memory": 0}


def scores(names: set[str], loads: Any = None) -> dict[str, dict[str, int]]:
    objects = [node("a-1"), node("b-1"), pod("old", "a-1", cpu="8"), pod("new", cpu="1")]
    ranking = Ranking(names=frozenset(names), loads=loads_of(load_of("m", loads)) if loads else {})
    found = Explainer(snapshot(*objects), ranking).pod(NEW)
    return {score.node: {**score.scores, "total": score.total} for score in found.scores}


def test_most_allocated_prefers_the_fuller_node_and_takes_the_place_of_least_allocated() -> None:
    least, most = scores(set()), scores({"MostAllocated"})
    assert least["b-1"]["NodeResourcesFit"] > least["a-1"]["NodeResourcesFit"]
    assert most["a-1"]["NodeResourcesFit"] > most["b-1"]["NodeResourcesFit"]
    change = most["a-1"]["NodeResourcesFit"] - least["a-1"]["NodeResourcesFit"]
    assert most["a-1"]["total"] == least["a-1"]["total"] + change


def test_load_adds_its_scores_to_the_total_and_without_it_nothing_changes() -> None:
    plain = scores(set())
    loads = report(a_1=measures(cpu_avg=40, cpu_std=5), b_1=measures(cpu_avg=90, cpu_std=20))
    found = scores({"LoadVariationRiskBalancing"}, loads)
    risk = found["a-1"]["LoadVariationRiskBalancing"]
    assert risk > found["b-1"]["LoadVariationRiskBalancing"]
    assert found["a-1"]["total"] == plain["a-1"]["total"] + risk


def test_nodes_without_metrics_are_named_and_never_excluded() -> None:
    loads = loads_of(load_of("m", report(a_1=measures(cpu_avg=40))))
    ranking = Ranking(names=frozenset({"TargetLoadPacking"}), loads=loads)
    found = Explainer(snapshot(node("a-1"), node("b-1"), pod("new")), ranking).pod(NEW)
    assert found.judgement.feasible == ("a-1", "b-1")
    assert [check.message for check in found.checks if check.name == "metrics"] == [
        "no metrics of b-1: they score 0 for load, which excludes nothing"
    ]


def test_an_average_wins_over_other_values() -> None:
    entries = measures(cpu_latest=70, cpu_avg=30, memory_latest=20)
    found = loads_of(load_of("m", report(a=entries)))["a"]
    assert found["cpu"] == LoadMeasure(average=30, current=30)
    assert found["memory"] == LoadMeasure(average=20, current=20)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "m: kind: found 'None', expected ClusterLoad"),
        ([], "m: kind: found"),
        ({"data": {"NodeMetricsMap": {"a": 3}}}, "m: no metrics"),
    ],
)
def test_a_file_of_another_form_is_refused(document: Any, said: str) -> None:
    with pytest.raises(SnapshotError, match=said):
        load_of("m", document)


def explain(tmp_path: Path, *arguments: str) -> Any:
    cluster, metrics = tmp_path / "cluster.json", tmp_path / "metrics.json"
    items = [node("a-1"), node("b-1"), pod("new")]
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    metrics.write_text(json.dumps(report(a_1=measures(cpu_avg=12.5))))
    now = ["--now", "2026-12-06T21:01:00Z"]
    called = ["pod/new", "--snapshot", str(cluster), *now, *arguments]
    called = [str(metrics) if item == "METRICS" else item for item in called]
    return CliRunner().invoke(explains, called, catch_exceptions=False, standalone_mode=False)


def test_the_command_takes_scorers_and_a_file_with_metrics(tmp_path: Path) -> None:
    assert sorted(SCORERS) == sorted(NAMES)
    done = explain(tmp_path, "--scorer", "TargetLoadPacking", "--metrics", "METRICS", "-o", "json")
    (subject,) = json.loads(done.stdout)["subjects"]
    assert subject["predicted"] == {"node": "a-1", "tied": ["a-1"]}
    assert subject["nodes"][0]["scores"]["TargetLoadPacking"] == 60


def test_a_scorer_of_load_needs_metrics(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="TargetLoadPacking looks at measured load"):
        explain(tmp_path, "--scorer", "TargetLoadPacking")


def test_explain_shows_what_was_measured_and_says_once_what_is_missing(tmp_path: Path) -> None:
    shown = explain(tmp_path, "--metrics", "METRICS").stdout
    assert shown.count("cpu of b-1 was not measured") == 1
    assert shown.count("no PSI") == 1
    assert re.search(r"a-1 +cpu +12.5 % +60 s +load-watcher", shown)
    stale = explain(tmp_path, "--metrics", "METRICS", "--now", "2026-12-06T22:00:00Z").stdout
    assert "12.5 %" not in stale
    assert "load: cpu of a-1 is older than 300 seconds" in stale


def test_without_load_explain_prints_what_it_printed(tmp_path: Path) -> None:
    assert "load" not in explain(tmp_path).stdout
    assert "load" not in json.loads(explain(tmp_path, "-o", "json").stdout)
