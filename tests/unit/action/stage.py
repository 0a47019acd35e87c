"""An embedded cluster, a local forge and a clone, and the action's own program to act on them."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.doubles import intents

ROOT = Path(__file__).parents[3]
PATIENCE = 300  # seconds; only a test that fails ever waits so long
ACTION = ROOT / ".github" / "actions" / "gitbot"
FORGE = ROOT / "docs" / "local_forge.py"
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters:
  - {name: iberia, timeZone: Europe/Madrid}
  forge: {type: local, repository: ../forge.git}
  proposals: {stabilize: PT0S}
  mode: Enforce
"""
REQUEST = intents.REQUEST.replace("jump,", "jumpbox-away,")


@dataclass
class Runner:
    """A machine of GitHub: a folder for the job, and the files through which steps speak."""

    folder: Path
    outputs: Path = field(init=False)
    summary: Path = field(init=False)
    temporary: Path = field(init=False)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outputs = self.folder / "outputs"
        self.summary = self.folder / "summary"
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir(parents=True)

    def environment(self, command: str, *arguments: str, **inputs: str) -> dict[str, str]:
        """What the action's second step sees."""
        given = {"COMMAND": command, "ARGUMENTS": "\n".join(arguments), **inputs}
        return {
            **os.environ,
            **{f"GITBOT_INPUT_{name}": value for name, value in given.items()},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITBOT_INSTALL_FROM": "path",
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_OUTPUT": str(self.outputs),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def start(
        self, where: Path, command: str, *arguments: str, **inputs: str
    ) -> subprocess.Popen[str]:
        """Begin a step."""
        process = subprocess.Popen(
            [sys.executable, "-I", str(ACTION / "run.py")],
            cwd=where,
            env=self.environment(command, *arguments, **inputs),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # as on GitHub: signals reach this process and no other
        )
        self.started.append(process)
        return process

    def stop(self) -> None:
        """Nothing that was begun stays behind."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def run(self, where: Path, command: str, *arguments: str, **inputs: str) -> tuple[int, str]:
        """A whole step: exit code and log."""
        process = self.start(where, command, *arguments, **inputs)
        log, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, log

    def output(self, name: str) -> str:
        """The newest value of an output."""
        lines = self.outputs.read_text().splitlines()
        values = [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]
        return values[-1]


def git(where: Path, *arguments: str) -> str:
    """Git as a person uses it."""
    who = ["-c", "user.name=ana", "-c", "user.email=ana@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=where, check=True, capture_output=True, text=True
    )
    return done.stdout


def a_clone(folder: Path) -> Path:
    """A local forge with an intents repository, and a clone of it."""
    forge, clone = folder / "forge.git", folder / "placement"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(forge))
    git(folder, "init", "--quiet", "--initial-branch=main", str(clone))
    (clone / ".gitbot.yaml").write_text(CONFIGURATION)
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "Where our VMs run")
    git(clone, "remote", "add", "origin", str(forge))
    git(clone, "push", "--quiet", "-u", "origin", "main")
    return clone


def open_request(clone: Path, text: str = REQUEST) -> str:
    """A person opens a pull request with a MigrationRequest; its newest commit."""
    git(clone, "switch", "--quiet", "-c", "away")
    file = clone / "intents" / "iberia" / "away.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "-m", "Away")
    git(clone, "push", "--quiet", "origin", "away")
    forge(clone, "open", "away", "--as", "ana", "--title", "Away")
    head = git(clone, "rev-parse", "HEAD").strip()
    git(clone, "switch", "--quiet", "main")
    return head


def forge(clone: Path, *arguments: str) -> str:
    """A button of the local forge."""
    done = subprocess.run(
        [sys.executable, str(FORGE), "../forge.git", *arguments],
        cwd=clone,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
