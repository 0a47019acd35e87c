"""A pass whose time ends with work left starts its successor, until nothing is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.cli.shared.demo_story import request
from tests.forge import runner
from tests.forge.world import FOLDER, REPOSITORY, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]
JUMPBOX = {
    f"{FOLDER}/jumpbox-to-sab.yaml": request(
        "jumpbox-to-sab", vm="jumpbox", node="kni-worker5", reason="Maintenance", note="n"
    )
}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    if runner.missing():
        pytest.skip(runner.missing())
    with world(tmp_path) as started:
        yield started


def shorten(made: World, seconds: int) -> None:
    """The repository's people let passes end after so many seconds."""
    git = made.github.repository(REPOSITORY).git
    paths = [f".github/workflows/{name}.yml" for name in ("apply", "reconcile")]
    texts = {path: git.blob(f"main:{path}").decode() for path in paths}
    assert all("            3000\n" in text for text in texts.values())
    made.commit(
        "main", {path: text.replace(" 3000\n", f" {seconds}\n") for path, text in texts.items()}
    )


def test_a_pass_that_runs_out_of_time_starts_its_successor(made: World) -> None:
    made.dispatch()
    made.run()
    shorten(made, 2)
    made.run()
    number = made.open_pull("jump", JUMPBOX)
    made.run()
    made.merge(number)
    ran = made.run()
    jobs = [(row.workflow, row.job, row.event) for row in ran]
    assert jobs[0] == ("gitbot apply", "apply (iberia)", "push")
    successors = [row for row in jobs if row[2] == "workflow_dispatch"]
    assert successors, jobs
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert len(made.migrations()) == 1
    skipped = [row.conclusion for row in ran if row.job == "hand-over"]
    assert skipped[-1] == "skipped"  # the last pass has nothing to hand over
    assert "success" in skipped


def test_the_reconcile_workflow_can_be_asked_for_a_diagnosis_only(made: World) -> None:
    made.ask(
        "bob",
        "POST",
        "~/actions/workflows/reconcile.yml/dispatches",
        {"ref": "main", "inputs": {"doctor": "true"}},
    )
    ran = made.runner.run_all()
    assert "forge/token" in ran[0].log
    assert "cluster/move" in ran[0].log
    assert "gitbot/snapshot" not in "".join(made.github.repository(REPOSITORY).git.refs())


def test_a_comment_starts_a_pass_on_what_is_merged_and_only_there(made: World) -> None:
    made.dispatch()
    made.run()
    number = made.open_pull("jump", JUMPBOX)
    made.run()
    made.say(number, "/gitbot apply")
    ran = made.run()
    assert [row.conclusion for row in ran if row.job == "start"] == ["skipped"]
    assert "merge" in made.comments(number)[-1]["body"]
    # nobody's runner took the push, as when GitHub loses an event
    made.merge(number)
    repository = made.github.repository(REPOSITORY)
    made.github.actions.cancel(repository, repository.runs[max(repository.runs)])
    made.say(number, "/gitbot apply")
    ran = made.run()
    assert "gitbot reconcile" in [row.workflow for row in ran]
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert len(made.migrations()) == 1
