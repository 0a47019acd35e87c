from typing import Any

import pytest

from gitbot.errors import ClusterError, ClusterForbidden, OutcomeUnknown
from gitbot.kubernetes.names import NamespacedName
from tests.doubles.customapp import customapp
from tests.faults.faulty_port import (
    Crash,
    Effect,
    Fault,
    FaultyPort,
    scripted,
    seeded,
)

MOVE = NamespacedName(namespace="customapp", name="move")


def faulty(*faults: Fault) -> FaultyPort:
    return FaultyPort(customapp(step=0, jumpbox=True), scripted(faults))


def migration() -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "move", "namespace": "customapp"},
        "spec": {"vmiName": "jumpbox"},
    }


@pytest.mark.parametrize(
    ("effect", "error", "exists"),
    [
        (Effect.LOST_ANSWER, OutcomeUnknown, True),
        (Effect.LOST_REQUEST, OutcomeUnknown, False),
        (Effect.SERVER_ERROR, ClusterError, False),
        (Effect.FORBIDDEN, ClusterForbidden, False),
        (Effect.CRASH_BEFORE, Crash, False),
        (Effect.CRASH_AFTER, Crash, True),
    ],
)
def test_what_a_fault_does_to_a_create(
    effect: Effect, error: type[BaseException], exists: bool
) -> None:
    port = faulty(Fault(effect=effect, verb="create"))
    with pytest.raises(error):
        port.create_migration(migration())
    assert (port.get_migration(MOVE) is not None) is exists
    assert port.log[0] == ("create", "VirtualMachineInstanceMigration customapp/move", effect.value)


def test_a_stale_read_gives_the_answer_from_before() -> None:
    port = faulty(Fault(effect=Effect.STALE, verb="list", what="snapshot", count=2))
    before = port.snapshot()
    port.cluster.cordon("kni-worker")
    assert port.snapshot() is before
    assert port.snapshot().digest != before.digest


def test_a_fault_hits_the_request_that_it_names_and_no_other() -> None:
    port = faulty(Fault(effect=Effect.SERVER_ERROR, verb="patch", what="worker3"))
    port.set_unschedulable("kni-worker", True, {})
    with pytest.raises(ClusterError, match="500 to patch Node kni-worker3"):
        port.set_unschedulable("kni-worker3", True, {})
    port.set_unschedulable("kni-worker3", True, {})


def test_seeded_faults_are_the_same_each_time() -> None:
    def story(seed: int) -> list[str]:
        script = seeded(seed, percent=30, effects=(Effect.SERVER_ERROR, Effect.STALE))
        return [str(script(number, "get", "x")) for number in range(1, 60)]

    assert story(1) == story(1)
    assert story(1) != story(2)
    assert 5 < sum(text != "None" for text in story(1)) < 35
