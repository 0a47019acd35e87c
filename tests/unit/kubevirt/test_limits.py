from typing import Any

import pytest

from gitbot.kubevirt.limits import (
    blocked_by,
    is_running,
    limits_of,
    pending_timeout,
    remote_end,
    requeue_delay,
    unschedulable_timeout,
)
from gitbot.simulation.controllers.migration_requeue import by_priority
from gitbot.simulation.controllers.node_handler import estimate_seconds
from tests.unit.kubevirt.objects import migration


@pytest.mark.parametrize(
    ("migrations", "expected"),
    [
        (None, (5, 2)),
        ({}, (5, 2)),
        ({"parallelMigrationsPerCluster": 10}, (10, 2)),
        ({"parallelOutboundMigrationsPerNode": 1}, (5, 1)),
    ],
)
def test_limits_come_from_the_kubevirt_object(
    migrations: dict[str, int] | None, expected: tuple[int, int]
) -> None:
    assert limits_of({"spec": {"configuration": {"migrations": migrations}}}) == expected


def test_limits_of_nothing_are_the_defaults() -> None:
    assert limits_of({}) == (5, 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, 300),
        ("60", 60),
        ("0", 0),
        ("-5", -5),
        ("soon", 300),
        ("", 300),
        ("1.5", 300),
        ("٣", 300),
        ("--5", 300),
    ],
)
def test_a_timeout_that_is_no_number_counts_as_absent(text: str | None, expected: int) -> None:
    key = "kubevirt.io/migrationUnschedulablePodTimeoutSeconds"
    annotations = {} if text is None else {key: text}
    assert unschedulable_timeout(migration("m", annotations=annotations)) == expected


def test_the_pending_timeout_has_its_own_annotation() -> None:
    key = "kubevirt.io/migrationPendingPodTimeoutSeconds"
    assert pending_timeout(migration("m")) == 900
    assert pending_timeout(migration("m", annotations={key: "10"})) == 10


def with_priority(name: str, priority: str | None) -> dict[str, Any]:
    made = migration(name)
    if priority is not None:
        made["spec"]["priority"] = priority
    return made


def test_the_queue_is_by_priority_and_keeps_the_order_of_equals() -> None:
    waiting = [
        with_priority("u2", None),
        with_priority("maintenance", "system-maintenance"),
        with_priority("u1", None),
        with_priority("drain", "system-critical"),
        with_priority("hotplug", "user-triggered"),
    ]
    found = [item["metadata"]["name"] for item in by_priority(waiting)]
    assert found == ["drain", "hotplug", "maintenance", "u2", "u1"]
    assert [requeue_delay(item) for item in waiting] == [5, 5, 5, 1, 3]


@pytest.mark.parametrize(
    ("phase", "running"),
    [
        ("", False),
        ("Pending", False),
        ("WaitingForSync", False),
        ("Synchronizing", False),
        ("Scheduling", True),
        ("Scheduled", True),
        ("PreparingTarget", True),
        ("TargetReady", True),
        ("Running", True),
        ("Succeeded", False),
        ("Failed", False),
    ],
)
def test_which_phases_hold_a_slot(phase: str, running: bool) -> None:
    assert is_running(migration("m", phase=phase)) is running


@pytest.mark.parametrize(
    ("memory", "bandwidth", "seconds"),
    [(0, 64, 1), (1, 64, 1), (64, 64, 1), (65, 64, 2), (4 << 30, 64 << 20, 64), (10, 0, 10)],
)
def test_an_estimate_copies_every_byte_once(memory: int, bandwidth: int, seconds: int) -> None:
    assert estimate_seconds(memory, bandwidth) == seconds


SENT = {"sendTo": {"connectURL": "far:9185", "migrationID": "x"}}
RECEIVED = {"receive": {"migrationID": "x"}}


@pytest.mark.parametrize(
    ("spec", "phase", "runs", "waits", "end"),
    [
        ({}, "Scheduling", True, "", ""),
        (SENT, "Scheduling", False, "", " to another cluster (far:9185, migrationID x)"),
        (SENT, "Running", True, "", " to another cluster (far:9185, migrationID x)"),
        (SENT, "Synchronizing", False, "other", " to another cluster (far:9185, migrationID x)"),
        (RECEIVED, "WaitingForSync", False, "other", " from another cluster (migrationID x)"),
        (RECEIVED, "Scheduling", True, "", " from another cluster (migrationID x)"),
        (SENT | RECEIVED, "Scheduling", True, "", ""),
    ],
)
def test_a_migration_between_clusters_counts_as_kubevirt_counts_it(
    spec: dict[str, Any], phase: str, runs: bool, waits: str, end: str
) -> None:
    """types.go, IsRunning: the source's end has no pod here while it is Scheduling."""
    item = {"metadata": {"name": "m"}, "spec": {"vmiName": "v", **spec}, "status": {"phase": phase}}
    assert is_running(item) == runs
    assert waits in blocked_by(item)
    assert bool(blocked_by(item)) == bool(waits)
    assert remote_end(item) == end
