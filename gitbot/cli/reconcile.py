"""`gitbot reconcile`: look, propose, apply, in one pass."""

from __future__ import annotations

import json

import click

from gitbot.cli import apply as apply_command
from gitbot.cli import propose as propose_command
from gitbot.cli.options import output_option
from gitbot.cli.running import running, running_options, say
from gitbot.errors import GitbotError


@click.command("reconcile")
@click.option("-w", "--watch", is_flag=True, help="Again and again, until interrupted.")
@click.option(
    "--every",
    type=click.IntRange(min=10),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="With --watch: how long to rest between passes.",
)
@apply_command.max_runtime_option
@output_option(("table", "json"), "table")
@running_options
def command(where: dict[str, str], watch: bool, every: int, max_runtime: int, output: str) -> int:
    """Look at the cluster, plan open pull requests again, propose, and apply: what a schedule runs.

    On an unchanged world a second run writes nothing.
    """
    from gitbot.snapshot import write_snapshot  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.reconcile import reconcile  # noqa: PLC0415

    with running(where) as shell:
        while True:
            try:
                result = reconcile(shell, max_runtime=max_runtime, pack=write_snapshot)
            except GitbotError as error:
                if not watch:
                    raise
                say(f"error: {error}; trying again in {every} s", err=True)
                shell.clock.sleep(every)
                continue
            if output == "json":
                click.echo(
                    json.dumps(
                        {
                            "apiVersion": "placement.gitbot.dev/v1alpha1",
                            "kind": "ReconcileResult",
                            "proposed": propose_command.propose_json(result.proposed),
                            "applied": apply_command.apply_json(result.applied),
                        },
                        indent=2,
                    )
                )
            else:
                propose_command.show(result.proposed, output)
                apply_command.show(result.applied, output)
            if not watch:
                return apply_command.exit_code(result.applied)
            shell.clock.sleep(every)
