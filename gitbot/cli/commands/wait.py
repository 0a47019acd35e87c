"""`gitbot wait`: for playbooks that work on a node once gitbot has emptied it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.session import running, running_options, say
from gitbot.errors import Bug, GitbotError, UsageError

if TYPE_CHECKING:
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.workflows.ask import Awaited
    from gitbot.workflows.core.context import RunContext

_REST = 10  # seconds between two looks at the ledger branch
_NODES = ("node", "nodes", "no")
Look = Callable[["Ledger"], "Awaited"]


@click.command("wait")
@click.argument("subject", metavar="node/NAME|REQUEST")
@click.option(
    "--for",
    "state",
    metavar="STATE",
    required=True,
    help="ready or returned of a node; succeeded of a request.",
)
@click.option("--timeout", default="1h", show_default=True, metavar="TIME", help="As 90m or 1d.")
@running_options
def wait(where: dict[str, str], subject: str, state: str, timeout: str) -> int:
    """Wait until a node is ready for its maintenance or back from it, or a request has succeeded.

    A node is ready when gitbot has emptied it and it is cordoned, by gitbot (`cordon: Gitbot`) or
    by a person. Reads the ledger branch every 10 seconds, and asks the cluster nothing. Exit code 1
    if the state is not reached in time, or if the maintenance or the request has ended otherwise
    meanwhile; 2 if the ledger could not be read to the end.
    """
    from gitbot.calendar import spoken_duration  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.plan.findings import Refusal  # noqa: PLC0415

    try:
        seconds = spoken_duration(timeout)
    except Refusal as error:
        raise UsageError(f"--timeout: found {timeout!r}, expected {error.expected}") from error
    with running(where) as shell:
        return _until(shell, subject, state, _look(shell, subject, state), seconds)


def _look(shell: RunContext, subject: str, state: str) -> Look:
    from gitbot.model.ledger.events import NodeState  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.ledger.request_id import parse_request_id  # noqa: PLC0415
    from gitbot.workflows.ask import node_awaited, request_awaited  # noqa: PLC0415

    kind, _, name = subject.partition("/")
    begun, cluster = shell.clock.now(), shell.cluster_name
    if kind in _NODES and name:
        if state not in (NodeState.READY, NodeState.RETURNED):
            raise UsageError(f"--for: found {state!r}, expected ready or returned")
        wanted = NodeState(state)
        return lambda ledger: node_awaited(ledger, cluster, name, wanted=wanted, begun=begun)
    request = parse_request_id(subject)
    if request is None:
        raise UsageError(
            f"found {subject!r}, expected node/NAME or the id of a request",
            hint="gitbot get requests -o name lists them",
        )
    if state != "succeeded":
        raise UsageError(f"--for: found {state!r}, expected succeeded")
    return lambda ledger: request_awaited(ledger, cluster, request)


def _until(shell: RunContext, subject: str, state: str, look: Look, seconds: int) -> int:
    """Says each change once. What fails for a while is tried again."""
    from gitbot.workflows.ask import WaitProgress  # noqa: PLC0415 - keeps --help quick

    last = shell.clock.now() + seconds
    told = ""
    while True:
        code, words = 1, ""
        try:
            seen = look(shell.ledger_store.read())
            words = f"{subject}: {seen.words}"
            if seen.progress is not WaitProgress.NOT_YET:
                say(words)
                return int(seen.progress is WaitProgress.NEVER)
        except (Bug, UsageError):
            raise
        except GitbotError as error:
            code, words = 2, f"{subject}: the ledger could not be read: {error}"
        if words != told:
            say(words, err=True)
            told = words
        left = last - shell.clock.now()
        if left <= 0:
            say(f"{subject} is not {state} in time; next: gitbot status", err=True)
            return code
        shell.clock.sleep(min(_REST, left))
