"""`gitbot freeze`: ask for a time in which gitbot moves nothing, in a pull request."""

from __future__ import annotations

from typing import Any

import click

from gitbot.cli.shared.intent_pull import Writing, author_shell, write_intent, writing_options
from gitbot.cli.shared.options import selector_fields, time_ahead
from gitbot.errors import UsageError
from gitbot.model.text.names import words_as_name


@click.command("freeze")
@click.option(
    "--from", "begin", metavar="TIME", help="When it begins: Fri 18:00, 2026-12-24; default: now."
)
@click.option("--until", metavar="TIME", required=True, help="When it ends: Fri 18:00, in 3d.")
@click.option("-n", "--namespace", "spaces", multiple=True, metavar="NAME", help="Only there.")
@click.option("-l", "--selector", "labels", metavar="SELECTOR", help="Only VMs with these labels.")
@click.option("--reason", metavar="TEXT", help="Why, shown with everything that waits.")
@writing_options
def freeze(
    *,
    writing: Writing,
    begin: str | None,
    until: str,
    spaces: tuple[str, ...],
    labels: str | None,
    reason: str | None,
) -> int:
    """Write a FreezeWindow on a branch and open its pull request.

    While it lasts, gitbot starts no move of these VMs, no matter who approved it. Windows wait.
    """
    from gitbot.calendar import clock_time, duration_text, local_text  # noqa: PLC0415 - as above
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415 - keeps --help quick

    with author_shell(writing) as (shell, _, local):
        zone, now = local or "UTC", shell.clock.now()
        begins = time_ahead("--from", begin, zone, now=now, begins=True) if begin else now
        start = begins // 60 * 60
        end = time_ahead("--until", until, zone, now=now) // 60 * 60
        if end <= start:
            raise UsageError(f"--until: found {until!r}, expected a time after --from")
        opens = f"{clock_time(start, zone):%Y-%m-%dT%H:%M}"
        schedule = {"start": opens, "timeZone": zone, "duration": duration_text(end - start)}
        spec: dict[str, Any] = {"selector": selector_fields(labels)[0]} if labels else {}
        spec |= {"namespaces": list(spaces)} if spaces else {}
        spec |= {"schedule": schedule} | ({"reason": reason} if reason else {})
        new = NewIntent(
            kind="FreezeWindow",
            name=writing.name or words_as_name(reason or "") or "freeze",
            spec=spec,
            verb="freeze",
            title=f"Freeze until {local_text(end, zone)} {zone}",
            note=writing.note,
        )
        return write_intent(shell, new, writing)
