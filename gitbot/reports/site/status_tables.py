"""The first page: the answer, what needs a person, then what runs, waits, comes and ended."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.calendar import local_text
from gitbot.model.ledger.events import STARTED_STATES, NodeState
from gitbot.model.text.wording import counted
from gitbot.published import PublishedStatus, PullLine, RequestLine
from gitbot.reports.site.page_model import Cell, SiteDocuments, Table, Tone, command, rows, web_link

_HEAD = ("what", "why", "what to do")
_REASONS = 3  # of one request; its moves have all
_MOVES = ("request", "VM", "from", "to", "state", "why")


def headline(documents: SiteDocuments) -> tuple[str, Tone]:
    """The state of the cluster in one sentence, and how loud it is."""
    status = documents.status
    if status.not_read:
        return f"The cluster could not be read: {status.not_read}", Tone.BAD
    if status.broken:
        return "Nothing starts: the base branch has errors", Tone.BAD
    if status.stop:
        tone = Tone.CAREFUL if documents.healthy else Tone.BAD
        return documents.local(f"Nothing starts: {status.stop}"), tone
    needs = len(list(_needs(documents)))
    loud = Tone.CAREFUL if needs else Tone.GOOD
    moves = [move for request in status.requests for move in request.moves]
    if running := sum(move.state in STARTED_STATES for move in moves):
        return f"{counted(running, 'VM')} {'moves' if running == 1 else 'move'} now", loud
    waiting = [item for item in status.requests if item.section in ("waiting", "held")]
    if waiting:
        verb = "waits" if len(waiting) == 1 else "wait"
        return f"Nothing moves; {counted(len(waiting), 'request')} {verb}", loud
    nodes = [node for item in status.maintenance for node in item.nodes]
    if away := sum(node.state != NodeState.RETURNED for node in nodes):
        return f"Nothing moves; {counted(away, 'node')} in maintenance", loud
    if needs:
        verb = "needs" if needs == 1 else "need"
        return f"Nothing moves; {counted(needs, 'thing')} {verb} a person", loud
    return "Nothing is running, and nothing waits", loud


def glance(documents: SiteDocuments) -> str:
    """What a person on duty asks first, where nothing needs one."""
    nodes, rules = documents.places.nodes, documents.rules.items
    broken = sum(item.state == "broken" for item in rules)
    parts = [
        f"{counted(len(nodes), 'node')} with {counted(sum(len(node.vms) for node in nodes), 'VM')}",
        f"{broken} of {counted(len(rules), 'rule')} broken",
        f"{counted(len(documents.moves.items), 'move')} in 30 days",
    ]
    return f"{'; '.join(parts)}."


def status_tables(documents: SiteDocuments) -> tuple[Table, ...]:
    status = documents.status
    return (
        Table(
            title="Needs a person",
            head=_HEAD,
            rows=rows(_needs(documents)),
            tone=Tone.CAREFUL,
            empty="Nothing: gitbot goes on by itself.",
        ),
        _requests(documents, "Running", ("running",)),
        _requests(documents, "Waiting", ("held", "waiting")),
        Table(
            title="Nodes in maintenance",
            head=("node", "state", "since", "window", "VMs without a plan"),
            rows=rows(_nodes(documents)),
        ),
        Table(
            title="Away from home",
            head=("VM", "runs on", "home", "why"),
            rows=rows(
                (item.vm, item.node, item.home, documents.local(item.reason))
                for item in status.away
            ),
        ),
        Table(title="Next openings", head=("what", "when", "state"), rows=rows(_openings(status))),
        Table(
            title="Lost nodes and pending pods",
            head=("object", "what it does"),
            rows=rows(
                (f"{item.kind} {'/'.join(filter(None, (item.namespace, item.name)))}", item.does)
                for item in status.lost
            ),
            tone=Tone.CAREFUL,
        ),
        Table(
            title="Who else moves VMs",
            head=("object", "what it does"),
            rows=rows(
                (f"{item.kind} {'/'.join(filter(None, (item.namespace, item.name)))}", item.does)
                for item in status.movers
            ),
        ),
        Table(
            title="Exemptions and overrides",
            head=("policy", "what", "who answers", "why", "until"),
            rows=rows(_spared(documents)),
        ),
        _requests(documents, "Ended within a day", ("ended", "failed")),
    )


def _needs(documents: SiteDocuments) -> Iterator[tuple[Cell | str, ...]]:
    """A row for each thing that stands still until somebody acts, the worst first."""
    yield from _stopped(documents)
    yield from _stuck(documents)
    yield from _merged(documents)
    status = documents.status
    for pull in (*status.pulls, *status.people):
        yield _pull(pull), "is open", command(pull.next_command)
    for node in (node for window in status.maintenance for node in window.nodes):
        if node.next_command:
            yield f"node {node.node}", str(node.state), command(node.next_command)
    for item in status.away:
        if item.next_command:
            yield item.vm, documents.local(item.reason), command(item.next_command)


def _stopped(documents: SiteDocuments) -> Iterator[tuple[Cell | str, ...]]:
    status = documents.status
    for line in status.broken:
        yield "broken intents", line, "mend the file on the base branch"
    for file in status.broken_files:
        place = documents.file(f"{file.file}:{file.line}")
        yield place, f"{file.message}; {file.effect}", f"ask {file.author}"
    for stop in status.stops:
        by = f" ({stop.by})" if stop.by else ""
        yield "stopped", documents.local(f"{stop.reason}{by}"), command(stop.next_command)


def _stuck(documents: SiteDocuments) -> Iterator[tuple[Cell | str, ...]]:
    for request in documents.status.requests:
        if request.section == "failed" or (request.section == "held" and request.next_command):
            reasons = dict.fromkeys(move.waits or move.reason for move in request.moves)
            why = "; ".join([reason for reason in reasons if reason][:_REASONS])
            words = f"{request.state}: {why}" if why else request.state
            yield str(request.id), documents.local(words), command(request.next_command)


def _merged(documents: SiteDocuments) -> Iterator[tuple[Cell | str, ...]]:
    status = documents.status
    for owner in status.owners:
        yield str(owner.request), owner.waits, command(f"gitbot approve {owner.pull_request}")
    for text in status.refused:
        why, _, then = text.partition("; next: ")
        yield "merged without effect", documents.local(why), command(then)
    for new in status.not_applied:
        yield str(new.request), "approved, no pass has taken it up", command(new.next_command)
    for wish in (*status.at_risk, *status.not_planned):
        yield str(wish.request), documents.local(wish.reason), command(wish.next_command)


def _pull(pull: PullLine) -> Cell:
    return Cell(f"#{pull.number} {pull.title}", link=web_link(pull.url))


def _requests(documents: SiteDocuments, title: str, sections: tuple[str, ...]) -> Table:
    chosen = [item for item in documents.status.requests if item.section in sections]
    found = [row for item in chosen for row in _moves(documents, item)]
    return Table(title=title, head=_MOVES, rows=rows(found), open="ended" not in sections)


def _spared(documents: SiteDocuments) -> Iterator[tuple[str, ...]]:
    for item in documents.status.policy_exceptions:
        what = item.name or f"override of plan {item.digest}"
        until = documents.local(f"{item.until}") if item.until else "as long as its plan"
        yield item.policy, what, item.by, item.reason, "expired" if item.expired else until


def _moves(documents: SiteDocuments, item: RequestLine) -> Iterator[tuple[str, ...]]:
    for move in item.moves:
        until = f" until {move.until}" if move.until else ""
        why = documents.local(f"{move.waits or move.reason}{until}")
        yield str(item.id), move.vm, move.source, move.landed or move.to, str(move.state), why
    if not item.moves:
        yield str(item.id), "", "", "", item.state, ""


def _nodes(documents: SiteDocuments) -> Iterator[tuple[str, ...]]:
    for window in documents.status.maintenance:
        for node in window.nodes:
            state = ", ".join(filter(None, (node.state, node.cordon)))
            since = f"{local_text(node.since, documents.zone)} {documents.zone}"
            yield node.node, state, since, str(window.request), ", ".join(node.unplanned)


def _openings(status: PublishedStatus) -> Iterator[tuple[str, ...]]:
    for item in status.openings:
        yield str(item.request) or f"{item.kind} {item.name}", item.local, item.state
