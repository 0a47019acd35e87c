"""What explain says is less than certain, and where it has nothing to say."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.constraints.explanation import Explainer
from gitbot.constraints.moves.prediction_caveats import nodes_looked_for
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.diagnosis import Outcome
from tests.unit.constraints.builders import node, pod, snapshot

NEW = NamespacedName(namespace="customapp", name="new")


def said(*objects: KubernetesObject, missing: tuple[str, ...] = ()) -> dict[str, str]:
    found = Explainer(replace(snapshot(*objects), missing_kinds=missing)).pod(NEW)
    assert all(check.outcome is not Outcome.PASS for check in found.checks)
    return {check.name: check.message for check in found.checks}


def waiting(**spec: Any) -> KubernetesObject:
    return pod("new", phase="Pending", cpu="1", spec=spec)


@pytest.mark.parametrize(
    ("nodes", "looked_for"),
    [(1, 1), (99, 99), (100, 100), (101, 100), (250, 120), (1000, 420), (5000, 500), (15000, 750)],
)
def test_how_many_feasible_nodes_the_scheduler_looks_for(nodes: int, looked_for: int) -> None:
    assert nodes_looked_for(nodes) == looked_for


def test_nothing_is_said_of_a_plain_pod() -> None:
    assert said(node("a-1"), node("b-1"), waiting()) == {}


def many(count: int, **options: Any) -> list[KubernetesObject]:
    return [node(f"n-{number:03}", **options) for number in range(count)]


def test_a_sample_is_named_only_where_more_nodes_are_feasible_than_are_looked_for() -> None:
    assert said(*many(120), waiting())["sampling"].startswith(
        "kube-scheduler stops at 100 feasible nodes and scores those alone: the 120 feasible"
    )
    assert said(*many(100), waiting()) == {}
    assert said(*many(90), *[node(f"x-{n}", cpu="0") for n in range(60)], waiting()) == {}


def test_a_pinned_pod_is_looked_for_on_its_own_nodes_alone() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n-007"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchFields": [field]}]
            }
        }
    }
    assert said(*many(120), waiting(affinity=affinity)) == {}


def test_kept_room_is_named_and_the_promised_node_is_predicted() -> None:
    other = {**pod("other", phase="Pending"), "status": {"nominatedNodeName": "a-1"}}
    assert said(node("a-1"), other, waiting())["nominated-pods"].endswith("customapp/other")
    mine = {**waiting(), "status": {"phase": "Pending", "nominatedNodeName": "b-1"}}
    found = Explainer(snapshot(node("a-1"), node("b-1", cpu="2"), mine)).pod(NEW)
    assert found.winners == ("b-1",)


@pytest.mark.parametrize(
    ("priority", "cpu", "expected"),
    [
        (1000, "2", True),
        (0, "2", False),  # nobody is of lower priority
        (1000, "64", False),  # no eviction makes such room
    ],
)
def test_preemption_is_named_where_it_could_make_room(
    priority: int, cpu: str, expected: bool
) -> None:
    full = pod("old", "a-1", cpu="16")
    asked = pod("new", phase="Pending", cpu=cpu, spec={"priority": priority})
    assert ("preemption" in said(node("a-1"), full, asked)) is expected


def test_what_a_snapshot_does_not_hold_is_named() -> None:
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "disk"}}
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk", "namespace": "customapp"},
        "spec": {"storageClassName": "late"},
    }
    late = {
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    asked = waiting(volumes=[volume], resourceClaims=[{"name": "gpu"}])
    found = said(node("a-1"), claim, late, asked, missing=("CSIDriver",))
    assert found["device-claims"].startswith("resource claims gpu are not looked at")
    assert found["storage-capacity"].startswith("claims disk are not bound yet")
    # a cluster without any CSIDriver measures no room
    assert said(node("a-1"), claim, late, asked).keys() == {"device-claims"}
    driver = {
        "kind": "CSIDriver",
        "metadata": {"name": "csi.example.com"},
        "spec": {"storageCapacity": True},
    }
    some = said(node("a-1"), claim, late, driver, asked, missing=("CSIStorageCapacity",))
    assert some.keys() == {"device-claims", "storage-capacity"}
