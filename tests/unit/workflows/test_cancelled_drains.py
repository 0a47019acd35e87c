"""A drain can be cancelled as long as one of its nodes is being emptied, or may yet begin."""

import pytest

from gitbot.errors import UsageError
from gitbot.execution.executor_types import Maintenance, Terms
from gitbot.execution.ledger_folds import fold_nodes
from gitbot.execution.request_records import fold_requests
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.text.instants import Interval
from gitbot.workflows.apply import apply, cancel, note_cancelled, returned
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW

OCCURRENCE = OccurrenceId(window="fw", id="o1")
DRAIN = OCCURRENCE.drain
HOUR = 3600


def a_stage(*vms: str) -> Stage:
    """Each VM is on a node of its own, from a on; c takes them. One node at a time."""
    homes = dict(zip(vms, "ab", strict=False))
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms=homes)
    stage.base.terms_by_request[DRAIN] = Terms(
        allowed=(Interval(start=NOW - 60, end=NOW + HOUR),),
        window="fw",
        maintenance=Maintenance(
            occurrence=OCCURRENCE, nodes=tuple(homes.values()), cordon=True, done="Uncordoned"
        ),
    )
    moves = (
        a_move(vm, homes[vm], "c", number=number, wave=number, request=DRAIN, group=homes[vm])
        for number, vm in enumerate(vms, 1)
    )
    stage.approve(a_plan(*moves))
    return stage


def a_stage_with_a_node_to_come() -> Stage:
    """All moves have ended, as the VM of b was stopped; b waits for a to return."""
    stage = a_stage("one", "two")
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "a")) == ({"a": "ready"}, True)
    del stage.cluster.instances["two"]
    apply(stage.shell)
    assert fold_requests(stage.store.read(), "prod")[DRAIN].finished
    return stage


def states(stage: Stage) -> dict[str, str]:
    nodes = fold_nodes(stage.store.read(), cluster="prod", occurrence=OCCURRENCE)
    return {name: str(node.state) for name, node in nodes.items()}


def is_cordoned(stage: Stage, node: str) -> bool:
    return bool(stage.cluster.nodes[node]["spec"].get("unschedulable"))


def uncordon(stage: Stage, node: str) -> None:
    stage.cluster.nodes[node]["spec"]["unschedulable"] = False


def test_the_nodes_of_a_drain_begin_when_its_moves_have_ended() -> None:
    stage = a_stage_with_a_node_to_come()
    uncordon(stage, "a")
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "b")) == ({"a": "returned", "b": "ready"}, True)


def test_no_node_begins_after_a_cancel_and_one_that_is_out_of_service_stays_so() -> None:
    stage = a_stage_with_a_node_to_come()
    assert cancel(stage.shell, request=DRAIN, reason="", by="ann").record.cancelled == "ann"
    assert (states(stage), is_cordoned(stage, "a")) == ({"a": "ready"}, True)
    uncordon(stage, "a")
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "b")) == ({"a": "returned"}, False)


def test_the_cordon_of_a_failed_drain_goes_with_its_cancel() -> None:
    stage = a_stage("one")
    stage.cluster.fails = {"one"}
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "a")) == ({"a": "draining"}, True)
    record = cancel(stage.shell, request=DRAIN, reason="", by="ann").record
    assert (record.cancelled, record.state) == ("ann", "failed")
    assert is_cordoned(stage, "a") is False
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "a")) == ({"a": "returned"}, False)


def test_a_node_whose_vm_went_before_it_began_is_to_come() -> None:
    stage = a_stage("one")
    stage.cluster.instances.clear()
    apply(stage.shell, start=False)
    assert fold_requests(stage.store.read(), "prod")[DRAIN].finished
    assert states(stage) == {}
    note_cancelled(stage.shell, request=DRAIN, reason="", by="ann")
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "a")) == ({}, False)


def finished(stage: Stage) -> None:
    with pytest.raises(UsageError, match="is finished: succeeded"):
        note_cancelled(stage.shell, request=DRAIN, reason="", by="ann")


def test_a_drain_whose_nodes_are_all_out_of_service_is_finished() -> None:
    stage = a_stage("one")
    apply(stage.shell)
    assert states(stage) == {"a": "ready"}
    finished(stage)
    assert is_cordoned(stage, "a") is True


def test_no_node_is_to_come_when_the_window_is_over() -> None:
    stage = a_stage_with_a_node_to_come()
    stage.clock.present = NOW + HOUR
    finished(stage)


def test_it_is_cancelled_once() -> None:
    stage = a_stage_with_a_node_to_come()
    note_cancelled(stage.shell, request=DRAIN, reason="", by="ann")
    finished(stage)


def test_a_failed_node_comes_back_although_others_wait_for_it() -> None:
    stage = a_stage("one", "two")
    stage.cluster.fails = {"one"}
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "a")) == ({"a": "draining"}, True)
    with pytest.raises(UsageError, match="no maintenance has b"):
        returned(stage.shell, node="b", by="ann")
    returned(stage.shell, node="a", by="ann")
    apply(stage.shell)
    assert is_cordoned(stage, "a") is False
    assert states(stage) == {"a": "returned", "b": "ready"}


def test_a_node_that_has_moves_to_come_does_not_come_back() -> None:
    stage = a_stage("one", "two")
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    with pytest.raises(UsageError, match="a is still draining"):
        returned(stage.shell, node="a", by="ann")
