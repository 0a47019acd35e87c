"""A day with the bot as its Deployment runs it: the account of deploy/rbac, and people who err."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.simulation.building import node
from tests.controlplane.desk import Desk
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.kubevirt.connection import Connection
from tests.controlplane.plane import ControlPlane
from tests.controlplane.waiting import eventually

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("kubevirt"),
]

LEDGER = "refs/heads/gitbot/ledger"
FLAGS = "/api/v1/namespaces/gitbot/configmaps"
PATIENCE = 120.0  # seconds until a pass has seen a change


@pytest.fixture
def desk(gitbot_kubeconfig: Path, plane: ControlPlane, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "desk", kubeconfig=gitbot_kubeconfig, cluster=plane.context)


@pytest.fixture
def health(desk: Desk, kubelets: Kubelets, tmp_path: Path) -> Iterator[Path]:
    """The health file of a gitbot that watches."""
    kubelets.add(node("w1"))
    path = tmp_path / "health"
    bot = desk.start("reconcile", "--watch", "--every=10", f"--health-file={path}")
    try:
        yield path
    finally:
        bot.terminate()
        bot.wait(timeout=60)


def becomes(health: Path, begins: str, words: str = "") -> None:
    def said() -> bool:
        line = health.read_text("utf-8") if health.exists() else ""
        return line.startswith(begins) and words in line

    eventually(said, seconds=PATIENCE)


def ref(desk: Desk, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(desk.forge), *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_healthy_means_working(
    desk: Desk, health: Path, admin: Connection, plane: ControlPlane
) -> None:
    becomes(health, "ok ")
    on_call = f"--kubeconfig={plane.kubeconfig()}"  # the bot's account may set no flag
    desk.gitbot("hold", "--reason", "smoke", "--by", "ana", on_call)
    becomes(health, "ok ", "stopped: smoke (ana, since ")
    first = desk.gitbot("status").splitlines()[0]
    assert "nothing can start: smoke (ana, since " in first, "a hold is healthy, and said"
    assert desk.gitbot("resume", "--by", "ana", on_call) == "resumed by ana\n"

    flag = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gitbot-hold"}}
    admin.request("POST", FLAGS, {**flag, "data": {"reason": "fire"}})
    becomes(health, "ok ", "stopped: fire")
    assert "cluster/hold" in desk.gitbot("doctor", "-o", "name", codes=(0, 1))
    assert "nothing can start: fire" in desk.gitbot("status").splitlines()[0]
    admin.request("DELETE", f"{FLAGS}/gitbot-hold")

    becomes(health, "ok 2")
    ledger = ref(desk, "rev-parse", LEDGER)
    ref(desk, "update-ref", "-d", LEDGER)
    becomes(health, "failing ", "it ends at line 0")
    first = desk.gitbot("status", codes=(1,)).splitlines()[0]
    assert "nothing can start: the ledger is not the one that gitbot wrote" in first
    assert "FAIL ledger/anchor" in desk.gitbot("doctor", codes=(1,))
    desk.gitbot("apply", codes=(2,))
    desk.gitbot("propose", codes=(2,))
    assert ref(desk, "for-each-ref", LEDGER) == "", "none is made beside an anchor"

    ref(desk, "update-ref", LEDGER, ledger)
    becomes(health, "ok ")
    assert "nothing can start" not in desk.gitbot("status")
