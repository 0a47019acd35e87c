"""What may take long tells the line on standard error what it does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.progress_bar import StderrProgress
from tests.doubles.intents import RULE
from tests.unit.cli.desk import Desk, at_desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.commit(rule=RULE)
        yield desk


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the line was told, in order."""
    told: list[str] = []
    begins = StderrProgress.begins

    def spy(progress: StderrProgress, stage: str) -> None:
        told.append(stage)
        begins(progress, stage)

    monkeypatch.setattr(StderrProgress, "begins", spy)
    return told


COMMANDS = {
    "audit": ("reading the repository", "judging what runs"),
    "simulate lose kni-worker6": ("reading the repository", "simulating"),
    "simulate drain kni-worker6": ("reading the repository", "simulating"),
    "calendar": ("reading the repository",),
    "lint": ("reading the repository",),
    "lint --rev main": ("reading the repository",),
    "policy test": ("testing policies",),
    "policy explain migration-slots": ("running the cases of policies",),
    "plan": ("reading the repository", "planning"),
    "check --base main": ("reading the repository", "reading the cluster"),
    "render": ("reading the repository", "reading the cluster"),
    "explain vm/jumpbox -n customapp": ("reading the repository", "explaining"),
    "propose": ("reading the repository", "looking for what to propose"),
    "apply": ("reading the repository", "reading the forge and the cluster"),
    "status": ("reading the repository", "reading the cluster and the forge"),
    "get nodes": ("reading the repository",),
    "ledger show": ("reading the repository",),
    "doctor": ("looking at repository, forge and cluster",),
    "move vm/jumpbox -n customapp --to kni-worker5 --dry-run": (
        "reading the repository",
        "planning",
    ),
    "drain kni-worker6 --dry-run": ("reading the repository", "reading the cluster", "planning"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_it_does(desk: Desk, stages: list[str], command: str) -> None:
    said = desk.gitbot(*command.split())
    assert said.code in (0, 1), said.text
    known = dict.fromkeys(stage for stage in stages if stage in COMMANDS[command])
    assert tuple(known) == COMMANDS[command]
    assert stages[-1] == "", "the line is gone at the end"
