"""`gitbot doctor`: the table, the document, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from gitbot.cli.doctor import command
from gitbot.cli.schema import schema_of
from tests.unit.action.stage import CONFIGURATION, a_clone, git


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    clone = a_clone(tmp_path)
    monkeypatch.chdir(clone)
    return clone


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        command, list(arguments), standalone_mode=False, catch_exceptions=False
    )


@pytest.mark.usefixtures("clone")
def test_without_a_cluster_everything_else_is_looked_at() -> None:
    result = run("--without-cluster")
    assert result.return_value == 0
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines if "fix:" not in line] == [
        ["ok", "forge/reach"],
        ["ok", "configuration/base"],
        ["ok", "configuration/mode"],
        ["ok", "ledger/read"],
        ["warn", "configuration/first-days"],
        ["ok", "ledger/push"],
        ["warn", "snapshot/published"],
    ]
    assert sum("fix:" in line for line in lines) == 2


@pytest.mark.usefixtures("clone")
def test_a_cluster_that_cannot_be_reached_is_a_failure_with_its_fix() -> None:
    result = run()
    assert result.return_value == 1
    assert "FAIL cluster/reach" in result.stdout
    assert "fix: give --kubeconfig" in result.stdout


@pytest.mark.usefixtures("clone")
@pytest.mark.parametrize("arguments", [("--without-cluster",), ()])
def test_the_document_is_what_its_schema_says(arguments: tuple[str, ...]) -> None:
    document = json.loads(run(*arguments, "-o", "json").stdout)
    jsonschema.validate(document, schema_of("Diagnosis"))
    assert all(check["fix"] for check in document["checks"] if check["outcome"] != "pass")


def test_a_broken_configuration_on_the_base_is_said(clone: Path) -> None:
    (clone / ".gitbot.yaml").write_text(CONFIGURATION.replace("stabilize", "stabilise"))
    git(clone, "commit", "--quiet", "-am", "oops")
    git(clone, "push", "--quiet")
    (clone / ".gitbot.yaml").write_text(CONFIGURATION)
    result = run("--without-cluster")
    assert result.return_value == 1
    assert "FAIL repository/reach" in result.stdout
    assert "stabilise" in result.stdout


def test_a_forge_that_is_gone_is_said(clone: Path) -> None:
    (clone.parent / "forge.git").rename(clone.parent / "elsewhere.git")
    result = run()
    assert result.return_value == 1
    assert "FAIL repository/reach" in result.stdout
    assert "FAIL cluster/reach" in result.stdout  # the cluster is asked all the same
