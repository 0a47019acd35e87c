"""Watch: pass after pass with pauses, for use without a CI system's schedule.

It only polls: there is no webhook. A pause ends at the next opening, after a merge, a hold or a
cancel, or when its time is over. If forge, Git or cluster is unreachable, it opens everything again
after pauses that grow while the cause stays the same; only a bug ends the loop.
"""

from __future__ import annotations

import gc
import hashlib
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager

from gitbot.errors import Bug, GitbotError
from gitbot.ports.clock import Clock
from gitbot.workflows.apply import (
    LOOK_ANYWAY,
    MAX_RUNTIME,
    NOTICE,
    ApplyResult,
    heads,
    wait_for_change,
)
from gitbot.workflows.core.base_branch import readable_base
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.published_snapshots import Pack
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.propose import PassView
from gitbot.workflows.watch.reconcile import ReconcileResult, reconcile

FIRST_REST = 10  # seconds after the first failure; doubled up to LONGEST_REST
LONGEST_REST = 600
LONGEST_OPEN = 3600  # seconds with one mirror: each snapshot published adds its bytes to it
UNDISTURBED = 30  # seconds before an opening in which nothing else is begun

OnRest = Callable[[RunContext, PassView], None]
"""Gets what the last pass saw while nothing is due; it asks neither the forge nor the cluster."""


def watch(
    opener: Callable[[], AbstractContextManager[RunContext]],
    *,
    clock: Clock,
    interrupted: Callable[[], bool],
    every: int,
    max_runtime: int = MAX_RUNTIME,
    pack: Pack | None = None,
    on_pass: Callable[[ReconcileResult], None],
    on_trouble: Callable[[GitbotError, int], None],
    on_rest: OnRest | None = None,
) -> None:
    """Run until interrupted. `on_trouble` gets the error and the seconds until the next attempt."""
    troubles = 0
    last: type[GitbotError] = GitbotError

    def passed(result: ReconcileResult) -> None:
        nonlocal troubles
        troubles = 0
        on_pass(result)

    while not interrupted():
        # reference cycles keep the ports of the last round, and short rounds start no collection
        gc.collect()
        try:
            with opener() as shell:
                _passes(
                    shell,
                    every=every,
                    max_runtime=max_runtime,
                    pack=pack,
                    on_pass=passed,
                    on_rest=on_rest,
                )
        except Bug:
            raise
        except GitbotError as error:
            if interrupted():
                return
            troubles, last = troubles if isinstance(error, last) else 0, type(error)
            rest = min(FIRST_REST * 2**troubles, LONGEST_REST)
            troubles = min(troubles + 1, 16)
            on_trouble(error, rest)
            clock.sleep(rest)


def _passes(
    shell: RunContext,
    *,
    every: int,
    max_runtime: int,
    pack: Pack | None,
    on_pass: Callable[[ReconcileResult], None],
    on_rest: OnRest | None,
) -> None:
    """Passes with the same open ports, until interrupted or until the configuration changes.

    They end after LONGEST_OPEN, too, so that temporary files stay few. They watch running moves
    even if the tip of the base branch has errors.
    """
    settings, opened = readable_base(shell).engine.settings, shell.timer()
    while not shell.interrupted() and shell.timer() - opened < LONGEST_OPEN:
        views: deque[PassView] = deque(maxlen=1)
        result = reconcile(
            shell,
            max_runtime=max_runtime,
            pack=pack,
            every_pull=True,
            on_view=None if on_rest is None else views.append,
        )
        on_pass(result)
        if on_rest is not None and views and is_quiet(shell, result.applied):
            on_rest(shell, views.pop())
        views.clear()  # the snapshot, before the next pass takes one
        if shell.interrupted() or readable_base(shell).engine.settings != settings:
            return
        wait_for_next_pass(shell, result.applied, every=every)


def next_turn(cluster: str, now: int, *, every: int) -> int:
    """When the cluster's turn is next: after `now`, at most `every` seconds later.

    The name decides the second in the interval, so that the bots of many clusters, rolled out at
    once, do not ask the same forge at once.
    """
    turn = int(hashlib.sha256(cluster.encode()).hexdigest(), 16) % every
    return now + every - (now - turn) % every


def _openings(applied: ApplyResult, now: int) -> list[int]:
    return [item.until for item in applied.waiting if item.until > now]


def is_quiet(shell: RunContext, applied: ApplyResult) -> bool:
    """Whether some seconds delay nothing: no pass follows at once, and nothing opens soon."""
    now = shell.clock.now()
    soon = any(opening - now < UNDISTURBED for opening in _openings(applied, now))
    return not (applied.unfinished or soon or shell.interrupted())


def wait_for_next_pass(shell: RunContext, applied: ApplyResult, *, every: int) -> None:
    if applied.unfinished:
        return
    now = shell.clock.now()
    until = min([next_turn(shell.cluster_name, now, every=every), *_openings(applied, now)])
    journal = Journal(shell.ledger_store, shell.clock)
    # what another process wrote since the pass read it ends the rest
    known, base = journal.read(again=False), applied.base or base_head(shell)
    seen = heads(known, shell.cluster_name, base)
    look = LOOK_ANYWAY if shell.followed is None else NOTICE
    wait_for_change(shell, journal, seen, until=until, look=min(look, every))
