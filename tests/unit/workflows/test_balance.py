"""A request that evens out: proposed, merged, carried out once; nothing where nodes are even."""

import itertools
from collections.abc import Mapping
from dataclasses import replace

import pytest

from gitbot.workflows.check import publish
from gitbot.workflows.watch import reconcile
from gitbot.workflows.watch.reconcile import SOON
from tests.doubles.intents import HEAD
from tests.unit.workflows.story import Story

EVEN = f"""{HEAD}kind: MigrationRequest
metadata: {{name: even, namespace: customapp}}
spec:
  vms: {{selector: {{matchLabels: {{kubevirt.io/domain: mssql2016}}}}}}
  target: {{balance: Requests}}
"""


def test_what_is_merged_on_the_base_branch_is_proposed_and_carried_out_once() -> None:
    """Two databases share a node; one is enough."""
    story = Story.begin(even=EVEN)
    reconcile(story.shell)
    (pull,) = story.pulls()
    assert pull.title == "Even out nodes: move 1 VM to kni-worker2"
    story.merge()
    reconcile(story.shell)
    assert story.databases() == ["kni-worker2", "kni-worker4", "kni-worker6"]
    assert story.states("request/customapp/even")[-1] == "1 succeeded"
    story.port.sleep(60)  # the pod that it left has ended
    reconcile(story.shell)
    before = story.writes()
    assert reconcile(story.shell).did_nothing
    assert (story.writes(), story.pulls()) == (before, ())


@pytest.mark.parametrize(("seconds", "times"), [(0, 1), (SOON, 2)])
def test_a_pass_reads_the_anchor_again_to_apply_only_after_long_planning(
    monkeypatch: pytest.MonkeyPatch, seconds: int, times: int
) -> None:
    story = Story.begin(even=EVEN)
    reconcile(story.shell)
    story.merge()
    real, reads = story.port.ledger_anchors, list[object]()

    def ledger_anchors() -> Mapping[str, str]:
        reads.append(found := real())
        return found

    monkeypatch.setattr(story.port, "ledger_anchors", ledger_anchors)
    slow = itertools.count(step=seconds)
    shell = replace(story.shell, seconds=lambda: float(next(slow)))
    assert reconcile(shell).applied.created == 1
    assert len(reads) == times


def test_a_pull_request_shows_the_moves_and_its_merge_approves_them() -> None:
    story = Story.begin()
    pull = story.open(even=EVEN)
    check = publish(story.shell, number=pull.number).check
    assert check.judged is not None
    assert len(check.judged.plan.moves) == 1
    story.merge(pull.number)
    reconcile(story.shell)
    assert len(set(story.databases())) == 3


def test_even_nodes_are_left_alone() -> None:
    story = Story.begin()
    pull = story.open(even=EVEN.replace("mssql2016", "jumpbox"))
    check = publish(story.shell, number=pull.number).check
    assert not check.fails()
    assert check.judged is not None
    assert not check.judged.plan.moves
    story.merge(pull.number)
    reconcile(story.shell)
    assert (story.pulls(), story.where()["jumpbox"]) == ((), "kni-worker")
