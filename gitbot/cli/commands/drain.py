"""`gitbot drain`: ask for nodes to be emptied, in a pull request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.intent_pull import (
    Writing,
    author_shell,
    breach_option,
    write_intent,
    writing_options,
)
from gitbot.cli.shared.node_words import RollingCommand, node_names, rolling_option
from gitbot.cli.shared.options import as_duration, read_selector, selector_fields, time_ahead
from gitbot.errors import UsageError
from gitbot.model.text.names import CONFIGURATION_FILE, words_as_name
from gitbot.model.text.wording import first_of

if TYPE_CHECKING:
    from gitbot.model.cluster.cluster import ClusterSnapshot

_START = "--start, such as --start 22:00, or leave out --for: it ends when its nodes are back"
_HINT = "gitbot drain n1 n2, gitbot drain --zone scu, or gitbot drain -l rack=r7"


@click.command("drain", cls=RollingCommand)
@click.argument("nodes", nargs=-1, metavar="[NODE]...")
@click.option("--zone", default="", metavar="ZONE", help="All nodes of this zone.")
@click.option("-l", "--selector", "labels", metavar="SELECTOR", help="All nodes with these labels.")
@rolling_option
@click.option(
    "--start",
    metavar="TIME",
    help="When it opens: tonight, Sat 22:00, 2026-12-06 22:00, in 2h; default: at merge.",
)
@click.option(
    "--for",
    "duration",
    metavar="DURATION",
    callback=as_duration,
    help="How long it is open: 4h or PT4H.",
)
@click.option("--time-zone", metavar="ZONE", help="IANA zone of --start; default: the cluster's.")
@click.option(
    "--return",
    "back",
    type=click.Choice(("Auto", "Propose", "Never"), case_sensitive=False),
    help="Whether the VMs come home afterwards; default: Propose.",
)
@click.option("--cordon", is_flag=True, help="gitbot cordons the nodes; a person uncordons them.")
@breach_option
@writing_options
def drain(
    *,
    writing: Writing,
    nodes: tuple[str, ...],
    zone: str,
    labels: str | None,
    rolling: int | None,
    start: str | None,
    duration: str | None,
    time_zone: str | None,
    back: str | None,
    cordon: bool,
    allow_breach: str | None,
) -> int:
    """Write a MaintenanceWindow for these nodes on a branch and open its pull request.

    Several nodes are empty at the same time, and none of them takes a VM until all are back: every
    node or none. With --rolling they go one after the other, and take VMs once they are back.

    Its pull request shows the plan, and merging approves that plan. With --start the moves begin
    early enough to be done then (lead: Auto). Without it the window is open from the merge until
    its nodes are back.
    """
    _both_or_none(start, duration)
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415 - keeps --help quick

    asked = _NodeChoice.of(node_names(nodes), zone, labels)
    with author_shell(writing) as (shell, snapshot, local):
        spec: dict[str, Any] = {"nodes": asked.fields(snapshot)}
        when = "at merge"
        if start is not None and duration is not None:
            where = time_zone or local
            opens = _opening(start, where, now=shell.clock.now())
            spec["schedule"] = {"start": opens, "timeZone": where, "duration": duration}
            when = f"from {opens.replace('T', ' ')} {where}"
        drains = {"lead": "Auto"} if start is not None else {}
        drains |= _mode(asked, rolling or 0) | ({"cordon": "Gitbot"} if cordon else {})
        more: dict[str, Any] = {"drain": drains, "returnHome": back, "allowBreach": allow_breach}
        more["note"] = writing.note
        spec |= {field: value for field, value in more.items() if value}
        new = NewIntent(
            kind="MaintenanceWindow",
            name=writing.name or asked.file,
            spec=spec,
            verb="drain",
            title=f"Empty {asked.title} {when}",
            note=writing.note,
        )
        return write_intent(shell, new, writing)


def _both_or_none(start: str | None, duration: str | None) -> None:
    if (start is None) != (duration is None):
        more = _START if start is None else "--for, such as --for 4h"
        raise UsageError("--start and --for belong together", hint=f"add {more}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _NodeChoice:
    """Which nodes: by name, or by the labels of a selector."""

    names: tuple[str, ...] = ()
    labels: str = ""
    zone: str = ""

    @classmethod
    def of(cls, names: tuple[str, ...], zone: str, labels: str | None) -> _NodeChoice:
        if bool(names) + bool(zone) + bool(labels) != 1:
            found = (
                "no nodes" if not (names or zone or labels) else "several of NODE, --zone and -l"
            )
            raise UsageError(f"found {found}, expected one of NODE..., --zone, -l", hint=_HINT)
        return cls(names=names, labels=labels or "", zone=zone)

    def fields(self, snapshot: ClusterSnapshot) -> dict[str, Any]:
        """`spec.nodes`. Raises UsageError if the cluster has no such node."""
        from gitbot.workflows.simulate import chosen_nodes  # noqa: PLC0415 - keeps --help quick

        labels = read_selector(self.labels) if self.labels else None
        chosen_nodes(snapshot, self.names, zone=self.zone, labels=labels)
        if self.names:
            return {"names": list(self.names)}
        return {"selector": selector_fields(self._selector)[0]}

    @property
    def _selector(self) -> str:
        from gitbot.model.cluster.scheduling import ZONE  # noqa: PLC0415 - keeps --help quick

        return f"{ZONE}={self.zone}" if self.zone else self.labels

    @property
    def file(self) -> str:
        """The name of the window: it says how many nodes, or which labels."""
        if self.names:
            more = f"-and-{len(self.names) - 1}-more" if self.names[1:] else ""
            return f"drain-{self.names[0]}{more}"
        value = selector_fields(self._selector)[1]
        return f"drain-{words_as_name(value) or 'nodes'}"

    @property
    def title(self) -> str:
        if self.zone:
            return f"zone {self.zone}"
        if self.labels:
            return f"the nodes with {self.labels}"
        return first_of(self.names, 1)


def _mode(asked: _NodeChoice, at_once: int) -> dict[str, Any]:
    """The fields of `drain`. One node alone is the same in both modes."""
    if len(asked.names) == 1:
        return {}
    if not at_once:
        return {"mode": "Together"}
    return {"maxNodesAtOnce": at_once} if at_once > 1 else {}


def _opening(text: str, zone: str, *, now: int) -> str:
    """The local start as a window's field. A time of day is the next one of that zone."""
    from gitbot.calendar import clock_time  # noqa: PLC0415 - keeps --help quick

    if not zone:
        raise UsageError(
            "--start needs a time zone",
            hint=f"give --time-zone, or set timeZone of the cluster in {CONFIGURATION_FILE}",
        )
    opens = clock_time(time_ahead("--start", text, zone, now=now), zone)
    return opens.isoformat(timespec="seconds" if opens.second else "minutes")
