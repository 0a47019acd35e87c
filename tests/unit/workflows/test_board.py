"""The maintenance board through a drain: ahead, under way, back, and what it leaves behind."""

from gitbot.model.ledger.events import NodeState
from gitbot.published import BoardNode, PublishedBoard
from gitbot.workflows.ask import site_documents
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import RULE
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_maintenance import LEAD, START, approved, reboot, wait_until

REBOOTED = ", cordon: Gitbot, done: Rebooted"


def board(story: Story) -> PublishedBoard:
    return site_documents(story.shell).board


def lines(story: Story) -> dict[str, BoardNode]:
    (window,) = board(story).windows
    return {node.node: node for node in window.nodes}


def test_before_its_opening_a_window_shows_what_it_would_empty() -> None:
    (window,) = board(approved(drain="")).windows
    assert (window.window, window.starts) == ("firmware", START - LEAD)
    assert window.words.startswith(
        "moves from Mon 2025-12-01 03:00 UTC; opens Mon 2025-12-01 04:00"
    )
    assert [(node.node, node.state, node.planned, node.moved) for node in window.nodes] == [
        ("kni-worker", "waiting", 1, 0),
        ("kni-worker2", "waiting", 1, 0),
    ]
    assert not any(node.stays for node in window.nodes), "what waits for its time is as planned"


def test_times_are_those_at_which_things_happened() -> None:
    story = approved(drain=REBOOTED)
    wait_until(story, START - LEAD)
    began = story.port.now()
    reconcile(story.shell)
    found = lines(story)
    first, second = found["kni-worker"], found["kni-worker2"]
    assert (first.state, first.planned, first.moved, first.back) == (NodeState.READY, 1, 1, 0)
    assert began <= first.began <= first.empty <= story.port.now()
    assert first.cordon.startswith("cordoned by gitbot")
    assert (second.state, second.began, second.moved) == ("waiting", 0, 0)
    reboot(story, "kni-worker")
    reconcile(story.shell)
    assert lines(story)["kni-worker"].back >= first.empty


def test_what_has_ended_stays_for_a_day() -> None:
    story = approved(drain=REBOOTED, more="  returnHome: Never\n")
    wait_until(story, START - LEAD)
    for node in ("kni-worker", "kni-worker2"):
        reconcile(story.shell)
        reboot(story, node)
    reconcile(story.shell)
    assert {node.state for node in lines(story).values()} == {NodeState.RETURNED}
    wait_until(story, story.port.now() + 2 * 86_400)
    assert board(story).windows == []


def test_what_stays_is_named_with_its_reason_and_the_next_command() -> None:
    story = approved(drain=REBOOTED)
    story.commit(db=RULE)
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    story.cluster.cordon("kni-worker3")
    story.cluster.cordon("kni-worker4")
    reconcile(story.shell, max_runtime=60)
    second = lines(story)["kni-worker2"]
    (stay,) = second.stays
    assert stay.vm.startswith("customapp/mssql")
    assert stay.why.startswith("its group no longer passes the checks and needs a new plan: ")
    assert second.next_command == "gitbot explain --window firmware"
