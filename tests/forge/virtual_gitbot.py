"""gitbot with the clock of a story instead of the machine's; `GITBOT_STORY_CLOCK` is its address.

What runs is gitbot as it is: only the one door to the time of day leads elsewhere.
"""

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


class StoryClock:
    """The time of the story; the Clock port."""

    def now(self) -> int:
        """The present in seconds UTC."""
        return ask("GET", "/")

    def sleep(self, seconds: int) -> None:
        """Let time pass in the story."""
        if seconds > 0:
            ask("POST", f"/{seconds}")


if __name__ == "__main__":
    for name in ("now", "sleep"):
        setattr(SystemClock, name, getattr(StoryClock, name))
    # PyGithub signs an App's token with it
    time.time = lambda: float(ask("GET", "/"))  # noqa: TID251 - replaced, not read
    sys.argv[0] = "gitbot"
    main()
