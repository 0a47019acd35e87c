"""`gitbot propose`: one quiet pull request for each concern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import output_option
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import running, running_options, say, times_of

if TYPE_CHECKING:
    from gitbot.model.plan.plan import PlannerFault
    from gitbot.workflows.propose import ProposeResult


@click.command("propose")
@output_option(("table", "json", "yaml"), "table")
@running_options
def propose(where: dict[str, str], output: str) -> int:
    """Open, renew and close the bot's pull requests: drains, returns, healings, what is left.

    Merging one approves exactly its plan. One that you close without a merge is not opened again
    until its plan changes. Exit code 1 if a request on the base branch cannot be planned, 2 if
    planning took too long.
    """
    from gitbot.workflows.propose import propose  # noqa: PLC0415 - keeps --help quick

    with running(where) as shell:
        shell.onlooker.begins("looking for what to propose")
        result = propose(shell)
    show(result, output, times_of(shell))
    tell(result.faults)
    return 1 if result.failed or result.faults else 2 if result.unsure else 0


def show(result: ProposeResult, output: str, times: Callable[[str], str] = str) -> None:
    if output != "table":
        from gitbot.published import PublishedPropose, published  # noqa: PLC0415

        click.echo(document_text(published(result, PublishedPropose), output), nl=False)
        return
    if not result.concerns:
        say("no concern: nothing to propose")
    for line in lines(result):
        say(times(line))


def lines(result: ProposeResult) -> list[str]:
    """What came of each concern."""
    return [str(item) for item in result.concerns]


def standing(result: ProposeResult) -> list[str]:
    """The concerns for which nothing was written."""
    return [str(item) for item in result.concerns if item.did_nothing]


def tell(faults: Sequence[PlannerFault]) -> None:
    """Say what the planner contradicted itself about, with the line to report."""
    if not faults:
        return
    from gitbot.workflows.core.judged_plan import fault_findings  # noqa: PLC0415

    for item in fault_findings(faults):
        say(f"{item.message}; {item.hint} [{item.code}]", err=True)
