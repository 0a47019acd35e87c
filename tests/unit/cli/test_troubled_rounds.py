"""`reconcile --watch` holds what it held, however many rounds end in trouble."""

import gc
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.git import GitRepository
from gitbot.adapters.kubernetes import Transport, transport
from gitbot.adapters.kubernetes.transport import HttpAnswer
from gitbot.cli.commands import reconcile as command
from gitbot.simulation import write_kubeconfig
from gitbot.simulation.http import watch_requests
from gitbot.wiring.workspace import Workspace
from tests.unit.cli.desk import Desk, at_desk

Trouble = Callable[[Desk, pytest.MonkeyPatch], None]
ENDING = 100  # looks at threads that are about to end, 20 ms apart
FIRST = 2  # rounds after which everything that is kept is there


def cluster_refuses(desk: Desk, patch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        server = f"http://127.0.0.1:{closed.getsockname()[1]}"
    path = write_kubeconfig(desk.tree.parent / "closed", server=server, context="iberia")
    patch.setenv("KUBECONFIG", str(path))


def cluster_breaks_off(_: Desk, patch: pytest.MonkeyPatch) -> None:
    """It answers, and closes the connection in the middle of a list."""

    def cut(_response: object, **_bounds: object) -> bytes:
        raise OSError("connection reset")

    patch.setattr(transport, "whole", cut)


def cluster_knows_nobody(_: Desk, patch: pytest.MonkeyPatch) -> None:
    """The credentials are read again, once, and a connection is made again."""
    send = Transport._send_once

    def refused(*what: Any, **more: Any) -> HttpAnswer:
        return replace(send(*what, **more), status=401)

    patch.setattr(Transport, "_send_once", refused)


def no_kubeconfig(_: Desk, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("KUBECONFIG", "/nowhere/config")


def remote_away(desk: Desk, _: pytest.MonkeyPatch) -> None:
    bare = desk.tree.parent / "placement.git"
    bare.rename(bare.with_name("away.git"))


def base_broken(desk: Desk, _: pytest.MonkeyPatch) -> None:
    desk.commit(broken="kind: [")


def ledger_damaged(desk: Desk, _: pytest.MonkeyPatch) -> None:
    folder = desk.tree.parent
    repository = GitRepository.clone(str(folder / "placement.git"), folder / "eve.git")
    files = {"hold.jsonl": b"cut off"}
    repository.write_commit(branch="gitbot/ledger", expected=None, files=files, message="m", time=1)


def cluster_without_a_name(desk: Desk, _: pytest.MonkeyPatch) -> None:
    """Of two clusters in the configuration, this one does not say which it is."""
    file = desk.tree / ".gitbot.yaml"
    file.write_text(file.read_text().replace("  clusters:\n", "  clusters:\n  - name: other\n"))
    desk.git("commit", "-qam", "a second cluster")
    desk.git("push", "-q", "origin", "main")


KINDS = (
    cluster_refuses,
    cluster_breaks_off,
    cluster_knows_nobody,
    cluster_without_a_name,
    no_kubeconfig,
    remote_away,
    base_broken,
    ledger_damaged,
)


@dataclass
class Rounds:
    """The clock of the rests: it does not rest, notes what is held, and ends the last round."""

    most: int
    held: list[tuple[int, ...]] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # resident pages

    def of(self, *_: object) -> "Rounds":
        return self

    def now(self) -> int:
        return SystemClock().now()

    def sleep(self, _seconds: int) -> None:
        most = max((held[1] for held in self.held[: FIRST + 1]), default=0)
        for _ in range(ENDING if most else 0):  # a thread that is just ending is not a leak
            if threading.active_count() <= most:
                break
            time.sleep(0.02)
        descriptors = sum(1 for _ in Path("/proc/self/fd").iterdir())
        files = sum(1 for _ in Path(tempfile.gettempdir()).rglob("*"))
        if len(self.held) + 1 >= self.most:  # what only a cycle keeps is no leak
            gc.collect()
        opened = sum(isinstance(thing, Workspace) for thing in gc.get_objects())
        self.held.append((descriptors, threading.active_count(), files, opened))
        self.memory.append(int(Path("/proc/self/statm").read_text().split()[1]))
        if len(self.held) >= self.most:
            signal.raise_signal(signal.SIGTERM)


def held_in(
    rounds: Rounds, trouble: Trouble, tmp_path: Path, patch: pytest.MonkeyPatch, *words: str
) -> list[tuple[int, ...]]:
    """Descriptors, threads, temporary files and workspaces at the end of each round."""
    (tmp_path / "temporary").mkdir()
    patch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    patch.setattr(transport, "PAUSES", (0.0,))
    patch.setattr(command, "StoppableClock", rounds.of)
    with at_desk(tmp_path, patch) as desk:
        trouble(desk, patch)
        gc.collect()
        said = desk.gitbot("reconcile", "--watch", *words)
    assert said.err.count("trying again in") == rounds.most, said.err[-2000:]
    return rounds.held


def grown(held: list[tuple[int, ...]], *, rounds: int = FIRST) -> list[str]:
    """What the last rounds hold more of than the first ones did; a thread may just be ending."""
    most = [max(column) for column in zip(*held[: rounds + 1], strict=True)]
    names = ("descriptors", "threads", "temporary files", "workspaces")
    later = [min(column) for column in zip(*held[-FIRST - 1 :], strict=True)]
    found = zip(names, later, most, strict=True)
    return [f"{name}: {last}, not {before}" for name, last, before in found if last > before]


@pytest.mark.parametrize("trouble", KINDS, ids=lambda kind: kind.__name__)
def test_a_round_in_trouble_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble
) -> None:
    held = held_in(Rounds(6), trouble, tmp_path, monkeypatch, "--no-follow")
    assert grown(held) == []


@pytest.mark.parametrize("trouble", [cluster_breaks_off, ledger_damaged, base_broken])
def test_a_round_on_a_followed_cluster_leaves_no_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble
) -> None:
    # the server, which runs in this process too, notices at a bookmark that no one reads it
    monkeypatch.setattr(watch_requests, "BOOKMARK_SLICES", 1)
    held = held_in(Rounds(6), trouble, tmp_path, monkeypatch)
    assert grown(held) == []


def flat_over(
    rounds: Rounds, trouble: Trouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = held_in(rounds, trouble, tmp_path, monkeypatch, "--no-follow")
    assert grown(held, rounds=rounds.most // 4) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("trouble", KINDS, ids=lambda kind: kind.__name__)
def test_many_rounds_in_trouble_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble
) -> None:
    flat_over(Rounds(40), trouble, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("trouble", KINDS, ids=lambda kind: kind.__name__)
def test_a_thousand_rounds_in_trouble_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble
) -> None:
    rounds = Rounds(1_000)
    flat_over(rounds, trouble, tmp_path, monkeypatch)
    first, last = max(rounds.memory[:250]), min(rounds.memory[-FIRST - 1 :])
    assert last <= 1.05 * first, f"{last} pages, not {first}"
    print(f"{first} pages in the first quarter, {last} at the end")
