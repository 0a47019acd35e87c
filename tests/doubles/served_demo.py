"""`gitbot demo --serve` as a process: the embedded cluster for tests of the real program."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path


class ServedDemo:
    """A fresh cluster whose clock runs `factor` times as fast as ours. `kubeconfig` is a path."""

    def __init__(self, folder: Path, *, factor: int) -> None:
        arguments = ["demo", "--serve", "--no-story", "--factor", str(factor)]
        folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gitbot", *arguments],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.kubeconfig = self._read_kubeconfig()

    def _read_kubeconfig(self) -> str:
        assert self.process.stdout is not None
        printed = ""
        for line in self.process.stdout:
            printed += line
            found = re.search(r"export KUBECONFIG=(\S+)", line)
            if found:
                return found.group(1)
        raise AssertionError(f"no kubeconfig was printed: {printed}")

    def stop(self) -> int:
        """End the process; its exit code. Stopping twice is stopping once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        assert self.process.stdout is not None
        if not self.process.stdout.closed:
            self.process.stdout.read()
            self.process.stdout.close()
        return self.process.wait(timeout=30)
