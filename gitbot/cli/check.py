"""`gitbot check`: lint, plan, replay and policies; fails where a pull request must not merge."""

from __future__ import annotations

import click

from gitbot.cli.checking import FORMATS, Asked, asking_options, colour, fail_on_option, run_check
from gitbot.cli.options import output_option
from gitbot.cli.showing import shown


@click.command("check")
@click.option(
    "--pull-request", type=click.IntRange(min=1), metavar="N", help="Check an open pull request."
)
@click.option(
    "--publish",
    is_flag=True,
    help="With --pull-request: write comment, statuses and the record of what was shown.",
)
@output_option(FORMATS, "table")
@fail_on_option
@asking_options
def command(
    asked: Asked, output: str, fail_on: str, pull_request: int | None, publish: bool
) -> int:
    """Check intents as CI does: lint, plan, replay of the plan, policies.

    With --base (and --rev) a pull request is checked: the requests that merging it would add or
    change are planned, what its windows and rules would do is shown beside. --pull-request does
    the same for an open pull request of the forge, from its commits alone, never a checkout;
    what --publish shows there is what merging it approves.

    Exit code 1 for invalid intents, a policy that denies, a hold on something asked for, and a
    breach that the plan would add or make worse. A breach that stood before is a warning.
    """
    if pull_request is None:
        if publish:
            raise click.UsageError("--publish needs --pull-request N")
        result = run_check(asked)
    else:
        if asked.rev or asked.base:
            raise click.UsageError("--pull-request names head and base itself")
        from gitbot.cli.pulls import run_pull  # noqa: PLC0415 - forge and Git only where used

        result = run_pull(asked, pull_request, publish=publish)
    click.echo(shown(result, output, colour=colour()), nl=False)
    return 1 if result.fails(on_warning=fail_on == "warning") else 0
