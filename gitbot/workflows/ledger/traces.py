"""Migrations of gitbot in the cluster that the ledger should have announced, and has not.

Each migration was announced in its ledger before it was created, and has the mark of that ledger.
KubeVirt keeps the five newest finished ones of a VM. So they remember what ran where the cluster
has no anchor: without the right to write one, or if namespace `gitbot` was lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.execution.cluster_facts import LEDGER, is_own, ledger_mark
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, name_of
from gitbot.model.ledger.events import ClusterIdentified, MoveChanged
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import parse_instant
from gitbot.model.text.wording import first_of


def unannounced(
    ledger: Ledger, cluster: str, migrations: Iterable[KubernetesObject]
) -> tuple[KubernetesObject, ...]:
    """The migrations of gitbot that the ledger must have forgotten.

    Of a ledger without a line about the cluster, all; otherwise those with its own mark that no
    line names, and that were created after a line said which cluster it is. List them before the
    ledger is read: it announces each one first.
    """
    own = [item for item in migrations if is_own(item)]
    if not is_noted(ledger, cluster):
        return tuple(own)
    mine = announced_here(ledger, own)  # another gitbot may be at work on the cluster
    if not mine:
        return ()
    lines = ledger.identified()
    named = {line.migration for line in lines if isinstance(line, MoveChanged)}
    noted = [line.time for line in lines if _notes(line, cluster)]
    since = max(noted, default=-1)
    return tuple(item for item in mine if str(name_of(item)) not in named and _after(item, since))


def announced_here(
    ledger: Ledger, migrations: Iterable[KubernetesObject]
) -> tuple[KubernetesObject, ...]:
    """Those that have the mark of this ledger, whether or not it still has the line."""
    mark = ledger_mark(ledger)
    return tuple(item for item in migrations if annotations_of(item).get(LEDGER) == mark)


def is_noted(ledger: Ledger, cluster: str) -> bool:
    """Whether the ledger has a line about a move on the cluster, or about its identity."""
    return any(event.cluster == cluster for event in ledger.identified())


def with_requests(migrations: Iterable[KubernetesObject]) -> str:
    """The first three, each with its request."""
    return first_of([f"{name} of {request}" for name, request in _named(migrations)], 3)


def _named(migrations: Iterable[KubernetesObject]) -> Iterator[tuple[str, str]]:
    for migration in migrations:
        request = annotations_of(migration).get("placement.gitbot.dev/request", "")
        yield str(name_of(migration)), request or "an unknown request"


def _notes(event: object, cluster: str) -> bool:
    return isinstance(event, ClusterIdentified) and event.cluster == cluster


def _after(migration: KubernetesObject, since: int) -> bool:
    created = str(at(migration, "metadata", "creationTimestamp", default=""))
    return (parse_instant(created) if created else 0) > since
