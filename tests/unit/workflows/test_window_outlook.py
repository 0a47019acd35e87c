"""Which windows are at risk, and when the next one opens, on the simulated cluster."""

import json

import pytest

from gitbot.cli.shared.status_page import table
from gitbot.execution.request_records import fold_requests
from gitbot.model.ledger.events import MoveApproved, MoveState
from gitbot.model.text.instants import parse_instant
from gitbot.workflows.apply import cancel, hold, resume
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.ask import WindowOutlook, status, window_outlook
from gitbot.workflows.ask.next_openings import needs_nothing, next_openings
from gitbot.workflows.ask.window_outlook import NearWindow
from gitbot.workflows.core.context import base_head
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD
from tests.unit.workflows.story import Story

START = parse_instant("2026-12-06T21:00:00Z")
DAY = 86_400
ANNOUNCED = START - 3 * DAY
DRAIN = "drain/rack/20261206T210000Z"


def window(duration: str = "PT4H", more: str = "", node: str = "kni-worker") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [{node}]}}
  schedule: {{start: "2026-12-06T22:00", timeZone: Europe/Madrid, duration: {duration}}}
  drain: {{lead: PT0S, cordon: Gitbot}}
{more}"""


def at(story: Story, instant: int) -> WindowOutlook:
    story.port.sleep(instant - story.port.now())
    found = reconcile(story.shell).windows
    assert found is not None
    return found


def named(found: tuple[object, ...]) -> list[str]:
    return [str(request) for request in found]


def merged(text: str) -> Story:
    story = Story.begin(step=1, rack=text)
    at(story, ANNOUNCED)
    story.merge()
    return story


def test_a_drain_that_nobody_merged_is_at_risk_from_a_day_before_to_the_end() -> None:
    story = Story.begin(step=1, rack=window())
    risks = [
        named(at(story, time).unmerged)
        for time in (ANNOUNCED, START - DAY - 1, START - DAY, START + 60, START + 4 * 3600)
    ]
    assert risks == [[], [], [DRAIN], [DRAIN], []]


def test_the_next_opening_is_not_at_risk_while_a_cancelled_one_is_open() -> None:
    weekly = window().replace("duration: PT4H", "duration: PT4H, recurrence: FREQ=WEEKLY")
    story = merged(weekly)
    at(story, START - 60)
    cancel(story.shell, request=DRAIN, reason="not tonight", by="ann")
    at(story, START + 60)
    assert [str(item.request) for item in status(story.shell).openings] != [DRAIN]
    assert not status(story.shell).at_risk
    week = 7 * DAY
    assert not at(story, START + week - DAY - 60).unmerged
    assert len(at(story, START + week - DAY).unmerged) == 1


def test_a_merge_in_time_ends_the_risk_and_the_window_is_known_until_it_ends() -> None:
    story = Story.begin(step=1, rack=window())
    near = (NearWindow(name="rack", start=START, request=DRAIN),)
    assert not at(story, START - DAY - 1).near
    assert at(story, START - DAY) == WindowOutlook(
        next_start=START, near=near, unmerged=at(story, START - DAY).unmerged
    )
    story.merge()
    assert at(story, START - DAY + 60) == WindowOutlook(next_start=START, near=near)
    assert at(story, START + 60) == WindowOutlook(next_start=START)
    assert at(story, START + 4 * 3600) == WindowOutlook()


def test_empty_nodes_and_freezes_need_no_merge() -> None:
    freeze = window().replace("MaintenanceWindow", "FreezeWindow").split("  nodes:")[0]
    freeze += """  selector: {matchLabels: {none: such}}
  reason: quarter end
  schedule: {start: "2026-12-05T22:00", timeZone: Europe/Madrid, duration: PT4H}
"""
    external = window(node="kni-worker2").replace("Gitbot", "External")
    story = Story.begin(rack=external, freeze=freeze)
    assert "kni-worker2" not in story.where().values()
    assert at(story, START - DAY + 60) == WindowOutlook(next_start=START)
    cordoned = Story.begin(rack=window(node="kni-worker2"))
    assert named(at(cordoned, START - DAY + 60).unmerged) == [DRAIN], "that needs a merge"


def test_the_next_opening_of_empty_nodes_needs_nothing_while_this_one_is_open() -> None:
    weekly = window(node="kni-worker2").replace("Gitbot", "External")
    story = Story.begin(rack=weekly.replace("PT4H}", "PT4H, recurrence: FREQ=WEEKLY}"))
    base, seen = story.shell.read_base(base_head(story.shell)), story.port.snapshot()
    now = START + 60
    (this,) = next_openings(base, {}, (), now=now)
    assert this.request is not None
    (later,) = next_openings(base, {}, (), now=now, ended={this.request})
    assert later.open.start == START + 7 * DAY
    assert needs_nothing(base, later, seen, now=now)


@pytest.mark.parametrize("overrun", ["", "  overrun: Finish\n"])
def test_a_move_that_expired_is_late_until_the_window_is_over(overrun: str) -> None:
    story = merged(window("PT1H", overrun))
    assert not at(story, START - 60).late
    hold(story.shell, reason="the storage is slow", by="ann")
    assert not at(story, START + 1800).late
    assert named(at(story, START + 3600 - 15).late) == [DRAIN]  # no estimate is below 20 s
    (risk,) = status(story.shell).at_risk
    assert (risk.request, risk.next_command) == (DRAIN, "gitbot explain --window rack")
    assert "At risk:\n" + DRAIN in table(status(story.shell))
    assert not at(story, START + 3600).late
    assert not status(story.shell).at_risk


def test_status_says_who_must_merge_before_a_window_opens() -> None:
    story = Story.begin(step=1, rack=window())
    at(story, START - DAY)
    (risk,) = status(story.shell).at_risk
    (pull,) = story.pulls()
    assert risk.reason == "nobody has approved it, and it begins at 2026-12-06T21:00:00Z"
    assert risk.next_command == f"review and merge {pull.url or f'pull request {pull.number}'}"
    assert "at Sun 2026-12-06 22:00" in table(status(story.shell))
    story.merge()
    reconcile(story.shell)
    assert not status(story.shell).at_risk


def test_an_opening_whose_drain_has_ended_is_not_ahead() -> None:
    story = merged(window("PT1H"))
    hold(story.shell, reason="the storage is slow", by="ann")
    at(story, START + 60)
    assert [item.request for item in status(story.shell).openings] == [DRAIN]
    at(story, START + 3600 - 1)
    (drain,) = status(story.shell).requests
    assert drain.record.finished
    assert status(story.shell).openings == ()


@pytest.mark.parametrize(("finish", "late"), [(False, [DRAIN]), (True, [])])
def test_a_group_that_has_started_may_finish_later(finish: bool, late: list[str]) -> None:
    text = window("PT1H", "  overrun: Finish\n" if finish else "", node="kni-worker2")
    story = merged(text)
    at(story, START - 60)
    hold(story.shell, reason="the storage is slow", by="ann")
    seen, base = story.shell.cluster.snapshot(), story.shell.read_base(base_head(story.shell))
    ledger = story.store.read()
    approved = read_approvals(story.shell, base, ledger).approved
    begun = [event for event in ledger.requests("iberia") if isinstance(event, MoveApproved)]
    moved = fold_requests(ledger, "iberia")[begun[0].request].moves[begun[0].move]
    created = moved.event(
        "iberia", START + 3500, MoveState.CREATED, attempt=1, migration="customapp/gitbot-1"
    )
    intended = created.replace(state=MoveState.INTENDED)
    told = ledger.replace(events=(*ledger.events, intended, created))
    found = window_outlook(base, told, approved, seen, now=START + 3500)
    assert named(found.late) == late


def test_what_is_done_or_cancelled_is_not_late() -> None:
    story = merged(window("PT1H"))
    at(story, START)
    assert "kni-worker" not in story.where().values()
    assert not at(story, START + 3600 - 15).late


def test_a_hold_that_is_lifted_in_time_leaves_no_risk() -> None:
    story = merged(window("PT1H"))
    hold(story.shell, reason="the storage is slow", by="ann")
    at(story, START + 1800)
    resume(story.shell, reason="", by="ann")
    assert not at(story, START + 1860).late
    assert "kni-worker" not in story.where().values()


def test_moves_are_late_together_while_each_of_them_still_fits() -> None:
    story = merged(window("PT1H", node="kni-worker, kni-worker2"))
    at(story, START - 60)
    ledger = story.store.read()
    (moves,) = [json.loads(data)["moves"] for data in ledger.plans.values()]
    each = [move["estimatedSeconds"] for move in moves]
    assert len(each) == 2, "one node after the other"
    hold(story.shell, reason="the storage is slow", by="ann")
    left = START + 3600 - sum(each)
    assert max(each) < sum(each) - 1
    assert not at(story, left).late
    assert named(at(story, left + 1).late) == [DRAIN]
    states = {event.state for event in story.store.read().requests("iberia")}
    assert states == {"approved"}
