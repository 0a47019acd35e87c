"""`gitbot serve`: `reconcile --watch`, with metrics, probes and pages on one port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitbot.cli.commands import apply as apply_command
from gitbot.cli.commands import reconcile as reconcile_command
from gitbot.cli.shared.health_file import HealthFile
from gitbot.cli.shared.log_line import Level, Log, LogFormat
from gitbot.cli.shared.metrics_file import MetricsFile
from gitbot.cli.shared.session import running_options
from gitbot.wiring import SystemClock, seconds_counted

if TYPE_CHECKING:
    from gitbot.cli.shared.live_pages import LivePages
    from gitbot.service import Bell, ServedPages


@click.command("serve")
@click.option(
    "--listen",
    default="8080",
    show_default=True,
    metavar="ADDRESS",
    help="A port of 127.0.0.1, or IP:PORT: 0.0.0.0:8080 is every IPv4 address.",
)
@click.option(
    "--pages/--no-pages",
    default=None,
    help="Serve the pages of `gitbot site`, too: by default on 127.0.0.1 alone and under no other "
    "name, as they name VMs and people.",
)
@reconcile_command.every_option
@reconcile_command.health_option
@reconcile_command.metrics_option
@reconcile_command.log_option
@apply_command.follow_option
@apply_command.max_runtime_option
@running_options
def serve(
    *,
    where: dict[str, str],
    listen: str,
    pages: bool | None,
    every: int,
    health_file: str,
    metrics_file: str,
    log_format: str,
    follow: bool,
    max_runtime: int,
) -> int:
    """Do what `reconcile --watch` does, and answer /metrics, /healthz, /readyz and pages over HTTP.

    It listens on 127.0.0.1 unless told otherwise. /healthz fails if the loop hangs. /readyz fails
    while gitbot cannot do its work, and says why; a gitbot that a person stopped is ready. / has
    the pages of `gitbot site`, as of the last pass.

    With a secret in GITBOT_WEBHOOK_SECRET, POST /webhook takes the calls of a webhook of the forge.
    A signed call wakes a pass, and nothing else depends on it.
    """
    from gitbot.service import Bell, PageServer, parse_address  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.workspace import webhook_secret  # noqa: PLC0415

    address, log = parse_address(listen), Log(form=LogFormat(log_format))
    told = reconcile_command.Told(
        health=HealthFile(health_file),
        metrics=MetricsFile(metrics_file, wanted=True),
        log=log,
        pages=_live(every) if (address.is_loopback if pages is None else pages) else None,
    )
    secret, bell = webhook_secret(), Bell()
    served = _served(told, secret, bell, this_machine_only=pages is None)
    with PageServer(address, served, seconds_counted) as server:
        more = ", /readyz and pages at /" if told.pages is not None else " and /readyz"
        said = f"serving http://{server.address}/metrics, /healthz{more}"
        log.write(SystemClock().now(), Level.INFO, said)
        return reconcile_command.keep_watching(
            where,
            told,
            every=every,
            max_runtime=max_runtime,
            follow=follow,
            called=bell.has_rung if secret else None,
        )


def _live(every: int) -> LivePages:
    from gitbot.cli.shared.live_pages import OLD, LivePages  # noqa: PLC0415 - keeps --help quick

    return LivePages(SystemClock().now, old=max(OLD, 3 * every))


def _served(
    told: reconcile_command.Told, secret: str, bell: Bell, *, this_machine_only: bool
) -> ServedPages:
    from gitbot.service import ServedPages, WakeCalls  # noqa: PLC0415 - keeps --help quick

    return ServedPages(
        health=lambda: told.health.line,
        beaten=told.health.beaten,
        metrics=told.metrics.text,
        site=told.pages.file if told.pages is not None else lambda _: None,
        calls=WakeCalls(secret, bell.ring) if secret else None,
        this_machine_only=this_machine_only,
    )
