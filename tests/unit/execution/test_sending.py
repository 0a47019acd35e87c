"""Why a creation that was decided is not sent any more: each reason alone, and the last moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitbot.execution.fence import FENCE, TOO_LATE, stamped
from gitbot.execution.sending import not_any_more
from gitbot.execution.values import CreateMigration, View
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.events import Claim, MoveState
from gitbot.model.instants import Interval
from gitbot.model.ledger import Ledger
from gitbot.model.problem import PlacementProblem
from tests.unit.execution.scene import NOW, World, instance, move

UNTIL = NOW + FENCE.send
OTHER = Claim(executor="other", epoch=2, judged=9, until=UNTIL)
AGAIN = Claim(executor="", epoch=2, judged=0, until=UNTIL)  # by the same one


def announced(**terms: Any) -> tuple[World, CreateMigration]:
    """The world after the lines were written."""
    world = World.of("a", "c", one="a")
    world.approve(move("one", "a", "c"), **terms)
    written = world.ledger
    world.step()
    steps = stamped(world.last, NOW)
    world.ledger = written.but(events=(*written.events, *steps.events))
    (effect,) = steps.effects
    assert isinstance(effect, CreateMigration)
    return world, effect


def said(
    world: World, effect: CreateMigration, *, now: int = NOW, vmi: dict[str, Any] | None = None
) -> str:
    snapshot = ClusterSnapshot(cluster="prod", taken_at=NOW, objects={}, digest="")
    view = View(
        cluster="prod",
        now=NOW,
        ledger=Ledger(),
        approved=(effect.approved,),
        problem=PlacementProblem(cluster="prod", now=NOW, snapshot=snapshot),
        migrations=(),
        replay=world.replay,
    )
    found = instance("one", "a") if vmi is None else vmi
    return not_any_more(view, world.ledger, effect, found or None, now)


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
    world.ledger = world.ledger.but(events=(*world.ledger.events, effect.event.but(**line)))
    assert said(world, effect) == reason


def test_without_a_claim_nothing_is_sent() -> None:
    world, effect = announced()
    bare = effect.event.but(claim=None)
    lines = tuple(item for item in world.ledger.events if item.state != "intended")
    world.ledger = world.ledger.but(events=(*lines, bare))
    assert said(world, effect.but(event=bare)) == "another executor claimed it"


def test_a_request_that_is_cancelled_or_not_there_is_not_sent() -> None:
    world, effect = announced()
    assert said(World.of(), effect) == "the request was cancelled"
    assert said(world, effect.but(move=replace(effect.move, id=7))) == "the request was cancelled"
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
    terms = effect.approved.terms.but(allowed=(Interval(start=starts, end=ends),))
    approved = replace(effect.approved, terms=terms)
    assert said(world, effect.but(approved=approved), now=NOW + 5) == reason
