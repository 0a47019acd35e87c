"""`gitbot hold`: stop everything, now."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.session import by_option, cluster_alone, running, running_options, say
from gitbot.errors import GitbotError

if TYPE_CHECKING:
    from gitbot.workflows.apply import HoldResult


@click.command("hold")
@click.option("--reason", default="held by hand", metavar="TEXT", help="Why, shown with the flag.")
@click.option("--cancel-running", is_flag=True, help="Delete gitbot's own unfinished migrations.")
@by_option
@running_options
def hold(where: dict[str, str], reason: str, by: str, cancel_running: bool) -> int:
    """Set the stop flag: nothing starts until `gitbot resume`.

    gitbot tries to set it in the ledger and as ConfigMap gitbot/gitbot-hold; either one alone
    suffices. If the forge is down, `kubectl -n gitbot create configmap gitbot-hold` does it. Exit
    code 2 if neither can be set.
    """
    from gitbot.workflows.apply import BY_HAND  # noqa: PLC0415 - keeps --help quick

    result = hold_everywhere(where, reason, by, cancel_running=cancel_running)
    places = [
        name
        for name, done in (("ledger", result.in_ledger), ("cluster", result.in_cluster))
        if done
    ]
    say(f"stopped (flag set in {' and '.join(places)}): {reason}")
    for trouble in result.trouble:
        say(f"warning: not set {trouble}".replace("\n", "\n  "), err=True)
    if not result.in_cluster:
        say(f"to set it in the cluster too: {BY_HAND}", err=True)
    for name in result.deleted:
        say(f"deleted: {name}")
    for name in result.past_recall:
        say(f"past recall, KubeVirt was asked to abort: {name}")
    if result.not_cancelled:
        say(f"what runs was not cancelled {result.not_cancelled}", err=True)
        return 2
    return 0


def hold_everywhere(
    where: dict[str, str], reason: str, by: str, *, cancel_running: bool
) -> HoldResult:
    from gitbot.workflows.apply import hold, hold_cluster  # noqa: PLC0415 - keeps --help quick

    with ExitStack() as stack:
        try:
            shell = stack.enter_context(running(where))
        except GitbotError as error:
            return hold_cluster(
                lambda: cluster_alone(where),
                unreached=str(error),
                reason=reason,
                by=by,
                cancel_running=cancel_running,
            )
        return hold(shell, reason=reason, by=by, cancel_running=cancel_running)
