"""Checks: what gitbot found out about one thing, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from gitbot.errors import (
    Bug,
    ClusterError,
    ForgeError,
    GitbotError,
    InvalidInput,
    LedgerError,
    RepositoryError,
)

BANDWIDTH = "bandwidth"
"""The check of a move that says what makes its copy slower than the configured bandwidth."""
DIRTY_RATE = "dirty-rate"
"""The check of a move that says how much longer it takes as the guest writes."""
LAST_MIGRATION = "last-migration"
"""The check of a move that says how long the VM's last migration took, as the ledger knows it."""
TOGETHER = "together"
"""The check of moves of VMs that a rule keeps together, and that move as one."""
ALLOWED_BREACH = "allowed-breach"
"""The check of moves that move as one with a pause, which only `allowBreach` permits."""
CONTRADICTION = "internal"
"""The hold of a VM about which gitbot's planner contradicts itself."""
STORAGE = "storage-migration"
"""The check of a move, or the hold of a VM, whose next migration ends a change of its storage."""


class Outcome(StrEnum):
    """PASS works, WARN works but may surprise, FAIL does not work: it blocks a move."""

    PASS = "pass"  # noqa: S105 - an outcome, no password
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The check of one thing, before a move or by `gitbot doctor`.

    `name` is stable and short (`forge/checks`), `message` has the result. `fix` says what to do; a
    diagnosis has one for every check that does not pass, a plan has none.
    """

    name: str
    outcome: Outcome
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
    """What to do about an error: its own hint, else the fix for errors of its kind."""
    found = (fix for kind, fix in _FIXES if isinstance(error, kind))
    return error.hint or next(found, f"put right what the message names, {_AGAIN}")


@lru_cache(maxsize=4_096)  # most VMs pass with the same message
def passed(name: str, message: str) -> Check:
    return Check(name=name, outcome=Outcome.PASS, message=message)


def warned(name: str, message: str, fix: str = "") -> Check:
    return Check(name=name, outcome=Outcome.WARN, message=message, fix=fix)


def failed(name: str, message: str, fix: str = "") -> Check:
    return Check(name=name, outcome=Outcome.FAIL, message=message, fix=fix)


def asked(name: str, ask: Callable[[], Iterable[Check]]) -> tuple[Check, ...]:
    """The checks; if computing them fails, one failed check with the error."""
    try:
        return tuple(ask())
    except Bug:
        raise
    except GitbotError as error:
        return (failed(name, error.message, fix_of(error)),)
