"""`gitbot keep-apart`: ask for VMs to stay in different zones or nodes, in a pull request."""

from __future__ import annotations

from typing import Any

import click

from gitbot.cli.shared.intent_pull import Writing, author_shell, write_intent, writing_options
from gitbot.cli.shared.options import selector_fields
from gitbot.errors import UsageError


@click.command("keep-apart")
@click.option(
    "-l", "--selector", "labels", required=True, metavar="SELECTOR", help="Labels of the VMIs."
)
@click.option("-n", "--namespace", required=True, metavar="NAME", help="Namespace of the VMs.")
@click.option("--zones", is_flag=True, help="One VM a zone (default).")
@click.option("--nodes", is_flag=True, help="One VM a node.")
@click.option("--max", "most", type=click.IntRange(1, 10_000), help="At most so many in each.")
@writing_options
def keep_apart(
    *, writing: Writing, labels: str, namespace: str, zones: bool, nodes: bool, most: int | None
) -> int:
    """Write a ZoneAntiAffinity rule for the VMs with these labels and open its pull request.

    gitbot then finds breaches of the rule, proposes the fewest moves that heal them, and makes no
    move that adds one.
    """
    if zones and nodes:
        raise UsageError("found both --zones and --nodes", hint="give one of them")
    from gitbot.model.cluster.scheduling import HOSTNAME  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415

    selector, value = selector_fields(labels)
    spec: dict[str, Any] = {"selector": selector}
    spec |= {"topologyKey": HOSTNAME} if nodes else {}
    spec |= {"maxPerDomain": most} if most else {}
    where = "on a node" if nodes else "in a zone"
    new = NewIntent(
        kind="ZoneAntiAffinity",
        namespace=namespace,
        name=writing.name or f"{value.lower() or 'vms'}-apart",
        spec=spec,
        verb="rule",
        title=f"Keep VMs with {labels} in {namespace} apart: at most {most or 1} {where}",
        note=writing.note,
    )
    with author_shell(writing) as (shell, _, _):
        return write_intent(shell, new, writing)
