"""Trouble in the cluster between approval and outcome: the same end, one VMIM for each effect."""

from collections.abc import Callable
from typing import Any

import pytest

from gitbot.errors import ClusterRefused, GitbotError
from gitbot.kubernetes.objects import KubernetesObject, condition_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.cluster import Gate, no_gate
from gitbot.published.ledger_lines import verify
from gitbot.workflows.apply import apply, hold, resume
from gitbot.workflows.ask import status
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.doubles.ledger import moves_of
from tests.doubles.timely import TimelyPort
from tests.doubles.trouble import (
    fail_next_migration,
    lose_node,
    restart_machine,
    return_node,
)
from tests.faults.faulty_port import Crash, Effect, Fault, FaultyPort, scripted, seeded
from tests.unit.workflows.story import Story

KIND = "VirtualMachineInstanceMigration"
JUMP = "request/customapp/jump"
Trouble = Callable[[], object]


class TroubledPort(TimelyPort):
    """Trouble comes once, after the ledger says what is intended and before the create."""

    def __init__(self, story: Story, trouble: Trouble) -> None:
        super().__init__(story.cluster)
        self.trouble: list[Trouble] = [trouble]

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        while self.trouble:
            self.trouble.pop()()
        return super().create_migration(migration, dry_run=dry_run, gate=gate)


def approved(**files: Any) -> Story:
    """The jumpbox on kni-worker is to go to kni-worker5, shown and merged."""
    story = Story.begin(**files)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    return story


def foreign(name: str) -> dict[str, Any]:
    """Somebody's migration of the jumpbox to kni-worker3."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": KIND,
        "metadata": {"name": name, "namespace": "customapp"},
        "spec": {
            "vmiName": "jumpbox",
            "addedNodeSelector": {"kubernetes.io/hostname": "kni-worker3"},
        },
    }


def migrations(story: Story) -> list[str]:
    names = (item["metadata"]["name"] for item in story.cluster.list(KIND))
    return [name for name in names if not name.startswith("kubevirt-evacuation")]


def last(story: Story) -> tuple[str, str]:
    """State and reason of the newest line about the jumpbox's move."""
    event = moves_of(story.store.read(), f"requests/iberia/{JUMP}.jsonl")[-1]
    return event.state, event.reason


def to_rest(story: Story) -> None:
    """Passes until one does nothing."""
    for _ in range(60):
        try:
            if apply(story.shell).did_nothing:
                return
        except Crash:
            pass
        except GitbotError:
            story.port.sleep(5)
    raise AssertionError("it never comes to rest")


@pytest.mark.parametrize(
    "effect",
    [
        Effect.LOST_ANSWER,
        Effect.LOST_REQUEST,
        Effect.SERVER_ERROR,
        Effect.CRASH_BEFORE,
        Effect.CRASH_AFTER,
    ],
)
def test_whatever_becomes_of_the_create_there_is_one_migration(effect: Effect) -> None:
    story = approved()
    story.port = FaultyPort(
        story.cluster, scripted([Fault(effect=effect, verb="create", what=KIND)])
    )
    to_rest(story)
    assert story.where()["jumpbox"] == "kni-worker5"
    assert len(migrations(story)) == 1
    assert last(story) == ("succeeded", "")


@pytest.mark.parametrize("seed", range(6))
def test_through_a_storm_of_faults_it_comes_to_the_same_end(seed: int) -> None:
    story = approved(db=RULE)
    propose(story.shell)
    story.merge()
    effects = [effect for effect in Effect if effect is not Effect.FORBIDDEN]
    story.port = FaultyPort(story.cluster, seeded(seed, percent=15, effects=effects))
    for _ in range(20):
        try:
            apply(story.shell)
        except Crash:
            pass
        except GitbotError:
            story.port.sleep(5)
    story.port = TimelyPort(story.cluster)
    to_rest(story)
    assert story.where()["jumpbox"] == "kni-worker5"
    assert story.databases() == ["kni-worker2", "kni-worker4", "kni-worker6"]
    assert len(migrations(story)) == 2
    assert not verify(story.store.read().events)


def test_a_migration_of_somebody_else_is_waited_for_and_no_attempt_is_lost() -> None:
    story = approved()
    story.port = TroubledPort(story, lambda: story.cluster.apply([foreign("other")]))
    assert apply(story.shell).states == {"succeeded": 1}
    events = moves_of(story.store.read(), f"requests/iberia/{JUMP}.jsonl")
    assert {event.attempt for event in events if event.state != "approved"} == {1}
    assert story.where()["jumpbox"] == "kni-worker5"


def test_a_name_that_somebody_took_is_neither_adopted_nor_deleted() -> None:
    model = approved()
    apply(model.shell)
    (name,) = migrations(model)
    story = approved()
    crash = Fault(effect=Effect.CRASH_BEFORE, verb="create", what=KIND)
    story.port = FaultyPort(story.cluster, scripted([crash]))
    with pytest.raises(Crash):
        apply(story.shell)
    story.cluster.apply([foreign(name)])
    to_rest(story)
    assert last(story) == ("waiting", f"a migration named customapp/{name} is not gitbot's")
    story.cluster.settle()
    assert migrations(story) == [name]
    assert story.where()["jumpbox"] == "kni-worker3"


def test_a_refusal_of_admission_ends_the_attempt_with_its_words() -> None:
    story = approved()

    def refuse() -> None:
        raise ClusterRefused("the webhook said no", code=422, reason="Invalid")

    story.port = TroubledPort(story, refuse)
    assert apply(story.shell).states == {"failed": 1}
    assert last(story) == ("failed", "the webhook said no")
    assert apply(story.shell).did_nothing
    assert migrations(story) == []


def test_a_vm_restarted_before_the_create_is_never_said_to_have_moved() -> None:
    story = approved()

    def restart() -> None:
        restart_machine(story.cluster, "jumpbox", "customapp")
        story.cluster.settle()

    story.port = TroubledPort(story, restart)
    to_rest(story)
    state, reason = last(story)
    assert state in {"obsolete", "withdrawn"}
    assert "restarted" in reason


def test_a_vm_restarted_in_flight_is_not_chased() -> None:
    story = approved()

    class RestartingPort(TimelyPort):
        def create_migration(
            self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
        ) -> KubernetesObject:
            stored = super().create_migration(migration, dry_run=dry_run, gate=gate)
            restart_machine(self.cluster, "jumpbox", "customapp")
            return stored

    story.port = RestartingPort(story.cluster)
    to_rest(story)
    assert last(story) == ("obsolete", "the VM was restarted")
    assert story.where()["jumpbox"] == "kni-worker"
    assert migrations(story) == []


def gone(story: Story) -> None:
    story.cluster.delete("Node", "kni-worker5")


def cordoned(story: Story) -> None:
    story.cluster.cordon("kni-worker5")


def lost(story: Story) -> None:
    lose_node(story.cluster, "kni-worker5")
    story.port.sleep(120)


def forbidden_by_a_rule(story: Story) -> None:
    story.commit(
        stay=f"""{HEAD}kind: PlacementRule
metadata: {{name: stay, namespace: customapp}}
spec:
  selector: {{matchLabels: {{kubevirt.io/domain: jumpbox}}}}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - {{key: topology.kubernetes.io/zone, operator: In, values: [scu]}}
"""
    )


@pytest.mark.parametrize("change", [gone, cordoned, lost, forbidden_by_a_rule])
def test_what_no_longer_keeps_the_law_is_held(change: Callable[[Story], None]) -> None:
    story = approved()
    change(story)
    result = apply(story.shell)
    assert result.created == 0
    assert [item.request for item in result.stale] == [JUMP]
    assert last(story)[0] == "held"
    assert "kni-worker5" in last(story)[1]
    assert apply(story.shell).did_nothing


def test_a_move_away_from_a_silent_node_waits_until_the_node_answers() -> None:
    story = approved()
    lose_node(story.cluster, "kni-worker")
    story.port.sleep(120)
    result = apply(story.shell)
    reason = f"Ready is Unknown since {since(story, 'kni-worker')} (NodeStatusUnknown)"
    assert (result.created, [item.reason for item in result.waiting]) == (
        0,
        [f"its node kni-worker does not answer: {reason}"],
    )
    return_node(story.cluster, "kni-worker", rebooted=False)
    to_rest(story)
    assert story.where()["jumpbox"] == "kni-worker5"


def since(story: Story, node: str) -> str:
    (found,) = (item for item in story.cluster.list("Node") if item["metadata"]["name"] == node)
    ready = condition_of(found, "Ready")
    assert ready is not None
    return str(ready["lastTransitionTime"])


def test_a_target_that_is_cordoned_in_flight_fails_the_move_and_nothing_else() -> None:
    story = approved()
    story.port = TroubledPort(story, lambda: cordoned(story))
    assert apply(story.shell).states == {"failed": 1}
    assert story.where()["jumpbox"] == "kni-worker"
    assert len(migrations(story)) == 1


def test_failures_open_the_circuit_until_somebody_resumes() -> None:
    story = Story.begin()
    for number in range(1, 4):
        request = REQUEST.replace("name: jump,", f"name: jump{number},")
        pull = story.open(f"work{number}", **{f"jump{number}": request})
        publish(story.shell, number=pull.number)
        story.merge(pull.number)
        fail_next_migration(story.cluster, "jumpbox", "customapp", reason="no luck")
        assert apply(story.shell).states == {"failed": 1}
        story.cluster.settle()
    pull = story.open("last", jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    stopped = apply(story.shell)
    assert stopped.created == 0
    assert stopped.stop.startswith("circuit breaker: 3 ")
    resume(story.shell, reason="looked at it", by="ann")
    assert apply(story.shell).states == {"succeeded": 1}


def test_a_hold_between_ledger_and_create_stops_and_resume_goes_on() -> None:
    story = approved(db=RULE)
    propose(story.shell)
    story.merge()
    story.port = TroubledPort(story, lambda: hold(story.shell, reason="wait", by="ann"))
    result = apply(story.shell)
    assert result.created == 1, "the one that was on its way; none after the flag"
    assert "wait" in result.stop
    resume(story.shell, reason="go on", by="ann")
    to_rest(story)
    assert story.where()["jumpbox"] == "kni-worker5"
    assert story.databases() == ["kni-worker2", "kni-worker4", "kni-worker6"]
    assert len(migrations(story)) == 2


def test_a_missing_right_is_named() -> None:
    story = approved()
    forbidden = Fault(effect=Effect.FORBIDDEN, verb="create", what=KIND)
    story.port = FaultyPort(story.cluster, scripted([forbidden]))
    result = apply(story.shell)
    assert "no right to create" in str(result.not_allowed)
    assert "no right to create" in result.waiting[0].reason
    (request,) = status(story.shell).requests
    assert request.next_command == "gitbot doctor"
    story.port.sleep(60)
    to_rest(story)
    assert story.where()["jumpbox"] == "kni-worker5"
    assert last(story) == ("succeeded", "")


def test_nothing_is_created_on_a_look_that_grew_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the ledger's turn to push takes up to a minute: the cluster is read after it."""
    monkeypatch.setattr("gitbot.workflows.ledger.writer.PUSHES", 1)
    story = approved(db=RULE)
    propose(story.shell)
    story.merge()
    ages: list[int] = []

    class TimedPort(TimelyPort):
        looked = 0

        def snapshot(self) -> ClusterSnapshot:
            self.looked = self.now()
            return super().snapshot()

        def create_migration(
            self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
        ) -> KubernetesObject:
            ages.append(self.now() - self.looked)
            return super().create_migration(migration, dry_run=dry_run, gate=gate)

    story.port = TimedPort(story.cluster)
    story.cluster.apply([foreign("other")])
    to_rest(story)
    assert len(ages) == 2
    assert max(ages) == 0
