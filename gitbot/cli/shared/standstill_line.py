"""What a check says before its plan if gitbot would carry out nothing now."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.cli.shared.session import say

if TYPE_CHECKING:
    from gitbot.cli.shared.options import ClusterAccess
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.settings import Settings
    from gitbot.wiring.forge_reads import ForgeTips
    from gitbot.workflows.ask import Standstill


def say_standstill(found: Standstill | None, *, human: bool) -> None:
    """One line, on standard error beside a document; the exit code is about the plan alone."""
    if found is not None:
        then = f"; next: {found.next_command}" if found.next_command else ""
        say(f"nothing would be carried out now: {found}{then}", err=not human)


def say_standstill_here(
    access: ClusterAccess,
    root: Path,
    settings: Settings,
    tips: ForgeTips,
    snapshot: ClusterSnapshot,
    *,
    human: bool,
) -> None:
    """What ledger and cluster say; nothing without the forge's ledger."""
    if not (tips.stale or tips.absent):
        say_standstill(_known(access, root, settings, tips, snapshot), human=human)


def _known(
    access: ClusterAccess,
    root: Path,
    settings: Settings,
    tips: ForgeTips,
    snapshot: ClusterSnapshot,
) -> Standstill | None:
    from gitbot.wiring import SystemClock  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.forge_reads import ask_forge  # noqa: PLC0415
    from gitbot.wiring.workspace import cluster_of, ledger_here  # noqa: PLC0415
    from gitbot.workflows.ask import known_standstill  # noqa: PLC0415
    from gitbot.workflows.ledger.anchor import anchor_in  # noqa: PLC0415

    name = snapshot.cluster
    where = {"kubeconfig": access.kubeconfig, "context": access.context}
    names = settings.cluster_names
    with closing(cluster_of(settings, name, **where)) as cluster:
        anchor = anchor_in(cluster, ledger_here(root), called=name, clusters=names)
        there = snapshot.of("VirtualMachineInstanceMigration")

        def known(read: Callable[[], Ledger]) -> Standstill | None:
            return known_standstill(cluster, SystemClock(), read, anchor, there)

        found = known(lambda: tips.ledger)
        if found is None or found.healthy:
            return found
        return known(lambda: ask_forge(root).ledger)  # that one was read before the cluster
