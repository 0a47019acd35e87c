"""Soon."""

from __future__ import annotations

from gitbot.testing.github.calls import Route

ROUTES: tuple[Route, ...] = ()
