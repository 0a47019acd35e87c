"""A run that is cancelled in the midst of a move: whatever the signal, nothing is lost or doubled.

GitHub sends SIGINT, after 7.5 seconds SIGTERM, and kills in the end; a pod gets SIGTERM, then
SIGKILL. Source: actions/runner, ProcessInvoker.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.served_demo import ServedDemo
from tests.unit.action.stage import PATIENCE, Runner, a_clone, forge, git, open_request

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("action"), pytest.mark.timeout(900)]
KUBECTL = Path(sys.executable).parent / "kubectl"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ServedDemo]:
    cluster = ServedDemo(tmp_path / "served", factor=1)
    yield cluster
    cluster.stop()


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path / "runner")
    yield runner
    runner.stop()


def moved(cluster: ServedDemo) -> tuple[list[str], str]:
    """The phases of every migration object of gitbot's, and the node of the VM."""

    def get(*arguments: str) -> Any:
        line = [str(KUBECTL), "--kubeconfig", cluster.kubeconfig, "-n", "customapp", "get"]
        done = subprocess.run([*line, *arguments, "-o", "json"], capture_output=True, check=True)
        return json.loads(done.stdout)

    mine = get("vmim", "-l", "app.kubernetes.io/managed-by=gitbot")["items"]
    phases = [item.get("status", {}).get("phase", "") for item in mine]
    return phases, str(get("vmi", "jumpbox")["status"]["nodeName"])


def ledger(clone: Path) -> list[dict[str, Any]]:
    """The lines of the request, in the order in which they were written."""
    git(clone, "fetch", "--quiet", "origin", "gitbot/ledger")
    path = "requests/iberia/request/customapp/jumpbox-away.jsonl"
    return [json.loads(line) for line in git(clone, "show", f"FETCH_HEAD:{path}").splitlines()]


def result(log: str) -> Any:
    return json.loads(log[log.index("{") : log.rindex("}") + 1])


@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ((signal.SIGINT,), 130),
        ((signal.SIGTERM,), 130),
        ((signal.SIGINT, signal.SIGTERM), 130),
        ((signal.SIGKILL,), -signal.SIGKILL),
    ],
    ids=["interrupt", "terminate", "interrupt then terminate", "kill"],
)
def test_in_the_midst_of_a_move(
    cluster: ServedDemo,
    runner: Runner,
    tmp_path: Path,
    signals: tuple[signal.Signals, ...],
    code: int,
) -> None:
    clone, where = a_clone(tmp_path), {"KUBECONFIG": cluster.kubeconfig}
    assert runner.run(clone, "reconcile", **where)[0] == 0
    head = open_request(clone)
    assert runner.run(clone, "check", "--head", head, "--published", "--publish")[0] == 0
    forge(clone, "merge", "1", "--as", "ana")
    process = runner.start(clone, "apply", **where)
    assert process.stdout is not None
    assert any("created" in line for line in process.stdout)
    for number in signals:
        if number is signal.SIGKILL:  # GitHub kills the whole tree
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    (phase,), _ = moved(cluster)
    assert phase not in ("Succeeded", "Failed")  # it goes on without gitbot
    assert [line["state"] for line in ledger(clone)].count("intended") == 1

    told = runner.run(clone, "apply", **where)  # the next run follows it to its end
    assert told[0] == 0, told[1]
    assert (result(told[1])["created"], result(told[1])["states"]) == (0, {"succeeded": 1})
    assert moved(cluster) == (["Succeeded"], "kni-worker5")
    lines = ledger(clone)
    states = [line["state"] for line in lines]
    assert (states.count("intended"), states.count("succeeded")) == (1, 1)
    told = runner.run(clone, "apply", **where)
    assert result(told[1])["entries"] == 0
    assert ledger(clone) == lines
