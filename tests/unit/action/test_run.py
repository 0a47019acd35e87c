"""The action's second step: inputs, annotations, outputs, summary, and being cancelled."""

import importlib.util
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import Transport
from tests.contracts.cluster_server import Reply, ScriptedServer, Seen
from tests.doubles.served_demo import ServedDemo
from tests.unit.action.stage import (
    ACTION,
    PATIENCE,
    REQUEST,
    Runner,
    a_clone,
    forge,
    git,
    open_request,
)

pytestmark = [pytest.mark.xdist_group("action"), pytest.mark.timeout(900)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ServedDemo]:
    """One for each test: migrations of another repository's ledger stop a bot without a line."""
    cluster = ServedDemo(tmp_path / "served", factor=1)
    yield cluster
    cluster.stop()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return a_clone(tmp_path)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path / "runner")
    yield runner
    runner.stop()


def test_findings_become_annotations_and_the_step_fails(clone: Path, runner: Runner) -> None:
    folder = clone / "intents" / "iberia"
    folder.mkdir(parents=True)
    (folder / "bad.yaml").write_text(REQUEST.replace("kni-worker5", "%0A::error::forged"))
    (folder / "worse.yaml").write_text("apiVersion: x\n")
    code, log = runner.run(clone, "lint")
    assert code == 1
    assert runner.output("exit-code") == "1"
    errors = [line for line in log.splitlines() if line.startswith("::error")]
    assert errors
    assert all("file=intents/iberia/" in line for line in errors)


def test_what_gitbot_quotes_is_no_workflow_command(clone: Path, runner: Runner) -> None:
    code, log = runner.run(clone, "check", "--rev", "%0A::error::forged", "--published")
    lines = log.splitlines()
    assert code == 2
    assert lines[0].startswith("::stop-commands::")
    word = lines[0].removeprefix("::stop-commands::")
    end = lines.index(f"::{word}::")
    (after,) = [line for line in lines[end + 1 :] if line]
    assert after.startswith("::error title=gitbot::error: ")
    assert "%250A" in after
    assert "forged" in runner.summary.read_text()


@pytest.mark.parametrize(
    "arguments",
    ["--cluster\n; touch stolen", "--cluster\n$(touch stolen)", "--cluster\n`touch stolen`"],
)
def test_arguments_reach_no_shell(clone: Path, runner: Runner, arguments: str) -> None:
    code, log = runner.run(clone, "check", arguments, "--published")
    assert code == 2
    assert "there is no cluster" in log
    assert not (clone / "stolen").exists()


def test_secrets_are_in_private_files_and_gone_afterwards(
    clone: Path, runner: Runner, tmp_path: Path
) -> None:
    """A stand-in for gitbot tells what it was given."""
    program = tmp_path / "bin" / "gitbot"
    program.parent.mkdir()
    told = tmp_path / "told.json"
    program.write_text(
        "#!/usr/bin/env python3\n"
        "import json, os, sys\n"
        "names = ('KUBECONFIG', 'GITBOT_GITHUB_APP_KEY_FILE')\n"
        "files = {n: [oct(os.stat(os.environ[n]).st_mode), open(os.environ[n]).read()]"
        " for n in names}\n"
        "json.dump({'files': files, 'env': dict(os.environ), 'argv': sys.argv[1:]},"
        f" open({str(told)!r}, 'w'))\n"
    )
    program.chmod(0o755)
    environment = runner.environment(
        "reconcile",
        "--cluster",
        "two words",
        KUBECONFIG="apiVersion: v1\nkind: Config\n",
        TOKEN="s3cret",
        APP_ID="7",
        APP_KEY="-----BEGIN-----\nkey\n",
    )
    environment["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    run = [sys.executable, "-I", str(ACTION / "run.py")]
    subprocess.run(run, cwd=clone, env=environment, check=True)
    seen = json.loads(told.read_text())
    assert seen["argv"] == ["reconcile", "--cluster", "two words", "-o", "json"]
    assert seen["files"]["KUBECONFIG"] == ["0o100600", "apiVersion: v1\nkind: Config\n"]
    assert seen["files"]["GITBOT_GITHUB_APP_KEY_FILE"][0] == "0o100600"
    assert seen["env"]["GITHUB_TOKEN"] == "s3cret"
    assert not [name for name in seen["env"] if name.startswith("GITBOT_INPUT_")]
    left = [path for path in runner.temporary.rglob("*") if path.is_file()]
    assert not [path for path in left if stat.S_IMODE(path.stat().st_mode) == 0o600]


def test_a_request_from_check_to_merge_to_apply(
    cluster: ServedDemo, clone: Path, runner: Runner
) -> None:
    where = {"KUBECONFIG": cluster.kubeconfig}
    assert runner.run(clone, "reconcile", **where)[0] == 0
    head = open_request(clone)
    code, log = runner.run(clone, "check", "--head", head, "--published", "--publish")
    assert code == 0, log
    digest = runner.output("digest")
    assert digest.startswith("sha256:")
    assert digest[7:19] in runner.summary.read_text()
    reports = Path(runner.output("reports"))
    assert sorted(path.name for path in reports.iterdir()) == [
        *("comment.md", "findings.sarif", "iberia-pull-1.html"),
        *("junit.xml", "plan.json", "report.html"),
    ]
    forge(clone, "merge", "1", "--as", "ana")
    process = runner.start(clone, "apply", **where)
    assert process.stdout is not None
    for line in process.stdout:
        if "created" in line:
            break
    process.send_signal(signal.SIGINT)  # GitHub cancels the run
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert runner.output("exit-code") == "130"
    assert runner.output("hand-over") == ""
    code, log = runner.run(clone, "apply", **where)  # the next run follows it to its end
    assert code == 0, log
    told = json.loads(log[log.index("{") : log.rindex("}") + 1])
    assert told["states"] == {"succeeded": 1}
    assert told["created"] == 0
    again = runner.run(clone, "apply", **where)[1]
    assert json.loads(again[again.index("{") : again.rindex("}") + 1])["entries"] == 0


def test_a_head_that_no_open_pull_request_has_is_no_failure(
    cluster: ServedDemo, clone: Path, runner: Runner
) -> None:
    arguments = ("check", "--head", "0" * 40, "--published", "--publish")
    assert runner.run(clone, *arguments)[0] == 2  # no snapshot is published yet
    assert runner.run(clone, "reconcile", KUBECONFIG=cluster.kubeconfig)[0] == 0
    code, log = runner.run(clone, *arguments)
    assert code == 0
    assert "nothing to do" in log


@pytest.mark.parametrize(("findings", "expected"), [("fail", 1), ("report", 0)])
def test_findings_may_be_only_reported(
    clone: Path, runner: Runner, findings: str, expected: int
) -> None:
    folder = clone / "intents" / "iberia"
    folder.mkdir(parents=True)
    (folder / "bad.yaml").write_text("apiVersion: x\n")
    assert runner.run(clone, "lint", FINDINGS=findings)[0] == expected
    assert runner.output("exit-code") == "1"


def test_watch_ends_at_sigterm_and_says_how_it_is(
    cluster: ServedDemo, clone: Path, runner: Runner, tmp_path: Path
) -> None:
    health = tmp_path / "health"
    process = runner.start(
        clone,
        "reconcile",
        *("--watch", "--every", "600", "--health-file", str(health), "-o", "table"),
        KUBECONFIG=cluster.kubeconfig,
    )
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if health.exists() and health.read_text().startswith("ok "):
            break
        time.sleep(0.2)
    assert health.read_text().startswith("ok ")
    process.send_signal(signal.SIGTERM)
    log, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, log
    assert "gitbot/snapshot/iberia" in git(clone, "ls-remote", "origin")


def test_with_openid_connect_the_api_server_gets_a_new_token_when_it_wants_one(
    tmp_path: Path,
) -> None:
    given: list[str] = []

    def issuer(seen: Seen) -> Reply | None:
        if seen.path != "/token":
            return None
        assert (seen.headers["authorization"], seen.query["audience"]) == ("Bearer r", "kube")
        given.append(f"token-{len(given)}")
        return Reply(body={"value": given[-1]})

    def api(seen: Seen) -> Reply | None:
        fresh = seen.path == "/token" or seen.headers.get("authorization") == "Bearer token-1"
        return None if fresh else Reply(code=401, body={"kind": "Status"})

    with ScriptedServer(issuer, api) as server:
        run = module("run")
        text = run.oidc_kubeconfig({"CLUSTER_SERVER": server.url, "OIDC_AUDIENCE": "kube"})
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(text))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ACTIONS_ID_TOKEN_REQUEST_URL", f"{server.url}/token?v=1")
            patch.setenv("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "r")
            cluster = KubernetesCluster(
                transport=Transport(kubeconfig=str(config), context=run.OIDC)
            )
            assert cluster.list_migrations() == ()
    assert given == ["token-0", "token-1"]


def test_with_openid_connect_the_command_takes_our_context() -> None:
    run = module("run")
    line = run.command_line("apply", ["--cluster", "prod"], Path("x"), oidc=True)
    assert line == ["apply", "--cluster", "prod", "--context", "oidc", "-o", "json"]


def test_without_the_right_the_token_program_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(ACTION / "oidc_token.py"), "gitbot"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "id-token: write" in done.stderr


def test_what_lies_in_the_checkout_is_not_run_while_gitbot_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installer = module("install")
    ran: list[list[str]] = []

    def note(line: list[str], *, check: bool) -> None:
        assert check
        ran.append(line)
        (tmp_path / "environment").mkdir(exist_ok=True)

    monkeypatch.setattr(installer.subprocess, "run", note)
    installer.install(tmp_path, tmp_path / "environment")
    # without -I, `python -m pip` runs a pip.py of the working directory
    assert [line[1:4] for line in ran] == [["-I", "-m", "venv"], *[["-I", "-m", "pip"]] * 2]


def module(name: str) -> ModuleType:
    """One program of the action, as a module."""
    spec = importlib.util.spec_from_file_location(f"action_{name}", ACTION / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
