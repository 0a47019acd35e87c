"""What cluster and forge are told of the ledger, and what is read of it there."""

import pytest

from gitbot.errors import ClusterRefused
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import CheckRun, CheckState
from gitbot.workflows.ledger.anchor import (
    CONTEXT,
    WITHOUT,
    read_anchor,
    write_cluster_anchor,
    write_forge_anchor,
)
from gitbot.workflows.ledger.writer import Journal
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "b")))
    return stage


def check(name: str, title: str) -> CheckRun:
    return CheckRun(name=name, state=CheckState.SUCCESS, title=title, summary="")


def test_only_the_anchors_own_check_is_read(stage: Stage) -> None:
    main = stage.repository.commit("main").id
    stage.forge.set_check(main, check("ci", "12 of somebody"))
    assert read_anchor(stage.shell).forge == ""
    stage.forge.set_check(main, check(CONTEXT, "1 abc"))
    assert read_anchor(stage.shell).forge == "1 abc"


def test_the_newest_base_branch_is_asked(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch() -> None:
        stage.forge.set_check(stage.repository.commit("main").id, check(CONTEXT, "1 abc"))

    monkeypatch.setattr(stage.repository, "fetch", fetch)
    assert read_anchor(stage.shell).forge == "1 abc"


def test_of_an_empty_ledger_the_forge_is_told_nothing(stage: Stage) -> None:
    main = stage.repository.commit("main").id
    write_forge_anchor(stage.shell, Ledger(), main)
    assert stage.forge.list_checks(main) == ()


@pytest.mark.parametrize(
    ("code", "said"), [(404, WITHOUT), (405, "the ledger is not anchored in the cluster: no")]
)
def test_an_anchor_that_cannot_be_written_is_told_of(stage: Stage, code: int, said: str) -> None:
    def refuse(call: str, what: str) -> None:
        del what
        if call == "set-anchor":
            raise ClusterRefused("no", code=code)

    stage.cluster.trouble = refuse
    journal = Journal(stage.store, stage.clock)
    journal.read()
    assert write_cluster_anchor(stage.shell, journal, "1 abc") is None
    assert stage.lines == [said]
