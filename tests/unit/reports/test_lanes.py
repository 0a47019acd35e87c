"""The timeline of the report: lanes, bars in their own time, what is shaded, local time."""

import itertools
from dataclasses import replace

import pytest

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, MoveRef, NodeRef
from gitbot.model.plan.problem import Freeze
from gitbot.model.text.instants import Interval
from gitbot.reports import Conditions, Diff, PlanConditions
from gitbot.reports.html.timeline import MAX_LANES, WIDTH, Timeline, timeline
from tests.unit.reports.plans import PLAN, RULE, STARTS, move
from tests.unit.reports.test_diff import diff

DRAIN = RequestId.read("drain/tonight/20251205T210000Z")
HOUR = 3600


def drain(nodes: int, each: int = 2) -> tuple[Move, ...]:
    """`each` moves off a node, all at once, the nodes one after the other."""
    return tuple(
        replace(
            move(node * each + number + 1, name=f"db-{node}-{number}"),
            request=DRAIN,
            group=f"{DRAIN}/node-{node:02}",
            source=NodeRef(node=f"node-{node:02}", zone="ab"[node % 2]),
            starts=STARTS + node * 300,
            after=(MoveRef(request=DRAIN, id=(node - 1) * each + 1),) if node else (),
        )
        for node in range(nodes)
        for number in range(each)
    )


def drawn(
    moves: tuple[Move, ...], *, now: int = STARTS, outlook: PlanConditions | None = None
) -> Timeline:
    made: Diff = diff(replace(PLAN, moves=moves, waves=()), outlook=outlook)
    found = timeline(replace(made, now=now))
    assert found is not None
    return found


def test_a_row_for_each_node_and_each_request() -> None:
    made = drawn((*drain(3), move(9)))
    labels = [lane.label for lane in made.lanes]
    assert labels == ["node-00", "node-01", "node-02", "customapp/db-to-scu"]
    assert [len(lane.bars) for lane in made.lanes] == [2, 2, 2, 1]
    assert not made.by_zone


def test_bars_have_the_times_of_their_moves() -> None:
    first, second = drawn(drain(2)).lanes
    middle = (first.bars[0].x + WIDTH) // 2  # 300 s of 600 s
    assert [bar.x for bar in second.bars] == [middle, middle]
    assert first.bars[0].y != first.bars[1].y  # both run at once
    assert second.bars[0].name == (
        "customapp/db-1-0: node-01 to kni-worker2, 21:05-21:10, 16 GiB, after customapp/db-0-0"
    )


def test_no_two_bars_overlap_and_all_are_inside() -> None:
    made = drawn(drain(MAX_LANES, 3))
    for above, below in itertools.pairwise(made.lanes):
        assert above.y + above.height < below.y
    for lane in made.lanes:
        for left, right in itertools.combinations(lane.bars, 2):
            assert left.y != right.y or left.x + left.width <= right.x
        for bar in lane.bars:
            assert made.left <= bar.x < bar.x + bar.width <= made.width
            assert lane.y <= bar.y < bar.y + made.bar_height <= lane.y + lane.height


@pytest.mark.parametrize(
    ("nodes", "labels"),
    [
        (MAX_LANES, [f"node-{node:02}" for node in range(MAX_LANES)]),
        (MAX_LANES + 1, ["zone a (21 nodes)", "zone b (20 nodes)"]),
    ],
)
def test_many_rows_are_folded_by_zone(nodes: int, labels: list[str]) -> None:
    made = drawn(drain(nodes))
    assert [lane.label for lane in made.lanes] == labels
    assert made.by_zone is (nodes > MAX_LANES)
    assert sum(len(lane.bars) for lane in made.lanes) == 2 * nodes


def test_window_freezes_and_now_are_shaded() -> None:
    conditions = Conditions(
        request=DRAIN,
        open=Interval(start=STARTS, end=STARTS + 48 * HOUR),
        freezes=(
            Freeze(
                intent=RULE,
                vms=frozenset({move().vm.namespaced_name}),
                times=(Interval(start=STARTS + 600, end=STARTS + 900),),
            ),
        ),
    )
    outlook = PlanConditions(conditions=(conditions,), zone="Europe/Madrid")
    made = drawn(drain(3), now=STARTS - 300, outlook=outlook)
    shades = {shade.kind: shade for shade in made.shades}
    assert {kind: shade.title for kind, shade in shades.items()} == {
        "open": "window open until Sun 2025-12-07 22:00",
        "frozen": "1 VM frozen until Fri 2025-12-05 22:15",
        "now": "now, Fri 2025-12-05 21:55",
    }
    wide = WIDTH - made.left
    assert shades["now"].x == made.left
    assert shades["open"].x == made.left + wide // 4  # now is 300 s before 900 s of moves
    assert shades["open"].x + shades["open"].width == WIDTH
    assert shades["frozen"].x == made.left + wide * 3 // 4
    assert len({shade.words for shade in made.shades}) == 3


@pytest.mark.parametrize("now", [STARTS - 9 * HOUR, STARTS + 9 * HOUR])
def test_a_present_that_is_far_away_does_not_squeeze_the_moves(now: int) -> None:
    assert drawn(drain(3), now=now) == replace(drawn(drain(3), now=now), shades=())


def test_the_axis_has_round_local_times() -> None:
    made = drawn(drain(3), outlook=PlanConditions(zone="Asia/Kolkata"))
    ticks = [(tick.text, tick.day) for tick in made.ticks]
    assert ticks[:3] == [("02:30", "Sat 2025-12-06"), ("02:32", ""), ("02:34", "")]
    late = drawn(drain(30), outlook=PlanConditions(zone="Asia/Kolkata"))
    assert [tick.text for tick in late.ticks][:3] == ["02:30", "03:00", "03:30"]
