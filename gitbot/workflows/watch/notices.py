"""Notices: what a person must do or has lost, told to webhooks after a pass.

Each line of the ledger is told once, at least: a branch of the cluster has the last line that each
webhook took. Nothing decides by it.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from gitbot.errors import GitbotError, NoticeError
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    LedgerEvent,
    MoveChanged,
    MoveState,
    NodeChanged,
    NodeState,
    StopLifted,
    StopSet,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.names import NoticeEvent
from gitbot.ports.notices import Notifier
from gitbot.published import TRIAL, PublishedNotice, published, sorted_bytes
from gitbot.reports import escape
from gitbot.settings import NoticeSettings
from gitbot.workflows.core.context import RunContext, base_head

MOST = 20  # notices of one pass to one webhook; the next pass sends the rest
FILE = "told.json"
_MOVES: Mapping[MoveState, NoticeEvent] = {
    MoveState.FAILED: "Failed",
    MoveState.SUCCEEDED: "Moved",
}
_NODES: Mapping[NodeState, NoticeEvent] = {
    NodeState.READY: "NodeReady",
    NodeState.RETURNED: "NodeReturned",
}


def notices_branch(cluster: str) -> str:
    return f"gitbot/notices/{cluster}"


def send_notices(shell: RunContext) -> None:
    """Tell each webhook what it has not been told. Nothing that fails here fails a pass."""
    if shell.notifier is None or shell.interrupted():
        return
    try:
        hooks = shell.read_base(base_head(shell)).settings.notify
        if hooks:
            _send_all(shell, shell.notifier, hooks)
    except GitbotError as error:
        shell.say(f"notices wait for the next pass: {error}")


def _send_all(shell: RunContext, notifier: Notifier, hooks: Sequence[NoticeSettings]) -> None:
    ledger, branch = shell.ledger_store.known(), notices_branch(shell.cluster_name)
    head = shell.repository.resolve(branch)
    known = _read(None if head is None else shell.repository.read_blob(head, FILE))
    last = ledger.events[-1].seq if ledger.events else 0
    told = {hook.name: min(known.get(hook.name, last), last) for hook in hooks}
    for hook in hooks:
        try:
            for seq in _send(shell, notifier, hook, ledger, told[hook.name]):
                told[hook.name] = seq
        except NoticeError as error:
            shell.say(str(error))
    if told != known:
        shell.repository.write_commit(
            branch=branch,
            expected=head,
            files={FILE: json.dumps(told, sort_keys=True).encode() + b"\n"},
            message=f"Notices of {shell.cluster_name}",
            time=shell.clock.now(),
            orphan=True,
        )


def _read(data: bytes | None) -> dict[str, int]:
    """The last line that each webhook took; of a damaged file nothing, so all begin at the end."""
    try:
        found = json.loads(data or b"{}")
        return {str(name): int(seq) for name, seq in found.items()}
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}


def _send(
    shell: RunContext, notifier: Notifier, hook: NoticeSettings, ledger: Ledger, after: int
) -> Iterator[int]:
    """Sends what comes after that line; yields the number of each line that was sent."""
    begin = bisect_right(ledger.events, after, key=lambda event: event.seq)
    sent = 0
    for event in islice(ledger.events, begin, None):
        if event.cluster not in ("", shell.cluster_name):
            continue
        notice = notice_of(event, shell.cluster_name, f"{shell.ledger_name}/{event.seq}")
        if notice is None or not hook.wants(notice.event, _namespace(notice)):
            continue
        notifier.send(hook.name, notice.id, sorted_bytes(notice))
        yield event.seq
        sent += 1
        if sent == MOST:
            return


def trial_notice(cluster: str, *, now: int, key: str) -> PublishedNotice:
    """What tests a webhook; `key` is new each time, so no receiver takes it for a repeat."""
    text = f"{cluster}: this is a test of gitbot's notices; nothing happened"
    fields = {"id": key, "event": TRIAL, "text": text, "cluster": cluster, "time": now}
    return published(fields, PublishedNotice)


def _namespace(notice: PublishedNotice) -> str:
    return NamespacedName.parse(notice.vm).namespace if notice.vm else ""


def notice_of(event: LedgerEvent, cluster: str, name: str) -> PublishedNotice | None:
    """What a line of the ledger means for people; None for what they need not know."""
    match event:
        case MoveChanged() if event.state in _MOVES:
            to = event.landed or event.to
            did = "moved" if event.state is MoveState.SUCCEEDED else "did not move"
            said = f"{event.vm} {did} from {event.source} to {to}"
            kind = _MOVES[event.state]
        case NodeChanged() if event.state in _NODES:
            is_ready = event.state is NodeState.READY
            said = f"node {event.facts.node} " + ("is empty" if is_ready else "takes VMs again")
            kind = _NODES[event.state]
        case ConcernChanged(state=ConcernState.OPENED):
            said, kind = f"pull request {event.pull_request} wants a merge", "Proposed"
        case StopSet():
            said, kind = "gitbot starts nothing more", "Stopped"
        case StopLifted():
            said, kind = "gitbot starts moves again", "Resumed"
        case _:
            return None
    reason = escape.plain(event.reason)
    fields = {
        "id": name,
        "event": kind,
        "text": f"{cluster}: {said}" + (f": {reason}" if reason else ""),
        "cluster": cluster,
        "time": event.time,
        "reason": reason,
        "request": str(getattr(event, "request", "")),
        "vm": event.vm if isinstance(event, MoveChanged) else "",
        "node": event.facts.node if isinstance(event, NodeChanged) else "",
        "pullRequest": getattr(event, "pull_request", 0),
    }
    return published(fields, PublishedNotice)
