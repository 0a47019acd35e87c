"""The checks that every planned move carries."""

from __future__ import annotations

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.diagnosis import Outcome
from tests.doubles.problems import node, problem, vm
from tests.unit.planner.reading import move, planned

ALWAYS = {
    "running",
    "live-migratable",
    "in-flight",
    "one-pod",
    "paused",
    "backup",
    "hotplug-volumes",
    "target-pod",
    "selector",
    "cpu-vendor",
    "eviction-strategy",
    "kubevirt",
    "scheduling",
    "rules",
    "estimate",
}


def checks(*extra: KubernetesObject) -> dict[str, Outcome]:
    objects: list[KubernetesObject | tuple[KubernetesObject, ...]] = [
        node("n1"),
        node("n2"),
        vm("db", on="n1"),
        *extra,
    ]
    (planned_move,) = planned(problem(objects, goals=[move("db", to="n2")])).moves
    return {check.name: check.outcome for check in planned_move.checks}


def test_every_move_carries_all_preflight_checks() -> None:
    assert checks() == dict.fromkeys(ALWAYS, Outcome.PASS)


def test_a_quota_with_room_is_quoted() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "10"}},
        "status": {"hard": {"pods": "10"}, "used": {"pods": "1"}},
    }
    assert checks(quota)["quota"] is Outcome.PASS


def test_a_foreign_scheduler_and_estimated_requests_make_the_prediction_uncertain() -> None:
    vmi, _ = vm("db", on="n1")
    odd = {**vmi, "spec": {**vmi["spec"], "schedulerName": "bin-packer"}}
    objects = [node("n1"), node("n2"), odd]
    (found,) = planned(problem(objects, goals=[move("db", to="n2")])).moves
    outcomes = {check.name: check.outcome for check in found.checks}
    assert outcomes["scheduler"] is Outcome.WARN
    assert outcomes["estimated-requests"] is Outcome.WARN
