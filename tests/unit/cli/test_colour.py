"""Colour: on a terminal only, never with NO_COLOR, and never a word more or less."""

import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.intents import REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk

BAD, GOOD, STRONG = "\x1b[31m", "\x1b[32m", "\x1b[1m"
SHOWN = [
    ("lint", f"{STRONG}intents/iberia/wrong.yaml:2:7\x1b[0m: "),
    ("lint", f"[{BAD}error\x1b[0m "),
    ("plan --rev HEAD", f"{BAD}blocked\x1b[0m: customapp/mssql2016"),
    ("explain jumpbox --no-intents", f"{GOOD}ok\x1b[0m "),
    ("explain jumpbox --no-intents", f"{BAD}unresolvable\x1b[0m"),
    ("status", f"next: {STRONG}gitbot propose\x1b[0m"),
    ("status", f"{STRONG}Merged, without a plan:\x1b[0m"),
    ("doctor", f"{GOOD}ok\x1b[0m   ledger/read"),
]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.commit(jump=REQUEST, rule=RULE)
        desk.write(wrong=REQUEST.replace("kind: MigrationRequest", "kind: Nothing"))
        yield desk


def on_terminal(desk: Desk, line: str, **environment: str) -> str:
    """What the real program prints on a terminal."""
    near, far = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gitbot", *line.split()],
        cwd=desk.tree,
        env={**os.environ, "TERM": "xterm", **environment},
        stdout=far,
        stderr=subprocess.DEVNULL,
    )
    os.close(far)
    shown = b""
    while select.select([near], [], [], 60)[0]:
        try:
            more = os.read(near, 65536)
        except OSError:  # Linux says so when the other side is gone
            break
        if not more:
            break
        shown += more
    process.wait()
    os.close(near)
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("line", dict.fromkeys(line for line, _ in SHOWN))
def test_what_matters_stands_out(desk: Desk, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    printed = on_terminal(desk, line)
    for words in [words for of, words in SHOWN if of == line]:
        assert words in printed, f"{line}: {printed!r}"
    if line not in ("lint", "explain jumpbox --no-intents", "status"):
        return
    plain = on_terminal(desk, line, NO_COLOR="1")
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9]+m", "", printed) == plain, "a word has changed"
    assert "\x1b" not in desk.gitbot(*line.split()).out
