"""gitbot with the clock of a story instead of the machine's; `GITBOT_STORY_CLOCK` is its address.

What runs is gitbot as it is: only the one door to the time of day leads elsewhere.
"""

from __future__ import annotations

import http.client
import os
import sys
import time

from gitbot.__main__ import main
from gitbot.adapters.clock import SystemClock

ADDRESS = "GITBOT_STORY_CLOCK"


def ask(method: str, path: str) -> int:
    """Ask the clock of the story."""
    connection = http.client.HTTPConnection(os.environ[ADDRESS], timeout=600)
    try:
        connection.request(method, path)
        return int(connection.getresponse().read())
    finally:
        connection.close()


def now(clock: SystemClock) -> int:
    """The time of the story."""
    return ask("GET", "/")


def sleep(clock: SystemClock, seconds: int) -> None:
    """Let time pass in the story."""
    if seconds > 0:
        ask("POST", f"/{seconds}")


if __name__ == "__main__":
    SystemClock.now = now  # type: ignore[method-assign]
    SystemClock.sleep = sleep  # type: ignore[method-assign]
    # PyGithub signs an App's token with it
    time.time = lambda: float(ask("GET", "/"))  # noqa: TID251 - replaced, not read
    sys.argv[0] = "gitbot"
    main()
