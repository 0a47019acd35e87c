"""Which single losses VMs survive, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.model.plan.plan import Resilience, UnplaceableAfterLoss
from gitbot.model.text.wording import counted, first_of

_NAMED = 3  # losses


def survived(one: Resilience) -> tuple[str, str]:
    """A label, and `every VM finds another place, as before`, or the losses that leave some out."""
    after, before = _words(one.after), _words(one.before)
    rest = ", as before" if after == before else f"; before: {before}"
    return f"any one {one.level.lower()} lost", f"{after}{rest}"


def _words(losses: Sequence[UnplaceableAfterLoss]) -> str:
    if not losses:
        return "every VM finds another place"
    named = [f"{item.lost} ({counted(item.vms, 'VM')})" for item in losses]
    return f"VMs find no place after {first_of(named, _NAMED)}"
