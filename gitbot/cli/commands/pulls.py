"""`gitbot pulls`, `merge`, `approve` and `close`: the buttons of a forge that has no page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.session import say
from gitbot.errors import ClusterError, InvalidInput, UsageError
from gitbot.model.text.names import OWN_AUTHOR
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.ports.forge import PullRequest
    from gitbot.wiring.workspace import Workspace
    from gitbot.workflows.core.context import RunContext

_number = click.argument("number", type=click.IntRange(min=1))
_anyway = click.option(
    "--anyway", is_flag=True, help="Merge although gitbot has not shown what it would approve."
)


def _chosen(ctx: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> int | None:
    """The number, if there is one: `list`, `show 3` and `3` are what people type."""
    rest = words[1:] if words[:1] in (("list",), ("show",)) else words
    if len(rest) > 1 or words == ("show",):
        raise click.UsageError("give the number of one pull request", ctx)
    number: int | None = click.IntRange(min=1)(rest[0], parameter, ctx) if rest else None
    return number


@click.command("pulls")
@click.argument("number", nargs=-1, metavar="[list | [show] NUMBER]", callback=_chosen)
@click.option("--all", "everything", is_flag=True, help="Closed and merged ones too.")
def pulls(number: int | None, everything: bool) -> int:
    """List the open pull requests, or show one with its checks and comments."""
    from gitbot.ports.forge import PullState  # noqa: PLC0415 - keeps --help quick

    with _workspace() as workspace:
        forge = workspace.forge
        if number is None:
            state = None if everything else PullState.OPEN
            found = forge.list_pulls(state=state)
            for pull in found:
                say(_line(pull))
            if not found:
                say("no pull request is open", err=True)
            return 0
        pull = forge.get_pull(number)
        say(_line(pull))
        for status in forge.list_statuses(pull.head):
            say(f"{status.context}: {status.state}: {status.description}")
        for comment in forge.list_comments(number):
            say(f"\n{comment.author}:\n{comment.body}")
    return 0


@click.command("merge")
@_number
@_anyway
def merge(number: int, anyway: bool) -> int:
    """Merge pull request NUMBER in your name: it approves what gitbot showed on it."""
    from gitbot.ports.forge import MergeMethod  # noqa: PLC0415 - keeps --help quick

    with _workspace() as workspace:
        forge = workspace.buttons(number)
        pull = _open(forge.get_pull(number))
        shells, ledger = tuple(_concerned(workspace, pull)), workspace.ledger.read()
        first = _check_first(shells, ledger, pull, now=workspace.clock.now())
        if first and not anyway:
            raise UsageError(f"a merge of pull request {number} approves nothing yet", hint=first)
        waits = _waits_for(workspace, shells, pull)
        then = _after_merge(shells, ledger, pull)
        newer = _came_after_plan(shells, ledger, pull)
        merged = forge.merge_pull(number, method=MergeMethod.MERGE, expected_head=pull.head)
    if newer:
        came = f"{', '.join(newer)} came after the approved plan"
        say(f"{came}: apply holds the moves that are forbidden now", err=True)
    if waits:
        say(f"{_line(merged)}\n{waits}: nothing of it starts before; next: {_as_owner(number)}")
        return 0
    say(f"{_line(merged)}{f'; next: {then}' if then else ''}")
    return 0


@click.command("approve")
@_number
def approve(number: int) -> int:
    """Approve the head of pull request NUMBER in your name."""
    from gitbot.ports.forge import PullState  # noqa: PLC0415 - keeps --help quick

    with _workspace() as workspace:
        forge = workspace.buttons(number)
        # owners may approve what was merged before they did
        pull = _open(forge.get_pull(number), or_merged=bool(workspace.settings.owners))
        forge.approve_pull(number, reviewer=forge.account)
        approved = forge.get_pull(number)
        waits = _waits_for(workspace, _concerned(workspace, approved), approved)
        then = f"gitbot merge {number}" if pull.state is PullState.OPEN else "gitbot apply"
        still = f"\nstill {waits}: {_as_owner(number)}" if waits else ""
        say(f"{_line(approved)}; next: {then}{still}")
    return 0


@click.command("close")
@_number
def close(number: int) -> int:
    """Close pull request NUMBER without a merge: nothing of it happens."""
    with _workspace() as workspace:
        forge = workspace.buttons(number)
        _open(forge.get_pull(number))
        forge.close_pull(number)
        say(_line(forge.get_pull(number)))
    return 0


@contextmanager
def _workspace() -> Iterator[Workspace]:
    from gitbot.wiring.workspace import open_workspace  # noqa: PLC0415 - keeps --help quick

    with open_workspace(find_root(Path.cwd()), as_person=True, forgiving=True) as workspace:
        yield workspace


def _open(pull: PullRequest, *, or_merged: bool = False) -> PullRequest:
    """The pull request itself. Raises UsageError if it has ended: no button acts on it."""
    from gitbot.ports.forge import PullState  # noqa: PLC0415 - keeps --help quick

    if pull.state is PullState.OPEN or (or_merged and pull.state is PullState.MERGED):
        return pull
    then = "gitbot status says what comes of it"
    if pull.state is PullState.CLOSED:
        then = "ask again in a new one; gitbot pulls lists those that are open"
    raise UsageError(f"pull request {pull.number} is {pull.state}", hint=then)


def _check_first(
    shells: Iterable[RunContext], ledger: Ledger, pull: PullRequest, *, now: int
) -> str:
    """The command without which the merge approves nothing; "" for gitbot's own."""
    from gitbot.workflows.author import check_first  # noqa: PLC0415 - keeps --help quick

    if pull.author == OWN_AUTHOR:
        return ""
    found = (check_first(shell, ledger, pull, now=now) for shell in shells)
    return next(filter(None, found), "")


def _after_merge(shells: Iterable[RunContext], ledger: Ledger, pull: PullRequest) -> str:
    """What to type once it is merged; "" for nothing."""
    from gitbot.workflows.author import after_merge  # noqa: PLC0415 - keeps --help quick

    if pull.author == OWN_AUTHOR:
        return "gitbot apply"
    found = {after_merge(shell, ledger, pull) for shell in shells}
    return max(found, default="")  # reconcile applies, too


def _came_after_plan(
    shells: Iterable[RunContext], ledger: Ledger, pull: PullRequest
) -> tuple[str, ...]:
    from gitbot.workflows.author import came_after_plan  # noqa: PLC0415 - keeps --help quick

    return tuple(name for shell in shells for name in came_after_plan(shell, ledger, pull))


def _waits_for(workspace: Workspace, shells: Iterable[RunContext], pull: PullRequest) -> str:
    """Whose approval a merge would wait for, in words; "" for nobody's, or if that is unknown."""
    from gitbot.workflows.author import waits_for  # noqa: PLC0415 - keeps --help quick

    if not workspace.settings.owners:
        return ""
    try:
        found = [waits_for(shell, pull) for shell in shells]
    except (ClusterError, InvalidInput) as error:
        return f"its owners are unknown ({error})"
    return "; ".join(filter(None, found))


def _as_owner(number: int) -> str:
    return f"one of them types `gitbot approve {number}`, then gitbot apply"


def _concerned(workspace: Workspace, pull: PullRequest) -> Iterator[RunContext]:
    """The clusters whose intents a pull request changes."""
    from gitbot.wiring.workspace import open_shell  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import changing_intents  # noqa: PLC0415

    for cluster in workspace.settings.clusters:
        shell = open_shell(workspace, cluster.name)
        several = len(workspace.settings.cluster_names) > 1
        if not several or pull.author == OWN_AUTHOR or changing_intents(shell, (pull,)):
            yield shell


def _line(pull: PullRequest) -> str:
    whose = f"pull request {pull.number} by {pull.author}"
    return f"{whose} is {pull.state}: {pull.title} ({pull.branch})"
