"""What a move waits for, as the table, the page and the picture say it."""

from dataclasses import replace

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.model.plan.plan import MoveRef
from gitbot.model.plan.problem import Freeze
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import IntentRef
from gitbot.reports.conditions import Conditions, PlanConditions
from gitbot.reports.html.page import html
from gitbot.reports.html.timeline import timeline
from gitbot.reports.table import brief, terminal
from gitbot.reports.waits import awaited, waits_of
from tests.unit.reports.plans import PLAN, move
from tests.unit.reports.test_diff import diff

FIRST = move()
SECOND = replace(
    move(2, name="mssql-d"),
    after=(MoveRef(request=FIRST.request, id=FIRST.id),),
    after_return=True,
)
BOTH = replace(PLAN, moves=(replace(FIRST, after=()), SECOND))
WORDS = f"{SECOND.to.node} is back; {FIRST.vm.namespaced_name}"


def test_a_node_that_must_be_back_and_a_move_before_it() -> None:
    assert awaited(BOTH) == {SECOND.ref: WORDS}
    shown = diff(BOTH)
    assert "WAITS FOR" in terminal(shown)
    assert WORDS in terminal(shown)
    page = html(shown, templates=ShippedTexts().templates())
    assert "<th>waits for</th>" in page
    assert WORDS in page
    picture = timeline(shown)
    assert picture is not None
    (name,) = [bar.name for lane in picture.lanes for bar in lane.bars if "mssql-d" in bar.name]
    assert name.endswith(f"after {WORDS}")


def test_a_window_that_is_not_open_yet() -> None:
    shown = diff(BOTH)
    ahead = (Interval(start=shown.now + 60, end=shown.now + 3600),)
    outlook = PlanConditions(conditions=(Conditions(request=FIRST.request, allowed=ahead),))
    later = replace(shown, outlook=outlook)
    assert waits_of(later) == {FIRST.ref: "its window", SECOND.ref: WORDS}
    assert waits_of(replace(later, now=ahead[0].start)) == {SECOND.ref: WORDS}


def test_freeze_is_named_with_its_end() -> None:
    alone = replace(PLAN, moves=(replace(FIRST, after=()),))
    shown = diff(alone)
    vms = frozenset({FIRST.vm.namespaced_name})
    freezes = tuple(
        Freeze(
            intent=IntentRef(kind="FreezeWindow", namespace="", name=name),
            vms=vms,
            times=(Interval(start=shown.now + start, end=shown.now + end),),
            reason="books close",
        )
        for name, start, end in (
            ("second", 3600, 7200),
            ("quarter-close", -86_400, 3600),
            ("later", 9000, 9999),
        )
    )
    conditions = Conditions(request=FIRST.request, freezes=freezes)
    frozen = replace(shown, outlook=PlanConditions(conditions=(conditions,)))
    assert waits_of(frozen) == {FIRST.ref: "quarter-close ends; second ends"}
    lines = [text for label, text in frozen.lines if label == "waits"]
    names = ["frozen by quarter-close", "frozen by second"]
    assert [line.split(" until ")[0] for line in lines] == names
    assert lines[0].endswith(": books close")
    assert "waits: frozen by quarter-close until " in brief(frozen)
    picture = timeline(frozen)
    assert picture is not None
    (bar,) = [bar for lane in picture.lanes for bar in lane.bars]
    assert "after quarter-close ends" in bar.name


def test_no_column_if_nothing_waits() -> None:
    alone = replace(PLAN, moves=(replace(FIRST, after=()),))
    assert "WAITS FOR" not in terminal(diff(alone))
