"""What the cluster's own KubeDescheduler does with VMs, without a file that says so."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.audit import LoadQuestion, load_findings, other_movers
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import NO_LOAD
from gitbot.model.text.names import CORDON_LABEL
from gitbot.snapshot import from_objects
from tests.doubles.problems import node, pod

AUTOMATIC = "the descheduler is in mode Automatic: it evicts"
RELIEVE = "KubeVirtRelieveAndMigrate"


def snapshot(**spec: Any) -> ClusterSnapshot:
    operator = {
        "apiVersion": "operator.openshift.io/v1",
        "kind": "KubeDescheduler",
        "metadata": {"name": "cluster", "namespace": "operators"},
        "spec": spec,
    }
    return from_objects("c", [node("node-a"), operator], 0)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, "the descheduler is in mode Predictive: it evicts nothing"),
        (
            {"mode": "Predictive", "profiles": [RELIEVE], "deschedulingIntervalSeconds": 60},
            "the descheduler is in mode Predictive, every 60 s: it evicts nothing",
        ),
        (
            {"mode": "Automatic", "profiles": [RELIEVE]},
            f"{AUTOMATIC}; {RELIEVE} evicts a VM again 15 minutes to 6 hours after its migration",
        ),
        (
            {"mode": "Automatic", "profiles": ["AffinityAndTaints"]},
            AUTOMATIC,
        ),
    ],
)
def test_mode_and_cooldown_are_named(spec: dict[str, Any], words: str) -> None:
    assert [item.finding.message for item in other_movers(snapshot(**spec))] == [words]


def test_nodes_are_classified_as_the_clusters_own_descheduler_does() -> None:
    asked = LoadQuestion(load=NO_LOAD)
    of_cluster = load_findings(snapshot(profiles=[RELIEVE]), asked)
    assert {item.finding.message.partition(":")[0] for item in of_cluster} == {RELIEVE}
    without = load_findings(snapshot(profiles=[]), asked)
    assert {item.finding.message.partition(":")[0] for item in without} == {"gitbot's default"}


@pytest.mark.parametrize("missing", [(), ("KubeDescheduler",)])
def test_a_mode_that_was_not_read_is_named(missing: tuple[str, ...]) -> None:
    runs = pod("descheduler-1", on="node-a", namespace="openshift-kube-descheduler-operator")
    runs = {**runs, "metadata": {**runs["metadata"], "labels": {"app": "descheduler"}}}
    found = replace(from_objects("c", [node("node-a"), runs], 0), missing_kinds=missing)
    (said,) = other_movers(found)
    assert ("its mode was not read" in said.finding.hint) is bool(missing)


@pytest.mark.parametrize(
    ("labels", "words", "hint"),
    [
        ({}, "somebody cordoned it", "no VM is planned onto it"),
        (
            {CORDON_LABEL: "o1"},
            "gitbot cordoned it for a window",
            "no VM is planned onto it; once that is over or cancelled: kubectl uncordon node-a",
        ),
    ],
)
def test_who_cordoned_a_node_is_named(labels: dict[str, str], words: str, hint: str) -> None:
    cordoned = node("node-a", labels=labels, unschedulable=True)
    (said,) = other_movers(from_objects("c", [cordoned], 0))
    assert (said.finding.message, said.finding.hint) == (words, hint)
    assert said.subject == "Node node-a"
