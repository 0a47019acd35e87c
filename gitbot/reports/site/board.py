"""The maintenance board: a row for each node, a column for each state it goes through."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.calendar import local_text
from gitbot.model.ledger.events import NodeState
from gitbot.model.text.wording import counted, first_of
from gitbot.published import BoardNode, BoardWindow, json_text
from gitbot.reports.site.page_model import Cell, SiteDocuments, SitePage, Table, Tone, command, rows

_HEAD = ("node", "state", "began", "empty", "back", "VMs that left", "what stays, and why", "next")
_MOST = 1_000  # rows of a table
_NAMED = 3  # VMs that stay, of each reason
_OUT = (NodeState.DRAINING, NodeState.READY)


def board_page(documents: SiteDocuments) -> SitePage:
    windows = documents.board.windows
    nodes = [node for window in windows for node in window.nodes]
    out = sum(node.state in _OUT for node in nodes)
    stuck = sum(bool(node.stays) for node in nodes)
    words = f"{counted(out, 'node')} in maintenance"
    if stuck:
        words = f"{words}, {counted(stuck, 'node')} with VMs that stay"
    return SitePage(
        path="maintenance.html",
        title="maintenance",
        headline=words if nodes else "No maintenance is planned",
        tone=Tone.CAREFUL if stuck or documents.board.not_read else Tone.GOOD,
        note=documents.board.not_read and f"The cluster was not read: {documents.board.not_read}",
        tables=tuple(_table(documents, window) for window in windows),
        document=json_text(documents.board),
    )


def _table(documents: SiteDocuments, window: BoardWindow) -> Table:
    nodes = window.nodes[:_MOST]
    planned = f": {window.words}" if window.words else ""
    return Table(
        title=f"{window.window}{planned}",
        head=_HEAD,
        rows=rows(_row(documents, node) for node in nodes),
        tones=tuple(Tone.CAREFUL if node.stays else Tone.GOOD for node in nodes),
        empty="No node of it is known.",
    )


def _row(documents: SiteDocuments, node: BoardNode) -> Iterator[Cell | str]:
    yield node.node
    yield ", ".join(filter(None, (node.state, node.cordon)))
    for time in (node.began, node.empty, node.back):
        yield local_text(time, documents.zone) if time else ""
    yield f"{node.moved} of {node.planned}" if node.planned else ""
    reasons: dict[str, list[str]] = {}
    for stay in node.stays:
        reasons.setdefault(documents.local(stay.why), []).append(stay.vm)
    yield "; ".join(f"{first_of(vms, _NAMED)}: {why}" for why, vms in reasons.items())
    yield command(node.next_command)
