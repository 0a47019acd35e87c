"""`gitbot plan`: what gitbot would move now, in which order, and what it cannot move."""

from __future__ import annotations

import click

from gitbot.cli.shared.options import LISTED, fail_on_option, output_option
from gitbot.cli.shared.output import shown, whole_or_narrow
from gitbot.cli.shared.planning_input import PlanOptions, against_base, asking_options, run_check
from gitbot.cli.shared.session import colour


@click.command("plan")
@output_option(LISTED, "table", shows="plan")
@fail_on_option
@asking_options
def plan(asked: PlanOptions, output: str, fail_on: str) -> int:
    """Plan all unfinished requests, the drains that are due and the healings of broken rules.

    Reads the working tree, or --rev. With --base only what merging into it would add.

    Exit code 0 with a plan, 1 if a requested move cannot be done, a policy denies, or a required
    rule is still broken after the plan.
    """
    return _shown(asked, output, fail_on)


@click.command("diff")
@output_option(LISTED, "table", shows="plan")
@fail_on_option
@asking_options
def diff(asked: PlanOptions, output: str, fail_on: str) -> int:
    """Plan only what merging this folder, or --rev, into the base branch would add.

    As plan --base, with the base branch of the forge as this clone knows it.

    Exit code 0 with a plan, 1 if a requested move cannot be done, a policy denies, or a required
    rule is still broken after the plan.
    """
    return _shown(against_base(asked), output, fail_on)


def _shown(asked: PlanOptions, output: str, fail_on: str) -> int:
    whole_or_narrow(asked.scope, output)
    human = output in ("table", "wide")
    result = run_check(asked, stoppable=True, human=human, to_act=True)
    click.echo(shown(result, output, colour=colour(), scope=asked.scope), nl=False)
    if not result.final:
        return 130
    return 1 if result.plan_fails(on_warning=fail_on == "warning") else 0
