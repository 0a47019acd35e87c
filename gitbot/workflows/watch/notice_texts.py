"""Notices as values: what lines of the ledger, and what a pass saw, mean for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from gitbot.audit import CODE_OF_REQUIRED
from gitbot.calendar import local_text
from gitbot.execution.approval import NotApproved
from gitbot.execution.ledger_folds import BREAKER
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    LedgerEvent,
    MoveApproved,
    MoveChanged,
    MoveState,
    NodeChanged,
    NodeState,
    StopLifted,
    StopSet,
    WindowBegun,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import compact_instant
from gitbot.model.text.names import NoticeEvent, NoticeSeverity
from gitbot.model.text.wording import counted, first_of
from gitbot.published import DAILY, TRIAL, PublishedNotice, encoded, published
from gitbot.reports import escape
from gitbot.reports.own_templates import NOTICE, Values
from gitbot.workflows.ask import WindowOutlook
from gitbot.workflows.audit import standing_since

NAMED = 5  # VMs that one notice names; it counts the others
LISTED = 20  # lines of a daily notice
WEEK = 7 * 86_400
HEALS = 3600  # seconds that a rule may be broken before anybody is told
_SEVERITIES: Mapping[str, NoticeSeverity] = {
    "BreakerOpened": "Error",
    "Failed": "Error",
    "RuleBroken": "Error",
    "WindowAtRisk": "Error",
    "NodeReady": "Warning",
    "NotApproved": "Warning",
    "Proposed": "Warning",
    "Stopped": "Warning",
}
"""Of the events that are more than news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One notice. `said` names no cluster; `namespace` is "" if it is about no VM.

    `time` is when it became true, in seconds UTC.
    """

    id: str
    event: str
    said: str
    time: int
    namespace: str = ""
    reason: str = ""
    request: str = ""
    vm: str = ""
    node: str = ""
    pull_request: int = 0

    @property
    def severity(self) -> NoticeSeverity:
        return _SEVERITIES.get(self.event, "Info")

    @property
    def text(self) -> str:
        """One line, harmless in a terminal."""
        reason = escape.plain(self.reason)
        return escape.plain(self.said) + (f": {reason}" if reason else "")


def notice_document(notice: Notice, cluster: str) -> PublishedNotice:
    fields = {
        "id": notice.id,
        "event": notice.event,
        "severity": notice.severity,
        "text": f"{cluster}: {notice.text}",
        "cluster": cluster,
        "time": notice.time,
        "reason": escape.plain(notice.reason),
        "request": notice.request,
        "vm": notice.vm,
        "node": notice.node,
        "pullRequest": notice.pull_request,
    }
    return published(fields, PublishedNotice)


def notice_values(document: PublishedNotice) -> Values:
    """The values of a repository's own template: each field, also those that do not apply."""
    said = encoded(document)
    blank = {name: 0 if isinstance(it, int) else "" for name, it in NOTICE.sample.items()}
    return {name: said.get(name, none) for name, none in blank.items()}


def notice_in_words(document: PublishedNotice, words: str) -> PublishedNotice:
    """The notice with these words as its text; "" leaves gitbot's own."""
    if not words:
        return document
    return published({**encoded(document), "text": escape.lines(words.strip())}, PublishedNotice)


def trial_notice(cluster: str, *, now: int, key: str) -> PublishedNotice:
    """What tests a webhook; `key` is new each time, so no receiver takes it for a repeat."""
    said = "this is a test of gitbot's notices; nothing happened"
    return notice_document(Notice(id=key, event=TRIAL, said=said, time=now), cluster)


def daily_notice(
    notices: Sequence[Notice], cluster: str, *, name: str, until: int
) -> PublishedNotice:
    """One notice for all that happened, with a line for each, up to the time `until`."""
    lines = [f"- {notice.text}" for notice in notices[:LISTED]]
    if len(notices) > LISTED:
        lines.append(f"- and {len(notices) - LISTED} more")
    fields = {
        "id": f"{name}/daily/{compact_instant(until)}",
        "event": DAILY,
        "severity": "Info",
        "text": "\n".join([f"{cluster}: what happened since the last notice of a day", *lines]),
        "cluster": cluster,
        "time": until,
    }
    return published(fields, PublishedNotice)


def ledger_notices(
    events: Iterable[LedgerEvent], cluster: str, *, name: str, zone: str
) -> Iterator[tuple[int, Notice]]:
    """The number of a line, and what it means for people; nothing for what they need not know.

    Approved moves of one request and namespace are one notice, at the last of their lines.
    """
    here = (event for event in events if event.cluster in ("", cluster))
    for _, lines in groupby(here, _together):
        found = list(lines)
        notice = _of_line(found, f"{name}/{found[-1].seq}", zone)
        if notice is not None:
            yield found[-1].seq, notice


def _together(event: LedgerEvent) -> tuple[object, ...]:
    if isinstance(event, MoveApproved):
        return event.request, event.time, NamespacedName.parse(event.vm).namespace
    return (event.seq,)


def _of_line(lines: Sequence[LedgerEvent], key: str, zone: str) -> Notice | None:
    event = lines[-1]
    match event:
        case MoveApproved():
            moves = [line for line in lines if isinstance(line, MoveApproved)]
            return _approved(moves, key, zone)
        case MoveChanged(state=MoveState.FAILED | MoveState.SUCCEEDED):
            return _moved(event, key)
        case NodeChanged(state=NodeState.READY | NodeState.RETURNED):
            return _node(event, key)
        case WindowBegun():
            nodes = first_of(event.terms.nodes, NAMED)
            said = f"{event.request} has begun on {nodes}"
            return _about(event, key, "WindowBegun", said, request=str(event.request))
        case ConcernChanged(state=ConcernState.OPENED):
            said = f"pull request {event.pull_request} wants a merge"
            return _about(event, key, "Proposed", said, pull_request=event.pull_request)
        case StopSet(author=author):
            if author == BREAKER:
                said = "the circuit breaker stopped gitbot"
                return _about(event, key, "BreakerOpened", said)
            return _about(event, key, "Stopped", "gitbot starts nothing more")
        case StopLifted():
            return _about(event, key, "Resumed", "gitbot starts moves again")
        case _:
            return None


def _about(
    event: LedgerEvent,
    key: str,
    kind: NoticeEvent,
    said: str,
    *,
    request: str = "",
    pull_request: int = 0,
) -> Notice:
    return Notice(
        id=key,
        event=kind,
        said=said,
        time=event.time,
        reason=getattr(event, "reason", ""),
        request=request,
        pull_request=pull_request,
    )


def _approved(moves: Sequence[MoveApproved], key: str, zone: str) -> Notice:
    first = moves[0]
    vms = [move.vm for move in moves]
    start = min((span[0] for move in moves for span in move.terms.allowed), default=0)
    when = f" from {local_text(start, zone)} {zone} on" if start > first.time else ""
    return Notice(
        id=key,
        event="Approved",
        said=f"{first_of(vms, NAMED)} will move{when}, by {first.request}",
        time=first.time,
        namespace=NamespacedName.parse(first.vm).namespace,
        reason=first.note,
        request=str(first.request),
        vm=first.vm if len(vms) == 1 else "",
        pull_request=first.pull_request,
    )


def _moved(event: MoveChanged, key: str) -> Notice:
    has_moved = event.state is MoveState.SUCCEEDED
    did = "moved" if has_moved else "did not move"
    return Notice(
        id=key,
        event="Moved" if has_moved else "Failed",
        said=f"{event.vm} {did} from {event.source} to {event.landed or event.to}",
        time=event.time,
        namespace=NamespacedName.parse(event.vm).namespace,
        reason=event.reason,
        request=str(event.request),
        vm=event.vm,
        pull_request=event.pull_request,
    )


def _node(event: NodeChanged, key: str) -> Notice:
    node, is_ready = event.facts.node, event.state is NodeState.READY
    return Notice(
        id=key,
        event="NodeReady" if is_ready else "NodeReturned",
        said=f"node {node} " + ("is empty" if is_ready else "takes VMs again"),
        time=event.time,
        reason=event.reason,
        request=str(event.request),
        node=node,
    )


def standing_notices(
    ledger: Ledger,
    windows: WindowOutlook,
    refused: Iterable[NotApproved],
    *,
    cluster: str,
    name: str,
    zone: str,
    now: int,
) -> Iterator[Notice]:
    """What is so now and has no line of its own. The id is the same for as long as it is so."""
    for near in windows.near:
        yield Notice(
            id=f"{name}/soon/{near.name}/{compact_instant(near.start)}",
            event="WindowSoon",
            said=f"maintenance window {near.name} opens at {local_text(near.start, zone)} {zone}",
            time=near.since,
            request=near.request,
        )
    for request in windows.unmerged:
        yield _at_risk(name, request, "nobody has approved it, and it begins within a day", now)
    for request in windows.late:
        yield _at_risk(name, request, "it needs more time than is left", now)
    for item in refused:
        if not item.unsure:
            yield Notice(
                id=f"{name}/refused/{item.pull_request}",
                event="NotApproved",
                said=f"the merge of pull request {item.pull_request} approves nothing",
                time=item.merged_at or now,
                reason=item.reason,
                pull_request=item.pull_request,
            )
    for finding, since in standing_since(ledger, cluster).items():
        code, _, rule = finding.partition(" ")
        # a preference gives way every day; what heals soon needs nobody
        if code == CODE_OF_REQUIRED and now - since >= HEALS:
            yield Notice(
                id=f"{name}/broken/{rule}/{compact_instant(since)}",
                event="RuleBroken",
                said=f"rule {rule} has been broken since {local_text(since, zone)} {zone}",
                time=since + HEALS,
            )


def _at_risk(name: str, request: object, why: str, now: int) -> Notice:
    return Notice(
        id=f"{name}/at-risk/{request}",
        event="WindowAtRisk",
        said=f"{request} will miss its window",
        reason=why,
        time=now,
        request=str(request),
    )


def weekly_notice(
    ledger: Ledger, cluster: str, *, name: str, until: int, next_window: str
) -> Notice:
    """The moves of the week before `until` (seconds UTC), and what stands now."""
    ended: Counter[MoveState] = Counter(
        event.state
        for event in ledger.requests(cluster)
        if isinstance(event, MoveChanged) and until - WEEK <= event.time < until
    )
    codes = [finding.partition(" ")[0] for finding in standing_since(ledger, cluster)]
    parts = (
        f"the week: {counted(ended[MoveState.SUCCEEDED], 'VM')} moved",
        f"{counted(ended[MoveState.FAILED], 'move')} failed",
        f"broken now: {counted(codes.count(CODE_OF_REQUIRED), 'required rule')}",
        f"next window: {next_window}",
    )
    return Notice(
        id=f"{name}/weekly/{compact_instant(until)}",
        event="Weekly",
        said="; ".join(parts),
        time=until,
    )
