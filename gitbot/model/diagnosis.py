"""Diagnosis: what `gitbot doctor` found out about one thing, and how to put it right."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How one thing is: PASS works, WARN works but will surprise, FAIL does not work."""

    PASS = "pass"  # noqa: S105 - an outcome, no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One line of a diagnosis. `fix` says what to do; "" only where the outcome is PASS.

    `name` is stable and short (`forge/checks`), `message` says what was found.
    """

    name: str
    outcome: Health
    message: str
    fix: str = ""
