"""`gitbot check`: lint, plan, replay and policies; fails if a pull request must not merge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import LISTED, fail_on_option, output_option
from gitbot.cli.shared.output import shown, whole_or_narrow
from gitbot.cli.shared.planning_input import PlanOptions, asking_options, run_check
from gitbot.cli.shared.session import colour
from gitbot.errors import UsageError

if TYPE_CHECKING:
    from gitbot.workflows.check import CheckResult


@click.command("check")
@click.option(
    "--pull-request", type=click.IntRange(min=1), metavar="N", help="Check an open pull request."
)
@click.option(
    "--head", metavar="COMMIT", help="Check the open pull requests whose newest commit is this one."
)
@click.option(
    "--merge-group", metavar="COMMIT", help="Check a commit that a merge queue put together."
)
@click.option(
    "--publish",
    is_flag=True,
    help="With --pull-request or --head: write comment, checks and the record of what was shown; "
    "with --merge-group the checks alone.",
)
@click.option(
    "--reports",
    metavar="DIR",
    help="Write comment.md, plan.json, findings.sarif, junit.xml and report.html there as well.",
)
@output_option(LISTED, "table", shows="plan")
@fail_on_option
@asking_options
def check(
    *,
    asked: PlanOptions,
    output: str,
    fail_on: str,
    pull_request: int | None,
    head: str | None,
    merge_group: str | None,
    publish: bool,
    reports: str | None,
) -> int:
    """Check intents as CI does: lint, plan, replay of the plan, policies.

    With --base (and --rev) a pull request is checked: gitbot plans the requests that merging it
    would add or change, and shows beside them what its windows and rules would do. --pull-request
    does the same for an open pull request of the forge, from its commits alone, never a checkout;
    merging it approves what --publish shows there. --head finds the pull request by its newest
    commit, for CI systems that give only that.

    Exit code 1 for invalid intents, a policy that denies, a hold on a requested move, and a breach
    that the plan would add or make worse. A breach that was there before is a warning.
    """
    whole_or_narrow(asked.scope, output)
    named = {"--pull-request": pull_request, "--head": head, "--merge-group": merge_group}
    results = _results(asked, named, publish=publish, human=output in ("table", "wide"))
    for result in results:
        if reports:
            _write_reports(result, reports)
        click.echo(shown(result, output, colour=colour(), scope=asked.scope), nl=False)
    return 1 if any(result.fails(on_warning=fail_on == "warning") for result in results) else 0


def _results(
    asked: PlanOptions, named: dict[str, int | str | None], *, publish: bool, human: bool
) -> tuple[CheckResult, ...]:
    given = [name for name, value in named.items() if value is not None]
    if not given:
        if publish:
            raise click.UsageError("--publish needs --pull-request N or --head COMMIT")
        return (run_check(asked, human=human, to_act=True),)
    if len(given) > 1:
        raise click.UsageError(f"give {' or '.join(given)}, not both")
    if asked.at:
        raise click.UsageError(f"--at is about your own intents, not {given[0]}")
    if asked.rev or asked.base:
        raise click.UsageError(f"{given[0]} names head and base itself")
    from gitbot.cli.shared.pull_request_check import run_pulls  # noqa: PLC0415 - forge and Git only where used

    return run_pulls(asked, what=given[0], which=str(named[given[0]]), publish=publish, human=human)


def _write_reports(result: CheckResult, folder: str) -> None:
    from gitbot.reports import REPORTS, Shows  # noqa: PLC0415 - keeps --help quick

    reports = [(form.file, name) for name, form in REPORTS.items() if Shows.PLAN in form.shows]
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, form in [("plan.json", "json"), *(pair for pair in reports if pair[0])]:
            (place / name).write_text(shown(result, form, colour=False), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
