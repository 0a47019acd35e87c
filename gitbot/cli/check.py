"""`gitbot check`: lint, plan, replay and policies; fails where a pull request must not merge."""

from __future__ import annotations

import click

from gitbot.cli.checking import FORMATS, Asked, asking_options, colour, fail_on_option, run_check
from gitbot.cli.options import output_option
from gitbot.cli.showing import shown


@click.command("check")
@output_option(FORMATS, "table")
@fail_on_option
@asking_options
def command(asked: Asked, output: str, fail_on: str) -> int:
    """Check intents as CI does: lint, plan, replay of the plan, policies.

    With --base (and --rev) a pull request is checked: the requests that merging it would add or
    change are planned, what its windows and rules would do is shown beside.

    Exit code 1 for invalid intents, a policy that denies, a hold on something asked for, and a
    breach that the plan would add or make worse. A breach that stood before is a warning.
    """
    result = run_check(asked)
    click.echo(shown(result, output, colour=colour()), nl=False)
    return 1 if result.fails(on_warning=fail_on == "warning") else 0
