"""What the lines of a request add up to: the state of its moves, and its own."""

from random import Random
from typing import Any

import pytest

from gitbot.execution.request_records import (
    MoveRecord,
    RequestRecord,
    RequestState,
    derive_request_state,
    fold_move,
    fold_moves,
    fold_requests,
    highest_move,
    last_moved,
)
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import ForeignMove, MoveApproved, MoveState, RequestCancelled
from gitbot.model.ledger.ledger import Ledger, request_file
from gitbot.model.ledger.request_id import ObservedId, RequestId
from tests.unit.execution.scene import NOW, World, move

REQUEST = RequestId.read("request/db/one")
S = MoveState


def record(state: MoveState, number: int = 1, **fields: Any) -> MoveRecord:
    known: dict[str, Any] = {
        "request": REQUEST,
        "number": number,
        "vm": NamespacedName(namespace="db", name=f"vm-{number}"),
        "vm_uid": "u",
        "state": state,
    }
    return MoveRecord(**{**known, **fields})


def records(*states: MoveState, **fields: Any) -> list[MoveRecord]:
    return [record(state, number, **fields) for number, state in enumerate(states, 1)]


ENDED = {"attempt": 1}
ONE_VM = {"vm": NamespacedName(namespace="db", name="one"), **ENDED}
REPLACED: dict[str, Any] = {"outcome": "superseded"}


@pytest.mark.parametrize(
    ("moves", "state"),
    [
        ([], "withdrawn"),
        (records(S.APPROVED), "approved"),
        (records(S.HELD, S.HELD), "held"),
        (records(S.HELD, S.WAITING), "approved"),
        (records(S.HELD, S.SUCCEEDED), "held"),
        (records(S.HELD, S.CREATED), "running"),
        (records(S.APPROVED, S.INTENDED), "running"),
        (records(S.RUNNING), "running"),
        (records(S.SUCCEEDED, S.APPROVED), "running"),
        (records(S.OBSOLETE, S.APPROVED), "approved"),
        (records(S.FAILED, attempt=1, attempts=2), "approved"),
        (records(S.SUCCEEDED), "succeeded"),
        (records(S.SUCCEEDED, S.OBSOLETE), "succeeded"),
        (records(S.OBSOLETE), "obsolete"),
        (records(S.SUCCEEDED, S.FAILED, **ENDED), "partial"),
        (records(S.SUCCEEDED, S.WITHDRAWN), "partial"),
        (records(S.OBSOLETE, S.FAILED, **ENDED), "failed"),
        (records(S.EXPIRED, S.FAILED, **ENDED), "failed"),
        (records(S.EXPIRED, S.WITHDRAWN), "expired"),
        (records(S.OBSOLETE, S.WITHDRAWN), "withdrawn"),
        (records(S.FAILED, S.SUCCEEDED, **ONE_VM), "succeeded"),
        (records(S.FAILED, S.SUCCEEDED, **ONE_VM)[::-1], "succeeded"),
        (records(S.SUCCEEDED, S.FAILED, **ONE_VM), "failed"),
        ([record(S.WITHDRAWN, **REPLACED), record(S.SUCCEEDED, 2)], "succeeded"),
        ([record(S.WITHDRAWN, **REPLACED), record(S.APPROVED, 2)], "approved"),
        ([record(S.WITHDRAWN, **REPLACED)], "withdrawn"),
    ],
)
def test_the_state_of_a_request_from_its_moves(moves: list[MoveRecord], state: str) -> None:
    assert derive_request_state(tuple(moves)) == RequestState(state)


def request(*moves: MoveRecord, **fields: Any) -> RequestRecord:
    return RequestRecord(id=REQUEST, moves={item.number: item for item in moves}, **fields)


SENT: dict[str, Any] = {"effects": ("db/gitbot-1",)}


@pytest.mark.parametrize(
    ("given", "finished", "spent", "state", "highest"),
    [
        (request(), False, False, "withdrawn", 0),
        (request(cancelled="no"), True, True, "withdrawn", 0),
        (request(record(S.APPROVED, 3)), False, False, "approved", 3),
        (request(record(S.APPROVED), cancelled="no"), False, False, "cancelling", 1),
        (request(record(S.WITHDRAWN), cancelled="no"), True, True, "withdrawn", 1),
        (request(record(S.WITHDRAWN)), True, False, "withdrawn", 1),
        (request(record(S.WITHDRAWN, **SENT)), True, True, "withdrawn", 1),
        (request(record(S.EXPIRED)), True, True, "expired", 1),
        (request(record(S.EXPIRED), record(S.HELD, 2)), False, False, "held", 2),
    ],
)
def test_when_a_request_is_over(
    given: RequestRecord, finished: bool, spent: bool, state: str, highest: int
) -> None:
    assert (given.finished, given.spent, given.state, given.highest_move) == (
        finished,
        spent,
        state,
        highest,
    )


def test_a_request_changed_when_its_last_move_did_or_when_it_was_cancelled() -> None:
    moves = (record(S.HELD, changed_at=5), record(S.HELD, 2, changed_at=9))
    assert request().changed_at == 0
    assert request(*moves).changed_at == 9
    assert request(*moves, cancelled="no", cancelled_at=7).changed_at == 9
    assert request(*moves, cancelled="no", cancelled_at=11).changed_at == 11


@pytest.mark.parametrize(("attempt", "final"), [(1, False), (2, True)])
def test_a_failure_is_final_with_the_last_attempt(attempt: int, final: bool) -> None:
    assert record(S.FAILED, attempt=attempt, attempts=2).final is final
    assert record(S.EXPIRED, attempt=attempt, attempts=2).final


def lines() -> tuple[MoveApproved, Any]:
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"), attempts=3)
    world.step()
    approved = next(item for item in world.ledger.events if isinstance(item, MoveApproved))
    return approved, world.event("intended")


def test_a_move_line_by_line() -> None:
    approved, intended = lines()
    first = fold_move(None, approved)
    assert (first.state, first.attempt, first.attempts, first.group) == (S.APPROVED, 0, 3, "one")
    assert (first.source, first.to, first.digest, first.pull_request) == ("a", "c", "sha256:0", 1)
    assert (first.intended_at, first.created_at, first.effects, first.claim) == (0, 0, (), None)

    second = fold_move(first, intended)
    assert (second.state, second.attempt, second.attempts, second.group) == (
        S.INTENDED, 1, 3, "one",
    )  # fmt: skip
    assert (second.intended_at, second.created_at, second.changed_at) == (NOW, 0, NOW)
    assert (second.effects, second.migration) == ((intended.migration,), intended.migration)
    assert (second.claim, second.migration_uid) == (intended.claim, "")
    assert fold_move(second, intended).effects == (intended.migration,)

    made = intended.replace(state=S.CREATED, time=NOW + 5, migration_uid="m", claim=None)
    third = fold_move(second, made)
    assert (third.intended_at, third.created_at, third.changed_at) == (NOW, NOW + 5, NOW + 5)
    assert (third.migration_uid, third.claim) == ("m", intended.claim)

    bare = made.replace(
        state=S.FAILED, time=NOW + 9, landed="b", attempt=0, source="", to="", digest="",
        migration="", migration_uid="", pull_request=0, outcome="Failed", reason="why",
    )  # fmt: skip
    fourth = fold_move(third, bare)
    assert fourth == third.replace(
        state=S.FAILED, changed_at=NOW + 9, landed="b", outcome="Failed", reason="why"
    )
    silent = fold_move(fourth, bare.replace(landed="", reason="", outcome=""))
    assert (silent.landed, silent.reason, silent.outcome) == ("b", "", "")

    again = fold_move(
        fourth, intended.replace(time=NOW + 70, attempt=2, migration="db/two", source="b", to="d")
    )
    assert (again.attempt, again.landed, again.migration_uid) == (2, "", "")
    assert (again.source, again.to, again.migration) == ("b", "d", "db/two")
    assert (again.effects, again.intended_at) == ((intended.migration, "db/two"), NOW + 70)


@pytest.mark.parametrize(
    ("state", "attempt"), [(S.HELD, 0), (S.WAITING, 0), (S.CREATED, 1), (S.FAILED, 1)]
)
def test_what_is_put_off_uses_up_no_attempt(state: MoveState, attempt: int) -> None:
    approved, intended = lines()
    before = fold_move(fold_move(None, approved), intended)
    after = fold_move(before, intended.replace(state=state, claim=None))
    assert after.attempt == attempt
    if state is not S.CREATED:
        put_off = fold_move(after, intended.replace(state=S.HELD, attempt=attempt, claim=None))
        assert put_off.attempt == attempt, "it was not announced"


@pytest.mark.parametrize("seed", range(40))
def test_lines_at_once_give_the_record_of_lines_in_turn(seed: int) -> None:
    approved, intended = lines()
    drawn = Random(seed)
    texts = ("source", "to", "landed", "digest", "migration", "migration_uid", "reason", "outcome")
    events: list[Any] = [approved]
    for time in range(NOW, NOW + drawn.randint(1, 8)):
        said = {name: drawn.choice(["", "x", "y"]) for name in texts}
        counts = {"attempt": drawn.randint(0, 3), "pull_request": drawn.randint(0, 2)}
        state = drawn.choice([state for state in S if state is not S.APPROVED])
        claim = intended.claim if state is S.INTENDED else None
        events.append(intended.replace(time=time, state=state, claim=claim, **said, **counts))
    in_turn = None
    for count, event in enumerate(events, 1):
        in_turn = fold_move(in_turn, event)
        assert fold_moves(None, events[:count]) == in_turn


def test_a_ledger_is_folded_by_cluster_and_grows() -> None:
    approved, intended = lines()
    other = RequestId.read("request/db/other")
    cancelled = RequestCancelled(
        file=request_file("prod", other), time=NOW, cluster="prod", request=other, reason="no"
    )
    foreign = ForeignMove(
        file=request_file("prod", ObservedId(vm=NamespacedName(namespace="db", name="x"))),
        time=NOW,
        cluster="prod",
        request=ObservedId(vm=NamespacedName(namespace="db", name="x")),
        vm="db/x",
        migration="db/m",
    )
    events = (approved, cancelled, foreign)
    written = Ledger(events=events)
    found = fold_requests(written, "prod")
    assert sorted(map(str, found)) == ["request/db/one", "request/db/other"]
    assert (found[other].cancelled, found[other].cancelled_at) == ("no", NOW)
    assert (found[REQUEST].cancelled, found[REQUEST].cancelled_at) == ("", None)
    assert fold_requests(written, "elsewhere") == {}
    assert fold_requests(written, "pro") == {}
    assert fold_requests(written, "prod") == found
    grown = Ledger(events=(*events, intended))
    assert fold_requests(grown, "prod")[REQUEST].moves[1].state is S.INTENDED
    silent = Ledger(events=(approved, intended, *(cancelled.__class__(
        file=cancelled.file, time=NOW, cluster="prod", request=other),)))  # fmt: skip
    assert fold_requests(silent, "prod")[other].cancelled == "cancelled"


def test_lines_that_were_written_meanwhile_take_the_place_of_ours() -> None:
    """A lost race: what was decided is not what the ledger has."""
    approved, intended = lines()
    numbered = approved.__class__(**{**fields_of(approved), "seq": 1})
    ours = Ledger(events=(numbered, intended))
    assert fold_requests(ours, "prod")[REQUEST].moves[1].state is S.INTENDED
    theirs = intended.replace(state=S.HELD, seq=2, claim=None)
    assert fold_requests(Ledger(events=(numbered, theirs)), "prod")[REQUEST].moves[1].state is (
        S.HELD
    )
    assert fold_requests(Ledger(events=(numbered,)), "prod")[REQUEST].moves[1].state is S.APPROVED


def fields_of(event: MoveApproved) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def test_the_highest_number_counts_all_healings_of_a_rule() -> None:
    first = RequestId.read("heal/db/ZoneAntiAffinity/x/0")
    second = RequestId.read("heal/db/ZoneAntiAffinity/x/1")
    other = RequestId.read("heal/db/ZoneAntiAffinity/y/0")
    known = {
        first: RequestRecord(id=first, moves={4: record(S.SUCCEEDED, 4)}),
        second: RequestRecord(id=second, moves={6: record(S.SUCCEEDED, 6)}),
        other: RequestRecord(id=other, moves={9: record(S.SUCCEEDED, 9)}),
    }
    assert highest_move(known, first) == 4
    assert highest_move(known, first.planned) == 6
    assert highest_move(known, REQUEST) == 0


def test_a_vm_was_last_moved_when_a_migration_of_gitbots_succeeded() -> None:
    one = NamespacedName(namespace="db", name="one")
    early = request(record(S.SUCCEEDED, vm=one, changed_at=9), record(S.FAILED, 2, changed_at=20))
    late = request(record(S.SUCCEEDED, vm=one, changed_at=7))
    assert last_moved([early, late]) == {one: 9}
    assert last_moved([late, early]) == {one: 9}


def test_what_a_move_is_before_anything_is_known() -> None:
    plain = record(S.APPROVED)
    assert (plain.attempt, plain.attempts, plain.pull_request) == (0, 1, 0)
    assert (plain.intended_at, plain.created_at, plain.changed_at) == (0, 0, 0)
    assert not plain.final
