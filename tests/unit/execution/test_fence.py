"""Claims: until when an announced effect may be sent, by whom, and when nobody can send it."""

import pytest

from gitbot.execution.claims import (
    FENCE,
    claim_expires_at,
    is_unsent,
    next_claim,
    release_claim,
    with_claims,
)
from gitbot.execution.executor_types import CreateMigration, ExecutorInput, Steps
from gitbot.execution.request_records import MoveRecord, fold_requests
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import Claim, MoveChanged, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.problem import PlacementProblem
from tests.unit.execution.scene import NOW, World, move

LATER = NOW + 25
EMPTY = ClusterSnapshot(cluster="prod", taken_at=NOW, objects={}, digest="")


@pytest.fixture
def announced() -> World:
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"))
    assert world.step() == ["1 approved", "1 intended"]
    return world


def record_of(world: World) -> MoveRecord:
    (request,) = fold_requests(world.ledger, cluster="prod").values()
    return request.moves[1]


def view_of(world: World) -> ExecutorInput:
    return ExecutorInput(
        cluster="prod",
        now=NOW,
        ledger=world.ledger,
        approved=(),
        problem=PlacementProblem(cluster="prod", now=NOW, snapshot=EMPTY),
        migrations=(),
        replay=world.replay,
    )


def create_of(steps: Steps) -> CreateMigration:
    (effect,) = steps.effects
    assert isinstance(effect, CreateMigration)
    return effect


def test_a_claim_is_good_from_when_it_is_written(announced: World) -> None:
    """In the effect and in the line of the ledger that announces it, and in no other line."""
    steps = with_claims(announced.last, LATER)
    event = create_of(steps).event
    assert event.claim is not None
    assert event.claim.until == LATER + FENCE.send
    assert [item for item in steps.events if item.state == "intended"] == [event]
    others = [item for item in announced.last.events if item.state != "intended"]
    assert [item for item in steps.events if item.state != "intended"] == others


def test_no_claim_is_good_beyond_the_time_in_which_its_move_may_start(announced: World) -> None:
    short = create_of(announced.last).replace(ends=LATER + 3)
    event = create_of(with_claims(announced.last.replace(effects=(short,)), LATER)).event
    assert event.claim is not None
    assert event.claim.until == LATER + 3


def test_what_has_no_claim_gets_none(announced: World) -> None:
    effect = create_of(announced.last)
    bare = effect.replace(event=effect.event.replace(claim=None))
    assert create_of(with_claims(Steps(effects=(bare,)), LATER)) == bare
    assert with_claims(Steps(), LATER) == Steps()


def test_an_effect_without_a_claim_counts_as_claimed_when_it_was_announced(
    announced: World,
) -> None:
    """As lines of older gitbots."""
    record = record_of(announced)
    assert record.claim is not None
    assert claim_expires_at(record) == FENCE.settles_at(record.claim.until)
    old = record.replace(claim=None)
    assert claim_expires_at(old) == FENCE.settles_at(NOW + FENCE.send)


def test_only_a_claim_of_this_process_is_unsent(announced: World) -> None:
    record = record_of(announced)
    assert record.claim is not None
    own = frozenset({(record.migration, record.claim.epoch)})
    look = view_of(announced)
    assert is_unsent(look.replace(unsent=own), record)
    assert not is_unsent(look, record)
    assert not is_unsent(look.replace(unsent=own), record.replace(claim=None))
    assert not is_unsent(look.replace(unsent=frozenset({(record.migration, 7)})), record)


def test_a_claim_names_the_line_that_it_was_decided_on(announced: World) -> None:
    record = record_of(announced)
    look = view_of(announced)
    last = announced.ledger.events[-1]
    assert isinstance(last, MoveChanged)
    last = last.replace(seq=41)
    known = look.replace(ledger=Ledger(events=(*announced.ledger.events, last)))
    claim = next_claim(known, record, ends=NOW + 10_000)
    assert (claim.judged, claim.epoch, claim.until) == (41, 2, NOW + FENCE.send)
    put_off = next_claim(known, record.replace(state=MoveState.WAITING), ends=NOW + 10_000)
    assert put_off.epoch == 2
    first = next_claim(look.replace(ledger=Ledger()), record.replace(claim=None), ends=NOW + 5)
    assert (first.judged, first.epoch, first.until) == (0, 1, NOW + 5)


def test_a_claim_that_is_given_back_is_good_no_longer(announced: World) -> None:
    event = create_of(announced.last).event.replace(seq=17, previous="sha256:1")
    back = release_claim(event, now=LATER)
    assert back.claim == Claim(
        executor=event.claim.executor,  # type: ignore[union-attr]
        epoch=1,
        judged=event.claim.judged,  # type: ignore[union-attr]
        until=0,
    )
    assert (back.seq, back.previous, back.time) == (0, "", LATER)
