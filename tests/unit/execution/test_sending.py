"""Why a creation that was decided is not sent any more: each reason alone, and the last moment."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.execution.claims import FENCE, TOO_LATE, with_claims
from gitbot.execution.executor_types import CreateMigration, ExecutorInput
from gitbot.execution.terminate import reason_not_to_send
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import Claim, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.instants import Interval
from tests.doubles.tiny_objects import tiny_instance as instance
from tests.unit.execution.scene import NOW, World, move

UNTIL = NOW + FENCE.send
OTHER = Claim(executor="other", epoch=2, judged=9, until=UNTIL)
AGAIN = Claim(executor="", epoch=2, judged=0, until=UNTIL)  # by the same one


def announced(**terms: Any) -> tuple[World, CreateMigration]:
    """The world after the lines were written."""
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"), **terms)
    written = world.ledger
    world.step()
    steps = with_claims(world.last, NOW)
    world.ledger = written.replace(events=(*written.events, *steps.events))
    (effect,) = steps.effects
    assert isinstance(effect, CreateMigration)
    return world, effect


def said(
    world: World, effect: CreateMigration, *, now: int = NOW, vmi: dict[str, Any] | None = None
) -> str:
    snapshot = ClusterSnapshot(cluster="prod", taken_at=NOW, objects={}, digest="")
    view = ExecutorInput(
        cluster="prod",
        now=NOW,
        ledger=Ledger(),
        approved=(effect.approved,),
        problem=PlacementProblem(cluster="prod", now=NOW, snapshot=snapshot),
        migrations=(),
        replay=world.replay,
    )
    found = instance("one", "a") if vmi is None else vmi
    return reason_not_to_send(view, world.ledger, effect, found or None, now)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"state": MoveState.CREATED}, "the move is created by now"),
        ({"migration": "db/of-another-attempt"}, "the move is intended by now"),
        ({"claim": OTHER}, "another executor claimed it"),
        ({"claim": AGAIN}, "another executor claimed it"),
    ],
)
def test_a_newer_line_of_the_move_stops_it(line: dict[str, Any], reason: str) -> None:
    world, effect = announced()
    assert said(world, effect) == ""
    world.ledger = world.ledger.replace(events=(*world.ledger.events, effect.event.replace(**line)))
    assert said(world, effect) == reason


def test_without_a_claim_nothing_is_sent() -> None:
    world, effect = announced()
    bare = effect.event.replace(claim=None)
    lines = tuple(item for item in world.ledger.events if item.state != "intended")
    world.ledger = world.ledger.replace(events=(*lines, bare))
    assert said(world, effect.replace(event=bare)) == "another executor claimed it"


def test_a_request_that_is_cancelled_or_not_there_is_not_sent() -> None:
    world, effect = announced()
    assert said(World.of(), effect) == "the request was cancelled"
    other = effect.replace(move=replace(effect.move, id=7))
    assert said(world, other) == "the request was cancelled"
    world.cancel("request/db/one")
    assert said(world, effect) == "the request was cancelled"


@pytest.mark.parametrize(
    ("vmi", "reason"),
    [
        ({}, "the VM is gone or was restarted"),
        ({"metadata": {"uid": "another"}}, "the VM is gone or was restarted"),
        ({"status": {"nodeName": "c"}}, "the VM left a for c"),
        ({"status": {}}, "the VM left a for no known node"),
    ],
)
def test_a_vm_that_is_not_as_decided_is_not_moved(vmi: dict[str, Any], reason: str) -> None:
    world, effect = announced()
    assert said(world, effect, vmi={**instance("one", "a"), **vmi} if vmi else {}) == reason


@pytest.mark.parametrize(("now", "reason"), [(UNTIL - 1, ""), (UNTIL, TOO_LATE)])
def test_a_claim_is_good_up_to_its_limit(now: int, reason: str) -> None:
    world, effect = announced()
    assert said(world, effect, now=now) == reason


@pytest.mark.parametrize(
    ("starts", "ends", "reason"),
    [
        (NOW - 60, NOW + 3600, ""),
        (NOW + 5, NOW + 3600, ""),
        (NOW + 6, NOW + 3600, "its allowed time is over"),
        (NOW - 60, NOW + 35, ""),
        (NOW - 60, NOW + 34, "its allowed time is over"),
    ],
)
def test_nothing_is_sent_outside_its_time(starts: int, ends: int, reason: str) -> None:
    """At five seconds from now; a migration takes 30."""
    world, effect = announced()
    terms = effect.approved.terms.replace(allowed=(Interval(start=starts, end=ends),))
    approved = replace(effect.approved, terms=terms)
    assert said(world, effect.replace(approved=approved), now=NOW + 5) == reason
