"""A local forge is a folder: what an address that is none gets, and that no password is shown."""

import subprocess
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.connect import connect
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.errors import ForgeError


@pytest.mark.parametrize(
    "address", ["https://ana:hunter2@git.example.com/x.git", "git@github.com:acme/placement.git"]
)
def test_an_address_is_no_folder(address: str) -> None:
    with pytest.raises(ForgeError, match="the remote is not; for GitHub write forge") as raised:
        LocalForge(Path(address), clock=SystemClock())
    assert "hunter2" not in str(raised.value)


def test_a_file_address_is_its_folder(tmp_path: Path) -> None:
    LocalForge.create(tmp_path / "forge.git", clock=SystemClock())
    address = f"file://{tmp_path}/forge.git"
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", address, str(clone)], check=True, capture_output=True)
    for named in ("origin", address):
        found = connect(clone, repository=named, base_branch="main").remote
        assert found == str(tmp_path / "forge.git")
        assert LocalForge(Path(found), clock=SystemClock()).list_pulls() == ()
