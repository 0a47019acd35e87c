"""`gitbot move`: ask for the move of a VM, in a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.intent_pull import (
    Writing,
    author_shell,
    breach_option,
    write_intent,
    writing_options,
)
from gitbot.cli.shared.options import read_selector, time_ahead, vm_words
from gitbot.errors import UsageError
from gitbot.model.text.instants import format_instant

if TYPE_CHECKING:
    from gitbot.kubernetes.names import NamespacedName
    from gitbot.model.cluster.cluster import ClusterSnapshot

PINS = ("Node", "Zone", "None")
REASONS = ("Maintenance", "Troubleshooting", "NodeValidation", "LoadProfile", "Habit", "Other")


class ReasonChoice(click.Choice[str]):
    """A reason of a MigrationRequest; other commands take words of one's own there."""

    def __init__(self) -> None:
        super().__init__(REASONS, case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            said = f"{error.message.rstrip('.')}; --note takes words of your own"
            raise click.BadParameter(said, ctx, param) from error


@click.command("move")
@click.argument("vms", nargs=-1, metavar="[vm/NAME]...", callback=vm_words)
@click.option("-l", "--selector", "labels", metavar="SELECTOR", help="VMs with these labels now.")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace of the VMs.")
@click.option("--to", "node", metavar="NODE", help="Move to this node.")
@click.option("--zone", metavar="ZONE", help="Move to a node of this zone.")
@click.option("--away", is_flag=True, help="Move to any other node (the default).")
@click.option(
    "--pin",
    type=click.Choice(PINS, case_sensitive=False),
    help="What is fixed: the node or zone that the plan shows, or what the target says.",
)
@click.option("--reason", type=ReasonChoice(), help="Why; for words of your own: --note.")
@click.option("--before", metavar="TIME", help="Latest end: 06:00, tomorrow 6am, in 4h.")
@click.option("--window", metavar="NAME", help="Only while this MaintenanceWindow is open.")
@breach_option
@writing_options
def move(
    *,
    writing: Writing,
    vms: tuple[str, ...],
    namespace: str,
    node: str | None,
    zone: str | None,
    away: bool,
    pin: str | None,
    reason: str | None,
    before: str | None,
    labels: str | None,
    window: str | None,
    allow_breach: str | None,
) -> int:
    """Write a MigrationRequest for these VMs on a branch and open its pull request.

    The move is checked first, and refused here for the reasons for which the pull request would be
    refused. Nothing moves before somebody merges it.
    """
    if sum((node is not None, zone is not None, away)) > 1:
        raise UsageError("found several of --to, --zone and --away", hint="give one of them")
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415 - keeps --help quick

    with author_shell(writing) as (shell, snapshot, zone_name):
        labelled = _labelled(snapshot, labels, namespace) if labels else ()
        found = _resolved(snapshot, vms, namespace, labelled)
        names = [vm.name for vm in found]
        target, where = _target(node, zone)
        first = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        more = {
            "target": target,
            "pin": pin,
            "reason": reason,
            "note": writing.note,
            "deadline": _deadline(before, zone_name or "UTC", now=shell.clock.now()),
            "window": window,
            "allowBreach": allow_breach,
        }
        new = NewIntent(
            kind="MigrationRequest",
            namespace=found[0].namespace,
            name=writing.name or f"move-{names[0]}",
            spec={"vms": {"names": names}, **{key: it for key, it in more.items() if it}},
            verb="move",
            title=f"Move {found[0].namespace}/{first} {where}",
            note=writing.note,
        )
        return write_intent(shell, new, writing)


def _target(node: str | None, zone: str | None) -> tuple[dict[str, str], str]:
    """`spec.target`, and where that is in words."""
    target = {"node": node} if node else {"zone": zone} if zone else {}
    return target, f"to {node or f'zone {zone}'}" if target else "to another node"


def _deadline(before: str | None, zone: str, *, now: int) -> str:
    return format_instant(time_ahead("--before", before, zone, now=now)) if before else ""


def _labelled(snapshot: ClusterSnapshot, labels: str, namespace: str) -> tuple[NamespacedName, ...]:
    """The VMs with these labels. The request names them, so that the review shows each."""
    from gitbot.kubernetes.objects import labels_of, name_of  # noqa: PLC0415 - keeps --help quick

    matcher = read_selector(labels)
    return tuple(
        name_of(vmi)
        for vmi in snapshot.of("VirtualMachineInstance")
        if matcher.matches(labels_of(vmi)) and namespace in ("", name_of(vmi).namespace)
    )


def _resolved(
    snapshot: ClusterSnapshot,
    texts: tuple[str, ...],
    namespace: str,
    labelled: tuple[NamespacedName, ...],
) -> list[NamespacedName]:
    """The VMs of the words and the labelled ones, each once, in one namespace; else UsageError."""
    from gitbot.cli.commands.explain import resolve  # noqa: PLC0415 - keeps --help quick
    from gitbot.constraints.explanation import Explainer  # noqa: PLC0415

    if not texts and not labelled:
        raise UsageError("no VM is meant", hint="give vm/NAME, or -l with labels that VMs have")
    explainer = Explainer(snapshot)
    found = dict.fromkeys(resolve(explainer, text, namespace) for text in texts)
    if any(kind != "vm" for kind, _ in found):
        raise UsageError("only VMs can be moved", hint="give vm/NAME")
    vms = list(dict.fromkeys([*(name for _, name in found), *labelled]))
    spaces = sorted({vm.namespace for vm in vms})
    if len(spaces) > 1:
        raise UsageError(
            f"found VMs of the namespaces {', '.join(spaces)}, expected those of one",
            hint="a MigrationRequest acts in one namespace: run `gitbot move` once for each",
        )
    return vms
