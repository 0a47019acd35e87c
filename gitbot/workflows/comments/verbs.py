"""Carries out each verb on one cluster, with the same workflows as the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from gitbot.errors import GitbotError, UsageError
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.text.instants import format_instant
from gitbot.ports.forge import PullState
from gitbot.published import Verb
from gitbot.reports import escape
from gitbot.workflows.apply import hold, note_cancelled, resume_ledger, returned
from gitbot.workflows.ask import StatusResult, status
from gitbot.workflows.check import override, publish
from gitbot.workflows.comments.grammar import Command
from gitbot.workflows.core.context import RunContext

IN_CLUSTER = "kubectl -n gitbot delete configmap gitbot-hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReply:
    """The result of a command on one cluster: Markdown `text`, and plain `lines` below it."""

    text: str
    lines: str = ""
    ok: bool = True
    start_pass: bool = False


def do(
    shell: RunContext,
    command: Command,
    *,
    by: str,
    said_at: int,
    number: int,
    status: Callable[[StatusResult], str],
    explain: Callable[[ClusterSnapshot, NamespacedName], str],
) -> CommandReply:
    """Carry out one command. Raises GitbotError if it fails."""
    why = f"comment on {number}"
    match command.verb:
        case Verb.PLAN:
            return _plan(shell, number)
        case Verb.STATUS:
            return _status(shell, command.request, status)
        case Verb.EXPLAIN:
            return _explain(shell, command.vm, explain)
        case Verb.HOLD:
            said = f"{command.why} ({why})" if command.why else why
            return _hold(shell, reason=said, by=by)
        case Verb.RESUME:
            return _resume(shell, reason=why, by=by, said_at=said_at)
        case Verb.CANCEL:
            note_cancelled(shell, request=command.request, reason=why, by=by)
            text = f"{escape.code(command.request)} is being cancelled: what has not started ends"
            return CommandReply(text=text, start_pass=True)
        case Verb.APPLY:
            return _apply(shell, number)
        case Verb.RETURNED:
            occurrence = returned(shell, node=command.node, by=by, said_at=said_at)
            place = escape.code(str(occurrence))
            return CommandReply(
                text=f"{escape.code(command.node)} is back ({place})", start_pass=True
            )
        case Verb.OVERRIDE:
            text = override(shell, number=number, policy=command.policy, by=by, why=command.why)
            return CommandReply(text=text, start_pass=True)
        case Verb.HELP:
            return CommandReply(text="")
        case _:
            assert_never(command.verb)


def _plan(shell: RunContext, number: int) -> CommandReply:
    result = publish(shell, number=number, snapshot=shell.cluster.snapshot())
    diff = result.check.diff
    words = diff.counts if diff is not None else "nothing was planned"
    if not result.wrote:
        return CommandReply(text=f"nothing changed: {escape.markdown(words)}")
    return CommandReply(
        text=f"planned again: {escape.markdown(words)}; see gitbot's comment and checks"
    )


def _status(shell: RunContext, request: str, say: Callable[[StatusResult], str]) -> CommandReply:
    taken = format_instant(shell.cluster.snapshot().taken_at)
    result = status(shell, request=request)
    return CommandReply(text=f"as the ledger says, on the cluster of {taken}", lines=say(result))


def _explain(
    shell: RunContext,
    vm: NamespacedName | None,
    say: Callable[[ClusterSnapshot, NamespacedName], str],
) -> CommandReply:
    if vm is None:
        raise UsageError("explain needs the name of a VM")
    snapshot = shell.cluster.snapshot()
    taken = format_instant(snapshot.taken_at)
    return CommandReply(text=f"on the cluster of {taken}", lines=say(snapshot, vm))


def _hold(shell: RunContext, *, reason: str, by: str) -> CommandReply:
    result = hold(shell, reason=reason, by=by)
    places = "ledger and cluster" if result.in_cluster else "ledger"
    return CommandReply(
        text=f"stopped (flag set in {places}): nothing starts until `/gitbot resume`. What is "
        "copying goes on; `gitbot hold --cancel-running` on the command line ends it"
    )


def _resume(shell: RunContext, *, reason: str, by: str, said_at: int) -> CommandReply:
    was_set = resume_ledger(shell, reason=reason, by=by, said_at=said_at)
    words = "the stop flag is removed" if was_set else "no stop flag was set"
    return CommandReply(
        text=f"{words} in the ledger. One in the cluster is not seen from here: "
        f"{escape.code(IN_CLUSTER)} or `gitbot resume` removes it",
        start_pass=was_set,
    )


def _apply(shell: RunContext, number: int) -> CommandReply:
    try:
        pull = shell.forge.get_pull(number)
    except GitbotError as error:
        raise UsageError("this is not a pull request", hint="write it on a merged one") from error
    match pull.state:
        case PullState.OPEN:
            return CommandReply(text="merge first: a merge is what approves the plan")
        case PullState.CLOSED:
            return CommandReply(text="this was closed without a merge: nothing of it is approved")
        case PullState.MERGED:
            return CommandReply(
                text="a pass is started; its outcome is the status of this pull request's "
                "newest commit",
                start_pass=True,
            )
    assert_never(pull.state)
