"""One table of what is declared and how it is: intents, requests, windows, rules, moves, places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from gitbot.execution.request_records import RequestRecord, fold_requests
from gitbot.intents import KINDS, Intent, MigrationRequestSpec, Role
from gitbot.intents.compile import allowed_for, request_id
from gitbot.kubernetes.objects import labels_of, name_of
from gitbot.model.ledger.events import MoveState
from gitbot.model.ledger.request_id import MigrationRequestId, RequestId
from gitbot.model.text.instants import FOREVER, Interval
from gitbot.published import PublishedListing, published
from gitbot.workflows.ask.next_openings import NextOpening
from gitbot.workflows.ask.node_vm_rows import Row, nodes_in, vms_in
from gitbot.workflows.ask.status import StatusResult, look_at_all
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.current_state import CurrentState
from gitbot.workflows.propose import ConcernSources, breaches_of, ended_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The rows of one kind, sorted. `not_read` and `broken` as in StatusResult."""

    kind: str
    cluster: str
    now: int
    zone: str
    rows: tuple[Row, ...]
    not_read: str = ""
    broken: tuple[str, ...] = ()


def listing(shell: RunContext, kind: str) -> Listing:
    """All rows of one kind. Without the cluster, nodes and VMs are not known."""
    return listing_of(shell, *look_at_all(shell), kind)


def listing_of(shell: RunContext, seen: CurrentState, page: StatusResult, kind: str) -> Listing:
    """As `listing`, from a look that was taken already."""
    sources = _RowSources(shell=shell, seen=seen, page=page)
    rows: Mapping[str, Callable[[], Iterator[Row]]] = {
        "intents": sources.intents,
        "requests": sources.requests,
        "windows": lambda: _of(Role.WINDOW, sources.intents()),
        "rules": lambda: _of(Role.RULE, sources.intents()),
        "moves": sources.moves,
        "nodes": lambda: nodes_in(seen, page),
        "vms": lambda: vms_in(seen, page),
    }
    return Listing(
        kind=kind,
        cluster=page.cluster,
        now=page.now,
        zone=page.zone,
        rows=tuple(sorted(rows[kind](), key=lambda row: (row.namespace, row.kind, row.name))),
        not_read=page.not_read,
        broken=page.broken,
    )


def _of(role: Role, rows: Iterator[Row]) -> Iterator[Row]:
    return (row for row in rows if KINDS[row.kind].role is role)


class _RowSources:
    """What the rows of intents, requests and moves are made of."""

    def __init__(self, *, shell: RunContext, seen: CurrentState, page: StatusResult) -> None:
        self._shell = shell
        self._seen = seen
        self._page = page
        self._records = fold_requests(seen.ledger, page.cluster)
        self._openings = {item.intent.ref.id: item for item in page.openings}
        self._introduced = cache(self._ask_introduced)
        self._concern_sources = cache(lambda: ConcernSources.of(seen))

    def intents(self) -> Iterator[Row]:
        for intent in self._seen.base.intents.intents:
            match KINDS[intent.ref.kind].role:
                case Role.REQUEST if isinstance(intent.spec, MigrationRequestSpec):
                    yield self._request(intent, intent.spec)
                case Role.RULE:
                    yield self._row(intent, *self._rule(intent))
                case Role.WINDOW:
                    yield self._window(intent, self._openings.get(intent.ref.id))
                case _:
                    yield self._row(intent, "merged", "")

    def requests(self) -> Iterator[Row]:
        declared = {}
        for intent, spec in self._seen.base.intents.migration_requests:
            declared[request_id(intent)] = self._request(intent, spec)
        yield from declared.values()
        for name, record in self._records.items():
            if name not in declared:
                namespace = getattr(name, "namespace", "")
                yield Row(
                    kind="Request",
                    namespace=namespace,
                    name=name,
                    state=record.outcome,
                    health=_health(record),
                    since=record.changed_at,
                )

    def moves(self) -> Iterator[Row]:
        machines = self._seen.problem.snapshot.of("VirtualMachineInstance")
        labels = {name_of(vmi): labels_of(vmi) for vmi in machines}
        for item in self._page.requests:
            for move in item.moves:
                record = move.record
                yield Row(
                    kind="Move",
                    namespace=record.vm.namespace,
                    name=f"{item.record.id}/{record.number}",
                    state=record.state,
                    health=move.waits or record.reason,
                    since=record.changed_at,
                    where=f"{record.vm.name}: {record.source} -> {record.landed or record.to}",
                    labels=labels.get(record.vm, {}),
                )

    def _request(self, intent: Intent, spec: MigrationRequestSpec) -> Row:
        request = request_id(intent)
        record = self._records.get(request)
        if record is not None:
            state, health = record.outcome, _health(record)
        else:
            state, health = self._unplanned(request)
        zone = self._seen.base.revision.zone
        allowed = allowed_for(self._seen.base.intents, spec, now=self._page.now, zone=zone)
        ahead = [time for time in allowed if time.end > self._page.now and time.end - time.start]
        opens = ahead[0] if ahead and 0 < ahead[0].start < FOREVER else None
        over = record is not None and record.finished
        return self._row(intent, state, health, opens=None if over else opens)

    def _unplanned(self, request: RequestId) -> tuple[str, str]:
        if any(item.request == request for item in self._page.not_applied):
            return "approved", "no pass has taken it up"
        for waiting in self._page.owners:
            if waiting.request == request:
                return "merged", waiting.waits
        for item in self._page.not_planned:
            if item.request == request:
                return "not planned", item.reason
        return ("unknown", "the cluster was not read") if self._page.not_read else ("proposed", "")

    def _rule(self, intent: Intent) -> tuple[str, str]:
        if self._page.not_read:
            return "unknown", "the cluster was not read"
        kind = KINDS[intent.ref.kind]
        if unmeasured := kind.unmeasured(intent.spec, self._seen.problem.load):
            return "unknown", unmeasured
        healing = kind.healing(intent.spec)
        required = healing is not None and healing.required
        breaches = breaches_of(self._concern_sources(), intent.ref, required=required)
        if not breaches:
            return "kept", ""
        more = f"; and {len(breaches) - 1} more" if len(breaches) > 1 else ""
        return "broken", f"{breaches[0].message}{more}"

    def _window(self, intent: Intent, opening: NextOpening | None) -> Row:
        if opening is None:
            plain = intent.spec.plain()
            always = not {"schedule", "calendar"} & plain.keys()
            if always and ended_at(self._concern_sources(), intent) is not None:
                return self._row(intent, "over", "all its nodes are back")
            current = self._seen.base.opening(intent, now=self._page.now)
            if always or current is None or not current.open.contains(self._page.now):
                return self._row(intent, "open" if always else "over", "")
            # Its drain is over, so no opening is ahead, but its time is not.
            record = self._records.get(current.drain)
            return self._row(intent, "open", record.outcome if record is not None else "")
        open_now = opening.open.contains(self._page.now)
        row = self._row(intent, "open" if open_now else "closed", opening.state)
        return replace(row, opens=opening.open, opening=opening.words)

    def _row(
        self, intent: Intent, state: str, health: str, *, opens: Interval | None = None
    ) -> Row:
        return Row(
            kind=intent.ref.kind,
            namespace=intent.ref.namespace,
            name=intent.ref.name,
            state=state,
            health=health,
            since=self._introduced(intent.ref.file),
            opens=opens,
            file=intent.ref.where,
            labels=intent.labels,
        )

    def _ask_introduced(self, file: str) -> int:
        commit = self._seen.base.introduced(file)
        return self._shell.repository.commit(commit).time if commit else 0


def _health(record: RequestRecord) -> str:
    waits = (move for move in record.moves.values() if move.state is not MoveState.APPROVED)
    reasons = dict.fromkeys(move.reason for move in waits if move.reason)  # approved: the request's
    return record.cancelled or "; ".join(list(reasons)[:2])


def name_of_row(row: Row) -> str:
    """As `-o name` prints it: `kind/name`; a request's ledger id is its own name."""
    if row.kind == "MigrationRequest":
        return str(MigrationRequestId(namespace=row.namespace, name=row.name))
    if row.kind in ("Request", "Move"):
        return row.name
    return f"{row.kind.lower()}/{row.name}"


def listing_document(whole: Listing) -> PublishedListing:
    fields = {
        "cluster": whole.cluster,
        "time": whole.now,
        "of": whole.kind,
        "notRead": whole.not_read,
        "broken": whole.broken,
        "items": [_item(row) for row in whole.rows],
    }
    return published(fields, PublishedListing)


def _item(row: Row) -> Mapping[str, object]:
    return {
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "state": row.state,
        "health": row.health,
        "since": row.since,
        "opens": row.opens.start if row.opens else 0,
        "opening": row.opening,
        "where": row.where,
        "file": row.file,
        "labels": row.labels,
    }
