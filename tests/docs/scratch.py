"""A scratch folder in which the blocks of a page run as a person would type them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

# the shell of one block begins where that of the block before it ended
_SCRIPT = """\
[ ! -e "$STATE" ] || . "$STATE"
[ ! -e "$STATE.cwd" ] || cd "$(cat "$STATE.cwd")"
trap 'export -p >"$STATE"; pwd >"$STATE.cwd"' EXIT
set -e
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """A folder, and the environment of somebody who has just installed gitbot."""

    folder: Path
    state: Path

    @property
    def here(self) -> Path:
        """Where the last block ended."""
        kept = self.state.with_name(self.state.name + ".cwd")
        return Path(kept.read_text("utf-8").strip()) if kept.exists() else self.folder

    def environment(self) -> dict[str, str]:
        """Nothing of the machine but where programs are."""
        programs = [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
        return {
            "PATH": os.pathsep.join(programs),
            "HOME": os.environ["HOME"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GITBOT": str(ROOT),
            "STATE": str(self.state),
        }

    def run(self, commands: str) -> tuple[int, str]:
        """Exit code, and output with errors in between."""
        done = subprocess.run(
            ["/bin/sh", "-c", _SCRIPT + commands],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    @contextmanager
    def serving(self, command: str) -> Iterator[None]:
        """A command that leaves a cluster running; it is ended as a person would end it."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        printed = []
        try:
            for line in process.stdout:
                printed.append(line)
                if "stops it" in line:
                    break
            else:
                raise AssertionError("".join(printed))
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate()
        assert process.returncode == 0
