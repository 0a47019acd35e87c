"""What is read of the played handler where no dial tells it."""

from __future__ import annotations

from typing import Any

from tests.recordings.steps import MIGRATION, VMI, HandlerSteps


def changed(when: float, kind: str, name: str, **changes: Any) -> dict[str, Any]:
    return {
        "t": when,
        "kind": kind,
        "name": name,
        "changed": {key.replace("__", "/"): value for key, value in changes.items()},
    }


OWN = {"migrationUid": f"<uid of {MIGRATION} m1>"}
STORY = (
    changed(1, MIGRATION, "m1", phase="PreparingTarget"),
    changed(1.5, VMI, "vm1", migrationState={**OWN, "targetNodeAddress": "10.0.0.1"}),
    changed(1.7, MIGRATION, "m1", phase="TargetReady"),
    changed(2, VMI, "vm1", migrationState__startTimestamp="T+2s"),
    changed(5, VMI, "vm1", migrationState__targetNodeDomainDetected=True),
)


def test_steps_last_as_long_as_they_did() -> None:
    steps = HandlerSteps(
        (*STORY, changed(9, VMI, "vm1", migrationState__endTimestamp="T+9s")),
    )
    assert [steps.wait("m1", step) for step in ("prepare", "start", "detect", "switch")] == [
        500,
        300,
        3000,
        4000,
    ]
    assert steps.wait("m1", "settle") is None
    assert steps.wait("m2", "start") is None
    assert steps.wait("m1", "leave") is None


def test_a_failure_is_the_handlers_unless_it_was_asked_to_stop() -> None:
    def ended(reason: str) -> HandlerSteps:
        failed = changed(6, VMI, "vm1", migrationState__failureReason=reason)
        failed["changed"]["migrationState/failed"] = True
        return HandlerSteps((*STORY, failed))

    assert ended("stuck").failure("m1") == "stuck"
    assert ended("Live migration aborted").failure("m1") == ""
    assert HandlerSteps(STORY).failure("m1") == ""


def test_an_abort_that_came_to_nothing_was_not_honoured() -> None:
    asked = changed(5.5, VMI, "vm1", migrationState__abortRequested=True)
    done = changed(9, VMI, "vm1", migrationState__completed=True)
    assert HandlerSteps((*STORY, asked)).honours_aborts("m1")
    assert HandlerSteps((*STORY, done)).honours_aborts("m1")
    assert not HandlerSteps((*STORY, asked, done)).honours_aborts("m1")


def test_a_guest_boots_as_long_as_it_did() -> None:
    steps = HandlerSteps(
        (changed(1, VMI, "a", phase="Scheduled"), changed(1.4, VMI, "a", phase="Running"))
    )
    assert steps.boot("a") == 400
    assert steps.boot("b") is None
