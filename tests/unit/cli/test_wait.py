"""`gitbot wait`: until the ledger says that a node or a request has got there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner, Result

from gitbot.cli.commands import wait as command
from gitbot.errors import LedgerError, UsageError
from gitbot.workflows.apply import apply, cancel
from gitbot.workflows.ask import status
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import RULE
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_maintenance import (
    FIRMWARE,
    LEAD,
    START,
    approved,
    reboot,
    wait_until,
)

Wait = Callable[..., Result]
READY = ("node/kni-worker", "--for", "ready", "--timeout", "90s")


def waiting(story: Story, monkeypatch: pytest.MonkeyPatch) -> Wait:
    @contextmanager
    def opened(_: dict[str, str]) -> Iterator[RunContext]:
        yield story.shell

    monkeypatch.setattr(command, "running", opened)

    def call(*words: str) -> Result:
        return CliRunner().invoke(
            command.wait, list(words), catch_exceptions=False, standalone_mode=False
        )

    return call


def test_a_node_is_waited_for_until_it_is_ready_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    wait = waiting(story, monkeypatch)
    begun = story.port.now()
    early = wait(*READY)
    assert early.return_value == 1
    assert early.stderr.splitlines() == [
        "node/kni-worker: in no maintenance yet",
        "node/kni-worker is not ready in time; next: gitbot status",
    ]
    assert story.port.now() - begun == 90
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    ready = wait(*READY)
    assert (ready.return_value, ready.stderr) == (0, "")
    assert ready.stdout.startswith(f"node/kni-worker: ready for {FIRMWARE}, since 2025-12-01T0")
    reboot(story, "kni-worker")
    reconcile(story.shell)
    back = wait("node/kni-worker", "--for", "returned")
    assert back.return_value == 0
    assert back.stdout.startswith(f"node/kni-worker: returned for {FIRMWARE}")


def test_a_node_that_came_back_meanwhile_ends_the_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    story = approved(drain=", cordon: Gitbot, done: Rebooted")
    sleep = story.port.sleep

    def away(_: int) -> None:
        monkeypatch.setattr(story.port, "sleep", sleep)
        wait_until(story, START - LEAD)
        reconcile(story.shell)
        reboot(story, "kni-worker")
        reconcile(story.shell)

    monkeypatch.setattr(story.port, "sleep", away)
    ended = waiting(story, monkeypatch)(*READY)
    assert ended.return_value == 1
    assert ended.stdout.startswith(f"node/kni-worker: returned for {FIRMWARE}")


@pytest.mark.parametrize(("end", "code"), [("succeeded", 0), ("cancelled", 1)])
def test_a_request_is_waited_for_until_it_ended(
    monkeypatch: pytest.MonkeyPatch, end: str, code: int
) -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.merge()
    (merged,) = status(story.shell).not_applied
    if end == "cancelled":
        cancel(story.shell, request=merged.request, reason="", by="ann")
    apply(story.shell)
    done = waiting(story, monkeypatch)(merged.request, "--for", "succeeded")
    assert (done.return_value, done.stdout) == (code, f"{merged.request}: {end}\n")


def test_an_unreadable_ledger_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin()

    def unread() -> None:
        raise LedgerError("the remote does not answer")

    monkeypatch.setattr(story.store, "read", unread)
    found = waiting(story, monkeypatch)(*READY)
    assert found.return_value == 2
    assert "the ledger could not be read: the remote does not answer" in found.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("node/a", "--for", "drained"), "--for: found 'drained', expected ready or returned"),
        (("drain/w/20251201T040000Z", "--for", "ready"), "--for: found 'ready', expected succ"),
        (("kni-worker", "--for", "ready"), "found 'kni-worker', expected node/NAME or the id"),
        (("node/a", "--for", "ready", "--timeout", "soon"), "--timeout: found 'soon', expected"),
    ],
)
def test_what_is_typed_wrong(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    with pytest.raises(UsageError) as caught:
        waiting(Story.begin(), monkeypatch)(*words)
    assert expected in str(caught.value)
