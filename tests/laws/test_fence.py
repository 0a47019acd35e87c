"""No schedule of two executors, a person, crashes and late requests breaks what the fence promises.

`fence_model` enumerates them; the slow tier goes further: more crashes, later, more clocks.
"""

from typing import Any

import pytest

from gitbot.adapters.kubernetes import transport
from gitbot.execution.claims import DELIVERY_SECONDS, SKEW_SECONDS, Fence
from gitbot.workflows.core.stop_conditions import MAX_SKEW
from tests.laws.fence_model import Rules, explore

APART = ((1, -1),)


def test_no_schedule_is_wrong() -> None:
    count, wrong = explore(Rules(horizon=4, crashes=1), skews=APART)
    assert wrong == ""
    assert count > 10_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_schedule_is_wrong_up_to_the_bound_that_the_page_states() -> None:
    count, wrong = explore(Rules(horizon=7, crashes=2), skews=((0, 0), (1, -1), (-1, 1)))
    assert wrong == ""
    assert count > 100_000


@pytest.mark.parametrize(
    ("left_out", "breaks"),
    [
        ({"adopt_at_once": True}, "I20"),
        ({"end_at_once": True}, "I3"),
        ({"gate": False}, "I5"),
        ({"gate": False, "window": 9}, "I20"),
        ({"swap": False}, "I3"),
        ({"again": True}, "I20"),
        ({"own_clock": True}, "I20"),
        ({"theirs_too": True}, "I20"),
        ({"fence": Fence(send=1, delivery=0, skew=1)}, "I20"),
        ({"fence": Fence(send=1, delivery=1, skew=0)}, "I20"),
    ],
    ids=str,
)
def test_each_part_of_the_fence_is_needed(left_out: dict[str, Any], breaks: str) -> None:
    _, wrong = explore(Rules(horizon=6, crashes=1, **left_out), skews=APART)
    assert wrong.partition(":")[0] == breaks


def test_the_shipped_times_fit_the_transport_and_the_check_of_clocks() -> None:
    assert transport.CONNECT_SECONDS + transport.WRITE_SECONDS < DELIVERY_SECONDS
    assert SKEW_SECONDS == MAX_SKEW
