"""The system clocks: the only file that reads the time of day, or a monotonic clock."""

from __future__ import annotations

import time


class SystemClock:
    """Wall time, in whole seconds UTC."""

    def now(self) -> int:
        return int(time.time())  # noqa: TID251 - this is the one door to the clock

    def sleep(self, seconds: int) -> None:
        if seconds > 0:
            time.sleep(seconds)


def seconds_counted() -> float:
    """Seconds that never step back, and include the machine's sleep if the system supports it."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)
