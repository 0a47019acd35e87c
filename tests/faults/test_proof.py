"""The chain of a request is printed and verified; a step that does not hold is named."""

from dataclasses import replace

import pytest

from gitbot.errors import LedgerError, UsageError
from gitbot.workflows.apply import apply
from gitbot.workflows.ask import prove
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

REQUEST = "request/db/one"


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    assert apply(stage.shell).states == {"succeeded": 1}
    return stage


def test_each_step_from_plan_to_migration_is_there(stage: Stage) -> None:
    links = prove(stage.shell, REQUEST)
    assert [link.wrong for link in links] == [""] * len(links)
    kinds = [link.text.split(":")[0].split()[0] for link in links]
    assert kinds[:4] == ["ledger", "plan", "shown", "approved"]
    text = "\n".join(link.text for link in links)
    assert "merged by ann" in text
    (name,) = stage.cluster.creates()
    assert f"migration db/{name}" in text
    assert text.rstrip().splitlines()[-1].split(" move ")[1].startswith("1 of db/one succeeded")


def test_a_merge_that_the_base_branch_lacks_is_named(stage: Stage) -> None:
    stage.repository.write_commit(
        branch="elsewhere", expected=None, files={"README": b""}, message="start", time=1
    )
    shell = replace(stage.shell, base_branch="elsewhere")
    (wrong,) = (link for link in prove(shell, REQUEST) if link.wrong)
    assert wrong.text.startswith("approved: pull request 1")
    assert wrong.wrong.startswith("elsewhere does not have commit ")


def test_a_plan_that_is_gone_ends_it(stage: Stage) -> None:
    stage.store.ledger = stage.store.ledger.replace(plans={})
    with pytest.raises(LedgerError, match="is missing: moves of it were approved"):
        prove(stage.shell, REQUEST)


def test_an_unknown_request_has_a_near_one(stage: Stage) -> None:
    with pytest.raises(UsageError, match="did you mean request/db/one"):
        prove(stage.shell, "request/db/onee")
