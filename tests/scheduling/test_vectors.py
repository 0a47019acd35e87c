"""Recorded verdicts of kube-scheduler 1.36.3, asked through what `gitbot explain` asks."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import name_of
from tests.scheduling.comparison import differences, explainer_of
from tests.scheduling.vectors import recorded

GROUPS = 20


@pytest.mark.parametrize("group", range(GROUPS))
def test_recorded_verdicts_and_scores_are_equal(group: int) -> None:
    found = [
        line
        for scenario, result in recorded()[group::GROUPS]
        for line in differences(scenario, result)
    ]
    assert found == []


def test_every_rejection_is_said_with_names_and_amounts() -> None:
    """What kube-scheduler's own words leave out stands in the details, unless they name it."""
    for scenario, _ in recorded()[::5]:
        explainer = explainer_of(scenario["objects"], scenario["judge"])
        for pod in scenario["judge"]:
            for verdict in explainer.pod(name_of(pod)).judgement.nodes:
                for rejection in verdict.rejections:
                    named = (
                        '"' in rejection.reasons[0] or "pod is not owner" in rejection.reasons[0]
                    )
                    assert rejection.details or named, rejection


def results() -> list[dict[str, Any]]:
    return [verdict for _, result in recorded() for verdict in result["results"]]


def test_the_record_holds_at_least_two_thousand_pods() -> None:
    assert len(results()) >= 2000


def test_every_filter_and_every_scorer_takes_part_in_the_record() -> None:
    rejections = [
        rejection
        for verdict in results()
        for rejection in ([verdict["whole"]] if "whole" in verdict else verdict["rejections"])
    ]
    plugins = {plugin for item in rejections for plugin in (item["plugin"], *item.get("all", ()))}
    assert plugins == {
        "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit",
        "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
        "PodTopologySpread", "InterPodAffinity",
    }  # fmt: skip
    scored = {plugin for verdict in results() for plugin in verdict.get("normalised", {})}
    assert len(scored) == 8
    assert sum(len(verdict["feasible"]) > 1 for verdict in results()) > 500


def test_a_changed_verdict_is_a_difference() -> None:
    scenario, result = next(
        pair for pair in recorded() if len(pair[1]["results"][0]["feasible"]) > 1
    )
    verdict = result["results"][0]
    wrong = {**verdict, "feasible": verdict["feasible"][1:]}
    found = list(differences(scenario, {"results": [wrong, *result["results"][1:]]}))
    assert any("feasible: found" in line for line in found)
