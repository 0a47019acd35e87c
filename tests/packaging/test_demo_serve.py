"""`gitbot demo --serve`: the cluster stays for the real kubectl, and stops cleanly on SIGTERM."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.served_demo import ServedDemo
from tests.unit.action.stage import REQUEST

KUBECTL = Path(sys.executable).parent / "kubectl"
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters:
  - name: iberia
  mode: Enforce
"""


class Served(ServedDemo):
    """A running `gitbot demo --serve`, and the commands that people type beside it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, factor=10)
        self.folder = folder

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [str(KUBECTL), "--kubeconfig", self.kubeconfig, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def gitbot(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gitbot", *arguments, "--kubeconfig", self.kubeconfig],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    try:
        yield served
    finally:
        served.stop()


def test_kubectl_works_and_a_rendered_migration_runs(served: Served, tmp_path: Path) -> None:
    everything = served.kubectl("get", "nodes,pods,vmi,vmim", "-A")
    assert "node/kni-worker2" in everything
    assert "virt-launcher-jumpbox" in everything
    assert re.search(r"virtualmachineinstance\S*/jumpbox", everything)

    (tmp_path / ".gitbot.yaml").write_text(CONFIGURATION)
    intents = tmp_path / "intents" / "iberia"
    intents.mkdir(parents=True)
    (intents / "request.yaml").write_text(REQUEST)
    rendered = served.gitbot("render")
    watch = subprocess.Popen(
        [str(KUBECTL), "--kubeconfig", served.kubeconfig, "-n", "customapp", "get", "vmim", "-w"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert "created" in served.kubectl("create", "-f", "-", stdin=rendered)
    assert watch.stdout is not None
    phases: list[str] = []
    for line in watch.stdout:
        if line.startswith("gitbot-jumpbox"):
            phases.append(line.split()[1])
        if phases and phases[-1] == "Succeeded":
            break
    watch.kill()
    watch.wait()
    watch.stdout.close()
    assert phases.index("Running") < phases.index("Succeeded")
    where = served.kubectl(
        "get", "vmi", "jumpbox", "-n", "customapp", "-o", "jsonpath={.status.nodeName}"
    )
    assert where == "kni-worker5"


def test_it_stops_cleanly_on_sigterm(served: Served, tmp_path: Path) -> None:
    assert served.stop() == 0
    assert list(tmp_path.iterdir()) == []
