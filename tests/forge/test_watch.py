"""The third way to run gitbot: in the cluster, polling, with no workflow at all."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitbot.cli.shared.demo_story import RULE, request
from tests.forge.world import FOLDER, REPOSITORY, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]
HERE = Path(__file__).parent
PATIENCE = 300  # real seconds; only a test that fails waits so long
JUMPBOX = {
    f"{FOLDER}/jumpbox-to-sab.yaml": request(
        "jumpbox-to-sab", vm="jumpbox", node="kni-worker5", reason="Maintenance", note="n"
    )
}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as started:
        git = started.github.repository(REPOSITORY).git
        with started.server.lock:
            paths = git.files("main")
        started.commit("main", {path: None for path in paths if path.startswith(".github/")})
        yield started


@contextmanager
def watching(made: World) -> Iterator[subprocess.Popen[str]]:
    """gitbot as its Deployment runs it, with an account of its own."""
    made.github.add_collaborator(REPOSITORY, "robot", "write")
    place = made.folder / "work"
    place.mkdir()
    git = made.github.repository(REPOSITORY).git
    (place / ".gitbot.yaml").write_bytes(git.blob("main:.gitbot.yaml"))
    process = subprocess.Popen(
        [
            *(sys.executable, str(HERE / "virtual_gitbot.py"), "reconcile", "--watch"),
            *("--every", "300", "--health-file", str(made.folder / "health")),
        ],
        cwd=place,
        env={
            **os.environ,
            **made.runner.environment,
            "KUBECONFIG": str(made.folder / "kubeconfig"),
            "GITHUB_API_URL": made.server.api,
            "GITHUB_TOKEN": made.github.personal_token("robot"),
            "PYTHONPATH": str(HERE.parents[1]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def eventually(process: subprocess.Popen[str], look: Callable[[], bool]) -> None:
    """Wait until it is so, or until the process ends by itself."""
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_request_is_shown_merged_and_carried_out_without_any_workflow(made: World) -> None:
    number = made.open_pull("jump", JUMPBOX)
    with watching(made) as process:
        eventually(process, lambda: bool(made.comments(number)))
        comment = made.comments(number)[0]
        assert comment["user"]["login"] == "robot"
        assert "jumpbox" in comment["body"]
        made.merge(number)
        eventually(process, lambda: made.instances()["jumpbox"] == "kni-worker5")
        # a rule that is broken: the bot proposes its healing, and carries it out when merged
        made.commit("main", {f"{FOLDER}/rule.yaml": RULE})
        eventually(process, lambda: bool(made.open_pulls()))
        (healing,) = made.open_pulls()
        made.merge(healing)
        zones = {"kni-worker2": "scu", "kni-worker4": "bcn", "kni-worker6": "sab"}
        eventually(
            process,
            lambda: (
                {zones.get(node) for node in made.instances("mssql2016").values()}
                == {"scu", "bcn", "sab"}
            ),
        )
        eventually(process, lambda: (made.folder / "health").read_text().startswith("ok "))
        process.send_signal(signal.SIGTERM)
        log, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, log
    assert len(made.migrations()) == 2
    assert not made.github.repository(REPOSITORY).runs
