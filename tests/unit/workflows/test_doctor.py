"""Doctor: each thing that can be wrong is found, with a fix, and the others are still looked at."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gitbot.errors import ClusterError, ClusterForbidden, LedgerError, RepositoryError
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.diagnosis import Check, Outcome
from gitbot.simulation.port import SimulatedPort
from gitbot.snapshot import write_snapshot
from gitbot.workflows.apply import hold
from gitbot.workflows.ask.doctor import cluster_checks, repository_checks
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import RULE
from tests.doubles.tiny_cluster import TestClock
from tests.unit.workflows.story import Story, configuration

WINDOW = """apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: firmware}
spec:
  nodes: {names: [kni-worker]}
  drain: {cordon: Gitbot}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A cluster's answers: nothing is missing, nothing too much, unless said."""

    lacks: dict[str, tuple[str, ...]]
    extra: tuple[str, ...] = ()
    has_pins: bool = True
    roles: tuple[str, ...] | None = ()
    evicting: tuple[str, ...] = ()

    bound: frozenset[str] = frozenset()  # namespaces in which nothing is lacking

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:
        return () if namespace in self.bound else self.lacks.get(group, ())

    def excess(self) -> tuple[str, ...]:
        return self.extra

    def migrating_roles(self) -> tuple[str, ...]:
        if self.roles is None:
            raise ClusterForbidden("the account may not read ClusterRole admin")
        return self.roles

    def evicting_roles(self) -> tuple[str, ...]:
        return self.evicting

    def pins(self) -> bool:
        return self.has_pins


def no_trouble() -> None:
    """The push would be taken."""


def refused() -> None:
    raise RepositoryError("gitbot/ledger cannot be pushed: 403", hint="give it the right")


def outcomes(checks: tuple[Check, ...]) -> dict[str, str]:
    assert all(check.fix for check in checks if check.outcome is not Outcome.PASS)
    return {check.name: str(check.outcome) for check in checks}


def wrong(checks: tuple[Check, ...]) -> dict[str, str]:
    return {name: outcome for name, outcome in outcomes(checks).items() if outcome != "pass"}


def commit(story: Story, text: str) -> None:
    story.repository.write_commit(
        branch="main",
        expected=story.repository.resolve("main"),
        files={".gitbot.yaml": text.encode()},
        message="configuration",
        time=story.port.now(),
    )


@pytest.fixture
def story() -> Story:
    story = Story.begin(db=RULE)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "gitbot"}}
    story.cluster.apply([space])
    reconcile(story.shell, pack=write_snapshot)
    story.merge()
    reconcile(story.shell, pack=write_snapshot)
    return story


def test_a_healthy_place_has_nothing_to_fix(story: Story) -> None:
    assert wrong(repository_checks(story.shell, rehearse=no_trouble)) == {}
    assert wrong(cluster_checks(story.shell, Answers(lacks={}))) == {}


def test_a_missing_namespace_is_named_with_the_file_that_makes_it(story: Story) -> None:
    story.cluster.api.delete("Namespace", ("", "gitbot"), options={})
    checks = cluster_checks(story.shell, Answers(lacks={}))
    (check,) = (each for each in checks if each.outcome is not Outcome.PASS)
    assert (check.name, check.outcome) == ("cluster/namespace", Outcome.WARN)
    assert check.message.startswith("there is no namespace gitbot: ")
    assert check.fix == "kubectl apply -f deploy/rbac/10-namespace.yaml"


def _hold(story: Story) -> None:
    hold(story.shell, reason="storage is slow", by="ann")


def _observe(story: Story) -> None:
    commit(story, configuration("  mode: Observe\n"))


def _no_mode(story: Story) -> None:
    commit(story, configuration().replace("  mode: Enforce\n", ""))


def _no_snapshot(story: Story) -> None:
    commit(story, configuration("  publishSnapshot: false\n"))


def _old(story: Story) -> None:
    story.port.sleep(7200)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_hold, {"ledger/hold": "warn"}),
        (_observe, {"configuration/mode": "warn"}),
        (_no_mode, {"configuration/mode": "warn"}),
        (_no_snapshot, {"snapshot/published": "warn"}),
        (_old, {"snapshot/published": "fail"}),
    ],
)
def test_what_is_wrong_in_the_repository_is_found(
    story: Story, change: Callable[[Story], None], expected: dict[str, str]
) -> None:
    change(story)
    assert wrong(repository_checks(story.shell, rehearse=no_trouble)) == expected


def test_a_published_snapshot_from_the_future_is_called_so(story: Story) -> None:
    later = replace(story.shell, clock=TestClock(story.shell.clock.now() - 3600))
    found = {check.name: check for check in repository_checks(later, rehearse=no_trouble)}
    check = found["snapshot/published"]
    assert check.outcome is Outcome.WARN
    assert check.message.startswith("the newest is from the future: taken ")
    assert "synchronise the clocks" in check.fix


def test_one_failure_hides_no_other(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged() -> Any:
        raise LedgerError("line 7 is damaged", hint="ask a person")

    monkeypatch.setattr(story.store, "read", damaged)
    found = outcomes(repository_checks(story.shell, rehearse=refused))
    assert found["ledger/read"] == found["ledger/push"] == "fail"
    assert found["configuration/base"] == found["snapshot/published"] == "pass"


def test_before_the_first_move_observing_is_advised() -> None:
    story = Story.begin(db=RULE)
    found = wrong(repository_checks(story.shell, rehearse=no_trouble))
    assert found == {"configuration/first-days": "warn", "snapshot/published": "warn"}


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (Answers(lacks={"read": ("list pods",)}), {"cluster/read": "fail"}),
        (Answers(lacks={"estimate": ("list migrationpolicies",)}), {"cluster/estimate": "warn"}),
        (Answers(lacks={"watch": ("watch pods", "watch nodes")}), {"cluster/watch": "warn"}),
        (Answers(lacks={"stop-flag": ("get configmaps",)}), {"cluster/stop-flag": "fail"}),
        (Answers(lacks={"move": ("create vmim",)}), {"cluster/move": "fail"}),
        (Answers(lacks={"nodes": ("patch nodes",)}), {}),
        (Answers(lacks={}, extra=("get secrets",)), {"cluster/too-much": "warn"}),
        (Answers(lacks={}, has_pins=False), {"kubevirt/pins": "fail"}),
        (Answers(lacks={}, roles=("admin",)), {"cluster/around": "warn"}),
        (Answers(lacks={}, roles=None), {"cluster/around": "warn"}),
    ],
)
def test_what_is_wrong_in_the_cluster_is_found(
    story: Story, answers: Answers, expected: dict[str, str]
) -> None:
    assert wrong(cluster_checks(story.shell, answers)) == expected


def test_it_says_how_people_migrate_vms_without_gitbot(story: Story) -> None:
    def said(answers: Answers) -> Check:
        found = cluster_checks(story.shell, answers)
        return next(item for item in found if item.name == "cluster/around")

    none = said(Answers(lacks={}))
    assert none.message == (
        "namespace admins cannot create migrations: kubevirt.io:migrate is aggregated to neither "
        "admin nor edit"
    )
    evicting = said(Answers(lacks={}, evicting=("admin", "edit")))
    assert evicting.outcome is Outcome.PASS
    assert evicting.message.endswith(
        "; an eviction, which admin and edit may ask for, still makes KubeVirt migrate a VM with "
        "evictionStrategy LiveMigrate"
    )
    edit = said(Answers(lacks={}, roles=("edit",)))
    assert edit.message.endswith(
        "gitbot: kubevirt.io:migrate, or another ClusterRole with that right, is aggregated"
    )
    selector = "rbac.authorization.k8s.io/aggregate-to-edit"
    assert f"kubectl label clusterrole kubevirt.io:migrate {selector}-; others: " in edit.fix
    assert f"kubectl get clusterroles -l {selector}=true (before release 1.5 " in edit.fix


def test_a_right_that_a_window_needs_is_missed(story: Story) -> None:
    story.commit(firmware=WINDOW)
    checks = cluster_checks(story.shell, Answers(lacks={"nodes": ("patch nodes",)}))
    assert wrong(checks) == {"cluster/nodes": "fail"}


def test_observing_needs_no_right_to_move(story: Story) -> None:
    _observe(story)
    checks = cluster_checks(story.shell, Answers(lacks={"move": ("create vmim",)}))
    assert wrong(checks) == {"cluster/move": "warn"}


def test_a_clock_that_is_off_is_found_and_the_rest_is_asked(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = story.port.now()
    monkeypatch.setattr(SimulatedPort, "server_time", lambda _: now + 95)
    found = cluster_checks(story.shell, Answers(lacks={}))
    assert wrong(found) == {"cluster/clock": "fail"}
    assert "95 s ahead of ours" in found[0].message


def test_a_cluster_out_of_reach_is_said_once(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    def down(_: SimulatedPort) -> int:
        raise ClusterError("the API server cannot be read", hint="check the network")

    monkeypatch.setattr(SimulatedPort, "server_time", down)
    (only,) = cluster_checks(story.shell, Answers(lacks={}))
    assert (only.name, only.outcome, only.fix) == ("cluster/clock", "fail", "check the network")


def test_limits_above_those_of_kubevirt_are_said(story: Story) -> None:
    text = configuration().replace(
        "    timeZone: Europe/Madrid\n",
        "    timeZone: Europe/Madrid\n    limits: {parallel: 50, perSourceNode: 2}\n",
    )
    commit(story, text)
    found = cluster_checks(replace(story.shell), Answers(lacks={}))
    assert wrong(found) == {"kubevirt/limits": "warn"}


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("v1.5.3", {"kubevirt/version": "warn"}),
        ("v1.6.0", {"kubevirt/version": "warn"}),
        ("v1.6.1", {}),
        ("v1.10.0", {}),
        ("devel", {}),
    ],
)
def test_a_kubevirt_whose_api_server_can_be_deceived_is_named(
    story: Story, monkeypatch: pytest.MonkeyPatch, version: str, found: dict[str, str]
) -> None:
    plain = story.shell.cluster.snapshot()
    (kubevirt,) = plain.of("KubeVirt")
    status = {**kubevirt["status"], "observedKubeVirtVersion": version}
    objects = {**plain.objects, "KubeVirt": ({**kubevirt, "status": status},)}
    monkeypatch.setattr(
        type(story.shell.cluster), "snapshot", lambda _: replace(plain, objects=objects)
    )
    assert wrong(cluster_checks(story.shell, Answers(lacks={}))) == found


def test_a_missing_right_names_who_gives_it(story: Story) -> None:
    answers = Answers(lacks={"move": ("create virtualmachineinstancemigrations",)})
    (check,) = (
        item for item in cluster_checks(story.shell, answers) if item.name == "cluster/move"
    )
    assert check.fix == (
        "a cluster administrator gives it: kubectl apply -k deploy/rbac, or binds role "
        "gitbot-mover to the account"
    )


def test_rolebindings_by_namespace_are_enough_to_move(story: Story) -> None:
    lacks: dict[str, tuple[str, ...]] = {"move": ("create virtualmachineinstancemigrations",)}
    bound = frozenset({"customapp"})
    assert wrong(cluster_checks(story.shell, Answers(lacks=lacks, bound=bound))) == {}


def test_a_stop_flag_that_kubectl_set_is_seen(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimulatedPort, "hold_flag", lambda _: "fire")
    found = cluster_checks(story.shell, Answers(lacks={}))
    assert wrong(found) == {"cluster/hold": "warn"}


def test_a_lost_ledger_fails_in_both_places(story: Story) -> None:
    story.store.ledger = Ledger()
    assert wrong(repository_checks(story.shell, rehearse=no_trouble))["ledger/anchor"] == "fail"
    assert wrong(cluster_checks(story.shell, Answers(lacks={})))["cluster/anchor"] == "fail"
