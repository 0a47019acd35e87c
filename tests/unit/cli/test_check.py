"""plan, check and render on a small repository, from the working tree, commits and a forge."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.cli.main import cli
from gitbot.cli.shared.options import ClusterAccess
from gitbot.cli.shared.planning_input import PlanOptions, asking_options
from gitbot.cli.shared.pull_request_check import clock_of
from gitbot.documents import write_documents
from gitbot.errors import SnapshotError, UsageError
from gitbot.intents import read_intents
from gitbot.model.text.instants import parse_instant
from gitbot.published import schema_of
from gitbot.snapshot import from_objects, write_snapshot
from gitbot.wiring import plan_worker
from tests.unit.wiring.test_planning import Does
from tests.unit.workflows.test_check import CONFIGURATION, IMPOSSIBLE, OBJECTS, REQUEST, RULE

NOW = "2026-12-06T21:00:00Z"
Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working tree with a rule and a request, and the cluster as a file beside it."""
    root = tmp_path / "repository"
    write(root, rule=RULE, request=REQUEST)
    (root / ".gitbot.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(write_documents(OBJECTS), encoding="utf-8")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run(folder: Path) -> Run:
    snapshot = ["--snapshot", str(folder.parent / "cluster.yaml"), "--now", NOW]

    def call(command: str, *arguments: str) -> Result:
        return CliRunner().invoke(cli, [command, *snapshot, *arguments], standalone_mode=False)

    return call


def write(root: Path, **intents: str) -> None:
    where = root / "intents" / "iberia"
    where.mkdir(parents=True, exist_ok=True)
    for name, text in intents.items():
        (where / f"{name}.yaml").write_text(text, encoding="utf-8")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=ana", "-c", "user.email=ana@example.org"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_plan_of_the_working_tree(run: Run) -> None:
    result = run("plan")
    assert result.return_value == 0
    assert result.stderr.startswith("no ledger was read (")
    lines = result.stdout.splitlines()
    assert lines[0] == "iberia: ready: 1 move, 0 blocked, rule breaks 0 → 0"
    assert "1      default     web   n1 (a)   n3 (c)" in result.stdout
    assert lines[-2:] == ["  gitbot render", "  gitbot status"]


@pytest.mark.parametrize("command", ["plan", "check"])
def test_machine_forms(run: Run, command: str) -> None:
    document = json.loads(run(command, "-o", "json").stdout)
    jsonschema.validate(document, schema_of("PlacementPlan"))
    assert document["inputs"]["snapshot"]["takenAt"] == NOW
    assert run(command, "-o", "yaml").stdout.startswith("apiVersion: placement.gitbot.dev/v1alpha1")
    assert run(command, "-o", "markdown").stdout.startswith("<!-- gitbot:plan:iberia -->\n✅")
    assert json.loads(run(command, "-o", "sarif").stdout)["runs"][0]["results"] == []
    assert ET.fromstring(run(command, "-o", "junit").stdout).get("failures") == "0"
    assert run(command, "-o", "github").stdout == ""


@pytest.mark.parametrize("command", ["plan", "check", "render"])
def test_intents_are_read_once_a_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    readings: list[str] = []

    def counted(files: Any, settings: Any, cluster: str) -> Any:
        readings.append(cluster)
        return read_intents(files, settings, cluster)

    monkeypatch.setattr("gitbot.workflows.core.revision.read_intents", counted)
    assert run(command).return_value == 0
    assert readings == ["iberia"]


def test_a_hold_exits_1_in_every_form(run: Run, folder: Path) -> None:
    write(folder, request=IMPOSSIBLE)
    for command in ("plan", "check"):
        for output in ("table", "json", "sarif", "junit", "github"):
            result = run(command, "-o", output)
            assert result.return_value == 1, (command, output, result.output)
    assert run("check", "-o", "github").stdout.startswith(
        "::error file=intents/iberia/request.yaml,line=1,"
    )


def test_broken_texts_exit_1_and_need_no_cluster(folder: Path) -> None:
    write(folder, request=REQUEST.replace("target:", "targte:"))
    for output, shown in (("table", "targte"), ("sarif", "2.1.0"), ("json", "FindingList")):
        result = CliRunner().invoke(cli, ["check", "-o", output], standalone_mode=False)
        assert result.return_value == 1, result.output
        assert shown in result.stdout
    (folder / ".gitbot.yaml").write_text("kind: Nope\n", encoding="utf-8")
    result = CliRunner().invoke(cli, ["check", "-o", "github"], standalone_mode=False)
    assert result.return_value == 1
    assert result.stdout.startswith("::error file=.gitbot.yaml,")


def test_fail_on_warning(run: Run, folder: Path) -> None:
    write(folder, nobody=RULE.replace("tier: db", "tier: none").replace("name: db", "name: none"))
    assert run("check").return_value == 0
    assert run("check", "--fail-on", "warning").return_value == 1


def test_render_prints_what_kubectl_takes(run: Run, folder: Path) -> None:
    write(folder, rule=f"{RULE}  admission: Render\n")
    items = json.loads(run("render", "-o", "json").stdout)["items"]
    assert [item["kind"] for item in items] == [
        "VirtualMachineInstanceMigration",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ]
    assert items[0]["spec"] == {
        "vmiName": "web",
        "addedNodeSelector": {"kubernetes.io/hostname": "n3"},
    }
    result = run("render")
    assert result.return_value == 0
    assert result.stdout.count("\n---\n") == 2
    assert run("render", "--kind", "virtualmachineinstancemigration").stdout.count("kind: ") == 1
    assert run("render", "--kind", "Node").stdout == ""


def test_revisions(run: Run, folder: Path) -> None:
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "intents" / "iberia" / "request.yaml").unlink()
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "rule")
    git(folder, "checkout", "--quiet", "-b", "work")
    write(folder, request=REQUEST)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "request")
    head = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "checkout", "--quiet", "main")
    (folder / "README.md").write_text("main went on\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "words")

    def planned(*arguments: str) -> tuple[list[str], str]:
        document = json.loads(run("check", "-o", "json", *arguments).stdout)
        return [move["request"] for move in document["moves"]], document["inputs"]["commit"]

    assert planned() == ([], "")
    assert planned("--rev", "work") == (["request/default/web-to-n3"], head)
    assert planned("--base", "main", "--rev", "work") == (["request/default/web-to-n3"], head)
    assert planned("--base", "work", "--rev", "work") == ([], head)
    write(folder, more=REQUEST.replace("web-to-n3", "web-to-n2").replace("n3", "n2"))
    assert planned("--base", "main") == (["request/default/web-to-n2"], "")
    result = run("check", "--rev", "nope")
    assert isinstance(result.exception, UsageError)


def test_what_others_wrote_is_planned_with_limits(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a base, as CI does, a plan that takes too much is a finding."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / "intents" / "iberia" / "request.yaml").unlink()
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "rule")
    write(folder, request=REQUEST)
    for bomb in (Does(bytearray, plan_worker.MEMORY * 2**20), Does(os._exit, 1)):
        with monkeypatch.context() as patched:
            patched.setattr(plan_worker, "_without_policies", lambda _, bomb=bomb: bomb)
            result = run("check", "--base", "main", "-o", "github")
            assert "check/too-large" in result.stdout
            assert result.return_value == 1
            assert run("check").return_value == 0  # one's own files
    assert run("check", "--base", "main").return_value == 0


def test_pull_request_is_checked_and_published(run: Run, folder: Path) -> None:
    bare = folder.parent / "forge.git"
    forge = LocalForge.create(bare, clock=SystemClock(), account="ana")
    text = CONFIGURATION + f"  forge: {{type: local, repository: {bare}, baseBranch: main}}\n"
    (folder / ".gitbot.yaml").write_text(text, encoding="utf-8")
    request = folder / "intents" / "iberia" / "request.yaml"
    request.unlink()
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "rule")
    git(folder, "push", "--quiet", str(bare), "main")
    git(folder, "checkout", "--quiet", "-b", "work")
    write(folder, request=REQUEST)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "request")
    git(folder, "push", "--quiet", str(bare), "work")
    pull = forge.open_pull(branch="work", base_branch="main", title="t", body="", labels=())
    number = str(pull.number)

    result = run("check", "--pull-request", number)
    assert (result.return_value, forge.list_comments(pull.number)) == (0, ())
    result = run("check", "--pull-request", number, "--publish", "-o", "json")
    assert result.return_value == 0, result.exception
    (comment,) = forge.list_comments(pull.number)
    assert "**1 move, 0 blocked" in comment.body
    assert json.loads(result.stdout)["digest"] in comment.body
    states = {status.context: str(status.state) for status in forge.list_statuses(pull.head)}
    assert states == {"gitbot/plan": "success", "gitbot/policy": "success"}


@pytest.mark.parametrize(("told", "publish", "stands"), [(0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_what_is_published_is_said_at_the_time_at_which_it_is(
    told: int, publish: int, stands: int
) -> None:
    """Planning takes a while: an approval in between was given to what stood there before."""
    asked = PlanOptions(access=ClusterAccess(), now=1, told_now=bool(told))
    clock = clock_of(asked, publish=bool(publish))
    assert (clock.now() == 1) is bool(stands)


def test_on_github_nothing_is_said_for_another_time(run: Run, folder: Path) -> None:
    text = CONFIGURATION + "  forge: {type: github, repository: acme/placement}\n"
    (folder / ".gitbot.yaml").write_text(text, encoding="utf-8")
    result = run("check", "--pull-request", "1", "--publish")
    assert isinstance(result.exception, UsageError)  # before anything is asked or fetched
    assert result.exception.hint == "leave out --now, or --publish"


def test_whether_a_time_was_given_is_known() -> None:
    @click.command("ask")
    @asking_options
    def ask(asked: PlanOptions) -> bool:
        return asked.told_now

    for arguments, told in ([], False), (["--now", NOW], True):
        assert CliRunner().invoke(ask, arguments, standalone_mode=False).return_value is told


def test_a_published_snapshot_needs_no_cluster(folder: Path) -> None:
    def call() -> Result:
        arguments = ["plan", "--published", "--now", NOW]
        return CliRunner().invoke(cli, arguments, standalone_mode=False)

    git(folder, "init", "--quiet", "--initial-branch=main")
    missing = call()
    assert isinstance(missing.exception, SnapshotError)
    assert "branch gitbot/snapshot/iberia" in missing.exception.message
    git(folder, "checkout", "--quiet", "--orphan", "gitbot/snapshot/iberia")
    data = write_snapshot(from_objects("iberia", OBJECTS, parse_instant(NOW)))
    (folder / "snapshot.json.gz").write_bytes(data)
    git(folder, "add", "snapshot.json.gz")
    git(folder, "commit", "--quiet", "-m", "snapshot")
    result = call()
    assert result.return_value == 0, result.exception
    assert result.stdout.startswith("iberia: ready: 1 move")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--published"], "give --published or --snapshot, not both"),
        (["--publish"], "--publish needs --pull-request"),
        (["--pull-request", "1", "--rev", "x"], "names head and base itself"),
        (["--cluster", "nope"], "there is no cluster nope"),
    ],
)
def test_usage(run: Run, arguments: list[str], message: str) -> None:
    result = run("check", *arguments)
    assert message in str(getattr(result.exception, "message", result.exception))
