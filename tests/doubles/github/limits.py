"""The primary rate limit: so many requests an hour for each token."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.doubles.github.problems import Problem

HOUR = 3600


@dataclass(slots=True, kw_only=True)
class Limits:
    """`limit` requests an hour; `used` and the hour's end by token."""

    limit: int = 5000
    used: dict[str, tuple[int, int]] = field(default_factory=dict)

    def present(self, token: str, now: int) -> tuple[int, int]:
        """How many were used in this hour, and when it ends."""
        used, reset = self.used.get(token, (0, now + HOUR))
        return (0, now + HOUR) if now >= reset else (used, reset)

    def take(self, token: str, now: int) -> dict[str, str]:
        """Count one request; the headers that tell. Raises Problem (403) where none is left."""
        used, reset = self.present(token, now)
        if used >= self.limit:
            raise Problem(
                403, "API rate limit exceeded for user ID 1.", headers=self._headers(used, reset)
            )
        self.used[token] = (used + 1, reset)
        return self._headers(used + 1, reset)

    def give_back(self, token: str, now: int) -> None:
        """A conditional request that is answered with 304 is not counted."""
        used, reset = self.present(token, now)
        self.used[token] = (max(0, used - 1), reset)

    def _headers(self, used: int, reset: int) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(0, self.limit - used)),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(reset),
            "X-RateLimit-Resource": "core",
        }
