"""LoadRules over measured load: which nodes, which VMs may go, what stays and is named."""

from typing import get_args

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.load_relief import LoadRelief
from gitbot.intents.compile import measured_rules
from gitbot.intents.kinds.load_rule.spec import Metric
from gitbot.model.cluster.load import METRICS
from tests.doubles.loaded import measured
from tests.doubles.problems import NOW
from tests.unit.intents.compile_scene import intents_of, small_cluster, snapshot_of

LOAD = {"n1": 20, "n2": 90, "n3": 95}
N2, N3 = "node=n2", "node=n3"


def rule(more: str = "") -> str:
    return f"""kind: LoadRule
metadata: {{name: cool}}
spec:
  above: 80
{more}"""


CASES = [
    ("", LOAD, {N2: ["a/db-2", "a/web"], N3: ["b/other"]}),
    ("", {}, {}),
    ("", {"n1": 80, "n2": 80}, {}),
    ("", {"n2": 81}, {N2: ["a/db-2", "a/web"]}),
    ("", {"gone": 99}, {}),
    ("  namespaces: [b]\n", LOAD, {N3: ["b/other"]}),
    ("  namespaces: [c]\n", LOAD, {}),
    ("  protected: {matchLabels: {tier: db}}\n", LOAD, {N2: ["a/web"], N3: ["b/other"]}),
    ("  source: Prometheus\n", {"n3": 95}, {N3: ["b/other"]}),
    ("  source: File\n", LOAD, {}),
    ("  metric: memory\n", LOAD, {}),
]


@pytest.mark.parametrize(("more", "load", "expected"), CASES)
def test_which_vms_may_leave_which_nodes(
    more: str, load: dict[str, int], expected: dict[str, list[str]]
) -> None:
    snapshot = snapshot_of(small_cluster())
    found = measured_rules(intents_of(rule(more)), snapshot, measured(load, time=NOW))
    where = {vm: frozenset({node}) for vm, node in Instances.of(snapshot).homes.items()}
    breaches = [breach for each in found for breach in each.breaches(where)]
    assert {breach.key: [str(vm) for vm in breach.vms] for breach in breaches} == expected


def test_what_stays_is_counted_and_named() -> None:
    load = measured({"n2": 90}, time=NOW)
    intents = intents_of(rule("  protected: {matchLabels: {tier: db}}\n"))
    (found,) = measured_rules(intents, snapshot_of(small_cluster()), load)
    assert isinstance(found, LoadRelief)
    assert found.hot == {
        "n2": "n2: cpu 90 % (Prometheus) is above 80 %; 1 here cannot move: a/db-2 (protected)"
    }


def test_the_metrics_are_those_that_sources_measure() -> None:
    assert sorted(get_args(Metric)) == sorted(METRICS)
