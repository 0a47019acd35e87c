"""A secret that is printed or sent is found: a search that finds nothing would prove nothing."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from gitbot.adapters.git import Git
from gitbot.simulation.http import write_kubeconfig
from tests.contracts.forges import StepClock
from tests.doubles import canaries
from tests.doubles.github import GitHub, Server
from tests.doubles.github.calls import Request


def test_what_a_command_prints_is_searched(capsys: pytest.CaptureFixture[str]) -> None:
    canaries.plant("c4n4ry-of-this-test")
    click.echo("the token is c4n4ry-of-this-test")
    assert canaries.found() == ["a secret is in what a command printed"]
    assert "c4n4ry" in capsys.readouterr().out  # which the report would fail for
    click.echo("the token is not shown")
    assert canaries.found() == []


def test_what_gitbot_gives_to_a_process_is_searched(tmp_path: Path) -> None:
    canaries.plant("c4n4ry-of-an-argument")
    subprocess.run([sys.executable, "-c", "", "c4n4ry-of-an-argument"], check=True)
    assert canaries.found() == []
    Git.of_work_tree(tmp_path).attempt(["log", "--grep=c4n4ry-of-an-argument"])
    assert canaries.found() == ["a secret is in the arguments of a process"]


def test_what_is_sent_to_github_is_searched(tmp_path: Path) -> None:
    service = GitHub(tmp_path / "service", clock=StepClock())
    service.add_repository("acme/placement")
    token = service.personal_token("alice")
    path = "/repos/acme/placement/issues"
    body = {"title": "x", "body": f"it said {token}"}
    with Server(service):
        service.handle(Request(method="POST", path=path, body=body, token=token))
    assert canaries.found() == [f"a secret is in POST {path}"]


def test_what_gitbot_writes_is_searched(tmp_path: Path) -> None:
    canaries.plant("c4n4ry-of-a-file")
    plain = tmp_path / "of-the-test"
    plain.write_text("c4n4ry-of-a-file", "utf-8")
    canaries.search_files()
    assert canaries.found() == []
    write_kubeconfig(tmp_path / "kubeconfig", server="http://c4n4ry-of-a-file", context="c")
    canaries.search_files()
    assert canaries.found() == ["a secret is in the file kubeconfig"]
    for name in ("one", "two"):
        write_kubeconfig(tmp_path / name, server="http://c4n4ry-of-a-file", context="c")
        (tmp_path / name).rename(tmp_path / f"{name}-moved")
    (tmp_path / "two-moved").unlink()
    canaries.search_files()
    assert canaries.found() == ["a secret is in the file one-moved"]
