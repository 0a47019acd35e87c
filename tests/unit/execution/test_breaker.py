"""When the circuit opens: what counts, since when, and how often."""

import pytest

from gitbot.execution.executor_types import BreakerLimits
from gitbot.execution.ledger_folds import DAY, breaker_reason
from gitbot.model.ledger.events import (
    ForeignMove,
    KnownEvent,
    LedgerEvent,
    MoveChanged,
    MoveState,
    StopLifted,
)
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.published.ledger_lines import chain
from gitbot.settings.configuration import BreakerSettings

NOW = 1_800_000_000
FILE = "requests/prod/request/db/one.jsonl"


def change(time: int, state: MoveState = MoveState.FAILED) -> MoveChanged:
    return MoveChanged(
        file=FILE,
        time=time,
        cluster="prod",
        request=RequestId.read("request/db/one"),
        vm="db/one",
        vm_uid="u",
        move=1,
        state=state,
        source="a",
    )


def foreign(time: int, landed: str) -> ForeignMove:
    request = RequestId.read("request/db/one")
    return ForeignMove(
        file="requests/prod/observed.jsonl",
        time=time,
        cluster="prod",
        request=request,
        vm="db/one",
        landed=landed,
        migration="by-hand",
    )


def ledger_of(*events: KnownEvent) -> Ledger:
    """As it is read: each line has its place."""
    return Ledger(events=chain(None, events))


LIMITS = BreakerLimits(failures=1, unexpected_landings=0, foreign_returns=1)
HOME = change(NOW - DAY, MoveState.SUCCEEDED)


@pytest.mark.parametrize(
    ("events", "opens"),
    [
        ([change(NOW - 86_399)], "1 moves failed"),
        ([change(NOW - 86_400)], ""),  # a day ago
        ([HOME], ""),
        ([HOME, foreign(NOW, "a")], "1 VMs were moved back"),
        ([HOME, foreign(NOW, "b")], ""),  # elsewhere
        ([HOME, foreign(NOW, "")], ""),  # nobody knows where
        ([HOME, foreign(NOW - 86_400, "a")], ""),
        ([foreign(NOW, "")], ""),
        ([foreign(NOW, "a")], ""),  # gitbot never moved it
    ],
)
def test_what_opens_the_circuit(events: list[LedgerEvent], opens: str) -> None:
    reason = breaker_reason(Ledger(events=tuple(events)), "prod", now=NOW, limits=LIMITS)
    assert reason.startswith(f"circuit breaker: {opens}" if opens else "")
    assert bool(reason) is bool(opens)


def test_limits_that_nobody_set_are_those_of_the_configuration() -> None:
    known = BreakerSettings()
    assert BreakerLimits() == BreakerLimits(
        failures=known.failures,
        unexpected_landings=known.unexpected_landings,
        foreign_returns=known.foreign_returns,
    )


def test_a_resume_begins_a_new_count_and_below_a_limit_nothing_opens() -> None:
    lifted = StopLifted(file=HOLD_FILE, time=NOW - 10, cluster="prod")
    ledger = ledger_of(change(NOW - 10), lifted)
    assert breaker_reason(ledger, "prod", now=NOW, limits=LIMITS) == ""
    later = Ledger(events=(*ledger.events, change(NOW - 9)))  # not written yet
    assert breaker_reason(later, "prod", now=NOW, limits=LIMITS).startswith(
        "circuit breaker: 1 moves"
    )
    twice = BreakerLimits(failures=0, unexpected_landings=0, foreign_returns=2)
    once = Ledger(events=(HOME, foreign(NOW, "a")))
    assert breaker_reason(once, "prod", now=NOW, limits=twice) == ""
    landings = BreakerLimits(failures=0, unexpected_landings=1, foreign_returns=0)
    assert breaker_reason(later, "prod", now=NOW, limits=landings) == ""
    off = BreakerLimits(failures=0, unexpected_landings=0, foreign_returns=0)
    assert breaker_reason(later, "prod", now=NOW, limits=off) == ""


@pytest.mark.parametrize("skew", [-3600, -1, 0, 1, 3 * DAY])
def test_a_resume_counts_by_its_place_and_not_by_the_clock_of_who_resumed(skew: int) -> None:
    lifted = StopLifted(file=HOLD_FILE, time=NOW + skew, cluster="prod")
    before = (change(NOW), HOME, foreign(NOW, "a"), lifted)
    assert breaker_reason(ledger_of(*before), "prod", now=NOW, limits=LIMITS) == ""
    after = ledger_of(*before, change(NOW))
    assert breaker_reason(after, "prod", now=NOW, limits=LIMITS).startswith(
        "circuit breaker: 1 moves"
    )


def lifted(cluster: str) -> StopLifted:
    return StopLifted(file=HOLD_FILE, time=NOW, cluster=cluster)


def test_what_follows_a_resume_counts_and_another_cluster_changes_nothing() -> None:
    elsewhere = change(NOW).replace(file="requests/test/request/db/one.jsonl", cluster="test")
    here = ledger_of(change(NOW), lifted("prod"), elsewhere, elsewhere)
    assert breaker_reason(here, "prod", now=NOW, limits=LIMITS) == ""
    theirs = ledger_of(change(NOW), lifted("test"))
    assert breaker_reason(theirs, "prod", now=NOW, limits=LIMITS).startswith(
        "circuit breaker: 1 moves"
    )
    everybody = ledger_of(change(NOW), lifted(""))
    assert breaker_reason(everybody, "prod", now=NOW, limits=LIMITS) == ""
    returns = ledger_of(HOME, lifted("prod"), foreign(NOW, "a"))
    assert breaker_reason(returns, "prod", now=NOW, limits=LIMITS).startswith(
        "circuit breaker: 1 VMs"
    )
