"""What ends moves that have not begun, and what others of their group have to do with it."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.execution.executor_types import Approval, Approved, BreakerLimits
from gitbot.execution.request_records import MoveRecord, RequestRecord
from gitbot.execution.terminate import _moves_before, has_started, stopped_by
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import MoveState, NodeChanged, NodeFacts, NodeState
from gitbot.model.ledger.ledger import node_file
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import Interval
from tests.unit.execution.scene import NOW, OCCURRENCE, World, move

REQUEST = RequestId.read("request/db/one")
DRAIN = OCCURRENCE.drain


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
    assert has_started(RequestRecord(id=REQUEST, moves={1: sent, 2: mine}), mine) is same
    idle = record(1, **fields)
    assert not has_started(RequestRecord(id=REQUEST, moves={1: idle, 2: mine}), mine)


@pytest.mark.parametrize(("fields", "same"), OTHERS)
def test_a_group_stops_with_a_failure_of_its_plan(fields: dict[str, str], same: bool) -> None:
    mine = record(2)
    failed = record(1, state=MoveState.FAILED, attempt=1, **fields)
    found = stopped_by(RequestRecord(id=REQUEST, moves={1: failed, 2: mine}), mine)
    assert (found is failed) is same
    gone = record(1, state=MoveState.WITHDRAWN, outcome="vanished", **fields)
    found = stopped_by(RequestRecord(id=REQUEST, moves={1: gone, 2: mine}), mine)
    assert (found is gone) is same
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


def test_what_is_left_of_a_group_that_began_is_withdrawn_when_its_approval_is_void() -> None:
    world = World.of("a", "c", one="a", two="a")
    moves = (move("one", "a", "c"), move("two", "a", "c", 2, wave=1))
    world.approve(*moves)
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    world.run("Running")
    world.approved.clear()
    world.approve(*moves, void="its approval no longer counts")
    assert world.step() == ["1 running", "2 withdrawn"]


def test_a_vm_that_an_earlier_move_brings_is_not_moot() -> None:
    """The second move of a VM starts where the first one ends; another VM's first one does not."""
    world = World.of("a", "b", "c", one="a", two="a")
    world.approve(move("one", "a", "b"), move("one", "b", "c", 2, wave=1))
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    other = World.of("a", "b", "c", one="a", two="c")
    other.approve(move("one", "a", "b"), move("two", "b", "c", 2, wave=1))
    assert other.step() == ["1 approved", "2 approved", "2 obsolete", "1 intended"]


def hops(world: World) -> None:
    """One is moved from a by way of b to c; two makes room on b before."""
    moves = (
        move("two", "b", "d"),
        move("one", "a", "b", 2, wave=1),
        move("one", "b", "c", 3, wave=2),
    )
    world.approve(*moves, source="a")


def test_request_from_one_node_makes_room_elsewhere_and_moves_on_from_its_first_stop() -> None:
    world = World.of("a", "b", "c", "d", one="a", two="b")
    hops(world)
    assert world.step() == ["1 approved", "2 approved", "3 approved", "1 intended"]
    for number, vm, to in ((1, "two", "d"), (2, "one", "b"), (3, "one", "c")):
        world.run("Running")
        assert world.step() == [f"{number} running"]
        world.land(vm, to)
        following = [f"{number + 1} intended"] if number < 3 else []
        assert world.step() == [f"{number} succeeded", *following]


@pytest.mark.parametrize("to", ["b", "d"])
def test_request_from_one_node_ends_for_a_vm_that_left_it_otherwise(to: str) -> None:
    """Even for the node that its own first move has as target."""
    world = World.of("a", "b", "c", "d", one="a", two="b")
    hops(world)
    world.step()
    world.run("Running")
    world.step()
    world.vms["one"]["status"]["nodeName"] = to
    assert world.step() == ["2 obsolete", "3 obsolete"]
    assert world.event("obsolete").reason == f"the VM runs on {to}, and the request moves it from a"
    world.land("two", "d")
    assert world.step() == ["1 succeeded"]
    assert world.effects == []


def test_request_from_one_node_tries_again_from_where_its_own_migration_landed() -> None:
    world = World.of("a", "b", "c", one="a")
    world.view["breaker"] = BreakerLimits(unexpected_landings=0)
    world.approve(move("one", "a", "c"), source="a", attempts=2)
    world.step()
    world.run("Running")
    world.step()
    world.land("one", "b")
    assert world.step() == ["1 failed"]
    world.now += 60
    assert world.step() == ["1 intended"]


def test_a_vm_that_is_not_yet_where_its_second_move_begins_has_not_left_it() -> None:
    """Of a drain; without an earlier move of that VM it left, and the move is obsolete."""
    second = move("one", "b", "c", 2, wave=1, request=DRAIN)
    world = World.of("a", "b", "c", one="a")
    world.approve(move("one", "a", "b", request=DRAIN), second)
    assert world.step() == ["1 approved", "2 approved", "1 intended"]
    alone = World.of("a", "b", "c", one="a")
    alone.approve(second)
    assert alone.step() == ["2 approved", "2 obsolete"]


def test_an_earlier_move_that_ended_or_is_not_accepted_brings_nobody() -> None:
    first, second = record(1), record(2)
    moves = (move("one", "a", "b"), move("one", "b", "c", 2, wave=1))
    approved = Approved(id=REQUEST, approval=Approval(digest="", pull_request=1), moves=moves)

    def before(**known: MoveRecord) -> bool:
        found = {int(item.number): item for item in known.values()}
        return _moves_before(approved, moves[1], RequestRecord(id=REQUEST, moves=found))

    assert before(first=first, second=second)
    moves = (replace(moves[0], vm=replace(moves[0].vm, namespace="web")), moves[1])
    elsewhere = replace(approved, moves=moves)
    both = RequestRecord(id=REQUEST, moves={1: first, 2: second})
    assert not _moves_before(elsewhere, moves[1], both)
    assert not before(first=first.replace(state=MoveState.SUCCEEDED), second=second)
    assert not before(second=second)


def test_what_never_began_is_not_said_to_be_lost() -> None:
    """Only an announced migration that does not exist was never created."""
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"), allowed=(Interval(start=NOW + 9000, end=NOW + 9999),))
    assert world.step() == ["1 approved"]
    del world.vms["one"]
    assert world.step() == ["1 obsolete"]
    assert world.event("obsolete").outcome == ""


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (NodeState.DRAINING, []),
        (NodeState.READY, []),
        (NodeState.RETURNED, ["1 withdrawn"]),
        (NodeState.CLOSED, ["1 withdrawn"]),
    ],
)
def test_what_is_left_of_a_drain_ends_with_its_node(state: NodeState, said: list[str]) -> None:
    world = World.of("a", "c", one="a")
    world.view["stop"] = "held"
    world.drain(move("one", "a", "c", request=DRAIN))
    assert world.step() == ["1 approved"]
    changed = NodeChanged(
        file=node_file("prod", OCCURRENCE),
        time=NOW,
        state=state,
        request=OCCURRENCE.drain,
        facts=NodeFacts(node="a"),
    )
    world.ledger = world.ledger.replace(events=(*world.ledger.events, changed))
    assert [item for item in world.step() if item.startswith("1 ")] == said
    if said:
        assert world.event("withdrawn").reason == f"a is {state} already"
