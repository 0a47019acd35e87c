"""The dashboard issue of a cluster: what runs, what waits and for what, what failed, what is back.

gitbot finds the issue by a hidden marker and edits it in place. The text has no time of its own, so
a pass without news edits nothing. gitbot never reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitbot.errors import ForgeError
from gitbot.execution.approval import NotApproved
from gitbot.execution.executor_types import Waiting
from gitbot.execution.ledger_folds import concerns_of, occurrences_of
from gitbot.execution.request_records import RequestRecord, RequestState, fold_requests
from gitbot.model.ledger.events import AuditScored, ForeignMove, NodeState
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import first_of
from gitbot.ports.forge import PullRequest
from gitbot.reports import Section, escape, fit
from gitbot.workflows.ask.audit_trend import audit_lines
from gitbot.workflows.ask.maintenance import NodesByOccurrence, nodes_of
from gitbot.workflows.core.base_branch import broken_files
from gitbot.workflows.core.broken_files import BrokenFile
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.stop_conditions import standstill
from gitbot.workflows.pulls.statuses import MEMORY

LIMIT = 60_000  # bytes, below GitHub's 65,536 characters
_FAILED = frozenset({RequestState.FAILED, RequestState.PARTIAL, RequestState.EXPIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardFacts:
    """What a dashboard shows. `records` are all requests."""

    cluster: str
    now: int
    stop: str
    records: Mapping[RequestId, RequestRecord]
    nodes: NodesByOccurrence
    waiting: tuple[Waiting, ...]
    refused: tuple[NotApproved, ...]
    pulls: tuple[PullRequest, ...]
    audits: tuple[AuditScored, ...] = ()
    broken: tuple[BrokenFile, ...] = ()


def marker(cluster: str) -> str:
    return f"<!-- gitbot:dashboard:{cluster} -->"


def write_dashboard(
    shell: RunContext,
    ledger: Ledger,
    stop: str,
    waiting: tuple[Waiting, ...],
    refused: tuple[NotApproved, ...],
) -> None:
    """Bring the issue up to date. If it cannot be written, report that and go on.

    gitbot opens it once there is something to do in the cluster.
    """
    cluster = shell.cluster_name
    moves = any(not isinstance(event, ForeignMove) for event in ledger.requests(cluster))
    acted = moves or occurrences_of(ledger, cluster) or concerns_of(ledger, cluster)
    still = standstill(stop, ledger, cluster)
    works = still is None or still.healthy  # a ledger that was lost has nothing to show but this
    broken = broken_files(shell)
    if works and not (acted or broken or ledger.audits(cluster)):
        return
    try:
        facts = DashboardFacts(
            cluster=cluster,
            now=shell.clock.now(),
            stop=str(still or ""),
            records=fold_requests(ledger, cluster),
            nodes=nodes_of(ledger, cluster),
            waiting=waiting,
            refused=refused,
            pulls=shell.own_pulls(),
            audits=ledger.audits(cluster),
            broken=broken,
        )
        mark, title = marker(cluster), f"gitbot on {cluster}"
        shell.forge.upsert_issue(marker=mark, title=title, body=f"{mark}\n{body(facts)}")
    except ForgeError as error:
        shell.say(f"the dashboard is not written: {error}")


def body(facts: DashboardFacts) -> str:
    """The dashboard in Markdown. The oldest finished requests are cut first."""
    open_ones = [item for item in facts.records.values() if not item.finished]
    waits = {(item.request, item.move): item for item in facts.waiting}
    parts: list[Section] = [Section(head=_head(facts))]
    parts += _section("Broken files", (escape.markdown(item.words) for item in facts.broken), 1)
    parts += _section("Running", map(_running, filter(_runs, open_ones)), 1)
    timed = [item for item in open_ones if not _runs(item) and _opens(item, waits)]
    parts += _section("Waiting for a window", (_timed(item, waits) for item in timed), 2)
    held = [item for item in open_ones if not _runs(item) and item not in timed]
    owners = dict.fromkeys(
        (item.request, item.reason) for item in facts.waiting if item.request not in facts.records
    )
    parts += _section("Waiting for owners", (_asked(*item) for item in owners), 3)
    parts += _section("Held", (_held(facts, item, waits) for item in held), 3)
    ended = [item for item in facts.records.values() if item.finished]
    lately = [item for item in ended if facts.now - item.changed_at <= MEMORY]
    failed = [item for item in lately if item.state in _FAILED]
    parts += _section("Failed", map(_failed, failed), 4)
    refused = [item for item in facts.refused if facts.now - item.merged_at <= MEMORY]
    parts += _section("Merged without effect", map(_refused, refused), 5)
    parts += _section("Nodes in maintenance", _node_lines(facts, returned=False), 6)
    parts += _section("Returned", _node_lines(facts, returned=True), 7)
    parts += _section("Open proposals", map(_pull, facts.pulls), 8)
    ended = [item for item in lately if item not in failed]
    parts += _section("Ended within a week", map(_ended, ended), 9)
    parts += _section("Audit", audit_lines(facts.audits), 9)
    if len(parts) == 1:
        parts.append(Section(head="Nothing is running, and nothing waits.\n\n"))
    parts.append(Section(head="```console\ngitbot status\ngitbot hold\n```\n"))
    return fit(parts, limit=LIMIT)


def _head(facts: DashboardFacts) -> str:
    title = f"gitbot on {escape.code(facts.cluster)}"
    if not facts.stop:
        return f"{title}\n\n"
    return f"{title}\n\n**Stopped**: {escape.markdown(facts.stop)}\n\n"


def _section(title: str, lines: Iterable[str], rank: int) -> list[Section]:
    items = tuple(f"- {line}\n" for line in lines)
    if not items:
        return []
    return [Section(head=f"### {title}\n\n", items=items, foot="\n", rank=rank)]


def _runs(record: RequestRecord) -> bool:
    return any(move.in_flight for move in record.moves.values())


def _running(record: RequestRecord) -> str:
    in_flight = [move for _, move in sorted(record.moves.items()) if move.in_flight]
    ended = sum(move.final for move in record.moves.values())
    targets = [f"{escape.code(str(move.vm))} to {escape.code(move.to)}" for move in in_flight]
    share = f"{ended} of {len(record.moves)} ended"
    return f"{escape.code(record.id)}: {share}; {first_of(targets, 5)}"


def _opens(record: RequestRecord, waits: Mapping[tuple[RequestId, int], Waiting]) -> int:
    found = (waits.get((record.id, number)) for number in record.moves)
    return min((item.until for item in found if item and item.until), default=0)


def _timed(record: RequestRecord, waits: Mapping[tuple[RequestId, int], Waiting]) -> str:
    opens = format_instant(_opens(record, waits))
    left = sum(not move.final for move in record.moves.values())
    return f"{escape.code(record.id)}: {left} {'move' if left == 1 else 'moves'}, opens {opens}"


def _held(
    facts: DashboardFacts, record: RequestRecord, waits: Mapping[tuple[RequestId, int], Waiting]
) -> str:
    found = (waits.get((record.id, number)) for number in sorted(record.moves))
    reasons = dict.fromkeys(item.reason for item in found if item)
    known = [move.reason for move in record.moves.values() if move.reason and not move.final]
    why = "; ".join(list(reasons)[:3]) or facts.stop or next(iter(known), "the next pass goes on")
    return f"{escape.code(record.id)}: {escape.markdown(why)}"


def _asked(request: RequestId, reason: str) -> str:
    return f"{escape.code(request)}: {escape.markdown(reason)}"


def _failed(record: RequestRecord) -> str:
    reasons = dict.fromkeys(
        move.reason for _, move in sorted(record.moves.items()) if move.final and move.reason
    )
    why = f": {escape.markdown('; '.join(list(reasons)[:3]))}" if reasons else ""
    return f"{escape.code(record.id)} {record.state}{why}"


def _ended(record: RequestRecord) -> str:
    return f"{escape.code(record.id)} {record.state}"


def _refused(item: NotApproved) -> str:
    return f"pull request {item.pull_request}: {escape.markdown(item.reason)}"


def _pull(pull: PullRequest) -> str:
    place = f"[{pull.number}]({pull.url})" if pull.url.startswith("https://") else str(pull.number)
    return f"{place}: {escape.markdown(pull.title)}"


def _node_lines(facts: DashboardFacts, *, returned: bool) -> Iterator[str]:
    for occurrence, nodes in facts.nodes.items():
        for node in nodes:
            is_wanted = (node.state is NodeState.RETURNED) is returned
            if is_wanted and node.state is not NodeState.CLOSED:
                yield f"{escape.code(node.node)} {node.state} ({escape.code(str(occurrence))})"
