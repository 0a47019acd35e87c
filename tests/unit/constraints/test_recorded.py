"""World against what kube-scheduler said: feasible nodes, every plugin, every score."""

from typing import Any

import pytest

from gitbot.constraints.scheduler.verdicts import NodeVerdict
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import name_of
from gitbot.model.cluster.pod import Pod
from tests.unit.constraints.recordings import recorded, scenario_snapshot

Verdict = tuple[str, str, tuple[str, ...]]

every = (*recorded("1.36.3"), *recorded("1.37.2"))
scenarios = pytest.mark.parametrize(
    "scenario", every, ids=[f"{scenario['version']}-{scenario['name']}" for scenario in every]
)


def said(verdict: NodeVerdict) -> Verdict | None:
    found = verdict.reported
    if found is None:
        return None
    return found.plugin, "unschedulable" if found.resolvable else "unresolvable", found.reasons


def expected(result: dict[str, Any], number: int) -> Verdict | None:
    if not number:
        return None
    rejection = result["rejections"][number - 1]
    return rejection["plugin"], rejection["code"], tuple(rejection["reasons"])


@scenarios
def test_feasible_nodes_are_those_of_the_scheduler(scenario: dict[str, Any]) -> None:
    world = World.of(scenario_snapshot(scenario))
    for obj, result in zip(scenario["judge"], scenario["results"], strict=True):
        assert str(name_of(obj)) == result["pod"]
        assert world.feasible(Pod.from_object(obj)) == tuple(sorted(result["feasible"]))


@scenarios
def test_each_node_gives_the_reason_of_the_scheduler(scenario: dict[str, Any]) -> None:
    world = World.of(scenario_snapshot(scenario))
    for obj, result in zip(scenario["judge"], scenario["results"], strict=True):
        judgement = world.judge(Pod.from_object(obj))
        assert (judgement.whole is not None) == result.get("prefilter", False)
        for node, number in zip(scenario["nodes"], result["verdict"], strict=True):
            verdict = judgement.at(name_of(node).name)
            assert verdict is not None
            assert said(verdict) == expected(result, number)


@scenarios
def test_every_plugin_that_rejects_is_named(scenario: dict[str, Any]) -> None:
    world = World.of(scenario_snapshot(scenario))
    for obj, result in zip(scenario["judge"], scenario["results"], strict=True):
        if result.get("prefilter"):
            continue
        judgement = world.judge(Pod.from_object(obj))
        for node, number in zip(scenario["nodes"], result["verdict"], strict=True):
            name = name_of(node).name
            first = [result["rejections"][number - 1]["plugin"]] if number else []
            verdict = judgement.at(name)
            assert verdict is not None
            plugins = [rejection.plugin for rejection in verdict.rejections]
            assert plugins == result.get("all", {}).get(name, first)


@scenarios
def test_scores_are_those_of_the_scheduler(scenario: dict[str, Any]) -> None:
    world = World.of(scenario_snapshot(scenario))
    for obj, result in zip(scenario["judge"], scenario["results"], strict=True):
        if "normalised" not in result:
            continue
        scores = {
            score.node: score for score in world.scores(Pod.from_object(obj), result["feasible"])
        }
        for place, node in enumerate(result["feasible"]):
            wanted = {plugin: values[place] for plugin, values in result["normalised"].items()}
            assert dict(scores[node].scores) == wanted
            assert scores[node].total == result["total"][place]
        best = max(result["total"])
        winners = [n for n, t in zip(result["feasible"], result["total"], strict=True) if t == best]
        assert world.predicted(scores.values()) == tuple(sorted(winners))
