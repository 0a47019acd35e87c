"""What the Kubernetes client logs about a credential plugin is one harmless line."""

import subprocess
import sys
from pathlib import Path

KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: sh
      args: ["-c", "printf 'no \\\\033[31mred\\\\n\\\\033]0;title\\\\007 way' >&2; exit 1"]
      interactiveMode: Never
"""
PROGRAM = """
import sys
from gitbot.adapters.kubernetes.transport import Transport
try:
    Transport(kubeconfig=sys.argv[1], context="c")
except Exception as error:
    print(type(error).__name__)
"""


def test_a_credential_plugin_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(KUBECONFIG)
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=False
    )
    said = finished.stderr
    assert "exec: process returned 1" in said, (said, finished.stdout)
    assert "\033" not in said
    assert "\007" not in said
    assert "U+001B[31mred" in said
    assert len(said.splitlines()) == 1
