"""Anchors of the ledger: its last line, kept in the cluster and on the forge to detect a rollback.

Between two processes, nothing else remembers the length of the ledger. gitbot writes the cluster's
anchor before each effect; without the right to its ConfigMap there is none, and gitbot says so. The
forge's is a check on the base branch, written with each report. If an anchor is ahead, nothing
starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TypedDict

from gitbot.errors import ClusterError, ClusterForbidden, ClusterRefused, ForgeError, GitbotError
from gitbot.execution.cluster_facts import is_own
from gitbot.execution.ledger_folds import fold_clusters
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, name_of
from gitbot.model.ledger.events import ClusterIdentified, LedgerEvent
from gitbot.model.ledger.ledger import Ledger, cluster_file
from gitbot.model.text.wording import shortened
from gitbot.ports.cluster import Cluster
from gitbot.ports.forge import CheckRun, CheckState
from gitbot.ports.ledger import LedgerStore
from gitbot.published.ledger_lines import encode_event, line_digest
from gitbot.workflows.core.context import RunContext, base_head, status_name
from gitbot.workflows.core.stop_conditions import LedgerStop, MovedStop, UnknownStop
from gitbot.workflows.ledger.guarded_store import unguarded
from gitbot.workflows.ledger.traces import announced_here, is_noted, unannounced, with_requests
from gitbot.workflows.ledger.writer import Journal, retried

ACCEPT = "gitbot resume --accept-ledger"
ADOPT = "gitbot ledger adopt"
AGAIN = "moves that it has forgotten may run again"
CLUSTER = ".cluster"  # ends the key that says what a ledger calls the cluster
UID = ".uid"  # ends the key that says which cluster that is
HANDED_OVER = "adopted by "  # begins the anchor of a ledger that another one continues
WITHOUT = "the ledger has no anchor in the cluster: deploy/rbac/optional-ledger-anchor"
NOT_FOUND = 404
UNREADABLE = "the ledger's anchor cannot be read"
UNIDENTIFIED = "it cannot be read whether this is the ledger's cluster"
CONTEXT = "gitbot/ledger"
LOOK_BACK = 10  # commits of the base branch; the newest one with an anchor counts
EMPTY = "no line"
SUMMARY = """The last line of branch `gitbot/ledger`: its number, and its digest.

If gitbot does not find it there the next time, somebody changed the branch: it starts nothing."""


def anchor_of(ledger: Ledger) -> str:
    """Number and digest of the last line; "" if the ledger is empty."""
    if not ledger.events:
        return ""
    last = ledger.events[-1]
    return f"{last.seq} {line_digest(encode_event(last))}"


def rollback_reason(ledger: Ledger, anchor: str, *, who: str = "the cluster") -> str:
    """Why the ledger does not continue the anchored one; "" if it does."""
    number = anchor.partition(" ")[0]
    if anchor.startswith(HANDED_OVER):
        return f"the ledger was {anchor}, which goes on with it. Remove this copy of gitbot"
    if not number.isdecimal():
        what = f"the ledger's anchor that {who} has is damaged: {shortened(anchor, 80)!r}"
        return f"{what}. If the ledger is whole, accept it as it is with `{ACCEPT}`"
    there = tuple(event for event in ledger.events if event.seq == int(number))
    if anchor == anchor_of(Ledger(events=there)):
        return ""
    last = ledger.events[-1].seq if ledger.events else 0
    what = f"it ends at line {last}" if last < int(number) else "it has another line there"
    return (
        f"the ledger is not the one that gitbot wrote: {who} knows its line {number}, and "
        f"{what}. Restore branch gitbot/ledger, or accept it as it is with `{ACCEPT}`: {AGAIN}"
    )


class Names(TypedDict):
    """The names of a configuration, as fields of an anchor."""

    called: str
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The anchors of cluster and forge: a line, none (""), or why it cannot be read.

    Read them before the ledger: writers push first and anchor then, so an anchor is never ahead.
    """

    head: str | None = ""  # the cluster's; None: no right to read it
    trouble: str = ""
    forge: str = ""
    is_known: bool = True  # whether the cluster has an entry of this ledger, perhaps without a line
    others: Mapping[str, str] = field(default_factory=dict)  # of other ledgers on the cluster
    cluster: str = ""  # what this ledger calls the cluster
    called: str = ""  # what the configuration calls it
    uid: str = ""  # the cluster's; "" if no cluster is reached
    noted_uid: str = ""  # the UID that this ledger's entry is for
    clusters: tuple[str, ...] = ()  # all names of the configuration

    def stop(self, ledger: Ledger, migrations: Iterable[KubernetesObject] = ()) -> str:
        """Why nothing may start on this ledger; "" if it may.

        `migrations` are those of the cluster, listed before the ledger was read.
        """
        if not self.trouble and (moved := self.moved(ledger)):
            return MovedStop(moved)
        stop = UnknownStop(self.trouble) or LedgerStop(self.missed(ledger))
        return stop or self.forgotten(ledger, migrations)

    @property
    def has_entry(self) -> bool:
        """Whether the cluster knows the ledger, perhaps without a line: then it knows how long."""
        return self.head is not None and self.is_known

    def forgotten(self, ledger: Ledger, migrations: Iterable[KubernetesObject]) -> str:
        """Which of the cluster's migrations the ledger lacks, and what to do; "" if none.

        Only without an entry: with one, a person may have accepted the ledger as it is.
        """
        lost = () if self.has_entry else unannounced(ledger, self.called, migrations)
        if not lost:
            return ""
        if is_noted(ledger, self.called) or announced_here(ledger, lost):
            what = f"no line of the ledger names migration {with_requests(lost)}: lines are missing"
            what += ", or a copy of this repository is at work. Restore branch gitbot/ledger, or "
            return LedgerStop(f"{what}accept it as it is with `{ACCEPT}`: {AGAIN}")
        what = f"gitbot created migration {with_requests(lost)} on this cluster, and the ledger has"
        what += f" no line about {self.called}. Restore branch gitbot/ledger, or "
        return MovedStop(f"{what}accept that it starts over with `{ADOPT}`: {AGAIN}")

    @property
    def known(self) -> dict[str, str]:
        """The anchored line by place, without empty ones."""
        places = {"the cluster": self.head, "the forge": self.forge}
        return {who: head for who, head in places.items() if head}

    def moved(self, ledger: Ledger) -> str:
        """Why repository or cluster are not those that the ledger was for; "" if they are.

        Then a request that is finished under the other name or address would be a new one here.
        """
        if other := self._other_cluster(ledger):
            return other
        if names := self.former_names(ledger):
            what = f"the ledger has requests of {', '.join(names)}, and the configuration calls the"
            return f"{what} cluster {self.called}. If it was renamed, accept it with `{ADOPT}`"
        if self.head is None or self.is_known:
            return ""
        for repository, line in sorted(self.others.items()):
            if not rollback_reason(ledger, line):
                what = f"the cluster knows this ledger as that of {repository}: it was moved "
                return f"{what}or copied. If this one shall go on, accept it with `{ADOPT}`"
        if self.others:
            what = f"the cluster knows another ledger ({', '.join(sorted(self.others))}), and this"
            what += " one does not continue it"
            return f"{what}. Restore branch gitbot/ledger, or accept a second one with `{ADOPT}`"
        return ""

    def _other_cluster(self, ledger: Ledger) -> str:
        """Why this is not the cluster of that name, by UIDs alone; "" if it is, or is not known.

        Without the right to the anchor, the ledger alone still says it.
        """
        known = fold_clusters(ledger)
        name, uid = known.names.get(self.uid, ""), known.uids.get(self.called, "")
        if name in self.clusters and name != self.called:
            what = f"the ledger calls this cluster {name}, and the configuration {self.called}, "
            what += f"and {name} another one. If contexts were exchanged, mend them; else"
            return f"{what} accept it with `{ADOPT}`"
        if not name:
            uid = uid or self.noted_uid
        if not self.uid or name or uid in ("", self.uid):
            return ""
        what = f"this is another cluster than the {self.called} of the ledger: namespace "
        what += f"kube-system has UID {self.uid} here, and {uid} there. If the context is wrong, "
        return f"{what}mend it; if the cluster was replaced, accept it with `{ADOPT}`"

    def former_names(self, ledger: Ledger) -> tuple[str, ...]:
        """What the ledger may call this cluster, if the configuration calls it otherwise."""
        by_uid = fold_clusters(ledger).names.get(self.uid, "")
        if self.cluster or by_uid:
            return tuple(sorted({self.cluster, by_uid}.difference(("", self.called))))
        if not self.clusters:
            return ()
        found = {file.split("/")[1] for file in map(_file_of, ledger.of("requests/"))}
        return () if self.called in found else tuple(sorted(found.difference(self.clusters)))

    def missed(self, ledger: Ledger) -> str:
        """Which anchored line the ledger lacks, and what to do; "" if it has all anchored lines."""
        found = (rollback_reason(ledger, head, who=who) for who, head in self.known.items())
        return next(filter(None, found), "")


def read_anchor(shell: RunContext, *, ask_forge: bool = True, ask_cluster: bool = True) -> Anchor:
    """Raises ForgeError, RepositoryError."""
    forge = _on_forge(shell) if ask_forge else ""
    named: Names = {"called": shell.cluster_name, "clusters": shell.clusters}
    if not ask_cluster:
        return Anchor(**named, head=None, forge=forge)
    anchor = anchor_in(shell.cluster, shell.ledger_name, **named)
    if anchor.head is None:
        shell.say(WITHOUT)
    return replace(anchor, forge=forge)


def anchor_in(cluster: Cluster, name: str, *, called: str, clusters: tuple[str, ...]) -> Anchor:
    """What the cluster alone knows of that ledger."""
    named: Names = {"called": called, "clusters": clusters}
    found: Mapping[str, str] | None = None
    try:
        with suppress(ClusterForbidden):
            found = cluster.ledger_anchors()
    except GitbotError as error:
        return Anchor(**named, trouble=f"{UNREADABLE}: {error}")
    try:
        uid = cluster.cluster_uid()
    except GitbotError as error:
        return Anchor(**named, trouble=f"{UNIDENTIFIED}: {error}")
    if found is None:
        return Anchor(**named, head=None, uid=uid)
    return Anchor(
        **named,
        head=found.get(name, ""),
        uid=uid,
        noted_uid=found.get(f"{name}{UID}", ""),
        is_known=name in found,
        others={key: line for key, line in found.items() if _is_other(key, line, name)},
        cluster=found.get(f"{name}{CLUSTER}", ""),
    )


def known_name(cluster: Cluster, ledger: str, store: LedgerStore) -> str:
    """What that ledger calls the cluster; "" if it was never noted.

    Raises ClusterError, RepositoryError, LedgerError.
    """
    with suppress(ClusterForbidden):  # without that right, the ledger knows the UID
        if name := cluster.ledger_anchors().get(f"{ledger}{CLUSTER}"):
            return name
    return fold_clusters(store.read()).names.get(cluster.cluster_uid(), "")


def missing_branch(shell: RunContext) -> str:
    """Why the ledger should have a branch, by its anchors and traces; "" if it may be a new one.

    A job without access to the cluster asks the forge alone.
    """
    anchor, found = read_anchor(shell), Ledger()
    reason = anchor.moved(found) or anchor.missed(found)
    return reason or anchor.forgotten(found, known_migrations(shell, anchor))


def known_migrations(shell: RunContext, anchor: Anchor) -> tuple[KubernetesObject, ...]:
    """The cluster's migrations if they are asked for: none beside an anchor, or out of reach."""
    if anchor.has_entry or anchor.trouble:
        return ()
    with suppress(ClusterError):
        return shell.cluster.list_migrations()
    return ()


def _file_of(event: LedgerEvent) -> str:
    return event.file


def mark_cluster(shell: RunContext, anchor: Anchor) -> None:
    """Note which cluster it is, and its name, beside an anchor of before that was noted."""
    with suppress(GitbotError):
        if anchor.head and not anchor.cluster:
            shell.cluster.set_ledger_anchor(f"{shell.ledger_name}{CLUSTER}", shell.cluster_name)
        if anchor.head and anchor.uid and not anchor.noted_uid:
            shell.cluster.set_ledger_anchor(f"{shell.ledger_name}{UID}", anchor.uid)


def identify_cluster(shell: RunContext, journal: Journal, anchor: Anchor) -> None:
    """Note the cluster's UID in a ledger with requests of before it was noted.

    From then on each approval and claim has it. A pass that cannot write learns so when it has to.
    """
    ledger, name = journal.ledger, shell.cluster_name
    has_moves = any(event.cluster == name for event in ledger.identified())
    if not anchor.uid or not has_moves or name in fold_clusters(ledger).uids:
        return
    with suppress(GitbotError):
        journal.commit((identified(shell, anchor.uid),))


def identified(shell: RunContext, uid: str, *, author: str = "") -> ClusterIdentified:
    name = shell.cluster_name
    time = shell.clock.now()
    return ClusterIdentified(
        file=cluster_file(name), time=time, cluster=name, uid=uid, author=author
    )


def _is_other(key: str, line: str, name: str) -> bool:
    """Whether an entry is that of another ledger that has a line, and still goes on."""
    if key == name or key.endswith((CLUSTER, UID)):
        return False
    return bool(line) and not line.startswith(HANDED_OVER)


def _on_forge(shell: RunContext) -> str:
    shell.repository.fetch()
    name = status_name(shell, CONTEXT)
    for commit in shell.repository.log(shell.base_branch, limit=LOOK_BACK):
        for status in shell.forge.list_statuses(commit.id):
            if status.context == name:
                return "" if status.description == EMPTY else status.description
    return ""


def write_forge_anchor(shell: RunContext, ledger: Ledger, base: str) -> None:
    """Write the forge's anchor at the newest commit of the base branch.

    Only after its old anchor was compared. A failed write stops nothing.
    """
    head = anchor_of(ledger)
    if head:
        try:
            _set_on_forge(shell, head, base)
        except ForgeError as error:
            shell.say(f"the ledger is not anchored on the forge: {error}")


def _set_on_forge(shell: RunContext, head: str, base: str) -> None:
    name = status_name(shell, CONTEXT)
    check = CheckRun(name=name, state=CheckState.SUCCESS, title=head, summary=SUMMARY)
    shell.forge.set_check(base, check)


def accept_current_ledger(shell: RunContext, *, by: str = "") -> None:
    """Accept the ledger as it is, even if it was rolled back, and say what it lacks."""
    anchor = read_anchor(shell)
    there = known_migrations(shell, anchor)
    ledger = shell.ledger_store.read()
    for line in (*_lost_lines(anchor, ledger), *_lost_migrations(shell, ledger)):
        shell.say(f"accepted: {line}")
    if anchor.uid and anchor.forgotten(ledger, there):  # without an anchor, a line remembers it
        journal = Journal(unguarded(shell.ledger_store), shell.clock)
        retried(lambda: _note_identity(journal, identified(shell, anchor.uid, author=by)))
        ledger = journal.ledger
    head = anchor_of(ledger)
    with suppress(ClusterForbidden):
        # otherwise there may be no namespace for one
        if shell.cluster.ledger_anchors().get(shell.ledger_name):
            shell.cluster.set_ledger_anchor(shell.ledger_name, head)
    _set_on_forge(shell, head or EMPTY, base_head(shell))


def _note_identity(journal: Journal, line: ClusterIdentified) -> None:
    journal.read()
    journal.commit((line,))


def _lost_lines(anchor: Anchor, ledger: Ledger) -> Iterator[str]:
    last = ledger.events[-1].seq if ledger.events else 0
    for who, head in anchor.known.items():
        number = head.partition(" ")[0]
        if not rollback_reason(ledger, head, who=who):
            continue
        if number.isdecimal() and int(number) > last:
            yield f"lines {last + 1} to {number} are missing, as {who} knows"
        else:
            yield f"line {number} is another one than {who} knows"


def _lost_migrations(shell: RunContext, ledger: Ledger) -> Iterator[str]:
    """Migrations of gitbot in the cluster that no line names: what the lost lines were about."""
    records = fold_requests(ledger, shell.cluster_name).values()
    known = {name for item in records for move in item.moves.values() for name in move.effects}
    with suppress(ClusterError):
        for migration in shell.cluster.list_migrations():
            name = str(name_of(migration))
            if is_own(migration) and name not in known:
                request = annotations_of(migration).get("placement.gitbot.dev/request", "")
                yield f"no line names migration {name} of {request or 'an unknown request'}"


def write_cluster_anchor(shell: RunContext, journal: Journal, known: str | None) -> str | None:
    """Anchor what the ledger has beyond `known`; returns what the cluster has then.

    None: the anchor cannot be written. Commands and earlier passes write too, so a first anchor
    waits for this pass's first line.
    """
    head = anchor_of(journal.ledger)
    if known in (None, head) or not (known or journal.written):
        return known
    try:
        shell.cluster.set_ledger_anchor(shell.ledger_name, head)
        if not known:
            shell.cluster.set_ledger_anchor(f"{shell.ledger_name}{CLUSTER}", shell.cluster_name)
    except GitbotError as error:
        absent = isinstance(error, ClusterRefused) and error.code == NOT_FOUND  # 404: no namespace
        shell.say(WITHOUT if absent else f"the ledger is not anchored in the cluster: {error}")
        return None
    return head
