"""`gitbot hold`: stop everything, now."""

from __future__ import annotations

import click

from gitbot.cli.running import by_option, running, running_options, say


@click.command("hold")
@click.option("--reason", default="held by hand", metavar="TEXT", help="Why, for those who wonder.")
@click.option("--cancel-running", is_flag=True, help="Delete gitbot's own unfinished migrations.")
@by_option
@running_options
def command(where: dict[str, str], reason: str, by: str, cancel_running: bool) -> int:
    """Set the stop flag: nothing starts until `gitbot resume`.

    It is set in the ledger and, with cluster access, as ConfigMap gitbot/gitbot-hold; either one
    alone suffices. With the forge down, `kubectl -n gitbot create configmap gitbot-hold` does it.
    """
    from gitbot.workflows.hold import hold  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        result = hold(shell, reason=reason, by=by, cancel_running=cancel_running)
    places = [
        name
        for name, done in (("ledger", result.in_ledger), ("cluster", result.in_cluster))
        if done
    ]
    say(f"stopped (flag set in {' and '.join(places)}): {reason}")
    for trouble in result.trouble:
        say(f"not set everywhere: {trouble}", err=True)
    for name in result.deleted:
        say(f"deleted: {name}")
    for name in result.past_recall:
        say(f"past recall, KubeVirt was asked to abort: {name}")
    return 0
