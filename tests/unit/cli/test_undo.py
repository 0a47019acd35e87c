"""`gitbot undo` leads each VM to where it was before the request moved it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.model.ledger.events import MoveChanged, MoveState
from gitbot.model.ledger.ledger import request_file
from gitbot.model.ledger.request_id import RequestId
from tests.unit.cli.desk import Desk, at_desk

REQUEST = "drain/racks/20261206T210000Z"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def record(desk: Desk, *moves: tuple[str, str, str, str]) -> None:
    """Ended moves of the request: VM, source, target and state."""
    store, cluster = desk.loop.shell.ledger_store, desk.loop.cluster.name
    assert isinstance(store, GitLedgerStore)
    request = RequestId.read(REQUEST)
    events = [
        MoveChanged(
            file=request_file(cluster, request),
            time=1_764_547_200 + number,
            cluster=cluster,
            state=MoveState(state),
            request=request,
            vm=vm,
            move=number,
            attempt=1,
            source=source,
            to=target,
        )
        for number, (vm, source, target, state) in enumerate(moves, 1)
    ]
    store.append(store.read(), tuple(events), {})


def test_vm_of_retried_move_is_named_once(desk: Desk) -> None:
    record(
        desk,
        ("customapp/jumpbox", "kni-worker3", "kni-worker5", "failed"),
        ("customapp/jumpbox", "kni-worker2", "kni-worker", "succeeded"),
    )
    said = desk.gitbot("undo", REQUEST, "--dry-run")
    assert "    names:\n    - jumpbox\n  target:\n    node: kni-worker2\n" in said.out, said.text


def test_vm_that_moved_twice_goes_to_where_it_was_first(desk: Desk) -> None:
    record(
        desk,
        ("customapp/jumpbox", "kni-worker2", "kni-worker3", "succeeded"),
        ("customapp/jumpbox", "kni-worker3", "kni-worker", "succeeded"),
    )
    said = desk.gitbot("undo", REQUEST, "--dry-run")
    assert "    names:\n    - jumpbox\n  target:\n    node: kni-worker2\n" in said.out, said.text


def test_vm_that_came_back_needs_no_undo(desk: Desk) -> None:
    record(
        desk,
        ("customapp/jumpbox", "kni-worker", "kni-worker2", "succeeded"),
        ("customapp/jumpbox", "kni-worker2", "kni-worker", "succeeded"),
    )
    said = desk.gitbot("undo", REQUEST)
    assert (said.code, "has left every VM where it was\n" in said.err) == (2, True), said.text


def test_vms_of_two_namespaces_get_a_move_each(desk: Desk) -> None:
    record(
        desk,
        ("customapp/jumpbox", "kni-worker2", "kni-worker", "succeeded"),
        ("tools/builder", "kni-worker2", "kni-worker", "succeeded"),
    )
    said = desk.gitbot("undo", REQUEST)
    assert said.code == 2
    assert "moved VMs of several namespaces; gitbot move vm/jumpbox -n customapp --to" in said.err
    assert "gitbot move vm/builder -n tools --to kni-worker2" in said.err


def test_request_that_moved_nothing_and_is_finished_has_no_way_back(desk: Desk) -> None:
    record(desk, ("customapp/jumpbox", "kni-worker", "kni-worker2", "failed"))
    said = desk.gitbot("undo", REQUEST)
    assert (said.code, said.err.endswith("has moved nothing\n")) == (2, True), said.text


@pytest.mark.parametrize("name", ["racks", "window/racks", "drain/racks"])
def test_request_is_known_by_its_name(desk: Desk, name: str) -> None:
    record(desk, ("customapp/jumpbox", "kni-worker2", "kni-worker3", "succeeded"))
    said = desk.gitbot("undo", name, "--dry-run")
    assert f"note: undoes {REQUEST}\n" in said.out, said.text
    assert REQUEST in desk.gitbot("status", name).out
    assert "the chain is whole" in desk.gitbot("ledger", "prove", name).out


def test_too_late_is_where_the_vm_is_now(desk: Desk) -> None:
    record(desk, ("customapp/jumpbox", "kni-worker2", "kni-worker3", "succeeded"))
    said = desk.gitbot("cancel", "racks", "--by", "ann").err
    assert (
        f"{REQUEST} is finished: succeeded; too late: customapp/jumpbox is on kni-worker3" in said
    )
    store, cluster = desk.loop.shell.ledger_store, desk.loop.cluster.name
    (first,) = store.read().events
    assert isinstance(first, MoveChanged)
    other = RequestId.read("request/customapp/on")
    again = first.replace(
        file=request_file(cluster, other), request=other, time=first.time + 9, to="kni-worker5"
    )
    store.append(store.read(), (again,), {})
    moved = "too late: customapp/jumpbox went to kni-worker3, then to kni-worker5"
    assert moved in desk.gitbot("cancel", "racks", "--by", "ann").err
