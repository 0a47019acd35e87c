"""A page for each node: the VMs on it, what happens to them, what is wrong, and what moved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gitbot.calendar import local_text
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.grouping import grouped
from gitbot.model.ledger.events import FINAL_STATES
from gitbot.model.text.wording import counted, first_of
from gitbot.published import AuditLine, PlaceLine, PublishedMap, json_text
from gitbot.reports.sentence import share_of
from gitbot.reports.site.page_model import Cell, SiteDocuments, SitePage, Table, Tone, command, rows

MOST = 3_000  # nodes with a page; beyond, the pages of zones name all VMs
_SAID = 3  # faults of one VM
_MOVES = 100  # of the past


def node_file(name: str) -> str:
    """The file of a node. The name of a Node has no other characters; a dump may have any."""
    return f"node-{re.sub('[^0-9A-Za-z._-]+', '-', name)}.html"


def node_pages(documents: SiteDocuments) -> Iterator[SitePage]:
    nodes = documents.places.nodes
    known = _Known(documents)
    for node in nodes if len(nodes) <= MOST else ():
        yield _page(documents, known, node)


class _Known:
    """What the documents say, by VM and by node."""

    def __init__(self, documents: SiteDocuments) -> None:
        status, local = documents.status, documents.local
        moves = [
            (move, request.id)
            for request in status.requests
            for move in request.moves
            if move.state not in FINAL_STATES
        ]
        words = [
            (move.vm, local(f"{move.state} to {move.to} by {request}: {move.waits or move.reason}"))
            for move, request in moves
        ]
        words += [(item.vm, local(f"away from {item.home}: {item.reason}")) for item in status.away]
        self.doing: Mapping[str, Sequence[str]] = grouped(words)
        coming = [(move.to, (move.vm, f"{move.state} by {request}")) for move, request in moves]
        coming += [(item.home, (item.vm, local(item.reason))) for item in status.away]
        self.coming: Mapping[str, Sequence[tuple[str, str]]] = grouped(coming)
        past = documents.moves.items
        ends = (((move.source, move.to), move) for move in past)
        self.past = grouped((node, move) for both, move in ends for node in dict.fromkeys(both))
        lines = [(_subject(line), line) for line in documents.audit.items]
        lines += [(vm, line) for _, line in lines for vm in line.vms if vm != _subject(line)]
        self.faults: Mapping[str, Sequence[AuditLine]] = grouped(lines)


def _subject(line: AuditLine) -> str:
    return "/".join(filter(None, (line.subject.namespace, line.subject.name)))


def _page(documents: SiteDocuments, known: _Known, node: PlaceLine) -> SitePage:
    vms = counted(len(node.vms), "VM")
    words = f"node {node.node}: {node.state}, {vms}, {share_of(node.requested, node.allocatable)}"
    places = documents.places
    return SitePage(
        path=node_file(node.node),
        title=f"node {node.node}",
        headline=words,
        tone=Tone.GOOD if node.state.startswith("Ready") else Tone.BAD,
        note=node.maintenance,
        tables=(
            Table(
                title="VMs on it",
                head=("VM", "what happens to it", "what is wrong", "where else it may run"),
                rows=rows(_vm(known, vm) for vm in node.vms),
                empty="None.",
            ),
            Table(
                title="VMs that are to come",
                head=("VM", "why"),
                rows=rows(known.coming.get(node.node, ())),
            ),
            Table(
                title="What is wrong with the node",
                head=("why", "code"),
                rows=rows(
                    (documents.local(line.message), Cell(line.code, code=True))
                    for line in known.faults.get(node.node, ())
                ),
                tone=Tone.CAREFUL,
            ),
            _past(documents, known, node),
        ),
        document=json_text(
            PublishedMap(
                cluster=places.cluster, now=places.now, not_read=places.not_read, nodes=[node]
            )
        ),
    )


def _vm(known: _Known, vm: str) -> tuple[Cell | str, ...]:
    named = NamespacedName.parse(vm)
    faults = [line.message for line in known.faults.get(vm, ())]
    return (
        vm,
        "; ".join(known.doing.get(vm, ())),
        first_of(faults, _SAID),
        command(f"gitbot explain vm/{named.name} -n {named.namespace}"),
    )


def _past(documents: SiteDocuments, known: _Known, node: PlaceLine) -> Table:
    zone = documents.zone
    return Table(
        title=f"Moves in 30 days, times of {zone}",
        head=("time", "VM", "from", "to", "state", "by", "why"),
        rows=rows(
            (local_text(it.time, zone), it.vm, it.source, it.to, it.state, it.by, it.why)
            for it in known.past.get(node.node, ())[:_MOVES]
        ),
        open=False,
    )
