"""`gitbot undo`: ask for the VMs of a request to go back, in a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.intent_pull import Writing, author_shell, write_intent, writing_options
from gitbot.errors import UsageError

if TYPE_CHECKING:
    from gitbot.execution.request_records import RequestRecord
    from gitbot.kubernetes.names import NamespacedName


@click.command("undo")
@click.argument("request")
@writing_options
def undo(*, writing: Writing, request: str) -> int:
    """Write a MigrationRequest that moves the VMs of REQUEST back to where they came from.

    It is a move like any other: planned, reviewed and merged, under the same rules. What has not
    started yet is ended with `gitbot cancel`.
    """
    from gitbot.execution.request_records import fold_requests  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.ledger.request_id import request_called  # noqa: PLC0415
    from gitbot.model.text.wording import meant  # noqa: PLC0415
    from gitbot.workflows.author import NewIntent  # noqa: PLC0415

    with author_shell(writing) as (shell, _, _):
        records = fold_requests(shell.ledger_store.read(), shell.cluster_name)
        known = request_called(request, records)
        if known is None:
            hint = meant(request, records)
            raise UsageError(f"the ledger knows no request {request}", hint=hint)
        (namespace, home), names = _way_back(records[known])
        new = NewIntent(
            kind="MigrationRequest",
            namespace=namespace,
            name=writing.name or f"undo-{names[0]}",
            spec={"vms": {"names": names}, "target": {"node": home}, "note": f"undoes {known}"},
            verb="undo",
            title=f"Undo {known}: back to {home}",
            note=writing.note,
        )
        return write_intent(shell, new, writing)


def _way_back(record: RequestRecord) -> tuple[tuple[str, str], list[str]]:
    """Namespace and home of the VMs that it moved. Raises UsageError for none or several.

    The home of a VM is the source of its first move that succeeded: a request may move it twice.
    """
    from gitbot.model.ledger.events import MoveState  # noqa: PLC0415 - keeps --help quick

    homes: dict[NamespacedName, str] = {}
    for _, move in sorted(record.moves.items()):
        if move.state is MoveState.SUCCEEDED:
            homes.setdefault(move.vm, move.source)
    ways: dict[tuple[str, str], list[str]] = {}
    for vm, home in homes.items():
        if record.landed[vm] != home:
            ways.setdefault((vm.namespace, home), []).append(vm.name)
    if not ways:
        hint = "" if record.finished else f"gitbot cancel {record.id}"
        away = "left every VM where it was" if homes else "moved nothing"
        raise UsageError(f"{record.id} has {away}", hint=hint)
    if len(ways) > 1:
        several = "nodes" if len({home for _, home in ways}) > 1 else "namespaces"
        typed = (
            f"gitbot move {' '.join(f'vm/{name}' for name in names)} -n {space} --to {home}"
            for (space, home), names in sorted(ways.items())
        )
        raise UsageError(f"{record.id} moved VMs of several {several}", hint="; ".join(typed))
    return next(iter(ways.items()))
