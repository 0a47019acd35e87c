"""VMs that gitbot moved lately and leaves alone."""

from __future__ import annotations

from collections.abc import Iterable

from gitbot.execution.requests import RequestRecord, last_moved
from gitbot.model.names import NamespacedName


def in_cooldown(
    records: dict[str, RequestRecord], vms: Iterable[NamespacedName], *, now: int, seconds: int
) -> tuple[NamespacedName, ...]:
    """The VMs that gitbot moved less than `seconds` ago, sorted."""
    moved = last_moved(records.values())
    return tuple(sorted(vm for vm in vms if vm in moved and now - moved[vm] < seconds))
