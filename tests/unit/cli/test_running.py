"""The commands that read or change the world, on the simulated cluster and a forge in memory."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner, Result

from gitbot.cli.commands import (
    apply,
    cancel,
    hold,
    ledger,
    propose,
    reconcile,
    resume,
    returned,
    status,
)
from gitbot.cli.shared import session
from gitbot.cli.shared.schema_table import schema_of
from gitbot.errors import LedgerError
from gitbot.workflows.core.context import RunContext
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.ledger import of_newer_gitbot
from tests.unit.workflows.story import CLUSTER, Story
from tests.unit.workflows.test_faults_of_planner import without_jumpbox

COMMANDS: dict[str, click.Command] = {
    "apply": apply.apply,
    "cancel": cancel.cancel,
    "hold": hold.hold,
    "ledger": ledger.ledger,
    "propose": propose.propose,
    "reconcile": reconcile.reconcile,
    "resume": resume.resume,
    "returned": returned.returned,
    "status": status.status,
}
Run = Callable[..., Result]


@pytest.fixture
def story() -> Story:
    return Story.begin(db=RULE)


@pytest.fixture
def run(story: Story, monkeypatch: pytest.MonkeyPatch) -> Run:
    @contextmanager
    def opened(where: dict[str, str], **_: bool) -> Iterator[RunContext]:
        assert set(where) == {"cluster", "kubeconfig", "context"}
        yield replace(story.shell, progress=session.print_progress)

    for module in (apply, cancel, hold, ledger, propose, reconcile, resume, returned, session):
        monkeypatch.setattr(module, "running", opened)

    def call(name: str, *arguments: str) -> Result:
        return CliRunner().invoke(
            COMMANDS[name], list(arguments), catch_exceptions=False, standalone_mode=False
        )

    return call


def test_propose_merge_apply_and_again(story: Story, run: Run) -> None:
    first = run("propose")
    assert first.stdout == "heal-zoneantiaffinity-customapp-mssql2016: opened (pull request 1)\n"
    story.merge()
    applied = run("apply")
    assert applied.stdout == "1 succeeded\n"
    assert "kni-worker6 -> kni-worker2 created" in applied.stderr
    assert applied.return_value == 0
    again = run("apply")
    assert again.stdout == "nothing to do: everything approved is done, or waits\n"
    assert run("propose").stdout == "no concern: nothing to propose\n"


def test_a_fault_of_the_planner_ends_a_pass_with_1_and_a_line_to_report(
    story: Story, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.commit(jump=REQUEST)
    without_jumpbox(monkeypatch)
    for name in ("reconcile", "propose"):
        result = run(name)
        assert result.return_value == 1
        assert "report it with this line: gitbot " in result.stderr
        assert "[plan/internal]" in result.stderr
        assert "request-customapp-jump: waiting" in result.stdout


def test_json_comes_with_its_kind(story: Story, run: Run) -> None:
    kinds = {}
    run("propose")
    story.merge()
    for name in ("propose", "apply", "reconcile", "status"):
        document = json.loads(run(name, "-o", "json").stdout)
        jsonschema.validate(document, schema_of(document["kind"]))
        kinds[name] = document["kind"]
        assert document["apiVersion"] == "placement.gitbot.dev/v1alpha1"
    assert kinds == {
        "propose": "ProposeResult",
        "apply": "ApplyResult",
        "reconcile": "ReconcileResult",
        "status": "Status",
    }


def test_status_says_what_waits_and_what_to_type(story: Story, run: Run) -> None:
    first = run("status").stdout
    rule = "ZoneAntiAffinity/customapp/mssql2016: zone sab holds 2"
    assert first.startswith(f"iberia, mode Enforce\n\nBroken rules:\n{rule}")
    assert first.endswith("its healing in the next pass; next: gitbot propose\n")
    run("propose")
    assert "pull request 1 is open" in run("status").stdout
    story.merge()
    run("hold", "--reason", "smoke", "--by", "ann")
    assert run("apply").stdout.endswith("stopped: smoke\n")
    shown = run("status").stdout
    assert "stopped: smoke" in shown
    assert "  next: gitbot resume" in shown
    run("resume", "--by", "ann")
    run("apply")
    assert "succeeded" in run("status").stdout


def test_the_ledger_answers_who_moved_what(story: Story, run: Run) -> None:
    run("propose")
    story.merge()
    run("apply")
    rows = list(csv.reader(run("ledger", "show", "-o", "csv", "--node", "kni-worker2").stdout.splitlines()))  # fmt: skip  # noqa: E501
    assert rows[0][:4] == ["time", "state", "request", "vm"]
    assert [row[1] for row in rows[1:]][-1] == "succeeded"
    assert run("ledger", "show", "--by", "nobody").stdout == "no move\n"
    document = json.loads(run("ledger", "show", "-o", "json", "--by", "bob").stdout)
    jsonschema.validate(document, schema_of("LedgerEntryList"))
    items = document["items"]
    assert {item["merger"] for item in items} == {"bob"}
    assert yaml.safe_load(run("ledger", "show", "-o", "yaml", "--by", "bob").stdout) == document
    assert run("ledger", "show", "-n", "nowhere").stdout == "no move\n"
    everywhere = run("ledger", "show").stdout
    assert run("ledger", "show", "-n", "customapp").stdout == everywhere
    assert run("ledger", "show", "-n", "nowhere", "-A").stdout == everywhere
    whole = "1 plan: whole, anchored by the forge\n"
    assert run("ledger", "verify").stdout.endswith(whole)
    last = story.store.ledger
    story.store.ledger = last.replace(events=last.events[:-1], head="")
    with pytest.raises(LedgerError, match=f"the forge knows its line {last.events[-1].seq}"):
        run("ledger", "verify")


def test_the_ledgers_plans_are_verified_too(story: Story, run: Run) -> None:
    run("propose")
    story.merge()
    run("apply")
    ledger = story.store.read()
    ((digest, plan),) = ledger.plans.items()
    edited = plan.replace(b"kni-worker2", b"kni-worker4")
    for plans in ({}, {digest: edited}, {digest: b"{}"}):
        story.store.ledger = ledger.replace(plans=plans)
        with pytest.raises(LedgerError, match=f"plans/{digest}.json"):
            run("ledger", "verify")


def test_the_ledger_shows_what_a_newer_gitbot_wrote(story: Story, run: Run) -> None:
    run("propose")
    ledger = story.store.ledger
    file = f"requests/{CLUSTER}/request/db/one.jsonl"
    story.store.ledger = of_newer_gitbot(ledger, file=file, cluster=CLUSTER, time=0)
    newest = run("ledger", "show").stdout.splitlines()[-1]
    assert newest.startswith("Thu 1970-01-01 ")
    assert {"paused?", file} <= set(newest.split())
    document = json.loads(run("ledger", "show", "-o", "json").stdout)
    jsonschema.validate(document, schema_of("LedgerEntryList"))
    assert document["items"][-1]["state"] == "paused"
    assert "stopped: a newer gitbot wrote to the ledger" in run("status").stdout
    assert "stopped: a newer gitbot wrote to the ledger" in run("apply").stdout
    assert "nothing is proposed: a newer gitbot" in run("propose").stderr


def test_cancel_ends_a_request(story: Story, run: Run) -> None:
    story.commit(db=None, jump=REQUEST)
    run("propose")
    story.merge()
    run("hold", "--by", "ann")
    run("apply")
    assert run("cancel", "request/customapp/jump", "--by", "ann").stdout == (
        "request/customapp/jump: cancelled\n"
    )
    run("resume", "--by", "ann")
    assert "nothing to do" in run("apply").stdout


def test_what_cannot_be_read_gives_exit_code_2(
    story: Story, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("propose")
    story.merge()
    monkeypatch.setattr(story.port, "server_time", lambda: 0)
    result = run("apply")
    assert result.return_value == 2
    assert "the API server's clock is" in result.stdout


def test_words_of_others_cannot_act_on_a_terminal(story: Story, run: Run) -> None:
    run("hold", "--reason", "\x1b[31mred", "--by", "ann")
    assert "\x1b" not in run("status").stdout
