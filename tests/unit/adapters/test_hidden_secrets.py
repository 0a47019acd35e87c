"""What another process of the account reads of gitbot's environment."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gitbot.simulation import write_kubeconfig

SECRETS = {
    "GITBOT_GITHUB_TOKEN": "ghp_not-for-others",
    "AWS_SECRET_ACCESS_KEY": "nor-this",
    "GITBOT_NOTIFY_ONCALL_URL": "https://hooks.example/nor-that",
}
PROGRAM = """
import os, subprocess, sys
from gitbot.adapters.hidden_secrets import hide_secrets
hide_secrets()
print(os.environ["GITBOT_GITHUB_TOKEN"])
subprocess.run(["/bin/sh", "-c", "echo $GITBOT_GITHUB_TOKEN"], check=True)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
def test_the_running_program_shows_no_secret(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = write_kubeconfig(tmp_path / "config", server=server, context="iberia")
        told = {**os.environ, **SECRETS, "KUBECONFIG": str(config)}
        command = [sys.executable, "-m", "gitbot", "snapshot", "-o", "-", "--context", "iberia"]
        with subprocess.Popen(
            command, cwd=tmp_path, env=told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as gitbot:
            silent.settimeout(60)
            silent.accept()[0].close()  # it has read all that it needs to ask a cluster
            shown = Path(f"/proc/{gitbot.pid}/environ").read_bytes()
            gitbot.kill()
    assert b"KUBECONFIG=" in shown
    assert not [value for value in SECRETS.values() if value.encode() in shown]


def test_the_program_and_its_children_keep_them() -> None:
    told = {**os.environ, **SECRETS}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=told, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [SECRETS["GITBOT_GITHUB_TOKEN"]] * 2
