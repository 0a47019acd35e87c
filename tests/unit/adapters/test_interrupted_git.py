"""Git that has just been started when a signal comes is ended like any other."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.git.process import Git


@pytest.fixture(autouse=True)
def _handled() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_git_is_ended_although_the_signal_comes_while_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def interrupted(process: subprocess.Popen[bytes], *arguments: Any) -> None:
        start(process, *arguments)
        started.append(process)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess.Popen, "_execute_child", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Git(tmp_path).run(["fetch"])
    (git,) = started
    assert git.poll() == -signal.SIGTERM
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
