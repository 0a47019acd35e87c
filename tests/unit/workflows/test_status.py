"""What a status must not hide: merges without effect, requests without plan, nodes to return."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner

from gitbot.cli.commands import status as status_command
from gitbot.cli.shared.schema_table import schema_of
from gitbot.cli.shared.status_page import table
from gitbot.errors import ClusterError, UsageError
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.objects import annotations_of
from gitbot.model.text.instants import format_instant
from gitbot.published import json_text
from gitbot.published.ledger_lines import line_value
from gitbot.simulation.kubevirt.new_migration import new_migration
from gitbot.workflows.apply import apply, cancel, hold, resume, returned
from gitbot.workflows.ask import Query, history, listing, status, status_document
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.current_state import read_current_state
from gitbot.workflows.ledger.request_history import reservations
from gitbot.workflows.propose import propose
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.doubles.trouble import lose_node
from tests.unit.workflows.story import Story, configuration
from tests.unit.workflows.test_maintenance import LEAD, START, approved, wait_until

CLEAN = "nothing is running, and nothing waits"
BROKEN = (
    "ZoneAntiAffinity/customapp/mssql2016: zone sab holds 2 of at most 1: mssql2016st4m4 on "
    "kni-worker6, mssql2016v9r9z on kni-worker6; zone scu holds none"
)
JUMP = "request/customapp/jump"


def shown(story: Story) -> str:
    result = status(story.shell)
    document = json.loads(json_text(status_document(result)))
    jsonschema.validate(document, schema_of("Status"))
    return table(result)


def test_a_cluster_as_it_should_be_is_clean() -> None:
    assert shown(Story.begin()) == CLEAN


def test_a_merge_that_approved_nothing_is_named_with_its_reason() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.port.sleep(86_401)
    story.merge()
    assert shown(story) == (
        "Merged without effect:\n"
        "pull request 1: nothing is approved: the proposal had expired when it was merged; "
        "next: gitbot propose\n\n"
        f"Broken rules:\n{BROKEN}; pull request 1, which heals it, is no longer open; "
        "next: gitbot propose"
    )


def test_a_broken_rule_without_a_proposal_says_what_comes_next() -> None:
    story = Story.begin(db=RULE)
    next_pass = "gitbot proposes its healing in the next pass; next: gitbot propose"
    assert shown(story) == f"Broken rules:\n{BROKEN}; {next_pass}"
    patient = configuration().replace("PT0S", "PT15M")
    story.commit(**{".gitbot.yaml": patient})
    early = "gitbot proposes its healing if that lasts 15 min more; next: gitbot plan"
    assert shown(story) == f"Broken rules:\n{BROKEN}; {early}"
    propose(story.shell)
    story.port.sleep(901)
    assert shown(story) == f"Broken rules:\n{BROKEN}; {next_pass}"
    propose(story.shell)
    assert "Broken rules" not in shown(story)
    story.forge.close_pull(1)
    propose(story.shell)
    closed = "its healing was closed without a merge; next: gitbot plan"
    assert shown(story) == f"Broken rules:\n{BROKEN}; {closed}"
    story.commit(db=f"{RULE}  heal: Report\n")
    assert shown(story) == CLEAN


def test_a_merge_that_approved_nothing_names_no_command_that_stays_silent() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.port.sleep(86_401)
    story.merge()
    story.commit(db=None)
    assert [item.action for item in propose(story.shell).concerns] == []
    assert "next: gitbot propose" not in shown(story)


def test_what_is_merged_and_not_yet_applied_names_the_next_command() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.merge()
    (waits,) = status(story.shell).not_applied
    assert waits.request.startswith("heal/customapp/ZoneAntiAffinity/mssql2016")
    line = f"pull request 1 is merged ({waits.request}); next: "
    assert shown(story) == f"Merged, not applied yet:\n{line}gitbot apply"
    hold(story.shell, reason="smoke", by="ann")
    stopped, section = shown(story).split("\n\n")
    assert stopped.startswith("stopped: smoke (ann, since ")
    assert section == f"Merged, not applied yet:\n{line}gitbot resume"
    resume(story.shell, reason="", by="ann")
    apply(story.shell)
    made = [annotations_of(item) for item in story.port.list_migrations()]
    assert {item.get("placement.gitbot.dev/request") for item in made} == {waits.request, None}
    assert "pull request" not in shown(story)


def test_mode_observe_is_told_wherever_something_waits_for_it() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.merge()
    story.commit(**{".gitbot.yaml": configuration("  mode: Observe\n")})
    assert (
        "stopped: mode Observe applies nothing; next: set mode: Enforce in .gitbot.yaml"
        in shown(story)
    )
    story.commit(**{".gitbot.yaml": configuration().replace("  mode: Enforce\n", "")})
    missing = "mode Observe applies nothing (the default: .gitbot.yaml has no mode)"
    assert f"stopped: {missing}; next: set mode: Enforce in .gitbot.yaml" in shown(story)
    assert apply(story.shell).stop == missing
    assert {status(story.shell).mode, status_document(status(story.shell)).mode} == {"Observe"}


def away(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise ClusterError("no kubeconfig", hint="give --kubeconfig")

    monkeypatch.setattr(story.port, "snapshot", refused)


UNREAD = (
    "the cluster could not be read: no kubeconfig; give --kubeconfig\n"
    "what follows is from ledger and forge alone; what waits, and for what, is not known\n"
)


def test_without_the_cluster_ledger_and_forge_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(db=RULE)
    away(story, monkeypatch)
    assert shown(story) == f"{UNREAD}ledger and forge show nothing running"
    monkeypatch.undo()
    propose(story.shell)
    away(story, monkeypatch)
    assert shown(story).startswith(f"{UNREAD}\nOpen proposals:\npull request 1 is open: ")
    story.merge()
    assert "pull request 1 is merged (heal/" in shown(story)
    monkeypatch.undo()
    apply(story.shell)
    away(story, monkeypatch)
    lines = shown(story).removeprefix(UNREAD).split("Ended:\n")[1].splitlines()
    assert lines[0].startswith("heal/customapp/ZoneAntiAffinity/mssql2016")
    assert lines[0].endswith(": succeeded")
    assert lines[1].endswith(" succeeded")
    hold(story.shell, reason="smoke", by="ann")
    assert shown(story).startswith(f"{UNREAD}\nstopped: smoke (ann, since ")


def test_without_the_cluster_the_exit_code_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(db=RULE)

    @contextmanager
    def opened(where: dict[str, str], *, human: bool) -> Iterator[tuple[RunContext, str]]:
        del where, human
        yield story.shell, ""

    monkeypatch.setattr(status_command, "open_read_only", opened)
    for code in (0, 2):
        result = CliRunner().invoke(
            status_command.status, [], catch_exceptions=False, standalone_mode=False
        )
        assert result.return_value == code
        assert (UNREAD in result.stdout) is (code == 2)
        away(story, monkeypatch)


def cordoned(story: Story) -> None:
    story.cluster.cordon("kni-worker5")
    story.cluster.settle()


def nothing(story: Story) -> None:
    del story


DRAIN = f"""\
{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [kni-worker6]}}
"""
UNPLANNED: list[tuple[str, Callable[[Story], None], str]] = [
    (REQUEST, nothing, "no plan for it is approved; next: gitbot propose"),
    (REQUEST.replace("jumpbox", "ghost"), nothing, "ghost"),
    (REQUEST.replace("kni-worker5", "kni-worker99"), nothing, "kni-worker99"),
    (REQUEST, cordoned, "there is no plan: "),
]


@pytest.mark.parametrize(("text", "before", "words"), UNPLANNED)
def test_a_request_without_an_approved_plan_is_named_with_its_reason(
    text: str, before: Callable[[Story], None], words: str
) -> None:
    story = Story.begin(jump=text)
    before(story)
    title, line = shown(story).split("\n\n")[0].splitlines()
    assert title == "Merged, without a plan:"
    assert line.startswith(f"{JUMP}: ")
    assert words in line


def test_who_else_moves_vms_is_named_while_it_lasts_and_then_in_the_ledger() -> None:
    story = Story.begin()
    cordoned(story)
    virtctl = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "jump-now", "namespace": "customapp"},
        "spec": {"vmiName": "jumpbox"},
    }
    story.cluster.apply([virtctl])
    page = shown(story)
    assert page.startswith("nothing is running, and nothing waits\n\nOther movers:\n")
    assert "Node kni-worker5: somebody cordoned it" in page
    assert "jump-now: a person or another tool migrates jumpbox (" in page
    movers = status_document(status(story.shell)).movers
    assert [item.kind for item in movers] == ["VirtualMachineInstanceMigration", "Node"]
    story.cluster.settle()
    apply(story.shell)
    assert "jumpbox" not in shown(story)
    (line,) = history(story.store.read(), story.name, Query(by="a person or another tool"))
    assert line_value(line)["vm"] == "customapp/jumpbox"


def test_an_open_drain_without_a_plan_is_named_with_its_reason() -> None:
    story = Story.begin(drain=DRAIN)
    title, line = shown(story).splitlines()
    assert title == "Merged, without a plan:"
    assert line.startswith("drain/firmware/")
    assert line.endswith(": no plan for it is approved; next: gitbot propose")
    for node in ("kni-worker2", "kni-worker4"):
        story.cluster.cordon(node)
    story.cluster.settle()
    (line,) = [line for line in shown(story).splitlines() if "there is no plan: no node" in line]
    assert line.endswith("; next: gitbot explain --window firmware")


def test_the_next_opening_of_a_drain_names_the_command_that_helps() -> None:
    story = Story.begin()
    soon = format_instant(story.port.now() + 7200)[:16]
    schedule = f'  schedule: {{start: "{soon}", timeZone: UTC, duration: PT4H}}\n'
    story.commit(drain=DRAIN + schedule)
    (opening,) = status(story.shell).openings
    assert opening.next_command == "gitbot propose"
    propose(story.shell)
    (opening,) = status(story.shell).openings
    assert opening.next_command == ""
    story.forge.close_pull(1)
    for node in ("kni-worker2", "kni-worker4"):
        story.cluster.cordon(node)
    story.cluster.settle()
    (opening,) = status(story.shell).openings
    assert opening.next_command == "gitbot explain --window firmware"


def test_an_opening_whose_drain_has_succeeded_is_not_ahead() -> None:
    story = Story.begin()
    soon = format_instant(story.port.now() + 600)[:16]
    schedule = f'  schedule: {{start: "{soon}", timeZone: UTC, duration: PT4H}}\n'
    story.commit(drain=DRAIN + schedule)
    propose(story.shell)
    story.merge()
    assert "Next openings:" in shown(story)
    story.port.sleep(700)
    apply(story.shell)
    assert status(story.shell).openings == ()
    assert "Next openings:" not in shown(story)
    (row,) = listing(story.shell, "windows").rows
    assert (row.state, row.health) == ("open", "succeeded")  # its time is not over


def test_an_opening_without_a_vm_to_move_has_nothing_to_propose() -> None:
    story = Story.begin()
    assert "kni-worker5" not in story.where().values()
    soon = format_instant(story.port.now() + 7200)[:16]
    schedule = f'  schedule: {{start: "{soon}", timeZone: UTC, duration: PT4H}}\n'
    story.commit(drain=DRAIN.replace("worker6", "worker5") + schedule)
    propose(story.shell)
    assert "00Z, nothing to move: opens " in shown(story)
    (opening,) = status(story.shell).openings
    assert (opening.state, opening.next_command) == ("nothing to move", "")


def test_the_proposal_of_a_cancelled_request_is_not_to_be_merged() -> None:
    story = Story.begin(jump=REQUEST)
    propose(story.shell)
    cancel(story.shell, request=JUMP, by="ann", reason="not now")
    line = "pull request 1 is open: Move customapp/jumpbox to kni-worker5; next: gitbot propose"
    assert line in shown(story)
    assert shown(story).endswith(f"Ended:\n{JUMP}: cancelled: not now (ann)")
    assert status_document(status(story.shell)).pulls[0].next_command == "gitbot propose"
    propose(story.shell)
    assert "is open" not in shown(story)


def test_a_request_with_an_open_pull_request_is_named_once() -> None:
    story = Story.begin(jump=REQUEST)
    propose(story.shell)
    assert shown(story) == (
        "Open proposals:\n"
        "pull request 1 is open: Move customapp/jumpbox to kni-worker5; "
        "next: review and merge pull request 1"
    )
    story.forge.close_pull(1)
    propose(story.shell)
    assert shown(story).splitlines()[1:] == [f"{JUMP}: its plan was closed without a merge"]


def test_a_node_that_a_person_gives_back_names_the_command() -> None:
    story = approved(drain=", done: Command", more="  returnHome: Never\n")
    wait_until(story, START - LEAD)
    apply(story.shell)
    assert "gitbot returned" not in shown(story)
    story.cluster.cordon("kni-worker")
    apply(story.shell)
    line = "  kni-worker: ready, cordoned by somebody else\n    next: gitbot returned kni-worker"
    assert line in shown(story)


def test_what_waits_for_its_window_names_no_command() -> None:
    story = approved(drain="")
    apply(story.shell)
    (request,) = status(story.shell).requests
    assert request.moves[0].until > story.port.now()
    assert request.next_command == ""
    wait_until(story, START - LEAD)
    (request,) = status(story.shell).requests
    assert request.next_command == "gitbot apply"


def test_after_returned_the_page_names_apply_and_then_propose() -> None:
    story = approved(drain=", done: Command, cordon: Gitbot")
    wait_until(story, START - LEAD)
    apply(story.shell)
    page = shown(story)
    assert "  kni-worker: ready, cordoned by gitbot\n    next: gitbot returned kni-worker" in page
    away = [line for line in page.splitlines() if ", home is kni-worker: " in line]
    assert away
    with pytest.raises(UsageError, match=r"did you mean kni-worker\?"):
        returned(story.shell, node="kni-wrker", by="ann")
    assert all(line.endswith("kni-worker is ready, not returned") for line in away)
    returned(story.shell, node="kni-worker", by="ann")
    page = shown(story)
    assert "  kni-worker: returned, cordoned by gitbot\n    next: gitbot apply" in page
    assert "home is kni-worker: kni-worker does not take it: NodeUnschedulable: " in page
    apply(story.shell)
    page = shown(story)
    assert "  kni-worker: returned, not cordoned\n    next: gitbot propose" in page
    line = "home is kni-worker: its return is not proposed yet; next: gitbot propose"
    assert line in page
    propose(story.shell)
    page = shown(story)
    (pull,) = story.pulls()
    assert f"home is kni-worker: its return is proposed in pull request {pull.number}" in page
    assert f"pull request {pull.number} is open: Bring 1 VM home" in page
    story.merge()
    for _ in range(2):
        apply(story.shell)
    assert "home is kni-worker:" not in shown(story)


@pytest.mark.parametrize("taken_up", [False, True])
def test_a_return_that_was_cancelled_is_over(taken_up: bool) -> None:
    """Nobody is told to propose it again, and it keeps no room on the home."""
    story = approved(drain=", done: Command, cordon: Gitbot")
    wait_until(story, START - LEAD)
    apply(story.shell)
    returned(story.shell, node="kni-worker", by="ann")
    apply(story.shell)
    propose(story.shell)
    story.merge()
    hold(story.shell, reason="look first", by="ann")
    if taken_up:
        apply(story.shell)
    (item,) = [item for item in status(story.shell).away if item.home == "kni-worker"]
    cancel(story.shell, request=item.occurrence.homecoming, reason="it stays", by="ann")
    resume(story.shell, reason="", by="ann", accept_ledger=False)
    (item,) = [item for item in status(story.shell).away if item.home == "kni-worker"]
    assert ("cancelled: it stays" in item.reason, item.next_command) == (True, "")
    assert "gitbot propose" not in shown(story)
    seen = read_current_state(story.shell, story.shell.ledger_store.read())
    records = dict(fold_requests(seen.ledger, seen.problem.cluster))
    assert seen.approvals.approved
    assert not reservations(seen.approvals.approved, records)
    propose(story.shell)
    assert not story.pulls()


def test_what_somebody_else_moved_stays_away_with_its_reason() -> None:
    story = approved(drain=", done: Command, cordon: Gitbot")
    wait_until(story, START - LEAD)
    apply(story.shell)
    returned(story.shell, node="kni-worker", by="ann")
    apply(story.shell)
    (vm,) = [item.vm for item in status(story.shell).away if item.home == "kni-worker"]
    by_hand = new_migration(
        namespace=vm.namespace,
        vmi_name=vm.name,
        added_node_selector={"kubernetes.io/hostname": "kni-worker5"},
    )
    by_hand["metadata"]["name"] = "by-hand"
    story.cluster.apply([by_hand])
    story.cluster.settle()
    (item,) = [item for item in status(story.shell).away if item.vm == vm]
    assert item.reason.endswith("by somebody else")
    assert not item.due


GONE = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [kni-worker, kni-worker77]}}
  schedule: {{start: "2030-01-05T22:00", timeZone: UTC, duration: PT4H}}
"""


def test_a_window_that_names_a_node_that_is_gone_is_said_by_all() -> None:
    story = Story.begin(firmware=GONE)
    assert "there is no node kni-worker77" in shown(story)
    (report,) = propose(story.shell).concerns
    assert report.concern == "window-firmware"
    assert report.reason.startswith("there is no node kni-worker77: intents/iberia/firmware.yaml")


def test_what_needs_a_person_comes_before_what_waits_and_ended() -> None:
    story = approved(drain="")
    apply(story.shell)
    story.commit(jump=REQUEST)
    propose(story.shell)
    page = shown(story)
    titles = [line for line in page.splitlines() if line.endswith(":") and line[0].isupper()]
    assert titles.index("Merged, without a plan:") < titles.index("Waiting:")
    assert re.search(r" until \w{3} \d{4}-\d\d-\d\d \d\d:\d\d Europe/Madrid \(in ", page)


def test_nodes_that_do_not_answer_and_their_vms_are_named_while_it_lasts() -> None:
    story = Story.begin()
    lost = story.where()["jumpbox"]
    lose_node(story.cluster, lost)
    story.cluster.advance(60)
    page = shown(story)
    assert f"Lost nodes and pending pods:\nNode {lost}: it does not answer" in page
    assert "customapp/jumpbox" in page
    (found,) = status_document(status(story.shell)).lost
    assert (found.kind, found.name) == ("Node", lost)
