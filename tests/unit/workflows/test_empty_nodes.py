"""Windows of nodes that hold no VM: gitbot cordons them by an approval, and they end."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gitbot.model.text.instants import format_instant
from gitbot.workflows.apply import apply, cancel, goes_home_by_proposal, returned
from gitbot.workflows.approval.read_approvals import read_approvals
from gitbot.workflows.ask import status
from gitbot.workflows.check import publish
from gitbot.workflows.check.single_subject import check_one
from gitbot.workflows.core.revision_engine import RevisionEngine
from gitbot.workflows.propose.tidy import WEEK
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD
from tests.doubles.trouble import by_hand
from tests.unit.workflows.story import CLUSTER, Story
from tests.unit.workflows.test_drains_that_end import evidence, nodes, uncordon, window_state

FILE = f"intents/{CLUSTER}/rack.yaml"
EMPTY = ("kni-worker3",)
HOUR = 3600


def window(
    *names: str, mode: str = "Rolling", more: str = "", schedule: str = "", cordon: str = "Gitbot"
) -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [{", ".join(names)}]}}
  drain: {{mode: {mode}, cordon: {cordon}{more}}}
{schedule}"""


def does_nothing(story: Story) -> bool:
    """Whether `plan` of the files alone has nothing left for the window."""
    revision = story.shell.read_base(story.repository.commit("main").id).revision
    judged = check_one(revision, evidence(story), window="rack").judged
    return judged is None or judged.plan.does_nothing


def told(story: Story) -> list[tuple[str, bool]]:
    """The cordons that gitbot sends from now on, and their ends."""
    sent: list[tuple[str, bool]] = []
    send = story.port.set_unschedulable

    def spied(node: str, unschedulable: bool, labels: Mapping[str, str | None]) -> bool:
        sent.append((node, unschedulable))
        return send(node, unschedulable, labels)

    story.port.set_unschedulable = spied  # type: ignore[method-assign]
    return sent


@pytest.mark.parametrize(
    ("mode", "names"), [("Rolling", ["kni-worker3"]), ("Together", ["kni-worker3", "kni-worker5"])]
)
def test_empty_nodes_are_cordoned_once_and_the_window_ends(mode: str, names: list[str]) -> None:
    story = Story.begin(step=1)
    sent, before = told(story), story.where()
    pull = story.open(rack=window(*names, mode=mode))
    shown = publish(story.shell, number=pull.number).check.judged
    assert shown is not None
    assert shown.diff.state == "ready"
    assert shown.diff.counts.startswith(f"{len(names)} node")
    reconcile(story.shell)
    assert not sent
    story.merge()
    for _ in range(3):
        reconcile(story.shell)
    assert sorted(sent) == [(name, True) for name in names]
    assert nodes(story) == dict.fromkeys(names, "ready")
    assert story.where() == before
    assert does_nothing(story)
    assert not status(story.shell).not_planned
    assert not story.pulls()
    for name in names:
        uncordon(story, name)
    assert set(nodes(story).values()) == {"returned"}
    assert window_state(story) == "over"
    assert does_nothing(story)
    for _ in range(2):
        story.cluster.advance(WEEK)
        reconcile(story.shell)
    (tidy,) = story.pulls()
    assert tidy.title == "tidy: remove 1 finished files"
    story.merge()
    reconcile(story.shell)
    assert not story.pulls()
    assert sorted(sent) == [(name, True) for name in names]


def test_nothing_is_cordoned_that_nobody_saw() -> None:
    """A merge before any plan was shown approves no cordon; gitbot proposes it."""
    story = Story.begin(step=1)
    sent = told(story)
    story.commit(rack=window("kni-worker3"))
    reconcile(story.shell)
    assert not sent
    (pull,) = story.pulls()
    assert pull.title == "Cordon kni-worker3"
    story.merge()
    reconcile(story.shell)
    assert sent == [("kni-worker3", True)]


def begun(
    text: str, *, settings: str = "", reviews: int = 0
) -> tuple[Story, list[tuple[str, bool]]]:
    """After the merge of a window's own pull request, which showed its plan."""
    story = Story.begin(step=1, settings=settings, reviews_required=reviews)
    sent = told(story)
    pull = story.open(rack=text)
    publish(story.shell, number=pull.number)
    story.forge.enforced = False  # branch protection would refuse the merge
    story.merge()
    reconcile(story.shell)
    return story, sent


def test_together_cordons_the_empty_nodes_with_the_others() -> None:
    story, sent = begun(window("kni-worker", "kni-worker3", mode="Together"))
    assert sorted(sent) == [("kni-worker", True), ("kni-worker3", True)]
    assert nodes(story) == {"kni-worker": "ready", "kni-worker3": "ready"}


def test_rolling_cordons_an_empty_node_when_its_turn_comes() -> None:
    story, sent = begun(window("kni-worker", "kni-worker3"))
    assert len(nodes(story)) == len(sent) == 1
    uncordon(story, sent[0][0])
    reconcile(story.shell)
    assert sorted(sent) == [("kni-worker", True), ("kni-worker3", True)]


SCHEDULE = "  schedule: {start: '2026-12-06T22:00', timeZone: Europe/Madrid, duration: PT4H}\n"


def test_an_empty_node_is_cordoned_when_its_window_opens() -> None:
    story, sent = begun(window("kni-worker3", schedule=SCHEDULE))
    (opening,) = status(story.shell).openings
    assert (opening.state, sent) == ("approved", [])
    assert not story.pulls()
    story.cluster.advance(opening.open.start - story.port.now() - 1)
    reconcile(story.shell)
    assert not sent
    story.cluster.advance(1)
    reconcile(story.shell)
    assert sent == [("kni-worker3", True)]


def test_a_pass_waits_for_the_opening_of_an_empty_node() -> None:
    story, sent = begun(window("kni-worker3", schedule=SCHEDULE))
    (opening,) = status(story.shell).openings
    story.cluster.advance(opening.open.start - story.port.now() - 60)
    apply(story.shell, wait_for_opening=120)
    assert sent == [("kni-worker3", True)]


def test_a_cancelled_window_gives_its_empty_nodes_back() -> None:
    story, sent = begun(window("kni-worker3", "kni-worker5", mode="Together"))
    (occurrence,) = status(story.shell).nodes
    cancel(story.shell, request=str(occurrence.drain), reason="not tonight", by="ann")
    reconcile(story.shell)
    assert set(nodes(story).values()) == {"returned"}
    assert [word for _, word in sent] == [True, True, False, False]
    reconcile(story.shell)
    assert not story.pulls()


def test_a_node_returns_although_its_file_was_removed() -> None:
    story, sent = begun(window("kni-worker3", more=", done: Command"))
    story.commit(rack=None)
    reconcile(story.shell)
    assert nodes(story) == {"kni-worker3": "ready"}
    uncordon(story, "kni-worker3")
    assert nodes(story) == {"kni-worker3": "ready"}
    occurrence = returned(story.shell, node="kni-worker3", by="ann")
    assert not goes_home_by_proposal(story.shell, occurrence)
    reconcile(story.shell)
    assert nodes(story) == {"kni-worker3": "returned"}
    assert len(sent) == 1


def test_a_window_edited_before_its_cordon_is_approved_anew() -> None:
    story, sent = begun(window("kni-worker3", schedule=SCHEDULE))
    story.commit(rack=window("kni-worker5", schedule=SCHEDULE))
    story.cluster.advance(status(story.shell).openings[0].open.start - story.port.now())
    reconcile(story.shell)
    assert not sent
    (pull,) = story.pulls()
    assert pull.title.startswith("Cordon kni-worker5")


def test_a_merge_without_the_reviews_cordons_nothing() -> None:
    story, sent = begun(window("kni-worker3"), reviews=1)
    reconcile(story.shell)
    assert not sent
    assert "1 approvals" in status(story.shell).refused[0]


def test_a_policy_that_denies_it_keeps_the_node() -> None:
    deny = """apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: never}
spec:
  over: Plan
  validations:
  - {expression: "plan.drains.size() == 0", message: "no drain in December"}
  validationActions: [Deny]
"""
    story, sent = begun(window("kni-worker3", schedule=SCHEDULE))
    story.commit(**{"policies/never.yaml": deny})
    story.cluster.advance(status(story.shell).openings[0].open.start - story.port.now())
    reconcile(story.shell)
    assert not sent


def test_an_approval_that_the_forge_has_lost_does_not_keep_a_node_away() -> None:
    story, sent = begun(window("kni-worker3"))
    story.forge.list_pulls = lambda **_: ()  # type: ignore[method-assign]
    uncordon(story, "kni-worker3")
    assert nodes(story) == {"kni-worker3": "returned"}
    assert len(sent) == 1


def test_nobody_else_cordons_for_an_external_window() -> None:
    story, sent = begun(window("kni-worker3", cordon="External"))
    assert not sent
    assert not story.pulls()


def test_a_node_that_is_back_takes_vms_and_is_not_emptied_again() -> None:
    story, sent = begun(window("kni-worker3"))
    uncordon(story, "kni-worker3")
    by_hand(story.cluster, "jumpbox", "kni-worker3")
    story.cluster.settle()
    story.cluster.advance(60)
    reconcile(story.shell)
    assert story.where()["jumpbox"] == "kni-worker3"
    assert not story.pulls()
    assert not status(story.shell).not_planned
    assert len(sent) == 1


def test_each_opening_of_a_window_that_recurs_is_approved_by_itself() -> None:
    daily = SCHEDULE.replace("}", ", recurrence: FREQ=DAILY}")
    story = Story.begin(step=1, rack=window("kni-worker3", schedule=daily))
    sent = told(story)
    for day in range(2):
        opening = status(story.shell).openings[0].open
        story.cluster.advance(max(0, opening.start - story.port.now() - 3600))
        reconcile(story.shell)
        pull = next(pull for pull in story.pulls() if pull.branch.endswith(_id(opening.start)))
        assert pull.title.startswith("Cordon kni-worker3 (")
        story.merge(pull.number)
        assert len(sent) == day
        story.cluster.advance(max(0, opening.start - story.port.now()))
        reconcile(story.shell)
        assert len(sent) == day + 1
        story.cluster.cordon("kni-worker3", unschedulable=False)
        story.cluster.settle()
        reconcile(story.shell)
        assert status(story.shell).openings[0].open.start == opening.start + 86_400
        story.cluster.advance(opening.end - story.port.now())
        reconcile(story.shell)
    assert sent == [("kni-worker3", True)] * 2


def _id(start: int) -> str:
    return format_instant(start).replace("-", "").replace(":", "").lower()


def test_a_merge_of_long_ago_costs_no_reading_of_its_commit() -> None:
    story, _ = begun(window("kni-worker3"))
    uncordon(story, "kni-worker3")
    story.commit(**{"docs/later.md": "a later commit"})
    read: list[str] = []

    def reading(commit: str) -> RevisionEngine:
        read.append(commit)
        return story.shell.read_base(commit)

    shell = replace(story.shell, read_base=reading)
    head = story.repository.commit("main").id
    read_approvals(shell, reading(head), story.shell.ledger_store.read())
    assert set(read) == {head}
