"""make controlplane-up and make controlplane-down, as a person types them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane import build
from tests.controlplane.kubevirt.connection import Connection

pytestmark = [pytest.mark.controlplane, pytest.mark.timeout(300)]
ROOT = Path(__file__).resolve().parents[2]
VMIS = "/apis/kubevirt.io/v1/namespaces/customapp/virtualmachineinstances"


class Person:
    """One who has the programs, and a cache of their own."""

    def __init__(self, folder: Path) -> None:
        assets = folder / "assets"
        assets.mkdir()
        for name, program in build.programs().items():
            (assets / name).symlink_to(program)
        cache = str(folder / "cache")
        self._environment = {
            **os.environ,
            "KUBEBUILDER_ASSETS": str(assets),
            "XDG_CACHE_HOME": cache,
        }

    def types(self, command: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "tests.controlplane.person", command]
        return subprocess.run(
            line, cwd=ROOT, env=self._environment, capture_output=True, text=True, check=False
        )


def test_up_and_down(tmp_path: Path) -> None:
    missing = build.missing()
    if missing or not set(build.COMPONENTS) <= set(build.programs()):
        pytest.skip(missing or "not everything is built: run `make controlplane`")
    person = Person(tmp_path)
    assert "nothing runs" in person.types("down").stderr
    try:
        first = person.types("up")
        assert first.returncode == 0, first.stderr
        file = first.stdout.splitlines()[0].removeprefix("export KUBECONFIG=")
        connection = Connection(file)
        phases = [vmi["status"]["phase"] for vmi in connection.list(VMIS)[0]]
        assert phases == ["Running"] * 7
        second = person.types("up")
        assert (second.returncode, second.stdout) == (0, first.stdout)
    finally:
        ended = person.types("down")
    assert (ended.returncode, ended.stderr) == (0, "controlplane: ended\n")
    assert not Path(file).exists()
    assert "nothing runs" in person.types("down").stderr
