"""`drain.lead: Auto` from the proposal to the moves, on the simulated cluster."""

import pytest

from gitbot.calendar import appointment_words
from gitbot.intents.calendar_events import Agenda
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import MoveApproved, MoveChanged
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.workflows.ask import status
from gitbot.workflows.check.scope import PlanningInputs
from gitbot.workflows.check.single_subject import check_one, judge_vm
from gitbot.workflows.ledger.kept_plans import plan_of
from gitbot.workflows.ledger.request_history import request_history
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD
from tests.unit.workflows.story import CLUSTER, Story

START = parse_instant("2026-12-06T21:00:00Z")
BEGINS = START - 15 * 60  # a few small VMs
ANNOUNCED = START - 12 * 3600 - 3 * 86_400
NODES = ("kni-worker", "kni-worker2")


def window(lead: str = "Auto", more: str = "") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [{", ".join(NODES)}]}}
  schedule: {{start: "2026-12-06T22:00", timeZone: Europe/Madrid, duration: PT4H}}
  drain: {{lead: {lead}, mode: Together, cordon: Gitbot}}{more}
"""


def at(story: Story, instant: int) -> None:
    story.port.sleep(instant - story.port.now())
    reconcile(story.shell)


def merged() -> Story:
    story = Story.begin(step=1, rack=window())
    at(story, ANNOUNCED)
    story.merge()
    reconcile(story.shell)
    return story


def approved(story: Story) -> set[tuple[tuple[int, int], ...]]:
    return {e.terms.allowed for e in story.store.read().events if isinstance(e, MoveApproved)}


def created(story: Story) -> list[int]:
    events = story.store.read().events
    return [e.time for e in events if isinstance(e, MoveChanged) and e.migration and not e.outcome]


def test_a_proposal_says_when_moves_begin_and_apply_begins_then() -> None:
    story = Story.begin(step=1, rack=window())
    at(story, ANNOUNCED - 60)
    assert not story.pulls()
    at(story, ANNOUNCED)
    (pull,) = story.pulls()
    (comment,) = story.forge.list_comments(pull.number)
    assert "moves may run from Sun 2026-12-06 21:45 on" in comment.body
    story.merge()
    at(story, BEGINS - 1)
    before = story.where()
    assert approved(story) == {((BEGINS, START + 4 * 3600),)}
    assert not created(story)
    at(story, BEGINS)
    assert min(created(story)) == BEGINS
    assert story.port.now() < START
    assert set(before.values()) & set(NODES)
    assert not set(story.where().values()) & set(NODES)


def test_ledger_and_plan_have_the_instant() -> None:
    story = merged()
    ledger = story.store.read()
    (digest,) = {e.digest for e in ledger.events if isinstance(e, MoveApproved)}
    document = plan_of(ledger, digest)
    assert document is not None
    assert set(document.plan.begins.values()) == {BEGINS}
    assert format_instant(BEGINS).encode() in ledger.plans[digest]


def test_status_calendar_and_explain_say_when() -> None:
    story = Story.begin(step=1, rack=window())
    revision = story.shell.read_base(story.repository.commit("main").id).revision
    vm = NamespacedName(namespace="customapp", name="jumpbox")

    def said() -> tuple[str, str, set[str]]:
        past = request_history(story.store.read(), CLUSTER)
        agenda = Agenda(intents=revision.intents, zone=revision.zone, begins=past.begins)
        (event,) = agenda.upcoming(now=story.port.now())
        evidence = PlanningInputs(snapshot=story.port.snapshot(), now=story.port.now(), past=past)
        verdict = judge_vm(revision, evidence, vm, nodes=NODES, added={})
        return (
            status(story.shell).openings[0].begin_words,
            appointment_words(event, now=story.port.now()).split("; ")[2],
            {row.says.partition(" (")[0] for row in verdict.rows if "leaves" in row.says},
        )

    at(story, ANNOUNCED)
    assert said() == (
        "",
        "moves from when its plan says, at most 12 h before",
        {"leaves service early enough to be ready in 3 d 12 h, at 2026-12-06T21:00:00Z"},
    )
    story.merge()
    reconcile(story.shell)
    begin, calendar, explained = said()
    assert begin == "Sun 2026-12-06 21:45 Europe/Madrid"
    assert calendar == "moves from Sun 6 Dec 21:45"
    assert all(words.endswith("at 2026-12-06T20:45:00Z") for words in explained)


def test_no_later_pass_decides_an_approved_lead_anew() -> None:
    """The VMs get much larger after the merge: a plan of now would begin earlier."""
    story = merged()
    for vmi in story.cluster.list("VirtualMachineInstance", "customapp"):
        vmi["spec"]["domain"]["memory"] = {"guest": "90Gi"}
    at(story, BEGINS - 3600)
    assert approved(story) == {((BEGINS, START + 4 * 3600),)}
    assert not created(story)
    revision = story.shell.read_base(story.repository.commit("main").id).revision
    past = request_history(story.store.read(), CLUSTER)
    evidence = PlanningInputs(snapshot=story.port.snapshot(), now=story.port.now(), past=past)
    judged = check_one(revision, evidence, window="rack").judged
    assert judged is not None
    assert min(move.starts for move in judged.plan.moves) == BEGINS


@pytest.mark.parametrize("lead", ["PT1H", "PT0S"])
def test_an_edit_of_the_lead_ends_the_approval(lead: str) -> None:
    story = merged()
    story.commit(rack=window(lead))
    at(story, BEGINS)
    assert not created(story)
    assert [pull.branch.rpartition("/")[2] for pull in story.pulls()] == [
        "drain-rack-20261206t210000z"
    ]


def test_a_merge_within_the_lead_begins_at_once_and_one_after_the_end_never() -> None:
    story = Story.begin(step=1, rack=window())
    at(story, BEGINS + 60)
    story.merge()
    at(story, BEGINS + 120)
    assert min(created(story)) == BEGINS + 120
    late = Story.begin(step=1, rack=window())
    at(late, START + 3600)
    late.merge()
    at(late, START + 4 * 3600)
    assert not created(late)


def test_a_window_whose_proposal_nobody_merged_says_that_it_moved_nothing() -> None:
    story = Story.begin(step=1, rack=window())
    at(story, ANNOUNCED)
    story.commit(rack=None)
    (gone,) = propose(story.shell).concerns
    said = "its window is over, was removed, or has no VM to move; nobody merged it: nothing moved"
    assert gone.reason == said
    late = Story.begin(step=1, rack=window())
    at(late, ANNOUNCED)
    late.port.sleep(parse_instant("2026-12-07T03:00:00Z") - late.port.now())
    (over,) = propose(late.shell).concerns
    assert over.reason == said
