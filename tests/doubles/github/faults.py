"""Trouble on order: what a real service does on a bad day, at the request that a test names."""

import re
from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """Kinds of trouble."""

    REFUSE = "refuse"  # `status` (a 5xx) before anything is done
    LOSE = "lose"  # done, and then answered with `status` all the same
    DROP = "drop"  # the connection closes before anything is done
    DROP_AFTER = "drop-after"  # done, and the connection closes without an answer
    SECONDARY = "secondary"  # a secondary limit: 403 with Retry-After
    PRIMARY = "primary"  # the primary limit: 403 with no requests left until the reset
    STALE = "stale"  # a read that does not see the newest write yet
    NO_JSON = "no-json"  # done, and answered with half of the text


@dataclass(slots=True, kw_only=True)
class Fault:
    """One trouble, `times` times, after `skip` matching requests without it.

    `path` is a regular expression that the path below the API's root must match in full.
    """

    trouble: Trouble
    method: str = ""
    path: str = ".*"
    status: int = 502
    retry_after: int = 60
    times: int = 1
    skip: int = 0
    met: int = 0  # how often it happened

    def takes(self, method: str, path: str) -> bool:
        """Whether it happens to this request; counts."""
        if self.times <= 0 or (self.method and self.method != method):
            return False
        if self.trouble is Trouble.STALE and method != "GET":
            return False
        if not re.fullmatch(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        self.met += 1
        return True
