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
    """End REQUEST (its ledger id, see `gitbot status`): it never runs again.

    Moves that have not started are withdrawn, its own unfinished migrations are deleted; those that
    can no longer be recalled are listed. A migration that another executor may be creating just now
    is waited for, at most 150 seconds. Of a drain, no further node begins, and nodes that have not
    been emptied get gitbot's cordon removed.
    """
    from gitbot.workflows.apply import cancel  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.ask import write_dashboard  # noqa: PLC0415

    with running(where) as shell:
        result = cancel(shell, request=request, reason=reason, by=by, on_report=write_dashboard)
    say(f"{request}: {result.record.state}")
    if not result.record.finished:
        say("its end is not known yet; run gitbot cancel again, or look with gitbot status")
    for name in result.past_recall:
        say(f"past recall, KubeVirt was asked to abort: {name}")
    return 0
