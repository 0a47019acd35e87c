"""Notices: each webhook is told what a person must do or has lost, once, and stops nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gitbot.calendar import clock_time
from gitbot.errors import NoticeError
from gitbot.model.text.instants import parse_instant
from gitbot.workflows.apply import hold, resume
from gitbot.workflows.check import publish
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.watch import notices, reconcile
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, Story

ONCALL = "  notify:\n  - {name: oncall}\n"
BRANCH = f"gitbot/notices/{CLUSTER}"


@dataclass
class Webhook:
    """Takes notices, unless it is down."""

    down: bool = False
    took: list[Mapping[str, Any]] = field(default_factory=list)
    keys: list[tuple[str, str]] = field(default_factory=list)

    def send(self, name: str, key: str, body: bytes) -> None:
        if self.down:
            raise NoticeError(f"webhook {name} does not answer")
        self.took.append(json.loads(body))
        self.keys.append((name, key))

    @property
    def events(self) -> list[str]:
        return [each["event"] for each in self.took]


def shell(story: Story, hook: Webhook) -> RunContext:
    return replace(story.shell, notifier=hook, zone="Europe/Madrid")


def begun(settings: str = ONCALL) -> tuple[Story, Webhook]:
    """A story whose webhooks have been told all that there is: nothing."""
    story, hook = Story.begin(settings=settings), Webhook()
    reconcile(shell(story, hook))
    return story, hook


def asked_and_merged(story: Story) -> None:
    story.open(jump=REQUEST)
    number = max(pull.number for pull in story.pulls())
    publish(story.shell, number=number)
    story.merge(number)


def test_a_proposal_a_hold_and_its_end_are_told_once() -> None:
    story, hook = begun()
    story.commit(db=RULE)
    reconcile(shell(story, hook))
    hold(story.shell, reason="the storage is \x1b[31mslow", by="ann")
    reconcile(shell(story, hook))
    resume(story.shell, reason="", by="ann")
    for _ in range(2):
        reconcile(shell(story, hook))
    assert hook.events == ["Proposed", "Stopped", "Resumed"]
    proposed, stopped, _ = hook.took
    assert proposed["pullRequest"] == 1
    assert proposed["text"].startswith(f"{CLUSTER}: pull request 1 wants a merge")
    assert stopped["text"].startswith(f"{CLUSTER}: gitbot starts nothing more: the storage is ")
    assert "\x1b" not in stopped["text"]
    assert len(set(hook.keys)) == 3


def test_what_happened_before_a_webhook_was_configured_is_not_told() -> None:
    story = Story.begin(settings="  notify: []\n")
    asked_and_merged(story)
    reconcile(story.shell)
    text = story.repository.read_blob("main", ".gitbot.yaml")
    assert text is not None
    told = text.decode().replace("  notify: []\n", "  notify: [{name: all, events: [Moved]}]\n")
    story.commit(**{".gitbot.yaml": told})
    hook = Webhook()
    reconcile(shell(story, hook))
    assert hook.took == []


def test_a_move_is_told_to_those_of_its_namespace_who_want_it() -> None:
    story, hook = begun(
        "  notify:\n"
        "  - {name: theirs, events: [Moved], namespaces: ['custom*']}\n"
        "  - {name: others, events: [Moved], namespaces: [db]}\n"
        "  - {name: oncall}\n"
    )
    asked_and_merged(story)
    reconcile(shell(story, hook))
    ((name, _),) = hook.keys
    (moved,) = hook.took
    assert name == "theirs"
    assert moved["vm"] == "customapp/jumpbox"
    assert moved["request"] == "request/customapp/jump"
    assert moved["text"] == f"{CLUSTER}: customapp/jumpbox moved from kni-worker to kni-worker5"


def test_a_webhook_that_is_down_is_told_later_and_stops_no_move() -> None:
    story, hook = begun("  notify: [{name: all, events: [Moved]}]\n")
    hook.down = True
    asked_and_merged(story)
    assert reconcile(shell(story, hook)).applied.states == {"succeeded": 1}
    assert "webhook all does not answer" in story.lines
    hook.down = False
    for _ in range(2):
        reconcile(shell(story, hook))
    assert hook.events == ["Moved"]


def test_a_notice_that_was_sent_but_not_noted_is_sent_again_with_its_key() -> None:
    story, hook = begun("  notify: [{name: all, events: [Moved]}]\n")
    noted = story.repository.resolve(BRANCH)
    before = story.repository.read_blob(BRANCH, notices.FILE)
    assert noted is not None
    asked_and_merged(story)
    reconcile(shell(story, hook))
    story.repository.write_commit(
        branch=BRANCH,
        expected=story.repository.resolve(BRANCH),
        files={notices.FILE: before},
        message="killed before",
        time=story.port.now(),
        orphan=True,
    )
    reconcile(shell(story, hook))
    assert hook.events == ["Moved", "Moved"]
    assert len(set(hook.keys)) == 1


def test_many_are_told_over_some_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "MOST", 1)
    story, hook = begun()
    hold(story.shell, reason="one", by="ann")
    resume(story.shell, reason="", by="ann")
    for _ in range(3):
        reconcile(shell(story, hook))
    assert hook.events == ["Stopped", "Resumed"]


def test_a_damaged_note_begins_anew_and_tells_nothing_old() -> None:
    story, hook = begun()
    hold(story.shell, reason="one", by="ann")
    story.repository.write_commit(
        branch=BRANCH,
        expected=story.repository.resolve(BRANCH),
        files={notices.FILE: b'["x"'},
        message="damaged",
        time=story.port.now(),
        orphan=True,
    )
    reconcile(shell(story, hook))
    assert hook.took == []
    resume(story.shell, reason="", by="ann")
    reconcile(shell(story, hook))
    assert hook.events == ["Resumed"]


def test_a_quiet_pass_writes_nothing() -> None:
    story, hook = begun()
    before = story.writes()
    assert reconcile(shell(story, hook)).did_nothing
    assert story.writes() == before


def test_notices_are_about_the_ledger_that_the_pass_has_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story, hook = begun()
    hold(story.shell, reason="one", by="ann")
    run = shell(story, hook)
    story.store.read()

    def again() -> None:
        raise AssertionError("one more fetch of the repository")

    monkeypatch.setattr(story.store, "read", again)
    notices.send_notices(run)
    assert hook.events == ["Stopped"]


WINDOW = f"""\
{HEAD}kind: MaintenanceWindow
metadata: {{name: night}}
spec:
  schedule: {{start: "2026-12-09T22:00:00", duration: PT4H, timeZone: UTC}}
  nodes: {{names: [kni-worker]}}
"""


def at(story: Story, moment: str) -> None:
    story.cluster.advance(parse_instant(moment) - story.port.now())
    story.cluster.settle()


def test_a_window_is_told_before_it_opens_and_again_if_nobody_approves_it() -> None:
    story, hook = begun("  notify:\n  - {name: all, events: [WindowSoon, WindowAtRisk]}\n")
    story.commit(night=WINDOW)
    at(story, "2026-12-08T21:00:00Z")
    reconcile(shell(story, hook))
    assert hook.events == []
    at(story, "2026-12-08T22:30:00Z")
    for _ in range(2):
        reconcile(shell(story, hook))
    assert hook.events == ["WindowSoon", "WindowAtRisk"]
    soon, risk = hook.took
    assert soon["text"] == (
        f"{CLUSTER}: maintenance window night opens at Wed 2026-12-09 23:00 Europe/Madrid"
    )
    assert (soon["severity"], risk["severity"]) == ("Info", "Error")
    assert risk["text"].startswith(f"{CLUSTER}: {risk['request']} will miss its window: nobody has")


def test_a_broken_rule_is_told_after_an_hour_and_again_when_it_breaks_again() -> None:
    story, hook = begun("  notify: [{name: all, events: [RuleBroken]}]\n")
    story.commit(db=RULE)
    reconcile(shell(story, hook))
    assert hook.events == []
    story.cluster.advance(3700)
    for _ in range(2):
        reconcile(shell(story, hook))
    (broken,) = hook.took
    assert broken["severity"] == "Error"
    assert "ZoneAntiAffinity customapp/mssql2016 has been broken since" in broken["text"]


def test_the_rest_of_a_day_is_one_notice_in_the_morning() -> None:
    story, hook = begun("  notify: [{name: all, dailyAt: '08:00'}]\n")
    asked_and_merged(story)
    reconcile(shell(story, hook))
    assert hook.events == []
    story.cluster.advance(86_400)
    for _ in range(2):
        reconcile(shell(story, hook))
    (day,) = hook.took
    assert day["event"] == "Daily"
    first, approved, moved = day["text"].split("\n")
    assert first == f"{CLUSTER}: what happened since the last notice of a day"
    assert approved == "- customapp/jumpbox will move, by request/customapp/jump"
    assert moved == "- customapp/jumpbox moved from kni-worker to kni-worker5"


def test_monday_brings_the_week() -> None:
    story, hook = begun("  notify: [{name: boss, events: [Weekly]}]\n")
    asked_and_merged(story)
    reconcile(shell(story, hook))
    assert hook.events == []
    story.cluster.advance(7 * 86_400)
    for _ in range(2):
        reconcile(shell(story, hook))
    (week,) = hook.took
    assert week["text"] == (
        f"{CLUSTER}: the week: 1 VM moved; 0 moves failed; broken now: 0 required rules; "
        "next window: none"
    )


def test_a_merge_that_approves_nothing_is_told_once() -> None:
    settings = "  notify: [{name: all, events: [NotApproved]}]\n"
    story, hook = Story.begin(settings=settings, reviews_required=1), Webhook()
    story.forge.enforced = False  # an administrator merges without the review
    reconcile(shell(story, hook))
    asked_and_merged(story)
    for _ in range(2):
        reconcile(shell(story, hook))
    (refused,) = hook.took
    assert refused["pullRequest"] == 1
    assert refused["reason"]


def test_what_happens_outside_the_hours_waits_or_is_dropped() -> None:
    hours = "hours: {start: '%02d:00', end: '%02d:00'%s}"
    now = clock_time(Story.begin().port.now(), "Europe/Madrid").hour
    later = ((now + 3) % 24, (now + 6) % 24)
    wait, drop = hours % (*later, ""), hours % (*later, ", outside: Drop")
    story, hook = begun(
        "  notify:\n"
        f"  - {{name: waits, events: [Stopped], {wait}}}\n"
        f"  - {{name: drops, events: [Stopped], {drop}}}\n"
    )
    hold(story.shell, reason="one", by="ann")
    reconcile(shell(story, hook))
    assert hook.keys == []
    story.cluster.advance(4 * 3600)
    for _ in range(2):
        reconcile(shell(story, hook))
    assert [name for name, _ in hook.keys] == ["waits"]


def test_owners_get_the_notices_of_their_namespaces_alone() -> None:
    story, hook = begun(
        "  owners:\n"
        "  - {paths: [intents], namespaces: ['*'], teams: ['@acme/sre']}\n"
        "  - {paths: [apps], namespaces: [customapp], teams: ['@acme/apps']}\n"
        "  notify:\n"
        "  - {name: apps, events: [Stopped], owners: ['@acme/apps']}\n"
        "  - {name: sre, events: [Stopped], owners: ['@acme/sre'], severity: Error}\n"
    )
    hold(story.shell, reason="one", by="ann")
    reconcile(shell(story, hook))
    assert [name for name, _ in hook.keys] == ["apps"]


def test_no_notice_of_a_quiet_pass_is_written_again_on_the_next_day() -> None:
    story, hook = begun("  notify: [{name: all}, {name: boss, events: [Weekly]}]\n")
    before = story.repository.resolve(BRANCH)
    story.cluster.advance(3600)
    reconcile(shell(story, hook))
    assert story.repository.resolve(BRANCH) == before


def test_a_daily_notice_that_is_new_tells_nothing_of_before() -> None:
    story, hook = begun("  notify: [{name: all, events: [Stopped]}]\n")
    asked_and_merged(story)
    reconcile(shell(story, hook))
    text = story.repository.read_blob("main", ".gitbot.yaml")
    assert text is not None
    told = text.decode().replace("events: [Stopped]", "events: [Stopped], daily: [Moved]")
    story.commit(**{".gitbot.yaml": told})
    reconcile(shell(story, hook))
    story.cluster.advance(86_400)
    reconcile(shell(story, hook))
    assert hook.took == []
