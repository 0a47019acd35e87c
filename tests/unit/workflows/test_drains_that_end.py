"""Windows without schedule from merge to tidying, in both modes, on the simulated cluster."""

from typing import Any

import pytest

from gitbot.execution.ledger_folds import fold_nodes, occurrences_of
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import at
from gitbot.model.text.instants import parse_instant
from gitbot.workflows.apply import cancel
from gitbot.workflows.ask import listing, status
from gitbot.workflows.check import publish
from gitbot.workflows.check.scope import PlanningInputs
from gitbot.workflows.check.single_subject import check_one, judge_vm
from gitbot.workflows.current_state import read_current_state
from gitbot.workflows.ledger.request_history import request_history
from gitbot.workflows.propose import ConcernSources, propose
from gitbot.workflows.propose.tidy import WEEK, finished_files
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD
from tests.unit.workflows.story import CLUSTER, Story, configuration

RACK = ("kni-worker", "kni-worker2")
FILE = f"intents/{CLUSTER}/rack.yaml"


def window(mode: str, more: str = "") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [{", ".join(RACK)}]}}
  drain: {{mode: {mode}, cordon: Gitbot{more}}}
"""


def begun(mode: str, more: str = "") -> Story:
    story = Story.begin(step=1, rack=window(mode, more))
    reconcile(story.shell)
    story.merge()
    reconcile(story.shell)
    return story


def nodes(story: Story) -> dict[str, str]:
    ledger = story.store.read()
    (occurrence,) = occurrences_of(ledger, CLUSTER)
    found = fold_nodes(ledger, cluster=CLUSTER, occurrence=occurrence)
    return {name: str(node.state) for name, node in found.items()}


def test_a_pass_counts_the_vms_that_status_lists_as_away() -> None:
    story = Story.begin(step=1, rack=window("Rolling", ", maxNodesAtOnce: 2"))
    assert reconcile(story.shell).away == 0
    story.merge()
    counts = []
    for _ in range(3):
        counts.append(reconcile(story.shell).away)
        assert counts[-1] == len(status(story.shell).away)
        for node in RACK:
            uncordon(story, node)
        for pull in story.pulls():
            story.merge(pull.number)
    assert (counts[0], counts[-1]) == (2, 0), "away, and home again"


def uncordon(story: Story, node: str) -> None:
    story.cluster.cordon(node, unschedulable=False)
    story.cluster.settle()
    reconcile(story.shell)


def evidence(story: Story) -> PlanningInputs:
    return PlanningInputs(
        snapshot=story.port.snapshot(),
        now=story.port.now(),
        past=request_history(story.store.read(), CLUSTER),
    )


def closed_for(story: Story, vm: str) -> set[str]:
    """The nodes of the rack of which `explain` says that they leave service."""
    revision = story.shell.read_base(story.repository.commit("main").id).revision
    named = NamespacedName(namespace="customapp", name=vm)
    found = judge_vm(revision, evidence(story), named, nodes=RACK, added={})
    return {row.node for row in found.rows if row.says.startswith("leaves service")}


def planned(story: Story) -> tuple[Any, ...]:
    """What `plan` would move for the window, from the files alone."""
    revision = story.shell.read_base(story.repository.commit("main").id).revision
    judged = check_one(revision, evidence(story), window="rack").judged
    return judged.plan.moves if judged is not None else ()


def window_state(story: Story) -> str:
    (row,) = [row for row in listing(story.shell, "windows").rows if row.name == "rack"]
    return row.state


def test_nodes_that_leave_together_end_together() -> None:
    story = begun("Together")
    before = story.where()
    assert nodes(story) == dict.fromkeys(RACK, "ready")
    assert not set(before.values()) & set(RACK)
    assert closed_for(story, "jumpbox") == set(RACK)
    uncordon(story, "kni-worker")
    assert nodes(story) == {"kni-worker": "returned", "kni-worker2": "ready"}
    assert closed_for(story, "jumpbox") == set(RACK)  # the other one is away
    assert not story.pulls()
    away = {item.vm.name: item.reason for item in status(story.shell).away}
    assert away["jumpbox"] == "it goes home when kni-worker2 is back"
    assert window_state(story) == "open"
    uncordon(story, "kni-worker2")
    assert closed_for(story, "jumpbox") == set()
    (way_home,) = story.pulls()
    assert way_home.branch.rpartition("/")[2].startswith("return-rack-")
    assert planned(story) == ()
    assert window_state(story) == "over"


def test_nodes_that_roll_take_vms_as_soon_as_they_are_back() -> None:
    story = begun("Rolling")
    assert closed_for(story, "jumpbox") == set(RACK)
    uncordon(story, "kni-worker")
    assert nodes(story)["kni-worker"] == "returned"
    assert "kni-worker" not in closed_for(story, "jumpbox")
    assert not {move.source.node for move in planned(story)} & {"kni-worker"}
    uncordon(story, "kni-worker2")
    assert set(nodes(story).values()) == {"returned"}
    assert closed_for(story, "jumpbox") == set()
    assert planned(story) == ()
    assert window_state(story) == "over"


@pytest.mark.parametrize("mode", ["Together", "Rolling"])
def test_the_file_of_a_drain_that_has_ended_is_tidied_away(mode: str) -> None:
    story = begun(mode)

    story.port.sleep(WEEK)
    assert FILE not in files(story)  # its nodes are not back
    for node in RACK:
        uncordon(story, node)
    assert FILE not in files(story)
    story.port.sleep(WEEK)
    assert FILE in files(story)
    propose(story.shell)
    tidy = next(pull for pull in story.pulls() if pull.branch.endswith("/tidy"))
    checked = publish(story.shell, number=tidy.number).check.diff
    assert checked is not None
    assert checked.year is not None
    assert (checked.verdict, checked.year.after) == ("nothing to do", ())
    story.merge(tidy.number)
    where = story.where()
    reconcile(story.shell)
    assert story.where() == where


def files(story: Story) -> tuple[str, ...]:
    seen = read_current_state(story.shell, story.store.read())
    return finished_files(ConcernSources.of(seen))


def test_the_file_of_a_window_that_opened_once_is_tidied_away() -> None:
    opening = parse_instant("2026-12-06T21:00:00Z")
    once = "  schedule: {start: '2026-12-06T22:00', timeZone: Europe/Madrid, duration: PT4H}\n"
    story = Story.begin(step=1, rack=window("Rolling") + once)
    story.port.sleep(opening - story.port.now())
    reconcile(story.shell)
    story.merge()
    reconcile(story.shell)
    assert "ready" in nodes(story).values()
    story.port.sleep(4 * 3600 + WEEK)
    assert FILE not in files(story), "a node is not back"
    for node in RACK:
        uncordon(story, node)
    assert FILE in files(story)


@pytest.mark.parametrize(("end", "gone"), [("", False), (";COUNT=1", True)])
def test_a_window_that_opens_again_keeps_its_file(end: str, gone: bool) -> None:
    when = "{start: '2026-12-06T22:00', timeZone: Europe/Madrid, duration: PT4H"
    weekly = f"  schedule: {when}, recurrence: 'FREQ=WEEKLY{end}'}}\n"
    story = Story.begin(step=1, rack=window("Rolling") + weekly)
    story.port.sleep(parse_instant("2026-12-20T00:00:00Z") - story.port.now())
    assert (FILE in files(story)) is gone


def test_a_window_that_a_request_refers_to_keeps_its_file() -> None:
    story = begun("Rolling")
    for node in RACK:
        uncordon(story, node)
    story.commit(
        request=f"""{HEAD}kind: MigrationRequest
metadata: {{name: one, namespace: customapp}}
spec: {{vms: {{names: [jumpbox]}}, window: rack}}
"""
    )
    story.port.sleep(WEEK)
    assert FILE not in files(story)


def failed() -> Story:
    """The first move of each VM fails: that of the one failed, the other's did not start."""
    slow = configuration().replace(
        "    timeZone:", "    limits: {parallel: 1, reserve: 0}\n    timeZone:"
    )
    story = Story.begin(step=1, rack=window("Together"))
    story.commit(**{".gitbot.yaml": slow})
    reconcile(story.shell)
    story.merge()
    for vm, node in story.where().items():
        if node in RACK:
            story.cluster.failures.add(("customapp", vm), "the target is lost")
    reconcile(story.shell)
    return story


def test_one_failure_stops_the_rack_and_status_offers_both_ways() -> None:
    story = failed()
    assert set(nodes(story).values()) <= {"draining", "ready"}
    assert len(set(story.where().values()) & set(RACK)) == 2
    (drain,) = [item for item in status(story.shell).requests if item.record.finished]
    assert [move.record.state for move in drain.moves] == ["failed", "withdrawn"]
    assert drain.next_command == (
        f"gitbot propose, to finish it, or gitbot cancel {drain.record.id}, to send the VMs back"
    )


def test_the_rest_of_the_rack_is_one_plan_again() -> None:
    story = failed()
    for _ in RACK:
        story.merge()
        reconcile(story.shell)
    assert not set(story.where().values()) & set(RACK)
    assert set(nodes(story).values()) == {"ready"}


def test_a_cancelled_rack_gives_all_nodes_back() -> None:
    story = failed()
    (drain,) = [item for item in status(story.shell).requests if item.record.finished]
    cancel(story.shell, request=str(drain.record.id), reason="not tonight", by="ann")
    reconcile(story.shell)
    assert set(nodes(story).values()) == {"returned"}
    assert not any(at(node, "spec", "unschedulable") for node in rack_nodes(story))


def rack_nodes(story: Story) -> list[Any]:
    return [node for node in story.cluster.list("Node") if node["metadata"]["name"] in RACK]
