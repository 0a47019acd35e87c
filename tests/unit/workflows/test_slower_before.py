"""A move whose VM took much longer the last time is said in the next plan."""

import json
from dataclasses import replace

import pytest

from gitbot.calendar import format_duration
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.plan.findings import Severity
from gitbot.model.text.instants import format_instant
from gitbot.published import plan_digest
from gitbot.reports import terminal
from gitbot.workflows.apply import apply
from gitbot.workflows.check import publish
from gitbot.workflows.ledger.request_history import request_history
from gitbot.workflows.propose import propose
from gitbot.workflows.simulate import Simulation
from tests.doubles.intents import HEAD, REQUEST
from tests.unit.workflows.story import CLUSTER, Story

JUMPBOX = NamespacedName(namespace="customapp", name="jumpbox")
BACK = REQUEST.replace("name: jump,", "name: again,").replace("kni-worker5", "kni-worker2")
DRAIN = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: out}}
spec:
  nodes: {{names: [kni-worker5]}}
  drain: {{cordon: Gitbot}}
"""


def moved(seconds: int) -> Story:
    """The jumpbox has moved to kni-worker5, and that took this long."""
    story = Story.begin()
    story.cluster.set_dials(copy_minimum=seconds)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    for _ in range(100):
        if not apply(story.shell).unfinished:
            break
        story.cluster.advance(10)
    return story


@pytest.mark.parametrize("seconds", [1, 400])
def test_a_slow_migration_is_remembered(seconds: int) -> None:
    story = moved(seconds)
    took = request_history(story.store.read(), CLUSTER).took
    assert took.keys() == {JUMPBOX}
    assert took[JUMPBOX].count == 1
    assert seconds <= took[JUMPBOX].seconds <= seconds + 120
    again = story.open(branch="again", again=BACK)
    found = publish(story.shell, number=again.number).check.all_findings
    said = [item for item in found if item.code == "plan/slower-before"]
    assert len(said) == (seconds == 400)
    for item in said:
        assert item.severity is Severity.NOTE
        assert item.message.startswith("customapp/jumpbox: its last migration took ")
        (comment,) = story.forge.list_comments(again.number)
        assert item.message in comment.body


def test_the_bot_shows_how_long_the_last_migration_took() -> None:
    story = moved(400)
    took = request_history(story.store.read(), CLUSTER).took[JUMPBOX].seconds
    story.commit(out=DRAIN)
    propose(story.shell)
    (pull,) = story.pulls()
    (comment,) = story.forge.list_comments(pull.number)
    assert f"its last migration took {format_duration(took)}" in comment.body
    assert f"s; last took {took} s (1 move)" in comment.body
    assert "(1 move took much longer before)" in comment.body


def test_a_simulated_drain_rests_on_what_a_plan_rests_on() -> None:
    story = moved(400)
    past = request_history(story.store.read(), CLUSTER)
    head = story.repository.resolve("main")
    assert head is not None
    revision = story.shell.read_base(head).revision
    asked = Simulation(story.port.snapshot(), now=story.port.now(), revision=revision, past=past)
    took = format_duration(past.took[JUMPBOX].seconds)
    assert asked.drain(["kni-worker5"]).estimate == (
        "at 64 MiB/s a migration (1 move took much longer before)",
        f"customapp/jumpbox last took {took} (1 move in the ledger)",
    )
    alone = Simulation(story.port.snapshot(), now=story.port.now()).drain(["kni-worker5"])
    assert "there is no repository with a ledger" in alone.estimate[1]


def test_what_is_remembered_is_beside_the_plan_and_warns_of_its_end() -> None:
    story = moved(400)
    deadline = format_instant(story.port.now() + 200)
    again = story.open(branch="again", again=f'{BACK}  deadline: "{deadline}"\n')
    shown = publish(story.shell, number=again.number).check
    (late,) = [item for item in shown.all_findings if item.code == "plan/may-end-late"]
    assert late.severity is Severity.WARNING
    assert late.message.endswith(f"its time ends {deadline}")
    assert shown.judged is not None
    plan = shown.judged.plan
    (move,) = plan.moves
    assert move.estimated_seconds < 200
    bare = replace(move, checks=tuple(c for c in move.checks if c.name != "last-migration"))
    assert bare != move
    objects = [item.object for item in shown.judged.manifests]
    assert plan_digest(replace(plan, moves=(bare,)), objects) == shown.judged.digest
    (written,) = json.loads(shown.judged.file)["moves"]
    assert "last-migration" in {check["name"] for check in written["checks"]}
    assert f"{move.estimated_seconds}; last took " in terminal(shown.judged.diff, wide=True)
