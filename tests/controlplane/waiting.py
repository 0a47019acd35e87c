"""Wait for what others do in their own time."""

import time
from collections.abc import Callable
from typing import TypeVar

from gitbot.simulation.status_errors import ApiError

T = TypeVar("T")
POLL_SECONDS = 0.05


def eventually(call: Callable[[], T], *, seconds: float = 30.0) -> T:
    """The first true answer of `call`; refusals of the API server and failed asserts count as no.

    Raises AssertionError with the last answer when the time is over.
    """
    deadline = time.monotonic() + seconds
    while True:
        last: object
        try:
            found = call()
            if found:
                return found
            last = found
        except (ApiError, AssertionError) as problem:
            last = problem
        if time.monotonic() > deadline:
            raise AssertionError(f"still not so after {seconds} s: {last!r}")
        time.sleep(POLL_SECONDS)
