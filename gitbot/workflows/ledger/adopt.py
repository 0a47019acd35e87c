"""Adopt: a person accepts that a cluster or a repository has a new name or address.

What the ledger has under the former name is written again under the new one, so that a finished
request stays finished. An anchor of the former address is marked: a copy that runs there stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitbot.errors import ClusterError, ClusterForbidden, LedgerError, UsageError
from gitbot.execution.ledger_folds import fold_clusters
from gitbot.model.ledger.events import KnownEvent, UnknownEvent
from gitbot.model.ledger.ledger import HOLD_FILE, SUFFIX, Ledger
from gitbot.published.ledger_lines import encode_event
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.stop_conditions import MovedStop
from gitbot.workflows.ledger.anchor import (
    CLUSTER,
    HANDED_OVER,
    UID,
    WITHOUT,
    Anchor,
    anchor_of,
    identified,
    known_migrations,
    read_anchor,
    rollback_reason,
    write_forge_anchor,
)
from gitbot.workflows.ledger.guarded_store import unguarded
from gitbot.workflows.ledger.writer import Journal, retried

GRANT = "a cluster administrator gives it: deploy/rbac/optional-ledger-anchor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What was accepted: the former name of the cluster ("" if it has none) and its lines.

    `repositories` are the former addresses whose ledger this one continues.
    """

    former: str
    lines: int
    repositories: tuple[str, ...]


def adopt(shell: RunContext, *, former: str = "", as_new: bool = False) -> Adopted:
    """Accept names and addresses as they are now.

    `former` is the cluster's name in the ledger, if several are possible; `as_new` says that the
    cluster had none. Raises UsageError if nothing changed, LedgerError if it lacks anchored lines,
    ClusterError if the cluster's entry cannot be written.
    """
    anchor = read_anchor(shell)
    there = known_migrations(shell, anchor)
    ledger = shell.ledger_store.read()
    if anchor.trouble:
        raise ClusterError(anchor.trouble)
    shell = replace(shell, ledger_store=unguarded(shell.ledger_store))
    if not isinstance(anchor.stop(ledger, there), MovedStop):
        raise UsageError("the ledger is that of this cluster and repository: nothing to adopt")
    if missed := anchor.missed(ledger):  # a new name says nothing of lines that were lost
        raise LedgerError(missed)
    name = "" if as_new else _former(anchor, ledger, former)
    lines = retried(lambda: _copy(shell, name)) if name else 0
    retried(lambda: _identify(shell, anchor.uid))
    ledger = shell.ledger_store.read()
    taken = tuple(key for key, line in anchor.others.items() if not rollback_reason(ledger, line))
    try:
        shell.cluster.set_ledger_anchor(shell.ledger_name, anchor_of(ledger))
        shell.cluster.set_ledger_anchor(f"{shell.ledger_name}{CLUSTER}", shell.cluster_name)
        if anchor.uid:
            shell.cluster.set_ledger_anchor(f"{shell.ledger_name}{UID}", anchor.uid)
        for key in taken:
            shell.cluster.set_ledger_anchor(key, f"{HANDED_OVER}{shell.ledger_name}")
    except ClusterError as error:
        if _is_needed(anchor, as_new=as_new):
            if isinstance(error, ClusterForbidden):
                raise ClusterForbidden(error.message, hint=GRANT) from error
            raise
        shell.say(f"{WITHOUT}: {error.message}")
    write_forge_anchor(shell, ledger, base_head(shell))
    return Adopted(former=name, lines=lines, repositories=taken)


def _is_needed(anchor: Anchor, *, as_new: bool) -> bool:
    """Whether the cluster's entries must change: otherwise the ledger alone remembers it."""
    if anchor.head is None:
        return as_new and not anchor.uid
    return anchor.is_known or bool(anchor.others) or not anchor.uid


def _former(anchor: Anchor, ledger: Ledger, wanted: str) -> str:
    names = anchor.former_names(ledger)
    if wanted and wanted not in names:
        raise UsageError(f"the ledger has no cluster {wanted}", hint=f"it has {', '.join(names)}")
    known = len(names) == 1 and names[0] not in anchor.clusters
    if names and not wanted and not known:
        hint = "name it with --former, or say --new"
        raise UsageError(f"the cluster may have been any of {', '.join(names)}", hint=hint)
    return wanted or next(iter(names), "")


def _identify(shell: RunContext, uid: str) -> None:
    """Note that the name means this cluster from now on."""
    if not uid:
        return
    journal = Journal(shell.ledger_store, shell.clock)
    known = fold_clusters(journal.read())
    if (known.uids.get(shell.cluster_name), known.names.get(uid)) != (uid, shell.cluster_name):
        journal.commit((identified(shell, uid),))


def _copy(shell: RunContext, former: str) -> int:
    """Write the lines of requests, nodes and stops again; returns how many were new.

    Raises UsageError if both names have lines of their own about one request or window.
    """
    journal = Journal(shell.ledger_store, shell.clock)
    ledger = journal.read()
    new = shell.cluster_name
    known = {
        encode_event(_bare(item)): item.file
        for item in ledger.events
        if item.cluster == new and not isinstance(item, UnknownEvent)
    }
    lines: list[KnownEvent] = []
    files = f"requests/{former}/", f"nodes/{former}/", HOLD_FILE
    own = dict(known)  # lines that only the new name has
    for event in ledger.events:
        if isinstance(event, UnknownEvent):
            continue
        if event.cluster != former or not event.file.startswith(files):
            continue
        file = event.file.replace(f"/{former}/", f"/{new}/", 1)
        copy = _bare(event).replace(cluster=new, file=file)
        if own.pop(encode_event(copy), None) is None and encode_event(copy) not in known:
            lines.append(copy)
    mixed = sorted({line.file for line in lines}.intersection(own.values()) - {HOLD_FILE})
    if mixed:  # what one of them finished must not continue the other
        what = mixed[0].split(f"/{new}/", 1)[-1].removesuffix(SUFFIX)
        hint = (
            "mend the contexts, or use --new: gitbot then ignores the requests of the former name"
        )
        raise UsageError(f"{what} is under both names, {former} and {new}", hint=hint)
    journal.commit(tuple(lines))
    return len(lines)


def _bare(event: KnownEvent) -> KnownEvent:
    """The event without its place in the chain."""
    return event.replace(seq=0, previous="")
