"""The client key of a kubeconfig does not outlive a killed run by more than the next one."""

import base64
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gitbot.adapters.working_tree import temporary_folder

KEY = "the key of a person, as OpenSSL would read it"
KUBECONFIG = f"""apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:1"}}}}]
users:
- name: u
  user:
    client-certificate-data: {base64.b64encode(b"a certificate").decode()}
    client-key-data: {base64.b64encode(KEY.encode()).decode()}
"""
PROGRAM = """
import sys, time
from gitbot.adapters.kubernetes import Transport
Transport(kubeconfig=sys.argv[1], context="c")
print("connected", flush=True)
if sys.argv[2] == "wait":
    time.sleep(60)
"""


def with_key(folder: Path) -> list[Path]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if path.read_text(encoding="utf-8") == KEY]


def run(tmp_path: Path, temporary: Path, *, killed: bool) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(kubeconfig), "wait" if killed else "end"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "connected\n"
        if killed:
            (key,) = with_key(temporary)
            assert key.stat().st_mode & 0o077 == 0
            process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("killed", [True, False])
def test_no_key_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run(tmp_path, temporary, killed=killed)
    assert len(with_key(temporary)) == killed
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with temporary_folder("any"):
        assert with_key(temporary) == []
    assert list(temporary.iterdir()) == []
