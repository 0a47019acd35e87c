"""The shipped workflows, executed by act against the GitHub double and the simulated cluster."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.cli.shared.demo_story import request
from tests.forge import runner
from tests.forge.world import FOLDER, REPOSITORY, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
JUMPBOX = {
    f"{FOLDER}/jumpbox-to-sab.yaml": request(
        "jumpbox-to-sab", vm="jumpbox", node="kni-worker5", reason="Maintenance", note="n"
    )
}
TONIGHT = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: tonight}}
spec:
  schedule: {{start: "2026-11-21T22:00", timeZone: UTC, duration: PT2H}}
"""
NO_JUMPBOX = f"""{HEAD}kind: PlacementPolicy
metadata: {{name: jumpbox-stays}}
spec:
  over: Move
  validations:
  - expression: vm.name != 'jumpbox'
    message: the jumpbox stays where it is
  validationActions: [Deny]
"""
SPY = """
      - name: what a fork gets
        env:
          TOKEN: ${{ github.token }}
          KUBECONFIG_TEXT: ${{ secrets.GITBOT_KUBECONFIG }}
        run: |
          echo "secret=[$KUBECONFIG_TEXT]"
          code=$(curl --silent --output /dev/null --write-out '%{http_code}' --request POST \\
            --header "Authorization: Bearer $TOKEN" --data '{"body":"taken over"}' \\
            "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues/1/comments")
          echo "comment=$code"
"""


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    if runner.missing():
        pytest.skip(runner.missing())
    with world(tmp_path, limits="{parallel: 1}") as started:
        started.dispatch()
        started.run()  # the snapshot is published
        yield started


def workflows(ran: list[runner.Ran]) -> list[str]:
    """The workflows whose jobs ran."""
    return [row.workflow.removeprefix("gitbot ") for row in ran if row.conclusion != "skipped"]


def moving(made: World) -> bool:
    """Whether a migration is under way."""
    phases = [m.get("status", {}).get("phase", "") for m in made.migrations()]
    return any(phase not in ("Succeeded", "Failed") for phase in phases)


def test_a_pull_request_of_a_fork(made: World) -> None:
    made.github.fork(REPOSITORY, "mallory")
    made.tokens["mallory"] = made.github.personal_token("mallory")
    git = made.github.repository(REPOSITORY).git
    path = ".github/workflows/plan.yml"
    plan = git.blob(f"main:{path}").decode()
    changed = plan.replace("      contents: read\n", "      contents: write\n      issues: write\n")
    assert changed != plan
    spied = {**JUMPBOX, path: changed.rstrip("\n") + SPY}
    made.commit("jump", spied, repository="mallory/placement")
    body = {"head": "mallory:jump", "base": "main", "title": "Let me in"}
    number = made.ask("mallory", "POST", "~/pulls", body)["number"]
    planned, shown = made.run()
    assert "secret=[]" in planned.log
    assert "comment=403" in planned.log
    assert (shown.workflow, shown.event) == ("gitbot show", "workflow_run")
    (comment,) = made.comments(number)
    assert comment["user"]["login"] == "github-actions[bot]"
    assert "jumpbox" in comment["body"]
    assert made.checks(number) == {"gitbot/plan": "success", "gitbot/policy": "success"}


def test_a_merge_in_the_afternoon_for_a_window_at_night(made: World) -> None:
    files = {name: f"{text}  window: tonight\n" for name, text in JUMPBOX.items()}
    number = made.open_pull("jump", {**files, "intents/iberia/tonight.yaml": TONIGHT})
    made.run()
    made.wait_until("15:00")
    made.merge(number)
    made.run()
    assert made.migrations() == []
    assert made.checks(number)["gitbot/apply"] in ("in_progress", "queued")
    assert "22:00" in made.dashboard()
    made.wait_until("21:38")
    assert workflows(made.run()) == ["reconcile"]  # nothing opens within twenty minutes
    assert made.migrations() == []
    made.wait_until("21:48")
    # this pass waits for the opening; what fell due meanwhile finds nothing to do
    assert workflows(made.run()) == ["reconcile", "reconcile"]
    assert made.instances()["jumpbox"] == "kni-worker5"
    (migration,) = made.migrations()
    assert migration["metadata"]["creationTimestamp"].startswith("2026-11-21T22:0")
    assert made.checks(number)["gitbot/apply"] == "success"


def test_a_run_that_is_cancelled_loses_nothing(made: World) -> None:
    number = made.open_pull("jump", JUMPBOX)
    made.run()
    made.merge(number)

    def cancel() -> None:
        apply = made.github.repository(REPOSITORY).runs[
            max(made.github.repository(REPOSITORY).runs)
        ]
        made.runner.cancel(apply)
        time.sleep(2)  # the signal is on its way through two processes

    made.clock.when(lambda: moving(made), cancel)
    ran = made.runner.run_all()
    assert (ran[0].workflow, ran[0].conclusion) == ("gitbot apply", "cancelled")
    assert moving(made)
    made.dispatch()
    made.run()
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert len(made.migrations()) == 1
    assert [line["state"] for line in made.ledger() if line.get("move")][-1] == "succeeded"
    assert made.checks(number)["gitbot/apply"] == "success"


def test_hold_stops_a_run_in_its_midst(made: World) -> None:
    databases = made.instances("mssql2016")
    lone = next(vm for vm, node in sorted(databases.items()) if node == "kni-worker4")
    second = request("db-back", vm=lone, node="kni-worker2", reason="Other", note="n")
    number = made.open_pull("both", {**JUMPBOX, f"{FOLDER}/db-back.yaml": second})
    made.run()
    made.merge(number)

    def hold() -> None:
        made.say(number, "/gitbot hold")
        assert made.runner.run_one()  # the scan of the branch, which GitHub runs beside the others
        assert made.runner.run_one()

    made.clock.when(lambda: moving(made), hold)
    ran = made.run()
    assert sorted(set(workflows(ran))) == ["apply", "comment"]
    assert len(made.migrations()) == 1  # the one that was under way ends, the other never began
    assert "held" in made.dashboard().lower()
    made.say(number, "/gitbot resume")
    made.run()
    made.dispatch()
    made.run()
    assert len(made.migrations()) == 2
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert made.instances("mssql2016")[lone] == "kni-worker2"


def test_a_policy_denies(made: World) -> None:
    made.commit("main", {"policies/jumpbox.yaml": NO_JUMPBOX})
    made.dispatch()
    made.run()
    number = made.open_pull("jump", JUMPBOX)
    ran = made.runner.run_all()
    assert [(row.workflow, row.conclusion) for row in ran] == [
        ("gitbot plan", "failure"),
        ("gitbot show", "success"),
    ]
    assert made.checks(number)["gitbot/policy"] == "failure"
    assert "the jumpbox stays where it is" in made.comments(number)[0]["body"]
    made.merge(number)
    made.runner.run_all()
    assert made.migrations() == []
