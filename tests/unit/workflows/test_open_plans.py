"""The plans on the page: of an open pull request, and what is left of an approved one."""

from gitbot.published import OpenPlan
from gitbot.workflows.ask import site_documents
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_maintenance import LEAD, START, approved, reboot, wait_until


def plans(story: Story) -> list[OpenPlan]:
    return list(site_documents(story.shell).plans.plans)


def test_the_plan_of_an_open_pull_request_is_the_one_that_it_shows() -> None:
    story = Story.begin(jump=REQUEST)
    reconcile(story.shell)
    (pull,) = story.pulls()
    (plan,) = plans(story)
    (move,) = plan.moves
    assert (plan.pull_request, plan.title) == (pull.number, pull.title)
    assert (move.vm, move.wave) == ("customapp/jumpbox", 1)
    assert {node.node for node in plan.nodes} == {move.source, move.to}
    story.merge()
    reconcile(story.shell)
    assert plans(story) == []


def test_a_pull_request_of_a_person_has_its_shown_plan_until_a_push() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    reconcile(story.shell, every_pull=True)
    assert [plan.pull_request for plan in plans(story)] == [pull.number]
    story.commit("work", db=RULE)
    assert plans(story) == []


def test_of_an_approved_plan_the_moves_that_are_left_are_shown() -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    (whole,) = plans(story)
    assert (whole.pull_request, len(whole.moves)) == (0, 2)
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    (rest,) = plans(story)
    assert [move.source for move in rest.moves] == ["kni-worker2"]
    reboot(story, "kni-worker")
    reconcile(story.shell)
    (home,) = plans(story)
    assert home.title.startswith("Bring 1 VM home")
