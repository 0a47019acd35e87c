"""A person's desk: a repository of intents, a local forge with its buttons, gitbot's commands."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.doubles.intents import CONFIGURATION

ROOT = Path(__file__).resolve().parents[2]
BUTTONS = ROOT / "docs" / "local_forge.py"
NAME, MAIL = "ana", "ana@example.org"


class Desk:
    """`kubeconfig` is gitbot's; its context `cluster` is the cluster's name in the intents."""

    def __init__(
        self,
        folder: Path,
        *,
        kubeconfig: Path,
        cluster: str,
        configuration: str = CONFIGURATION,
    ) -> None:
        self.cluster = cluster
        self.forge = folder / "forge.git"
        self.clone = folder / "placement"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "KUBECONFIG": str(kubeconfig),
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": str(ROOT),
            "NO_COLOR": "1",
        }
        self.clone.mkdir(parents=True)
        self._git("init", "--quiet", "--bare", "--initial-branch=main", str(self.forge))
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("config", "user.name", NAME)
        self._git("config", "user.email", MAIL)
        self._git("remote", "add", "origin", str(self.forge))
        (self.clone / ".gitbot.yaml").write_text(configuration.replace("CLUSTER", cluster))
        self._push("Start")

    def push(self, files: Mapping[str, str]) -> None:
        """Commit files below intents/<cluster>/ to main."""
        self._git("pull", "--quiet", "origin", "main")
        for name, text in files.items():
            path = self.clone / "intents" / self.cluster / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._push(f"Change {', '.join(sorted(files))}")

    def gitbot(self, *arguments: str, codes: Sequence[int] = (0,)) -> str:
        """One command of gitbot; what it printed."""
        done = self._run([sys.executable, "-m", "gitbot", *arguments])
        shown = f"$ gitbot {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        assert done.returncode in codes, shown
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A command that goes on; who starts it ends it."""
        return subprocess.Popen(
            [sys.executable, "-m", "gitbot", *arguments],
            cwd=self.clone,
            env=self._environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def merge(self, number: int) -> None:
        """Press the button."""
        done = self._button("merge", str(number), "--as", NAME)
        assert done.returncode == 0, done.stderr

    def open_pulls(self) -> dict[int, str]:
        """Numbers and branches of the open pull requests."""
        lines = [line.split() for line in self._button("list").stdout.splitlines()]
        return {int(words[0]): words[2] for words in lines if words[1] == "open"}

    def _button(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run([sys.executable, str(BUTTONS), str(self.forge), *arguments])

    def _push(self, message: str) -> None:
        self._git("add", "-A")
        self._git("commit", "--quiet", "-m", message)
        self._git("push", "--quiet", "origin", "HEAD:main")

    def _git(self, *arguments: str) -> None:
        done = self._run(["git", *arguments])
        assert done.returncode == 0, done.stderr

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.clone,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
