"""A planner that never comes back, for the process that makes plans."""

from __future__ import annotations


def endless(*_: object) -> None:
    while True:
        pass
