"""The whole story through the shipped workflows: request, healing, maintenance with return."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.cli.shared.demo_story import RULE, request
from tests.forge import runner
from tests.forge.world import FOLDER, REPOSITORY, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(1200)]

WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: firmware}
spec:
  nodes: {names: [kni-worker5]}
  schedule: {start: "2026-11-21T22:00", timeZone: UTC, duration: PT4H}
  drain: {lead: PT1H, cordon: External}
  returnHome: Propose
"""
NODE = "kni-worker5"


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    if runner.missing():
        pytest.skip(runner.missing())
    with world(tmp_path) as started:
        started.dispatch()
        started.run()  # the snapshot is published
        yield started


def states(made: World) -> dict[str, str]:
    """The last state of each move, by request and VM."""
    rows = [line for line in made.ledger() if line.get("vm") and line.get("move")]
    return {f"{row['request']} {row['vm']}": row["state"] for row in rows}


def bots(made: World) -> tuple[int, str]:
    """Number and title of the one pull request that the bot has open."""
    (found,) = made.open_pulls().items()
    assert made.ask("bob", "GET", f"~/pulls/{found[0]}")["user"]["login"] == "github-actions[bot]"
    return found


def tick(made: World) -> list[runner.Ran]:
    """The next scheduled pass."""
    made.clock.sleep(600)
    return made.run()


def test_from_a_request_to_the_return_of_the_last_vm(made: World) -> None:
    a_request_is_corrected_reviewed_merged_and_carried_out(made)
    a_healing_is_proposed_merged_and_carried_out(made)
    a_node_is_emptied_in_its_window_and_filled_again(made)
    made.clock.sleep(600)
    before = made.ledger()
    made.run()
    assert made.ledger() == before  # a pass on an unchanged world writes nothing
    assert made.open_pulls() == {}


def a_request_is_corrected_reviewed_merged_and_carried_out(made: World) -> None:
    databases = made.instances("mssql2016")
    lone = next(vm for vm, node in sorted(databases.items()) if node == "kni-worker4")

    def files(node: str) -> dict[str, str]:
        back = request("db-back", vm=lone, node=node, reason="Other", note="home")
        away = request("jumpbox-away", vm="jumpbox", node=NODE, reason="Maintenance", note="n")
        return {
            f"{FOLDER}/mssql2016.yaml": RULE,
            f"{FOLDER}/db-back.yaml": back,
            f"{FOLDER}/jumpbox-away.yaml": away,
        }

    number = made.open_pull("spread", files("kni-worker3"), title="Spread the databases")
    refused = made.runner.run_all()
    assert [(row.workflow, row.conclusion) for row in refused] == [
        ("gitbot plan", "failure"), ("gitbot show", "success"),
    ]  # fmt: skip
    assert made.checks(number)["gitbot/plan"] == "failure"
    made.commit("spread", files("kni-worker2"))
    made.ask("alice", "GET", "~")  # GitHub sees the push
    made.run()
    assert made.checks(number) == {"gitbot/plan": "success", "gitbot/policy": "success"}
    (comment,) = made.comments(number)  # edited in place
    sent = f"refs/pull/{number}/head"
    assert [item["ref"] for item in made.github.repository(REPOSITORY).sarifs] == [sent, sent]
    assert "jumpbox" in comment["body"]
    assert "sha256:" in comment["body"][:2000]
    assert made.answer("bob", "PUT", f"~/pulls/{number}/merge")[0] == 405  # not reviewed yet
    made.merge(number)
    made.run()
    assert made.instances()["jumpbox"] == NODE
    assert made.instances("mssql2016")[lone] == "kni-worker2"
    assert made.checks(number)["gitbot/apply"] == "success"
    assert set(states(made).values()) == {"succeeded"}
    # the base branch is scanned too: GitHub compares what a pull request adds with that
    assert made.github.repository(REPOSITORY).sarifs[-1]["ref"] == "refs/heads/main"


def a_healing_is_proposed_merged_and_carried_out(made: World) -> None:
    tick(made)
    number, title = bots(made)
    assert title.startswith("Heal customapp/mssql2016: move 1 VM")
    assert len(made.comments(number)) <= 1
    made.merge(number)
    made.run()
    assert sorted(made.instances("mssql2016").values()) == [
        "kni-worker2", "kni-worker4", "kni-worker6",
    ]  # fmt: skip
    assert set(states(made).values()) == {"succeeded"}


def a_node_is_emptied_in_its_window_and_filled_again(made: World) -> None:
    homes = made.instances()
    number = made.open_pull("window", {"intents/iberia/firmware.yaml": WINDOW})
    made.run()
    made.merge(number)
    made.run()
    tick(made)
    assert not made.open_pulls(), "the merge of a window that opens once approves its plan"
    assert made.instances() == homes
    assert made.checks(number)["gitbot/apply"] in ("in_progress", "queued")
    assert "21:00" in made.dashboard()
    made.wait_until("20:48")
    made.cluster.cordon(NODE)
    made.run()  # the pass waits for the lead of the window
    assert NODE not in made.instances().values()
    made.wait_until("21:40")
    made.cluster.cordon(NODE, unschedulable=False)
    tick(made)
    tick(made)
    back, title = bots(made)
    assert title.startswith("Bring ")
    made.merge(back)
    made.run()
    assert made.instances() == homes
    assert made.checks(back)["gitbot/apply"] == "success"
    tick(made)
