"""`gitbot drain`: ask for nodes to be emptied, in a pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.intent_pull import Writing, author_shell, write_intent, writing_options
from gitbot.cli.shared.options import next_time
from gitbot.errors import UsageError
from gitbot.model.text.names import CONFIGURATION_FILE

if TYPE_CHECKING:
    from gitbot.model.cluster.cluster import ClusterSnapshot

_SHORT = re.compile(r"(?:([0-9]{1,3})d)?(?:([0-9]{1,3})h)?(?:([0-9]{1,4})m)?")


@click.command("drain")
@click.argument("nodes", nargs=-1, required=True, metavar="NODE...")
@click.option(
    "--start",
    metavar="TIME",
    help="When it opens: 22:00 (the next one) or 2026-12-06T22:00, local; default: at merge.",
)
@click.option("--for", "duration", metavar="DURATION", help="How long it is open: 4h or PT4H.")
@click.option("--time-zone", metavar="ZONE", help="IANA zone of --start; default: the cluster's.")
@click.option(
    "--return",
    "back",
    type=click.Choice(("Auto", "Propose", "Never"), case_sensitive=False),
    help="Whether the VMs come home afterwards; default: Propose.",
)
@click.option("--cordon", is_flag=True, help="gitbot cordons the nodes; a person uncordons them.")
@writing_options
def drain(
    *,
    writing: Writing,
    nodes: tuple[str, ...],
    start: str | None,
    duration: str | None,
    time_zone: str | None,
    back: str | None,
    cordon: bool,
) -> int:
    """Write a MaintenanceWindow for these nodes on a branch and open its pull request.

    Merging it moves nothing: gitbot proposes the plan of each opening in a pull request of its
    own. Without --start the window is open from the merge until its file is removed.
    """
    if (start is None) != (duration is None):
        raise UsageError("--start and --for belong together", hint="give both, or neither")
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415 - keeps --help quick

    names = list(dict.fromkeys(nodes))
    with author_shell(writing) as (shell, snapshot, local):
        _must_exist(snapshot, names)
        spec: dict[str, Any] = {"nodes": {"names": names}}
        when = "at merge"
        if start is not None and duration is not None:
            zone = time_zone or local
            opens = _opening(start, zone, now=shell.clock.now())
            spec["schedule"] = {"start": opens, "timeZone": zone, "duration": _duration(duration)}
            when = f"from {opens.replace('T', ' ')} {zone}"
        spec |= {"drain": {"cordon": "Gitbot"}} if cordon else {}
        spec |= {"returnHome": back} if back else {}
        first = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        new = NewIntent(
            kind="MaintenanceWindow",
            name=writing.name or f"drain-{names[0]}",
            spec=spec,
            verb="drain",
            title=f"Empty {first} {when}",
            note=writing.note,
        )
        return write_intent(shell, new, writing)


def _must_exist(snapshot: ClusterSnapshot, names: list[str]) -> None:
    from gitbot.kubernetes.objects import name_of  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.text.wording import nearest  # noqa: PLC0415 - only for an error

    known = [name_of(node).name for node in snapshot.of("Node")]
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise UsageError(
                f"there is no node {name}", hint=f"did you mean {near}?" if near else ""
            )


def _opening(text: str, zone: str, *, now: int) -> str:
    """The local start as a window's field. A time of day is the next one of that zone."""
    from gitbot.model.plan.findings import Refusal  # noqa: PLC0415 - keeps --help quick

    if not zone:
        raise UsageError(
            "--start needs a time zone",
            hint=f"give --time-zone, or set timeZone of the cluster in {CONFIGURATION_FILE}",
        )
    try:
        opens = next_time(text, zone, now=now)
    except Refusal as refusal:
        raise UsageError(
            f"--time-zone: found {zone!r}, expected {refusal.expected}", hint=refusal.hint
        ) from refusal
    return text if opens is None else opens.strftime("%Y-%m-%dT%H:%M")


def _duration(text: str) -> str:
    """PT4H as it is; 1d, 4h, 90m and 1h30m as people write them."""
    short = _SHORT.fullmatch(text)
    if short is None or not text:
        return text
    days, hours, minutes = (
        f"{number}{unit}" if number else ""
        for number, unit in zip(short.groups(), "DHM", strict=True)
    )
    return f"P{days}" + (f"T{hours}{minutes}" if hours or minutes else "")
