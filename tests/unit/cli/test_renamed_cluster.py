"""A process that watches a cluster while the configuration gives it another name."""

import signal
from pathlib import Path

import pytest

from gitbot.cli.commands import reconcile as command
from gitbot.errors import GitbotError
from gitbot.workflows.watch import ReconcileResult
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk

RENAMED = "  - name: spain\n    context: iberia\n"
NOTED = "the ledger has requests of iberia, and the configuration calls the cluster spain"
GONE = "the configuration has no cluster iberia, which this process works for"


def rename(desk: Desk, clusters: str) -> None:
    file = desk.tree / ".gitbot.yaml"
    text = file.read_text()
    assert "  - name: iberia\n" in text
    desk.git("pull", "-q", "--ff-only")
    file.write_text(text.replace("  - name: iberia\n", clusters))
    desk.git("mv", "intents/iberia", "intents/spain")
    desk.git("commit", "-qam", "another name")
    desk.git("push", "-q", "origin", "main")


def watched(desk: Desk, monkeypatch: pytest.MonkeyPatch, clusters: str, *words: str) -> str:
    """The log of a pass under the old name, and of what follows the rename."""
    passed, troubled, heard = command.Told.passed, command.Told.troubled, [0]

    def hear() -> None:
        heard[0] += 1
        if heard[0] == 1:
            rename(desk, clusters)
        elif heard[0] == 3:  # the second pass sees the rename, and opens everything again
            signal.raise_signal(signal.SIGTERM)

    def after_pass(told: command.Told, result: ReconcileResult) -> None:
        passed(told, result)
        hear()

    def after_trouble(told: command.Told, error: GitbotError, seconds: int) -> None:
        troubled(told, error, seconds)
        hear()

    monkeypatch.setattr(command.Told, "passed", after_pass)
    monkeypatch.setattr(command.Told, "troubled", after_trouble)
    health = desk.tree.parent / "health"
    said = desk.gitbot("reconcile", "--watch", "--health-file", str(health), *words)
    assert said.code == 130, said.text
    return said.err + health.read_text()


def with_history(desk: Desk) -> None:
    pull = desk.loop.open({"jump.yaml": REQUEST})
    desk.loop.publish(pull.number)
    desk.loop.merge(pull.number)
    assert desk.gitbot("hold", "--reason", "not yet", "--by", "ann").code == 0
    desk.gitbot("apply")
    desk.gitbot("apply")  # an approved request is enough to know the cluster by


@pytest.mark.parametrize(
    ("clusters", "words", "found"),
    [
        (RENAMED, (), ("WARNING the configuration calls cluster iberia spain now", NOTED)),
        (f"{RENAMED}  - name: other\n", (), (GONE, "--cluster=spain or --cluster=other")),
        (RENAMED, ("--cluster", "iberia"), (GONE, "set --cluster=spain")),
    ],
    ids=["alone", "beside another", "named in its arguments"],
)
def test_says_what_happened_and_how_to_accept_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    clusters: str,
    words: tuple[str, ...],
    found: tuple[str, ...],
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        with_history(desk)
        said = watched(desk, monkeypatch, clusters, *words)
    assert [
        part for part in (*found, "`gitbot ledger adopt`", "\nfailing 20") if part not in said
    ] == []
