"""What ends moves that have not begun, and what others of their group have to do with it."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.execution.endings import begun, stopped_by
from gitbot.execution.requests import MoveRecord, RequestRecord
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.events import MoveState
from gitbot.model.instants import Interval
from gitbot.model.request_id import RequestId
from tests.unit.execution.scene import NOW, World, move

REQUEST = RequestId.read("request/db/one")


def record(number: int, **fields: Any) -> MoveRecord:
    known: dict[str, Any] = {
        "request": REQUEST,
        "number": number,
        "vm": NamespacedName(namespace="db", name=f"vm-{number}"),
        "vm_uid": "u",
        "state": MoveState.APPROVED,
        "digest": "sha256:0",
        "group": "one",
    }
    return MoveRecord(**{**known, **fields})


OTHERS = [({}, True), ({"group": "other"}, False), ({"digest": "sha256:1"}, False)]


@pytest.mark.parametrize(("fields", "same"), OTHERS)
def test_a_group_has_begun_with_an_effect_of_its_plan(fields: dict[str, str], same: bool) -> None:
    mine = record(2)
    sent = record(1, effects=("db/gitbot-1",), **fields)
    assert begun(RequestRecord(id=REQUEST, moves={1: sent, 2: mine}), mine) is same
    idle = record(1, **fields)
    assert not begun(RequestRecord(id=REQUEST, moves={1: idle, 2: mine}), mine)


@pytest.mark.parametrize(("fields", "same"), OTHERS)
def test_a_group_stops_with_a_failure_of_its_plan(fields: dict[str, str], same: bool) -> None:
    mine = record(2)
    failed = record(1, state=MoveState.FAILED, attempt=1, **fields)
    found = stopped_by(RequestRecord(id=REQUEST, moves={1: failed, 2: mine}), mine)
    assert (found is failed) is same
    again = record(1, state=MoveState.FAILED, attempt=1, attempts=2, **fields)
    assert stopped_by(RequestRecord(id=REQUEST, moves={1: again, 2: mine}), mine) is None
    assert stopped_by(RequestRecord(id=REQUEST, moves={1: failed}), failed) is None


@pytest.mark.parametrize(("finish", "said"), [(True, ["2 intended"]), (False, ["2 expired"])])
def test_only_what_may_finish_goes_on_after_its_time(finish: bool, said: list[str]) -> None:
    world = World.of("a", "c", one="a", two="a")
    open_now = (Interval(start=NOW - 60, end=NOW + 100),)
    moves = (move("one", "a", "c"), move("two", "a", "c", 2, wave=1))
    world.approve(*moves, allowed=open_now, finish=finish)
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    world.run("Running")
    assert world.step() == ["1 running"]
    world.now += 200
    world.land("one", "c")
    assert sorted(world.step() + world.step()) == sorted(["1 succeeded", *said])


def test_a_vm_that_an_earlier_move_brings_is_not_moot() -> None:
    """The second move of a VM starts where the first one ends; another VM's first one does not."""
    world = World.of("a", "b", "c", one="a", two="a")
    world.approve(move("one", "a", "b"), move("one", "b", "c", 2, wave=1))
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    other = World.of("a", "b", "c", one="a", two="c")
    other.approve(move("one", "a", "b"), move("two", "b", "c", 2, wave=1))
    assert other.step() == ["1 approved", "2 approved", "2 obsolete", "1 intended"]
