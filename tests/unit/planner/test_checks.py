"""The checks that every planned move carries."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.load import ClusterLoad, DirtyRate
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.problem import Limits
from tests.doubles.problems import NOW, named, node, problem, vm
from tests.unit.planner.reading import move, planned

ALWAYS = {
    "running", "live-migratable", "in-flight", "one-pod", "paused", "backup", "hotplug-volumes",
    "target-pod", "selector", "cpu-vendor", "eviction-strategy", "kubevirt", "scheduling", "rules",
    "estimate",
}  # fmt: skip


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


def policy(name: str, own: dict[str, str], **spec: Any) -> KubernetesObject:
    selectors = {"virtualMachineInstanceSelector": own}
    return {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def configured(**migrations: Any) -> KubernetesObject:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": {"migrations": migrations}},
        "status": {"phase": "Deployed"},
    }


FAST = policy("fast", {"app": "db"}, bandwidthPerMigration="1Gi")
SLOW = policy("slow", {"app": "db", "tier": "gold"}, bandwidthPerMigration="8Mi")
SLOWEST = policy("slowest", {"app": "web"}, bandwidthPerMigration="1Mi")
MI, GI = 1 << 20, 1 << 30


@pytest.mark.parametrize(
    ("objects", "seconds", "said"),
    [
        ([], 84, {}),
        ([FAST, SLOWEST], 84, {}),
        ([FAST, SLOW, SLOWEST], 532,
         {"bandwidth": "MigrationPolicy slow allows no more than 8 MiB/s"}),
        ([configured(bandwidthPerMigration="32Mi")], 148,
         {"bandwidth": "the KubeVirt object allows no more than 32 MiB/s"}),
        ([configured(bandwidthPerMigration="32Mi"), FAST], 84, {}),
        ([configured(completionTimeoutPerGiB=10)], 84,
         {"completion-timeout": "copying takes 64 s, and after 50 s KubeVirt gives up "
          "(completionTimeoutPerGiB 10): allow more bandwidth, or more time"}),
        ([configured(completionTimeoutPerGiB=10), policy("p", {}, allowPostCopy=True)], 84,
         {"completion-timeout": "copying takes 64 s, and after 50 s KubeVirt switches to "
          "post-copy: the guest runs slowly until all is copied"}),
        ([configured(completionTimeoutPerGiB=10, allowWorkloadDisruption=True)], 84,
         {"completion-timeout": "copying takes 64 s, and after 50 s KubeVirt pauses the "
          "guest until all is copied"}),
        ([configured(completionTimeoutPerGiB=10),
          policy("p", {}, allowPostCopy=True, allowWorkloadDisruption=False)], 84,
         {"completion-timeout": "copying takes 64 s, and after 50 s KubeVirt gives up "
          "(completionTimeoutPerGiB 10): allow more bandwidth, or more time"}),
        ([configured(completionTimeoutPerGiB=10), policy("p", {}, completionTimeoutPerGiB=0)], 84,
         {}),
    ],
)  # fmt: skip
def test_a_move_takes_as_long_as_kubevirt_lets_it(
    objects: list[KubernetesObject], seconds: int, said: dict[str, str]
) -> None:
    """4Gi at 64 MiB/s, unless the policy that matches best or the KubeVirt object allows less."""
    db = vm("db", on="n1", memory="4Gi", labels={"app": "db", "tier": "gold"})
    case = problem([node("n1"), node("n2"), db, *objects], goals=[move("db", to="n2")])
    plan = planned(case)
    (found,) = plan.moves
    messages = {check.name: check.message for check in found.checks}
    assert found.estimated_seconds == plan.waves[-1].ends - found.starts == seconds
    assert messages["estimate"].startswith(f"{seconds} s: ")
    assert {name: text for name, text in messages.items() if name not in ALWAYS} == said


@pytest.mark.parametrize(
    ("rate", "timeout", "outcome", "said"),
    [
        (16 * MI, 150, "pass", "16.0 MiB/s (Prometheus): copying takes about 86 s instead of 64 s"),
        (48 * MI, 50, "warn", "instead of 64 s, and after 250 s KubeVirt gives up (completionTime"),
        (64 * MI, 150, "warn", "MiB/s (Prometheus), as fast as it is copied or faster, so after 7"),
        (80 * MI, 0, "warn", "80.0 MiB/s (Prometheus), as fast as it is copied or faster"),
        (0, 150, "", ""),
    ],
)
def test_what_a_guest_writes_is_copied_again(
    rate: int, timeout: int, outcome: str, said: str
) -> None:
    load = ClusterLoad(dirty=(DirtyRate(vm=named("db"), rate=rate, time=NOW),))
    goals = [move("db", to="n2")]
    patient = configured(completionTimeoutPerGiB=timeout)
    db = vm("db", on="n1", memory="4Gi")
    case = problem([node("n1"), node("n2"), db, patient], goals=goals)
    (found,) = planned(replace(case, load=load)).moves
    checks = [check for check in found.checks if check.name == "dirty-rate"]
    assert [str(check.outcome) for check in checks] == [outcome] * bool(outcome)
    assert all(said in check.message for check in checks)
    assert found.estimated_seconds == 84  # approved times do not follow what is measured


def test_the_next_move_starts_when_a_slow_one_has_ended() -> None:
    """One migration at a time: what a policy slows down delays all that wait behind it."""
    objects = [node("n1"), node("n2"), SLOW, configured(parallelMigrationsPerCluster=1)]
    slow = vm("a", on="n1", memory="1Gi", labels={"app": "db", "tier": "gold"})
    case = problem(
        [*objects, slow, vm("b", on="n1", memory="1Gi")],
        goals=[move("a", "b", to="n2")],
        limits=Limits(parallel=1, reserve=0),
    )
    plan = planned(case)
    begins = {item.vm.name: item.starts - plan.waves[0].starts for item in plan.moves}
    assert begins == {"a": 0, "b": GI // (8 * MI) + 20}
