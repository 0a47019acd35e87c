"""Why a VM cannot be moved: a hold without its request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """`code` as in model.plan.Hold; the reason in words, and what would help."""

    code: str
    reason: str
    hint: str = ""
