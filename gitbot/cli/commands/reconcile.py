"""`gitbot reconcile`: look, propose, apply; in one pass, or repeatedly with --watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from gitbot.cli.commands import apply as apply_command
from gitbot.cli.commands import propose as propose_command
from gitbot.cli.shared.health_file import HealthFile
from gitbot.cli.shared.log_line import Level, Log, LogFormat
from gitbot.cli.shared.metrics_file import MetricsFile
from gitbot.cli.shared.options import output_option
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import running, running_options, stopping, times_of
from gitbot.errors import GitbotError
from gitbot.wiring import StoppableClock, SystemClock

if TYPE_CHECKING:
    from gitbot.cli.shared.live_pages import LivePages
    from gitbot.workflows.apply import Standstill
    from gitbot.workflows.core.context import RunContext
    from gitbot.workflows.propose import PassView
    from gitbot.workflows.watch import ReconcileResult


every_option = click.option(
    "--every",
    type=click.IntRange(min=10),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="The longest rest between passes of --watch; openings and merges end it. The name of the "
    "cluster decides the second in it.",
)
health_option = click.option(
    "--health-file",
    default="",
    metavar="FILE",
    help="With --watch: a file whose time is the heartbeat and whose line begins with ok or "
    "failing, then why nothing starts.",
)
metrics_option = click.option(
    "--metrics-file",
    default="",
    metavar="FILE",
    help="Write Prometheus metrics to a file after each pass.",
)
log_option = click.option(
    "--log-format",
    type=click.Choice([str(form) for form in LogFormat]),
    default=str(LogFormat.TEXT),
    show_default=True,
    help="How --watch writes its log: lines for people, or one JSON object a line.",
)


@click.command("reconcile")
@click.option("-w", "--watch", is_flag=True, help="Again and again, until interrupted.")
@every_option
@health_option
@metrics_option
@log_option
@apply_command.follow_option
@apply_command.max_runtime_option
@apply_command.wait_option
@output_option(("table", "json", "yaml"), "table")
@running_options
def reconcile(
    *,
    where: dict[str, str],
    watch: bool,
    every: int,
    health_file: str,
    metrics_file: str,
    log_format: str,
    follow: bool,
    max_runtime: int,
    wait_for_opening: int,
    output: str,
) -> int:
    """Look at the cluster, plan open pull requests again, propose, and apply: for schedules.

    If nothing changed, a second run writes nothing. With --watch it also plans pull requests that
    were never shown, waits while something is out of reach, and ends with 130 on request.
    """
    metrics, log = MetricsFile(metrics_file), Log(form=LogFormat(log_format))
    if watch:
        told = Told(health=HealthFile(health_file), metrics=metrics, log=log, output=output)
        return keep_watching(where, told, every=every, max_runtime=max_runtime, follow=follow)
    from gitbot.snapshot import write_snapshot  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.watch import reconcile  # noqa: PLC0415

    clock = SystemClock()
    with stopping() as stop, running(where, follow=follow) as shell:
        cluster = shell.cluster_name
        try:
            result = reconcile(
                stop.of(shell),
                max_runtime=max_runtime,
                pack=write_snapshot,
                wait_for_opening=wait_for_opening,
            )
        except GitbotError:
            metrics.failing(cluster, clock.now())
            raise
    metrics.passed(cluster, clock.now(), result)
    show(result, output, times_of(shell))
    propose_command.tell(result.faults)
    return apply_command.exit_code(result.applied) or (
        2 if result.unsure else int(result.internal > 0)
    )


def keep_watching(
    where: dict[str, str],
    told: Told,
    *,
    every: int,
    max_runtime: int,
    follow: bool,
    called: Callable[[], bool] | None = None,
) -> int:
    """Pass after pass, until a signal asks to end. The exit code. `called`: see RunContext."""
    from gitbot.snapshot import write_snapshot  # noqa: PLC0415
    from gitbot.workflows.watch import watch  # noqa: PLC0415

    log, beat = told.log, told.health.beat
    log.number = 1
    with stopping(beat) as stop:
        clock = StoppableClock(SystemClock(), stop.stop, beat)

        @contextmanager
        def opener() -> Iterator[RunContext]:
            former = log.cluster
            with running(where, former=former, tell=log.progress, follow=follow) as shell:
                log.cluster, log.executor = shell.cluster_name, shell.executor
                if former not in ("", log.cluster):
                    words = f"the configuration calls cluster {former} {log.cluster} now"
                    log.write(SystemClock().now(), Level.WARNING, words)
                yield replace(stop.of(shell), called=called)

        watch(
            opener,
            clock=clock,
            interrupted=stop.stop.asked,
            every=every,
            max_runtime=max_runtime,
            pack=write_snapshot,
            on_pass=told.passed,
            on_trouble=told.troubled,
            on_rest=told.rested if told.pages is not None else None,
        )
    return 130


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Everything that hears how a pass ended."""

    health: HealthFile
    metrics: MetricsFile
    log: Log
    output: str = "table"
    pages: LivePages | None = None

    def passed(self, result: ReconcileResult) -> None:
        now, still = SystemClock().now(), result.applied.standstill
        self.health.passed(now, still, unsure=result.unsure, internal=result.internal)
        self.metrics.passed(self.log.cluster, now, result)
        self.log.standstill(now, still)
        self.log.faults(now, result.faults)
        self._show(now, result, still)
        if self.pages is not None:
            self.pages.failed(f"Nothing can start: {still}." if still and not still.healthy else "")
        self.log.number += 1

    def rested(self, shell: RunContext, view: PassView) -> None:
        """Make pages of what the pass saw. What fails here concerns no pass: the pages say it."""
        from gitbot.workflows.ask import documents_of_pass  # noqa: PLC0415 - keeps --help quick

        assert self.pages is not None
        try:
            self.pages.show(self.log.number - 1, documents_of_pass(shell, view))
        except Exception as error:  # noqa: BLE001 - a page never ends the loop
            bug = "" if isinstance(error, GitbotError) else f"BUG: {type(error).__name__}: "
            why = f"The pages of the last pass could not be made: {bug}{error}"
            self.pages.failed(why)
            self.log.write(SystemClock().now(), Level.ERROR, why)

    def _show(self, now: int, result: ReconcileResult, still: Standstill | None) -> None:
        if self.output != "table":
            show(result, self.output)
            return
        # in the pod's log, too: there, stdout and stderr are one
        proposed, applied = result.proposed, result.applied
        known, stop = self.log.standing, f"stopped: {applied.stop}" if still else ""
        for line in (*propose_command.lines(proposed), *apply_command.lines(applied)):
            if line != stop and line not in known:
                self.log.write(now, Level.INFO, line)
        standing = (*propose_command.standing(proposed), *apply_command.standing(applied))
        self.log.standing = frozenset(standing)

    def troubled(self, error: GitbotError, seconds: int) -> None:
        now = SystemClock().now()
        self.health.failing(now, str(error))
        self.metrics.failing(self.log.cluster, now)
        if self.pages is not None:
            self.pages.failed(f"The last pass failed: {error}")
        self.log.write(now, Level.ERROR, f"{error}; trying again in {seconds} s")
        self.log.number += 1


def show(result: ReconcileResult, output: str, times: Callable[[str], str] = str) -> None:
    if output != "table":
        from gitbot.published import PublishedReconcile, published  # noqa: PLC0415

        text = document_text(published(result, PublishedReconcile), output)
        click.echo(text if output == "json" else f"---\n{text}", nl=False)
        return
    propose_command.show(result.proposed, output, times)
    apply_command.show(result.applied, output, times)
