"""A migration's second pod needs room in the quota of its namespace."""

from typing import Any

import pytest

from gitbot.constraints.explanation import Explainer
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.problem import Pin
from tests.unit.constraints.builders import machine, problem, snapshot, vm_name, zones


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    status = {} if used is None else {"status": {"hard": hard, "used": used}}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "customapp"},
        "spec": {"hard": hard, **spec},
        **status,
    }


SCENE: list[KubernetesObject] = [*zones("a", "b"), *machine("db-1", "a-1"), *machine("db-2", "b-1")]


@pytest.mark.parametrize(
    ("found", "refusal"),
    [
        (quota({"pods": "3"}, {"pods": "2"}), ""),
        (
            quota({"pods": "2"}, {"pods": "2"}),
            "ResourceQuota q: pods: 2 used, 1 more, 2 allowed",
        ),
        (
            quota({"requests.memory": "5Gi"}, {"requests.memory": "4Gi"}),
            "ResourceQuota q: requests.memory: 4Gi used, 2Gi more, 5Gi allowed",
        ),
        (
            quota({"requests.cpu": "1"}, {"requests.cpu": "800m"}),
            "ResourceQuota q: requests.cpu: 800m used, 400m more, 1 allowed",
        ),
        (quota({"limits.cpu": "1"}, {"limits.cpu": "1"}), ""),  # the pod has no limits
        (quota({"services": "0"}, {"services": "0"}), ""),
        # without a status the pods that stand there count
        (quota({"cpu": "1"}), "ResourceQuota q: cpu: 800m used, 400m more, 1 allowed"),
        (quota({"cpu": "2"}), ""),
        (quota({"pods": "0"}, scopes=["BestEffort"]), ""),
        (
            quota({"pods": "2"}, scopes=["NotTerminating"]),
            "ResourceQuota q: pods: 2 used, 1 more, 2 allowed",
        ),
        (
            quota({"pods": "0"}, scopeSelector={"matchExpressions": []}),
            "ResourceQuota q: pods: 2 used, 1 more, 0 allowed",
        ),
        (quota({"pods": "0"}, scopeSelector={"matchExpressions": [{"scopeName": "x"}]}), ""),
    ],
)
def test_a_quota_without_room_refuses_every_node(found: dict[str, Any], refusal: str) -> None:
    transit = MigrationState.of(problem(*SCENE, found))
    assert transit.refusal(vm_name("db-1")) == refusal
    assert bool(transit.allowed(vm_name("db-1"), Pin.NODE)) == (not refusal)
    if refusal:
        options = transit.options(vm_name("db-1"), Pin.NODE)
        assert all(option.reasons[0] == refusal for option in options)


def test_targets_under_way_use_the_quota_until_they_end() -> None:
    transit = MigrationState.of(problem(*SCENE, quota({"pods": "3"}, {"pods": "2"})))
    transit.start(vm_name("db-1"), "a-2")
    assert transit.allowed(vm_name("db-2"), Pin.NODE) == ()
    transit.finish(vm_name("db-1"))
    assert transit.refusal(vm_name("db-2")) == ""


def test_a_quota_of_another_namespace_is_no_matter() -> None:
    other = quota({"pods": "0"}, {"pods": "0"})
    other["metadata"] = {"name": "q", "namespace": "elsewhere"}
    assert MigrationState.of(problem(*SCENE, other)).refusal(vm_name("db-1")) == ""


def test_explain_names_the_quota() -> None:
    explainer = Explainer(snapshot(*SCENE, quota({"pods": "2"}, {"pods": "2"})))
    checks = {check.name: check for check in explainer.vm(vm_name("db-1")).checks}
    assert checks["quota"].outcome is Outcome.FAIL
    assert "2 used, 1 more, 2 allowed" in checks["quota"].message


def test_a_quota_that_means_no_limit_is_none() -> None:
    found = quota({"requests.memory": "100E", "pods": "1e30"})
    assert MigrationState.of(problem(*SCENE, found)).refusal(vm_name("db-1")) == ""
