"""The merge queue and auto-merge through the shipped workflows: nobody presses the button."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitbot.cli.shared.demo_story import request
from tests.doubles.github.queue import enable_auto_merge, enqueue
from tests.forge import runner
from tests.forge.world import FOLDER, REPOSITORY, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]

CHECKS = ("gitbot/plan", "gitbot/policy")
JUMPBOX = {
    f"{FOLDER}/jumpbox-to-sab.yaml": request(
        "jumpbox-to-sab", vm="jumpbox", node="kni-worker5", reason="Maintenance", note="n"
    )
}
ELSEWHERE = {
    f"{FOLDER}/jumpbox-to-bcn.yaml": request(
        "jumpbox-to-bcn", vm="jumpbox", node="kni-worker4", reason="Other", note="n"
    )
}
NO_JUMPBOX = """apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: jumpbox-stays}
spec:
  over: Move
  validations:
  - expression: vm.name != 'jumpbox'
    message: the jumpbox stays where it is
  validationActions: [Deny]
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    if runner.missing():
        pytest.skip(runner.missing())
    with world(tmp_path) as started:
        rules = started.github.repository(REPOSITORY).rulesets[3]["rules"]
        contexts = [{"context": name} for name in CHECKS]
        rules.append(
            {"type": "required_status_checks", "parameters": {"required_status_checks": contexts}}
        )
        started.dispatch()
        started.run()  # the snapshot is published
        yield started


def add_queue(made: World) -> None:
    """The base branch takes what comes through the queue, and nothing else."""
    rules: list[dict[str, Any]] = made.github.repository(REPOSITORY).rulesets[3]["rules"]
    rules.append({"type": "merge_queue"})


def approve(made: World, number: int) -> None:
    made.clock.sleep(5)
    made.ask("bob", "POST", f"~/pulls/{number}/reviews", {"event": "APPROVE"})


def join(made: World, number: int) -> str:
    """Bob presses "merge when ready" on a pull request that is; the commit of its group."""
    made.clock.sleep(5)
    with made.server.lock:
        return enqueue(made.github, REPOSITORY, number)


def checks_at(made: World, sha: str) -> dict[str, str]:
    listed = made.ask("bob", "GET", f"~/commits/{sha}/check-runs", per_page="100")
    return {run["name"]: run["conclusion"] for run in listed["check_runs"] if run["name"] in CHECKS}


def records(made: World, number: int) -> list[dict[str, Any]]:
    """What was shown on a pull request, oldest first."""
    path = f"pulls/{number}.jsonl"
    with made.server.lock:
        git = made.github.repository(REPOSITORY).git
        tip = git.resolve("gitbot/ledger")
        text = git.blob(f"{tip}:{path}").decode()
    return [json.loads(line) for line in text.splitlines()]


def test_a_pull_request_goes_through_the_queue(made: World) -> None:
    add_queue(made)
    number = made.open_pull("jump", JUMPBOX)
    made.run()
    approve(made, number)
    assert made.answer("bob", "PUT", f"~/pulls/{number}/merge")[0] == 405  # past the queue: no
    shown = records(made, number)
    group = join(made, number)
    ran = made.run()
    assert [(row.workflow, row.event) for row in ran if row.conclusion != "skipped"] == [
        ("gitbot plan", "merge_group"),
        ("gitbot show", "workflow_run"),
        ("gitbot apply", "push"),
        ("gitbot apply", "push"),  # the scan
    ]
    assert group in ran[0].log  # what was planned is the commit that main is going to have
    assert checks_at(made, group) == dict.fromkeys(CHECKS, "success")
    pull = made.ask("bob", "GET", f"~/pulls/{number}")
    assert (pull["merged"], pull["merge_commit_sha"]) == (True, group)
    assert made.instances()["jumpbox"] == "kni-worker5"
    # approved is what the reviewer saw: the queue's own run records nothing
    assert [row["digest"] for row in shown] == [row["digest"] for row in records(made, number)]
    moved = [line for line in made.ledger() if line.get("move")]
    assert moved[-1]["state"] == "succeeded"
    assert {line["digest"] for line in moved} == {shown[-1]["digest"]}
    assert made.checks(number)["gitbot/apply"] == "success"


def test_a_group_is_judged_by_what_main_says_by_then(made: World) -> None:
    add_queue(made)
    number = made.open_pull("jump", JUMPBOX)
    made.run()
    assert made.checks(number) == dict.fromkeys(CHECKS, "success")
    approve(made, number)
    join(made, number)
    # an administrator pushes past the queue, which builds its group again
    made.commit("main", {"policies/jumpbox.yaml": NO_JUMPBOX})
    made.ask("bob", "GET", "~")  # GitHub sees the push
    ran = made.runner.run_all()
    assert any("no longer on top of main" in row.log for row in ran)
    assert not made.ask("bob", "GET", f"~/pulls/{number}")["merged"]
    assert made.migrations() == []


def test_two_that_clash_do_not_both_pass_the_queue(made: World) -> None:
    add_queue(made)
    numbers = [made.open_pull("jump", JUMPBOX), made.open_pull("elsewhere", ELSEWHERE)]
    made.run()
    for number in numbers:
        assert made.checks(number) == dict.fromkeys(CHECKS, "success")
        approve(made, number)
    groups = [join(made, number) for number in numbers]
    ran = made.runner.run_all()
    failed = [row.workflow for row in ran if row.conclusion not in ("success", "skipped")]
    assert failed == ["gitbot plan"]  # a VM belongs to the first request that moves it
    assert [checks_at(made, group)["gitbot/plan"] for group in groups] == ["success", "failure"]
    merged = [made.ask("bob", "GET", f"~/pulls/{number}")["merged"] for number in numbers]
    assert merged == [True, False]
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert len(made.migrations()) == 1


def test_auto_merge_waits_for_reviewer_and_checks_and_approves_what_they_saw(made: World) -> None:
    number = made.open_pull("jump", JUMPBOX)
    with made.server.lock:
        enable_auto_merge(made.github, REPOSITORY, number, by="alice")
    made.run()
    assert made.checks(number) == dict.fromkeys(CHECKS, "success")
    assert not made.ask("bob", "GET", f"~/pulls/{number}")["merged"]
    shown = records(made, number)[-1]["digest"]
    approve(made, number)
    pull = made.ask("bob", "GET", f"~/pulls/{number}")
    assert (pull["merged"], pull["merged_by"]["login"]) == (True, "alice")
    made.run()
    assert made.instances()["jumpbox"] == "kni-worker5"
    moved = [line for line in made.ledger() if line.get("move")]
    assert (moved[-1]["state"], moved[-1]["digest"]) == ("succeeded", shown)
