"""A window that opens once: its own pull request shows its plan, and one merge approves it."""

import pytest

from gitbot.cli.shared.status_page import table
from gitbot.execution.ledger_folds import occurrences_of
from gitbot.model.ledger.events import MoveApproved, MoveChanged
from gitbot.model.text.instants import parse_instant
from gitbot.workflows.apply import apply
from gitbot.workflows.ask import status
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD, RULE
from tests.doubles.trouble import by_hand, restart_machine
from tests.unit.workflows.story import CLUSTER, Story

START = parse_instant("2026-12-06T21:00:00Z")
DRAIN = "drain/rack/20261206T210000Z"
NODES = ("kni-worker", "kni-worker2")
ONCE = 'schedule: {start: "2026-12-06T22:00", timeZone: Europe/Madrid, duration: PT4H'


OWNERS = """  owners:
  - {paths: [intents/iberia], namespaces: ['*'], nodes: {names: ['*']}, teams: ['@acme/ops']}
"""


def window(schedule: str = f"{ONCE}}}", drain: str = "lead: PT1H", more: str = "") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [{", ".join(NODES)}]}}
  {schedule}
  drain: {{{drain}, mode: Together, cordon: Gitbot}}{more}
"""


def shown(text: str, settings: str = "") -> Story:
    story = Story.begin(step=1, settings=settings)
    story.open(rack=text)
    publish(story.shell, number=1)
    return story


def merged(text: str = "", settings: str = "") -> Story:
    story = shown(text or window(), settings)
    story.merge(1)
    return story


def at(story: Story, instant: int) -> None:
    story.port.sleep(max(0, instant - story.port.now()))
    reconcile(story.shell)


def approved(story: Story) -> dict[str, set[str]]:
    """The digests of each request with approved moves."""
    found: dict[str, set[str]] = {}
    for event in story.store.read().events:
        if isinstance(event, MoveApproved):
            found.setdefault(str(event.request), set()).add(event.digest)
    return found


def created(story: Story) -> list[int]:
    events = story.store.read().events
    return [e.time for e in events if isinstance(e, MoveChanged) and e.migration and not e.outcome]


def comment(story: Story, number: int = 1) -> str:
    (found,) = story.forge.list_comments(number)
    return found.body


def test_the_way_home_is_shown_as_a_forecast_that_the_merge_does_not_approve() -> None:
    story = Story.begin(step=1)
    story.open(rack=window())
    result = publish(story.shell, number=1)
    judged, (home,) = result.check.judged, result.check.previews
    assert judged is not None
    assert home.title == "way home after rack, once its nodes are back"
    there = {move.vm.name: (move.source.node, move.to.node) for move in judged.plan.moves}
    back = {move.vm.name: (move.to.node, move.source.node) for move in home.plan.moves}
    assert back == there
    assert there
    text = comment(story)
    assert "Preview, not approved by a merge: way home after rack, once its nodes are back" in text
    without = shown(window(more="\n  returnHome: Never"))
    assert "way home" not in comment(without)


def test_the_way_home_counts_cordoned_nodes_as_back() -> None:
    story = Story.begin(step=1)
    for node in NODES:
        story.cluster.cordon(node)
    story.cluster.settle()
    story.open(rack=window())
    (home,) = publish(story.shell, number=1).check.previews
    assert home.plan.moves
    assert home.plan.holds == ()


@pytest.mark.parametrize(
    ("drain", "begins"), [("lead: PT1H", START - 3600), ("lead: Auto", START - 900)]
)
def test_one_merge_empties_the_nodes_at_the_opening(drain: str, begins: int) -> None:
    story = shown(window(drain=drain))
    assert "customapp/jumpbox" in comment(story)
    story.merge(1)
    reconcile(story.shell)
    assert list(approved(story)) == [DRAIN]
    assert not story.pulls()
    at(story, begins - 1)
    assert not created(story)
    assert not story.pulls()
    at(story, begins)
    assert min(created(story)) == begins
    assert not set(story.where().values()) & set(NODES)
    assert not story.pulls()  # the nodes are not back


def test_the_way_home_is_asked_for_once_the_nodes_are_back() -> None:
    story = merged()
    at(story, START)
    for node in NODES:
        story.cluster.cordon(node, unschedulable=False)
    story.cluster.settle()
    reconcile(story.shell)
    (pull,) = story.pulls()
    assert pull.branch.rpartition("/")[2].startswith("return-rack-")


def test_a_recurring_window_is_a_preview_and_each_opening_has_its_own_proposal() -> None:
    story = merged(window(f"{ONCE}, recurrence: FREQ=WEEKLY}}"))
    reconcile(story.shell)
    assert not approved(story)
    at(story, START - 3 * 86_400)
    (pull,) = story.pulls()
    assert pull.branch.rpartition("/")[2].startswith("drain-rack-")


def test_a_merge_without_a_record_approves_nothing_and_the_bot_proposes() -> None:
    story = Story.begin(step=1)
    story.open(rack=window())
    story.merge(1)
    at(story, START - 3600)
    assert not approved(story)
    assert not created(story)
    assert [pull.author for pull in story.pulls()] == ["gitbot"]


def test_an_edit_between_record_and_merge_approves_nothing() -> None:
    story = shown(window())
    story.commit("work", rack=window(drain="lead: PT2H"))
    story.merge(1)
    at(story, START - 7200)
    assert not approved(story)
    assert [pull.author for pull in story.pulls()] == ["gitbot"]


def test_an_expired_record_approves_nothing() -> None:
    story = shown(window())
    story.port.sleep(86_400 + 60)
    story.merge(1)
    at(story, START - 3600)
    assert not approved(story)
    assert [pull.author for pull in story.pulls()] == ["gitbot"]


def test_an_edit_after_the_merge_ends_the_approval_and_its_own_merge_approves_again() -> None:
    story = merged()
    reconcile(story.shell)
    (first,) = approved(story)[DRAIN]
    story.open("again", rack=window(drain="lead: PT2H"))
    publish(story.shell, number=2)
    story.merge(2)
    reconcile(story.shell)
    assert approved(story)[DRAIN] > {first}
    assert not story.pulls()
    at(story, START - 7200)
    assert min(created(story)) == START - 7200
    assert not set(story.where().values()) & set(NODES)


@pytest.mark.parametrize("count", [1, 2])
def test_a_vm_that_the_plan_does_not_have_gets_a_new_proposal_once_announced(count: int) -> None:
    """VMs restart weeks before: their moves are obsolete, and nobody approved the new VMs."""
    story = merged()
    reconcile(story.shell)
    on = sorted(name for name, node in story.where().items() if node in NODES)
    assert len(on) == 2
    for name in on[:count]:
        restart_machine(story.cluster, name, "customapp")
    at(story, START - 3600 - 3 * 86_400 - 60)
    assert not story.pulls()
    at(story, START - 3600 - 3 * 86_400)
    (pull,) = story.pulls()
    assert pull.branch.rpartition("/")[2] == "drain-rack-20261206t210000z"
    assert f"The approved plan does not have customapp/{on[0]}" in pull.body
    story.merge(pull.number)
    at(story, START - 3600)
    assert not set(story.where().values()) & set(NODES)


def test_what_else_needs_a_merge_is_said_first() -> None:
    story = shown(window())
    home = "one more merge brings the VMs home once the nodes are back"
    maybe = (
        "one more may be needed from Thu 2026-12-03 21:00 to Sun 2026-12-06 21:00 Europe/Madrid, "
        "if the cluster changes before"
    )
    first = next(line for line in comment(story).splitlines() if "**" in line)
    assert f"{home}; {maybe}" in first
    story.merge(1)
    reconcile(story.shell)
    assert [item.then for item in status(story.shell).openings] == [f"{home}; {maybe}"]
    at(story, START - 3600 - 3 * 86_400)
    assert [item.then for item in status(story.shell).openings] == [home]
    never = shown(window(more="\n  returnHome: Never"))
    assert home not in comment(never)


def test_nothing_starts_after_the_end() -> None:
    story = merged()
    story.port.sleep(START + 4 * 3600 - story.port.now())
    reconcile(story.shell)
    assert not created(story)


def test_a_window_that_was_edited_while_it_runs_is_a_preview() -> None:
    story = merged()
    at(story, START)
    story.open("again", rack=window(more="\n  overrun: Finish"))
    before = approved(story)
    publish(story.shell, number=2)
    story.merge(2)
    reconcile(story.shell)
    assert approved(story) == before


def test_a_plan_that_no_longer_keeps_the_law_is_proposed_again() -> None:
    story = merged()
    reconcile(story.shell)
    before = story.store.read()
    targets = {e.to for e in before.events if isinstance(e, MoveApproved)}
    for node in targets:
        story.cluster.cordon(node)
    at(story, START - 3600)
    assert not created(story)
    (pull,) = story.pulls()
    assert pull.branch.rpartition("/")[2] == "drain-rack-20261206t210000z"
    assert "no longer passes the checks" in pull.body
    story.merge(pull.number)
    reconcile(story.shell)
    assert not set(story.where().values()) & set(NODES)


def now_open(more: str = "") -> str:
    return window("", "notMigratable: BlockNode", more).replace("  \n", "")


def test_a_window_without_schedule_is_open_from_its_merge_on() -> None:
    story = shown(now_open())
    assert "drain/rack/unmerged" in comment(story)
    pull = story.merge(1)
    reconcile(story.shell)
    drain = f"drain/rack/{pull.merge_commit[:12]}"
    assert list(approved(story)) == [drain]
    assert not story.pulls()
    assert not set(story.where().values()) & set(NODES)
    assert {str(o) for o in occurrences_of(story.store.read(), CLUSTER)} == {drain[6:]}
    assert reconcile(story.shell).applied.did_nothing


def test_two_merges_of_one_text_are_two_occurrences() -> None:
    story = shown(now_open("\n  returnHome: Never"))
    story.merge(1)
    reconcile(story.shell)
    for node in NODES:
        story.cluster.cordon(node, unschedulable=False)
    story.cluster.settle()
    reconcile(story.shell)
    story.commit(rack=None)
    reconcile(story.shell)
    by_hand(story.cluster, "jumpbox", "kni-worker")
    story.cluster.settle()
    reconcile(story.shell)
    story.open("again", rack=now_open("\n  returnHome: Never"))
    publish(story.shell, number=2)
    assert story.where()["jumpbox"] == "kni-worker"
    story.merge(2)
    reconcile(story.shell)
    assert len(approved(story)) == 2
    assert not story.pulls()
    assert not set(story.where().values()) & set(NODES)


def test_a_window_without_schedule_and_without_a_record_is_proposed() -> None:
    story = Story.begin(step=1)
    story.open(rack=now_open())
    story.merge(1)
    reconcile(story.shell)
    assert not created(story)
    assert [pull.author for pull in story.pulls()] == ["gitbot"]


def test_removing_the_file_before_a_pass_ends_what_nothing_began() -> None:
    story = shown(now_open())
    story.merge(1)
    story.commit(rack=None)
    reconcile(story.shell)
    assert not created(story)
    assert not story.pulls()


def test_owners_of_the_emptied_nodes_are_asked_on_the_pull_request() -> None:
    story = Story.begin(step=1, settings=OWNERS)
    story.forge.teams["@acme/ops"] = frozenset({"olga"})
    story.open(rack=window())
    publish(story.shell, number=1)
    assert "acme/ops (olga) for nodes kni-worker, kni-worker2" in comment(story)
    story.forge.enforced = False
    story.merge(1)
    at(story, START - 3600)
    assert not created(story)
    (waits,) = {item.waits for item in status(story.shell).owners}
    assert "@acme/ops" in waits


def test_approval_by_intent_does_not_cover_windows() -> None:
    story = Story.begin(step=1, settings="  approval: Intent\n")
    story.open(rack=window())
    story.merge(1)
    at(story, START - 3600)
    assert not created(story)
    assert [pull.author for pull in story.pulls()] == ["gitbot"]


def test_two_bots_create_each_migration_once() -> None:
    story = merged()
    story.port.sleep(START - story.port.now())
    for _ in range(2):
        apply(story.shell)
        propose(story.shell)
    events = story.store.read().events
    effects = [e.migration for e in events if isinstance(e, MoveChanged) and e.state == "intended"]
    assert len(effects) == len(set(effects)) > 0
    assert not story.pulls()


def held_by_a_rule() -> Story:
    """Both fast nodes but one leave at the opening, and a rule comes that wants three zones."""
    story = Story.begin()
    story.open(rack=window().replace("kni-worker, kni-worker2", "kni-worker5, kni-worker6"))
    publish(story.shell, number=1)
    story.merge(1)
    reconcile(story.shell)
    story.commit(db=RULE)
    return story


def test_held_moves_do_not_keep_the_place_that_heals_the_rule() -> None:
    story = held_by_a_rule()
    reconcile(story.shell)
    assert story.states(DRAIN)[-1].endswith("held")
    reconcile(story.shell)
    (pull,) = story.pulls()
    assert "Heal customapp/mssql2016" in pull.title
    story.merge(pull.number)
    reconcile(story.shell)
    assert story.databases() == ["kni-worker2", "kni-worker4", "kni-worker6"]


def test_status_names_no_propose_that_stays_silent() -> None:
    story = held_by_a_rule()
    reconcile(story.shell)
    reconcile(story.shell)
    story.merge()
    reconcile(story.shell)
    page = table(status(story.shell))
    assert "needs a new plan: move 2 of customapp/mssql2016v9r9z" in page
    assert "next: gitbot" not in page  # the opening is not announced yet
    at(story, START - 3 * 86_400)
    assert all(item.did_nothing for item in propose(story.shell).concerns)
    page = table(status(story.shell))
    assert "gitbot propose" not in page
    assert "next: gitbot explain --window rack" in page


def test_healing_that_has_no_plan_is_not_due_in_the_next_pass() -> None:
    story = Story.begin(db=RULE)
    for node in ("kni-worker", "kni-worker2"):
        story.cluster.cordon(node)
    story.cluster.settle()
    assert all(item.did_nothing for item in propose(story.shell).concerns)
    page = table(status(story.shell))
    assert "no free zone" in page
    assert "gitbot propose" not in page


def test_freeze_over_all_its_time_is_the_reason_why_a_drain_expires() -> None:
    story = merged()
    reconcile(story.shell)
    close = 'schedule: {start: "2026-12-06T00:00", timeZone: Europe/Madrid, duration: P7D}'
    story.commit(close=f"{HEAD}kind: FreezeWindow\nmetadata: {{name: close}}\nspec:\n  {close}\n")
    reconcile(story.shell)
    events = [item for item in story.store.read().events if isinstance(item, MoveChanged)]
    assert {item.reason for item in events} == {
        "it could not start within its allowed time: frozen by close to its end"
    }
