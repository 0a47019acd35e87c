"""What `reconcile --watch` asks Git and the API server for while nothing changes."""

import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.kubernetes import Transport
from gitbot.adapters.kubernetes.transport import HttpAnswer
from gitbot.cli.commands import reconcile as command
from gitbot.cli.shared import session
from tests.unit.adapters.git_shim import instead_of_git
from tests.unit.cli.desk import at_desk

COUNTING = "for word; do case $word in -*|*=*) ;; *) echo $word >> {}; break;; esac; done"
RESTS = 4  # of at most five seconds; the clocks may differ by 30
POLL = (Counter(fetch=1), Counter[str]())  # is there a merge, a hold, a cancel?
PASS = (
    Counter(fetch=3),  # before and after the anchors, and before it acts
    Counter(
        {
            "GET /api/v1/namespaces": 1,  # the version of the store, and which cluster it is
            "GET /api/v1/namespaces/gitbot/configmaps/gitbot-ledger": 1,
            "GET /api/v1/namespaces/gitbot/configmaps/gitbot-hold": 1,  # with the server's clock
        }
    ),
)


@dataclass
class Rests:
    """A clock that only rests move. It notes what was asked until each of them."""

    counts: Path
    start: int = field(default_factory=SystemClock().now)
    asked: list[str] = field(default_factory=list)
    notes: list[tuple[Counter[str], Counter[str]]] = field(default_factory=list)
    slept: int = 0

    def of(self, *_: object) -> "Rests":
        return self

    def now(self) -> int:
        return self.start + self.slept

    def sleep(self, seconds: int) -> None:
        self.slept += seconds
        git = self.counts.read_text().split()
        self.notes.append((Counter(git), Counter(self.asked)))
        self.counts.write_text("")
        self.asked.clear()
        if len(self.notes) == RESTS:
            signal.raise_signal(signal.SIGTERM)


def test_a_quiet_pass_asks_for_what_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests = Rests(counts=tmp_path / "counts")
    rests.counts.write_text("")
    send = Transport._send_once

    def counted(
        transport: Transport, method: str, path: str, *what: Any, **more: Any
    ) -> HttpAnswer:
        if "watch" not in str(what):
            rests.asked.append(f"{method} {path}")
        return send(transport, method, path, *what, **more)

    with at_desk(tmp_path, monkeypatch) as desk:
        instead_of_git(COUNTING.format(rests.counts), tmp_path, monkeypatch)
        monkeypatch.setattr(Transport, "_send_once", counted)
        for room in (command, session):
            monkeypatch.setattr(room, "StoppableClock", rests.of)
        said = desk.gitbot("reconcile", "--watch", "--every", "10")
    assert "trying again" not in said.err, said.err
    assert [note for note in rests.notes[1:] if note not in (POLL, PASS)] == []
    assert POLL in rests.notes
    assert PASS in rests.notes
