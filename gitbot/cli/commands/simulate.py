"""`gitbot simulate`: what would happen if nodes were lost, emptied or changed, or VMs added."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from gitbot.cli.shared.explain_grounds import grounds_of, in_repository
from gitbot.cli.shared.node_words import RollingCommand, node_names, rolling_option
from gitbot.cli.shared.options import (
    ClusterAccess,
    cluster_options,
    now_option,
    output_option,
    read_file,
    read_selector,
)
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import stages
from gitbot.errors import UsageError
from gitbot.kubernetes.labels import label_key_problems, label_value_problems
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.text.wording import counted

if TYPE_CHECKING:
    from gitbot.constraints.failure.node_loss import Restart
    from gitbot.published import PublishedForecast
    from gitbot.workflows.simulate import Forecast, Simulation

F = TypeVar("F", bound=Callable[..., Any])
_SHOWN = 20  # lines of one kind in a table; JSON has all


@click.group("simulate")
def simulate() -> None:
    """Say what would happen, on a snapshot: nothing in the cluster changes.

    Exit code 1 if a VM finds no place, cannot leave, or a rule breaks.
    """


def _asking(function: F) -> F:
    """The options of every question; the command gets `simulation` and `output`."""

    @click.option("--cluster", metavar="NAME", help="Which cluster of the configuration.")
    @click.option("--no-intents", is_flag=True, help="Without the rules of the repository.")
    @now_option
    @output_option(("table", "wide", "json", "yaml"), "table", shows="forecast")
    @cluster_options
    @functools.wraps(function)
    def gather(
        *,
        access: ClusterAccess,
        cluster: str | None,
        no_intents: bool,
        now: int,
        output: str,
        **kwargs: Any,
    ) -> int:
        from gitbot.workflows.simulate import Simulation  # noqa: PLC0415 - keeps --help quick

        with stages("reading the repository") as progress:
            grounds = grounds_of(
                access,
                now=now,
                cluster=cluster or "",
                intents=not no_intents,
                must=not no_intents and in_repository(),
                human=output in ("table", "wide"),
                onlooker=progress,
            )
            progress.begins("simulating")
            simulation = Simulation(
                grounds.snapshot, now=now, revision=grounds.revision, past=grounds.past
            )
            forecast: Forecast = function(simulation=simulation, **kwargs)
        click.echo(_shown(forecast, output), nl=False)
        return int(forecast.bad)

    return cast("F", gather)


def _node_options(function: F) -> F:
    names = click.argument("names", nargs=-1, metavar="[NODE]...")
    zone = click.option("--zone", default="", metavar="ZONE", help="All nodes of this zone.")
    labels = click.option(
        "-l", "--selector", "selector", metavar="SELECTOR", help="All nodes with these labels."
    )
    return names(zone(labels(function)))


def _nodes(
    simulation: Simulation, names: tuple[str, ...], zone: str, selector: str | None
) -> tuple[str, ...]:
    matcher = read_selector(selector) if selector else None
    return simulation.chosen(node_names(names), zone=zone, labels=matcher)


@simulate.command("lose")
@_node_options
@_asking
def lose(
    *, simulation: Simulation, names: tuple[str, ...], zone: str, selector: str | None
) -> Forecast:
    """These nodes fail together and do not come back: what starts elsewhere, and what cannot."""
    return simulation.lose(_nodes(simulation, names, zone, selector))


@simulate.command("drain", cls=RollingCommand)
@_node_options
@rolling_option
@_asking
def drain(
    *,
    simulation: Simulation,
    names: tuple[str, ...],
    zone: str,
    selector: str | None,
    rolling: int | None,
) -> Forecast:
    """Empty these nodes by live migration: all at the same time, or none; or one after the other.

    With --rolling, a node takes VMs again as soon as it was empty.
    """
    return simulation.drain(_nodes(simulation, names, zone, selector), rolling=rolling or 0)


@simulate.command("reboot")
@click.option(
    "--away", default="PT10M", show_default=True, metavar="DURATION", help="How long each is away."
)
@_asking
def reboot(*, simulation: Simulation, away: str) -> Forecast:
    """Every node that runs VMs is emptied, rebooted, and back, one after the other."""
    from gitbot.calendar import duration  # noqa: PLC0415 - keeps --help quick

    try:
        seconds = duration(away)
    except ValueError as error:
        raise click.BadParameter(f"--away: found {away!r}, expected such as PT10M") from error
    return simulation.reboot(away=seconds)


@simulate.command("grow")
@click.argument("vm", metavar="vm/NAME")
@click.option("-n", "--namespace", default="default", show_default=True, metavar="NAME")
@click.option("--by", "count", type=click.IntRange(1, 10_000), default=1, show_default=True)
@_asking
def grow(*, simulation: Simulation, vm: str, namespace: str, count: int) -> Forecast:
    """Start so many more VMs like this one."""
    name = vm.removeprefix("vm/").removeprefix("vmi/")
    return simulation.grow(NamespacedName(namespace=namespace, name=name), count)


@simulate.command("label")
@click.argument("node")
@click.argument("label", metavar="KEY=VALUE|KEY-")
@_asking
def label(*, simulation: Simulation, node: str, label: str) -> Forecast:
    """Give a node a label, or take one away (KEY-): what breaks, what is mended."""
    key, equals, value = label.partition("=")
    if not equals and key.endswith("-"):
        return simulation.label(node, key[:-1], None)
    problems = [*label_key_problems(key), *label_value_problems(value)]
    if not equals or problems:
        raise UsageError(f"found {label!r}, expected KEY=VALUE or KEY-", hint="; ".join(problems))
    return simulation.label(node, key, value)


@simulate.command("rule")
@click.argument("file", metavar="FILE")
@_asking
def rule(*, simulation: Simulation, file: str) -> Forecast:
    """These rules are new, or take the place of those of their names: what breaks, what is mended.

    FILE is as below intents/; `-` reads standard input.
    """
    return simulation.rule(read_file(file), file)


@simulate.command("survive")
@click.option(
    "--of", "levels", type=click.Choice(("Node", "Zone")), multiple=True, default=("Node",)
)
@_asking
def survive(*, simulation: Simulation, levels: tuple[str, ...]) -> Forecast:
    """Lose any one node, or any one zone, and see whether every VM finds another place."""
    return simulation.survive(nodes="Node" in levels, zones="Zone" in levels)


def _shown(forecast: Forecast, output: str) -> str:
    if output in ("json", "yaml"):
        return document_text(_document(forecast), output)
    if output == "html":
        return _page(forecast)
    return _table(forecast, most=_SHOWN if output == "table" else 1_000_000)


def _document(forecast: Forecast) -> PublishedForecast:
    from gitbot.published import PublishedForecast, published  # noqa: PLC0415 - msgspec where used

    fields = {
        "cluster": forecast.cluster,
        "question": forecast.question,
        "moves": [
            {
                "vm": str(move.vm.namespaced_name),
                "source": move.source.node,
                "to": move.to.node,
                "estimatedSeconds": move.estimated_seconds,
            }
            for move in forecast.moves
        ],
        "starts": [_start(item) for item in forecast.restarts],
        "holds": [
            {"vm": str(hold.vm.namespaced_name), "code": hold.code, "reason": hold.reason}
            for hold in forecast.holds
        ],
        "off": [str(vm) for vm in forecast.off],
        "pods": [
            {"pod": str(item.vm), "source": item.source, "to": item.to, "why": item.why}
            for item in forecast.pods
        ],
        "others": forecast.others,
        "gathered": forecast.gathered,
        "kept": forecast.kept,
        "broken": forecast.broken,
        "mended": forecast.mended,
        "asked": forecast.asked,
        "unsurvived": [
            {"nodes": loss.nodes, "pending": [_start(item) for item in loss.pending]}
            for loss in forecast.unsurvived
        ],
        "seconds": forecast.seconds,
        "estimate": forecast.estimate,
        "nodes": forecast.nodes,
        "could": forecast.could,
        "faults": forecast.faults,
    }
    return published(fields, PublishedForecast)


def _start(item: Restart) -> dict[str, str]:
    return {"vm": str(item.vm), "source": item.source, "to": item.to, "why": item.why}


_HEAD = ("WHAT", "NAMESPACE", "VM", "FROM", "TO", "WHY")


def _page(forecast: Forecast) -> str:
    """A page of HTML: the touched nodes before and after, every VM, what breaks."""
    from gitbot.reports import DiffNode, VmMove, chart  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports.html.page import html_table  # noqa: PLC0415 - jinja2 only where used
    from gitbot.wiring.workspace import shipped  # noqa: PLC0415

    nodes = [
        DiffNode(name=c.node, zone=c.zone, before=_names(c.vms), after=_names(c.then))
        for c in forecast.nodes
    ]
    ends = [
        *((str(m.vm.namespaced_name), m.source.node, m.to.node) for m in forecast.moves),
        *((str(item.vm), item.source, item.to) for item in forecast.restarts),
    ]
    journeys = [
        VmMove(vm=vm, source=source, to=to, title=f"{vm}: {source or 'new'} to {to or 'nowhere'}")
        for vm, source, to in ends
    ]
    told = [("breaks", line) for line in forecast.broken]
    told += [("gathers", line) for line in forecast.gathered]
    told += [("mended", line) for line in forecast.mended]
    told += [("kept", line) for line in forecast.kept]
    told += [("estimate", line) for line in forecast.estimate]
    told += [("plan/internal", line) for line in forecast.faults]
    return html_table(
        forecast.cluster,
        f"{forecast.question}: {_verdict(forecast)}",
        templates=shipped().templates,
        bad=forecast.bad,
        rows=[
            _HEAD,
            *_rows(forecast),
            *_pods(forecast),
            *((what, "", "", "", "", line) for what, line in told),
        ],
        board=chart(nodes, journeys),
    )


def _names(vms: Iterable[NamespacedName]) -> tuple[str, ...]:
    return tuple(str(vm) for vm in vms)


def _rows(forecast: Forecast) -> list[tuple[str, ...]]:
    rows = [
        *(
            ("moves", move.vm.namespaced_name, move.source.node, move.to.node, "")
            for move in forecast.moves
        ),
        *(
            ("starts" if item.to else "PENDING", item.vm, item.source, item.to, item.why)
            for item in forecast.restarts
        ),
        *(("STAYS", hold.vm.namespaced_name, "", "", hold.reason) for hold in forecast.holds),
        *(("off", vm, "", "", "nobody starts it again") for vm in forecast.off),
        *(
            ("PENDING", item.vm, "+".join(loss.nodes[:3]), "", item.why)
            for loss in forecast.unsurvived
            for item in loss.pending
        ),
    ]
    rows.sort(key=lambda row: (not row[0].isupper(), row[0]))
    return [(row[0], row[1].namespace, row[1].name, *row[2:]) for row in rows]


_PODS = ("POD", "NAMESPACE", "NAME", "FROM", "TO", "WHY")


def _pods(forecast: Forecast) -> list[tuple[str, ...]]:
    """The landings of other pods, those without a place first."""
    rows = [
        (
            "pod starts" if item.to else "POD PENDING",
            item.vm.namespace,
            item.vm.name,
            item.source,
            item.to,
            item.why,
        )
        for item in forecast.pods
    ]
    return sorted(rows, key=lambda row: not row[0].isupper())


def _table(forecast: Forecast, *, most: int) -> str:
    from gitbot.reports import columns  # noqa: PLC0415 - keeps --help quick
    from gitbot.reports.escape import terminal  # noqa: PLC0415

    blocks = [
        f"{terminal(forecast.cluster)}: {terminal(forecast.question)}: {_verdict(forecast)}\n"
    ]
    rows = _rows(forecast)
    blocks.append(columns(_HEAD, rows[:most]))
    if len(rows) > most:
        blocks.append(f"{len(rows) - most} more lines: -o wide\n")
    blocks.append("".join(f"plan/internal: {terminal(line)}\n" for line in forecast.faults))
    blocks.append("".join(f"breaks: {terminal(line)}\n" for line in forecast.broken))
    if forecast.could:
        nodes = terminal(", ".join(forecast.could))
        blocks.append(f"together or not at all: {nodes} could go without the others\n")
    blocks.append("".join(f"gathers: {terminal(line)}\n" for line in forecast.gathered))
    blocks.append("".join(f"mended: {terminal(line)}\n" for line in forecast.mended))
    blocks.append("".join(f"kept: {terminal(line)}\n" for line in forecast.kept))
    blocks.append("".join(f"estimate: {terminal(line)}\n" for line in forecast.estimate[:most]))
    pods = _pods(forecast)
    blocks.append(columns(_PODS, pods[:most]))
    if len(pods) > most:
        blocks.append(f"{len(pods) - most} more pods: -o wide\n")
    picture = [
        [c.node, str(c.before), str(c.after), _bar(c.before), _bar(c.after)]
        for c in forecast.nodes[:most]
    ]
    blocks.append(columns(["NODE", "VMS", "AFTER", "BEFORE", "AFTER"], picture))
    return "\n".join(block for block in blocks if block)


def _bar(amount: int) -> str:
    return "#" * min(amount, 40)


def _verdict(forecast: Forecast) -> str:
    from gitbot.calendar import format_duration  # noqa: PLC0415 - keeps --help quick

    if not forecast.answered:
        return "no answer"
    if forecast.asked:
        lost = len(forecast.unsurvived)
        return f"{forecast.asked - lost} of {forecast.asked} losses leave no VM without a place"
    pending = sum(not item.to for item in forecast.restarts)
    said = [
        counted(len(forecast.moves), "move") if forecast.moves else "",
        counted(len(forecast.restarts) - pending, "start") if forecast.restarts else "",
        f"{pending} without a place" if forecast.restarts else "",
        counted(len(forecast.holds), "VM") + " cannot leave" if forecast.holds else "",
        counted(forecast.others, "other pod") + " without a place" if forecast.others else "",
        f"about {format_duration(forecast.seconds)}" if forecast.seconds else "",
        f"{len(forecast.broken)} broken, {len(forecast.mended)} mended",
    ]
    return ", ".join(part for part in said if part)
