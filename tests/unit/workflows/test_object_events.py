"""Kubernetes Events about moves and drains: what `kubectl describe` shows to an owner of a VM."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitbot.errors import ClusterError, ClusterForbidden
from gitbot.kubernetes.objects import KubernetesObject, uid_of
from gitbot.workflows.apply import apply
from gitbot.workflows.ask import object_events
from gitbot.workflows.check import publish
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.unit.workflows.story import CLUSTER, Story
from tests.unit.workflows.test_maintenance import LEAD, START, approved, wait_until

LATER = f'{REQUEST}  notBefore: "2025-12-01T03:00:00Z"\n'


@pytest.fixture
def stage() -> Stage:
    return Stage.of(nodes={"a": "1", "c": "2"}, vms={"one": "a"})


def own(story: Story) -> list[Mapping[str, Any]]:
    events = story.cluster.list("Event")
    return [event for event in events if event.get("source", {}).get("component") == "gitbot"]


def said(story: Story) -> list[tuple[str, str, str]]:
    return [(each["type"], each["reason"], each["message"]) for each in own(story)]


def merged(text: str) -> Story:
    story = Story.begin()
    story.open(jump=text)
    publish(story.shell, number=1)
    story.merge(1)
    return story


def test_the_owner_of_a_vm_reads_who_moved_it_and_by_which_pull_request() -> None:
    story = merged(REQUEST)
    reconcile(story.shell)
    asked_by = "(request/customapp/jump, pull request 1)"
    assert said(story) == [
        ("Normal", "PlacementMoved", f"moved from kni-worker to kni-worker5 {asked_by}"),
    ]
    vmi = story.cluster.get("VirtualMachineInstance", "jumpbox", "customapp")
    assert vmi is not None
    assert {each["involvedObject"]["uid"] for each in own(story)} == {uid_of(vmi)}
    reconcile(story.shell)  # another process, which knows of no Event
    assert len(own(story)) == 1


def test_what_waits_says_so_once_and_until_when() -> None:
    story = merged(LATER)
    for _ in range(3):
        reconcile(story.shell)
        story.cluster.advance(60)
    reasons = {reason: message for _, reason, message in said(story)}
    assert sorted(reasons) == ["PlacementPlanned", "PlacementWaiting"]
    assert len(own(story)) == 2
    assert "2025-12-01T03:00:00Z" in reasons["PlacementWaiting"]


def test_an_hour_later_nothing_is_told_again() -> None:
    story = merged(REQUEST)
    reconcile(story.shell)
    ledger, now = story.store.read(), story.cluster.now()
    later = object_events.object_events(ledger, CLUSTER, (), now=now + object_events.KEPT + 1)
    assert list(later) == []


def test_a_drained_node_tells_of_itself() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    nodes = [each for each in own(story) if each["involvedObject"]["kind"] == "Node"]
    assert {each["reason"] for each in nodes} == {"MaintenanceDraining", "MaintenanceReady"}
    assert {each["involvedObject"]["name"] for each in nodes} == {"kni-worker"}
    assert {each["metadata"]["namespace"] for each in nodes} == {"default"}


def test_a_failed_move_warns_with_its_reason(stage: Stage) -> None:
    stage.cluster.fails = {"one"}
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    now = stage.clock.now()
    (failed,) = object_events.object_events(stage.store.read(), "prod", (), now=now)
    assert (failed.type, failed.reason) == ("Warning", "PlacementFailed")
    assert failed.message.startswith("did not move from a to c: no route to host (request/db/one")


def test_a_text_of_others_is_visible_and_cut(stage: Stage) -> None:
    stage.cluster.fails = {"one"}
    stage.approve(a_plan(a_move("one", "a", "c")))
    apply(stage.shell)
    now = stage.clock.now()
    (failed,) = object_events.object_events(stage.store.read(), "prod", (), now=now)
    message = replace(failed, message=f"a\x1b[31m\u202e{'b' * 2000}").manifest["message"]
    assert len(message) == object_events.LONGEST
    assert not set("\x1b\u202e") & set(message)


def _refusing(story: Story, error: ClusterError) -> list[KubernetesObject]:
    asked: list[KubernetesObject] = []

    def refuse(event: KubernetesObject) -> None:
        asked.append(event)
        raise error

    story.port.create_event = refuse  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize(
    "error", [ClusterForbidden("events is forbidden"), ClusterError("no answer")]
)
def test_a_cluster_that_takes_no_events_stops_no_move(error: ClusterError) -> None:
    story = merged(REQUEST)
    asked = _refusing(story, error)
    assert reconcile(story.shell).applied.states == {"succeeded": 1}
    assert asked
    told = [line for line in story.lines if line.startswith("Events are not written")]
    assert bool(told) is not isinstance(error, ClusterForbidden)


def test_without_the_right_a_process_asks_once_a_namespace() -> None:
    story = merged(REQUEST)
    asked, shell = _refusing(story, ClusterForbidden("events is forbidden")), story.shell
    reconcile(shell)
    reconcile(shell)
    assert len(asked) == 1


def test_a_process_sends_no_event_twice_and_few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_events, "MOST", 1)
    story = merged(LATER)
    sent: list[str] = []
    write = story.port.create_event

    def create_event(event: KubernetesObject) -> None:
        sent.append(event["reason"])
        write(event)

    story.port.create_event = create_event  # type: ignore[method-assign]
    shell: RunContext = story.shell
    for _ in range(3):
        reconcile(shell)
    assert sorted(sent) == ["PlacementPlanned", "PlacementWaiting"]
