"""Records migrations that the ledger has only announced, before a person's command deletes them.

Otherwise nothing would show that the attempt is used up, and gitbot would create them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from gitbot.errors import GitbotError
from gitbot.execution.cluster_facts import LEDGER, is_of_ledger, ledger_mark
from gitbot.execution.request_records import MoveRecord, fold_requests
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, name_of, uid_of
from gitbot.model.ledger.events import MoveChanged, MoveState
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.ledger.writer import Journal, retried

RecordCreated = Callable[[Sequence[KubernetesObject]], frozenset[str] | None]
"""Called with migrations before they are deleted; the names of gitbot's own, None if unknown."""


def record_created(shell: RunContext, found: Sequence[KubernetesObject]) -> frozenset[str] | None:
    """Names of the migrations of this ledger; None if the ledger cannot be read.

    Those that it announced, and those with its mark, as it may have been rolled back since. A
    failed write does not block the deletion.
    """
    journal = Journal(shell.ledger_store, shell.clock)
    try:
        ledger = journal.read()
    except GitbotError:
        return None
    mine = [item for item in found if is_of_ledger(item, ledger_mark(ledger))]
    uids = {str(name_of(item)): uid_of(item) for item in mine}
    named = frozenset(str(name_of(item)) for item in mine if LEDGER in annotations_of(item))
    announced = (name for move in _moves(ledger, shell.cluster_name) for name in move.effects)
    own = named.union(frozenset(uids).intersection(announced))
    with suppress(GitbotError):
        retried(lambda: journal.commit(_created(shell, journal.read(), uids)))
    return own


def _moves(ledger: Ledger, cluster: str) -> Iterator[MoveRecord]:
    for request in fold_requests(ledger, cluster).values():
        yield from request.moves.values()


def _created(shell: RunContext, ledger: Ledger, uids: Mapping[str, str]) -> tuple[MoveChanged, ...]:
    return tuple(
        move.event(
            shell.cluster_name,
            shell.clock.now(),
            MoveState.CREATED,
            attempt=move.attempt,
            migration=move.migration,
            migration_uid=uids[move.migration],
        )
        for move in _moves(ledger, shell.cluster_name)
        if move.state is MoveState.INTENDED and move.migration in uids
    )
