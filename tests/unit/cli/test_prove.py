"""`gitbot ledger prove` leads from the intent in its file to the migration, without the forge."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gitbot.workflows.ask import prove as prove_links
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk

STEPS = ["ledger:", "plan", "shown:", "approved:", "intent:"]


def finished(desk: Desk) -> None:
    """The jumpbox has moved, and the clone knows it."""
    pull = desk.loop.open({"jump.yaml": REQUEST})
    desk.loop.publish(pull.number)
    desk.loop.merge(pull.number)
    assert desk.loop.apply().states == {"succeeded": 1}
    desk.git("fetch", "-q")


def prove(desk: Desk, code: int) -> list[str]:
    said = desk.gitbot("ledger", "prove", "request/customapp/jump")
    assert said.code == code, said.text
    return said.out.splitlines()


def test_the_chain_is_whole_with_and_without_the_forge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        finished(desk)
        monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
        there = prove(desk, 0)
        forge = tmp_path / "placement.git"
        forge.rename(tmp_path / "away.git")
        first, *offline = prove(desk, 0)
    assert "pull requests are not known" in first
    assert offline == there
    assert [line.split()[1] for line in there[:5]] == STEPS
    assert "pull request 1" in there[3]
    assert "merged by alice" in there[3]
    intent = r"ok    intent: MigrationRequest/customapp/jump, \S*jump.yaml:\d+, sha256:[0-9a-f]{64}"
    assert re.fullmatch(intent, there[4])
    assert " succeeded: kni-worker -> kni-worker5, migration " in there[-1]


def test_the_intent_of_the_approved_commit_counts_not_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        finished(desk)
        before = prove(desk, 0)
        desk.commit(jump=REQUEST.replace("kni-worker5", "kni-worker3"))
        assert prove(desk, 0) == before


def test_another_intent_than_the_planned_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        finished(desk)
        desk.commit(jump=REQUEST.replace("kni-worker5", "kni-worker3"))
        shell = desk.loop.shell
        shell.repository.fetch()
        edited = shell.read_base(desk.git("rev-parse", "HEAD").strip())
        links = prove_links(replace(shell, read_base=lambda _: edited), "request/customapp/jump")
    (wrong,) = (link for link in links if link.wrong)
    assert wrong.text.startswith("intent: MigrationRequest/customapp/jump, ")
    assert wrong.wrong.endswith(" has another one")


def test_a_request_of_before_a_rename_has_the_intent_of_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        finished(desk)
        before = prove(desk, 0)
        desk.git("pull", "-q", "--ff-only")
        path = desk.tree / ".gitbot.yaml"
        renamed = "- name: lusitania\n    context: iberia"
        path.write_text(path.read_text().replace("- name: iberia", renamed))
        desk.git("mv", "intents/iberia", "intents/lusitania")
        desk.git("commit", "-qam", "rename")
        desk.git("push", "-q")
        adopted = desk.gitbot("ledger", "adopt")
        assert adopted.code == 0, adopted.text
        after = prove(desk, 0)
    assert [line for line in after if " intent: " in line] == [
        line for line in before if " intent: " in line
    ]
