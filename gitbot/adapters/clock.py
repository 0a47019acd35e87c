"""The system clock: the only file that reads the time of day."""

from __future__ import annotations

import time


class SystemClock:
    """Wall time, in whole seconds UTC."""

    def now(self) -> int:
        return int(time.time())  # noqa: TID251 - this is the one door to the clock

    def sleep(self, seconds: int) -> None:
        if seconds > 0:
            time.sleep(seconds)
