"""`gitbot doctor`: the table, the document, the exit code."""

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner, Result

from gitbot.cli.commands.doctor import doctor
from gitbot.cli.shared.schema_table import schema_of
from gitbot.errors import (
    ClusterError,
    ConflictError,
    ForgeError,
    GitbotError,
    InvalidInput,
    LedgerError,
    RepositoryError,
    UsageError,
)
from gitbot.model.plan.diagnosis import fix_of
from tests.unit.action.stage import CONFIGURATION, a_clone, git


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    clone = a_clone(tmp_path)
    monkeypatch.chdir(clone)
    return clone


def run(*arguments: str) -> Result:
    return CliRunner().invoke(
        doctor, list(arguments), standalone_mode=False, catch_exceptions=False
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
        ["ok", "ledger/size"],
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
    again = yaml.safe_load(run(*arguments, "-o", "yaml").stdout)
    assert [item["name"] for item in again["checks"]] == [
        item["name"] for item in document["checks"]
    ]


def test_a_broken_configuration_on_the_base_is_said(clone: Path) -> None:
    (clone / ".gitbot.yaml").write_text(CONFIGURATION.replace("stabilize", "stabilise"))
    git(clone, "commit", "--quiet", "-am", "oops")
    git(clone, "push", "--quiet")
    (clone / ".gitbot.yaml").write_text(CONFIGURATION)
    result = run("--without-cluster")
    assert result.return_value == 1
    assert "FAIL repository/reach" in result.stdout
    assert "stabilise" in result.stdout


def test_a_broken_intent_on_the_base_is_the_only_failure(clone: Path) -> None:
    (clone / "intents/iberia").mkdir(parents=True, exist_ok=True)
    (clone / "intents/iberia/broken.yaml").write_text("kind: MigrationRequst\n")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "oops")
    git(clone, "push", "--quiet")
    result = run("--without-cluster")
    assert result.return_value == 1
    failures = [line for line in result.stdout.splitlines() if line.startswith("FAIL")]
    (only,) = failures
    assert only.startswith("FAIL configuration/base")
    assert "intents/iberia/broken.yaml:1:1" in only
    assert "fix: git pull && gitbot lint" in result.stdout


def test_a_forge_that_is_gone_is_said(clone: Path) -> None:
    (clone.parent / "forge.git").rename(clone.parent / "elsewhere.git")
    result = run()
    assert result.return_value == 1
    assert "FAIL repository/reach" in result.stdout
    assert "FAIL cluster/reach" in result.stdout  # the cluster is asked all the same


@pytest.mark.parametrize(
    ("text", "found", "fix"),
    [
        (None, "there is no .gitbot.yaml in ", "run gitbot in a clone of the intents repository"),
        ("kind: Nonsense\n", ".gitbot.yaml:1:1: apiVersion: found nothing", "correct what the "),
    ],
)
def test_without_a_configuration_there_is_a_table_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, found: str, fix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / ".gitbot.yaml").write_text(text)
    result = run("--without-cluster")
    assert result.return_value == 1
    first, *_, last = result.stdout.splitlines()
    assert first.startswith(f"FAIL repository/reach  {found}")
    assert last.startswith(f"{'':23}fix: {fix}")
    names = [check["name"] for check in json.loads(run("-o", "json").stdout)["checks"]]
    assert names == ["repository/reach", "cluster/reach"]


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (RepositoryError("git fetch failed"), "make `git fetch` work here"),
        (RepositoryError("no branch", hint="push it"), "push it"),
        (ConflictError("moved"), "make `git fetch` work here"),
        (ForgeError("502"), "check forge.repository, "),
        (ClusterError("timed out"), "make `kubectl get nodes` work "),
        (LedgerError("damaged"), "run `gitbot ledger verify`"),
        (InvalidInput("wrong"), "correct what the message names"),
        (UsageError("no such cluster"), "put right what the message names"),
    ],
)
def test_every_fix_is_an_instruction(error: GitbotError, fix: str) -> None:
    assert fix_of(error).startswith(fix)
