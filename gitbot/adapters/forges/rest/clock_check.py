"""Whether the forge's clock is ours: for `doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitbot.adapters.forges.rest.api import RestApi, date_of
from gitbot.model.plan.diagnosis import Check, failed, passed

MAX_SKEW = 30  # seconds: reviews carry the forge's time, records ours


def clock_check(api: RestApi, headers: Mapping[str, str]) -> Iterator[Check]:
    """What the Date of an answer says; nothing if it has none."""
    theirs = date_of(headers)
    if not theirs:
        return
    skew = abs(theirs - api.clock.now())
    said = f"{api.name}'s clock is {skew} s away from ours"
    if skew > MAX_SKEW:
        yield failed("forge/clock", said, "let NTP set this machine's clock")
    else:
        yield passed("forge/clock", said)
