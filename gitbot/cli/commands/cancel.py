"""`gitbot cancel`: end one request."""

from __future__ import annotations

import click

from gitbot.cli.shared.session import by_option, running, running_options, say


@click.command("cancel")
@click.argument("request")
@click.option("--reason", default="", metavar="TEXT", help="Why, for the record.")
@by_option
@running_options
def cancel(where: dict[str, str], request: str, reason: str, by: str) -> int:
    """End REQUEST (its id or name, see `gitbot status`): it never runs again.

    Moves that have not started are withdrawn, its own unfinished migrations are deleted; those that
    can no longer be recalled are listed. A migration that another executor may be creating just now
    is waited for, at most 150 seconds. Of a drain, no further node begins, and nodes that have not
    been emptied get gitbot's cordon removed.
    """
    from gitbot.workflows.apply import cancel  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import write_dashboard  # noqa: PLC0415

    with running(where) as shell:
        result = cancel(shell, request=request, reason=reason, by=by, on_report=write_dashboard)
    record = result.record
    say(f"{record.id}: {record.outcome}")
    for vm, node in record.landed.items():
        say(f"too late: {vm} is on {node}")
    for name in result.past_recall if not record.landed else ():
        say(f"past recall, KubeVirt was asked to abort: {name}")
    if result.not_read and not record.finished:
        say(f"the cluster could not be read: {result.not_read}", err=True)
        say("the cancellation is recorded: nothing more of it starts, the next pass ends it")
        return 2
    if not record.finished:
        say("its end is not known yet; run gitbot cancel again, or look with gitbot status")
    return 0
