"""Diagnosis: what `gitbot doctor` found out about one thing, and how to put it right."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gitbot.errors import (
    ClusterError,
    ForgeError,
    GitbotError,
    InvalidInput,
    LedgerError,
    RepositoryError,
)


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


_AGAIN = "then run `gitbot doctor` again"
_FIXES: tuple[tuple[type[GitbotError], str], ...] = (
    (InvalidInput, f"correct what the message names; `gitbot lint` shows every place; {_AGAIN}"),
    (ClusterError, f"make `kubectl get nodes` work with this kubeconfig and context, {_AGAIN}"),
    (ForgeError, f"check forge.repository, the network and the token, {_AGAIN}"),
    (LedgerError, "run `gitbot ledger verify`, and restore branch gitbot/ledger as it was"),
    (RepositoryError, f"make `git fetch` work here: address, network, credentials; {_AGAIN}"),
)


def fix_of(error: GitbotError) -> str:
    """What to do about an error: what it says itself, else what mends errors of its kind."""
    found = (fix for kind, fix in _FIXES if isinstance(error, kind))
    return error.hint or next(found, f"put right what the message names, {_AGAIN}")
