"""A claim is good for one request, until the first of two clocks says that its time is over."""

from dataclasses import replace

import pytest

from gitbot.execution.claims import FENCE, TOO_LATE, with_claims
from gitbot.execution.executor_types import CreateMigration, Steps
from gitbot.model.ledger.events import Claim, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.apply.held_claims import HeldClaim, HeldClaims
from tests.doubles.stage import Stage
from tests.doubles.tiny_cluster import NOW
from tests.unit.execution.scene import World, move

UNTIL = NOW + FENCE.send


def announced() -> tuple[Steps, CreateMigration]:
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"))
    world.step()
    steps = with_claims(world.last, NOW)
    (effect,) = steps.effects
    assert isinstance(effect, CreateMigration)
    return steps, effect


def a_ticket(*, clock: int, timer: float) -> HeldClaim:
    _, effect = announced()
    stage = Stage.of(nodes={}, vms={})
    stage.clock.present = clock
    shell = replace(stage.shell, seconds=lambda: timer)
    return HeldClaim(event=effect.event, shell=shell, began=0)


@pytest.mark.parametrize(
    ("clock", "timer", "late"),
    [
        (UNTIL - 1, FENCE.send - 0.1, False),
        (UNTIL, 0, True),
        (NOW, FENCE.send, True),
        (NOW - 9999, FENCE.send + 1, True),
    ],
)
def test_the_first_clock_that_passes_the_limit_ends_a_claim(
    clock: int, timer: float, late: bool
) -> None:
    ticket = a_ticket(clock=clock, timer=timer)
    assert ticket.late() is late
    assert (ticket.gate(), ticket.sent) == ((TOO_LATE, False) if late else ("", True))


def test_what_passed_the_gate_is_on_its_way_until_it_is_answered() -> None:
    steps, effect = announced()
    tickets = HeldClaims()
    tickets.hold(Stage.of(nodes={}, vms={}).shell, steps.effects, began=NOW)
    key = (effect.event.migration, 1)
    assert tickets.unsent == {key}
    assert tickets.of(effect).gate() == ""
    assert tickets.unsent == frozenset()
    tickets.of(effect).refused()
    assert tickets.unsent == {key}


@pytest.mark.parametrize(("sent", "asks"), [(2, True), (3, False)])
def test_a_migration_that_three_requests_did_not_make_is_asked_for_no_more(
    sent: int, asks: bool
) -> None:
    _, effect = announced()
    tickets, stage = HeldClaims(), Stage.of(nodes={}, vms={})
    for epoch in range(1, 5):
        claim = Claim(executor="e", epoch=epoch, judged=0, until=UNTIL)
        again = effect.replace(event=effect.event.replace(claim=claim))
        tickets.hold(stage.shell, (again,), began=stage.shell.timer())
        tickets.of(again).sent = epoch <= sent
    assert tickets.unanswered == (frozenset() if asks else {effect.event.migration})


def test_without_a_claim_there_is_no_ticket() -> None:
    _, effect = announced()
    tickets = HeldClaims()
    bare = effect.replace(event=effect.event.replace(claim=None))
    tickets.hold(Stage.of(nodes={}, vms={}).shell, (bare,), began=NOW)
    assert tickets.known == {}


@pytest.mark.parametrize(
    ("newest", "sent", "given"),
    [
        ({}, False, [("intended", 0)]),
        ({}, True, []),
        ({"state": MoveState.CREATED, "claim": None}, False, []),
        ({"claim": Claim(executor="other", epoch=2, judged=9, until=UNTIL)}, False, []),
        ({"migration": "db/of-another-attempt"}, False, []),
    ],
)
def test_only_an_unsent_claim_that_is_still_the_last_one_is_given_back(
    newest: dict[str, object], sent: bool, given: list[tuple[str, int]]
) -> None:
    steps, effect = announced()
    tickets = HeldClaims()
    tickets.hold(Stage.of(nodes={}, vms={}).shell, steps.effects, began=NOW)
    tickets.of(effect).sent = sent
    more = (effect.event.replace(**newest),) if newest else ()
    ledger = Ledger(events=(*steps.events, *more))
    back = tickets.given_back(ledger, "prod", now=NOW + 3)
    assert [(event.state, event.claim and event.claim.until) for event in back] == given


def test_of_a_move_that_the_ledger_does_not_have_nothing_is_given_back() -> None:
    steps, effect = announced()
    tickets = HeldClaims()
    event = effect.event.replace(move=7)
    tickets.hold(Stage.of(nodes={}, vms={}).shell, (effect.replace(event=event),), began=NOW)
    assert tickets.given_back(Ledger(events=steps.events), "prod", now=NOW) == ()
