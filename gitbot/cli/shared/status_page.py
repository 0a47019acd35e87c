"""The page of `gitbot status`: one section for each thing to know, each line with what to type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gitbot.calendar import local_text, localized
from gitbot.model.ledger.request_id import HealId
from gitbot.model.text.instants import format_instant
from gitbot.reports import Paint, Style, escape

if TYPE_CHECKING:
    from gitbot.ports.forge import PullRequest
    from gitbot.workflows.ask import (
        NextOpening,
        NodeStatus,
        NotedObject,
        NotPlanned,
        RequestStatus,
        StatusResult,
    )

_OPENINGS = 8  # that the table shows; -o wide shows all
_PLAIN = Paint()
NOTHING = "nothing is running, and nothing waits"


_STYLES = {"Broken": Style.BAD, "Failed": Style.BAD, "Held": Style.CAREFUL}  # of titles


def table(
    result: StatusResult, *, wide: bool = False, paint: Paint = _PLAIN, stale: bool = False
) -> str:
    """Text that is harmless on a terminal. `stale`: a line above says how old the ledger is."""
    parts = [section for section in _sections(result, wide=wide) if section]
    lost = _titled("Lost nodes and pending pods", _seen(result.lost))
    movers = _titled("Other movers", _seen(result.movers))
    spared = _titled("Exemptions and overrides", (item.words for item in result.exceptions))
    openings = _titled("Next openings", _openings(result, wide=wide))
    if not parts:
        parts = [[f"as of that ledger {NOTHING}" if stale else NOTHING]]
    elif result.not_read and parts == [_unread(result.not_read)]:
        shows = "that ledger shows" if stale else "ledger and forge show"
        parts[0].append(f"{shows} nothing running")
    return "\n\n".join(
        "\n".join(_painted(escape.terminal(_local(line, result)), paint) for line in part)
        for part in (*parts, lost, movers, spared, openings)
        if part
    )


def _local(line: str, result: StatusResult) -> str:
    return localized(line, result.zone, now=result.now)


def _painted(line: str, paint: Paint) -> str:
    """Titles stand out, what stops gitbot even more, and what to type next."""
    if line.startswith(("stopped: ", "the cluster could not be read: ")):
        word, _, rest = line.partition(": ")
        return f"{paint(word, Style.BAD)}: {paint.command(rest)}"
    if line.endswith(":") and not line.startswith(" "):
        return paint(line, _STYLES.get(line.split(maxsplit=1)[0].rstrip(":"), Style.STRONG))
    return paint.command(line)


def _sections(result: StatusResult, *, wide: bool) -> Iterator[list[str]]:
    """What needs a person comes first, then what runs and waits, then what ended."""
    yield _unread(result.not_read)
    yield _titled(
        f"Broken intents (gitbot does nothing; below are those of {result.commit[:12]})",
        (f"  {line}" for line in result.broken),
    )
    yield _titled("Broken files", (f"  {item.words}" for item in result.broken_files))
    yield [_stopped(result, index) for index in range(len(result.stops))]
    yield from (_requests(result, name) for name in ("failed", "held"))
    yield _titled(
        "At risk",
        (f"{item.request}: {item.reason}{_then(item.next_command)}" for item in result.at_risk),
    )
    yield _titled("Waiting for owners", _owners(result))
    yield _titled("Merged, not applied yet", _not_applied(result))
    heals, wishes = _not_planned(result)
    yield _titled("Merged, without a plan", wishes)
    yield _titled("Merged without effect", result.refused)
    yield _titled("Broken rules", heals)
    yield _titled("Open proposals", (_pull(result, pull) for pull in result.pulls))
    people = (_pull(result, pull, f" by {pull.author}") for pull in result.people)
    yield _titled("Open pull requests of people", people)
    yield from (_requests(result, name) for name in ("running", "waiting"))
    yield _titled("Nodes in maintenance", _nodes(result))
    yield _titled("Away from home", _away(result, wide=wide))
    yield _requests(result, "ended")


def _requests(result: StatusResult, section: str) -> list[str]:
    wishes = {str(wish.request): wish for wish in result.not_planned if section != "ended"}
    chosen = (item for item in result.requests if item.section == section)
    lines = (line for item in chosen for line in _request(item, wishes.get(str(item.record.id))))
    return _titled(section.capitalize(), lines)


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    return [f"{title}:", *found] if found else []


def _unread(reason: str) -> list[str]:
    if not reason:
        return []
    return [
        f"the cluster could not be read: {reason}",
        "what follows is from ledger and forge alone; what waits, and for what, is not known",
    ]


def _stopped(result: StatusResult, index: int) -> str:
    item = result.stops[index]
    since = f"since {local_text(item.since, result.zone)} {result.zone}" if item.since else ""
    who = ", ".join(part for part in (item.by, since) if part)
    return f"stopped: {item.reason}{f' ({who})' if who else ''}{_then(item.next_command)}"


def _then(command: str) -> str:
    return f"; next: {command}" if command else ""


def _request(item: RequestStatus, wish: NotPlanned | None) -> Iterator[str]:
    """Its moves; then why there is no new plan, if it needs one."""
    why = f": {item.record.cancelled}" if item.record.cancelled and not item.moves else ""
    yield f"{item.record.id}: {item.record.outcome}{why}"
    for move in item.moves:
        record = move.record
        words = f"  {record.number} {record.vm}: {record.source} -> {record.landed or record.to}"
        words += f" {record.state}"
        reason = move.waits or record.reason
        until = f" until {format_instant(move.until)}" if move.until else ""
        yield f"{words}: {reason}{until}" if reason else words
    if wish is not None:
        yield f"  {wish.reason}"
    then = item.next_command or (wish.next_command if wish is not None else "")
    if then:
        yield f"  next: {then}"


def _owners(result: StatusResult) -> Iterator[str]:
    for item in result.owners:
        yield f"{item.request}: {item.waits}; next: gitbot approve {item.pull_request}"


def _not_applied(result: StatusResult) -> Iterator[str]:
    for new in result.not_applied:
        merged = f"pull request {new.pull_request} is merged" if new.pull_request else "approved"
        yield f"{merged} ({new.request}); next: {new.next_command}"


def _not_planned(result: StatusResult) -> tuple[list[str], list[str]]:
    """The lines of broken rules, and those of requests; one that goes on has its own section."""
    found: tuple[list[str], list[str]] = ([], [])
    listed = {str(item.record.id) for item in result.requests if item.section != "ended"}
    for wish in result.not_planned:
        if str(wish.request) in listed:
            continue
        name, request = str(wish.request), wish.request
        if heals := isinstance(request, HealId):
            name = "/".join(filter(None, (request.kind, request.namespace, request.name)))
        found[not heals].append(f"{name}: {wish.reason}{_then(wish.next_command)}")
    return found


def _seen(found: Iterable[NotedObject]) -> Iterator[str]:
    for item in found:
        name = "/".join(part for part in (item.namespace, item.name) if part)
        yield f"{item.kind} {name}: {item.does}"


def _nodes(result: StatusResult) -> Iterator[str]:
    for occurrence, nodes in result.nodes.items():
        yield occurrence.drain
        for node in nodes:
            yield from _node(node)


def _node(node: NodeStatus) -> Iterator[str]:
    cordon = f", {node.cordon}" if node.cordon else ""
    yield f"  {node.record.node}: {node.record.state}{cordon}"
    yield from (f"    {vm} is not in the approved plan" for vm in node.unplanned)
    if node.next_command:
        yield f"    next: {node.next_command}"


def _away(result: StatusResult, *, wide: bool) -> Iterator[str]:
    for item in result.away:
        since = f" ({item.occurrence.drain})" if wide else ""
        where = f"on {item.node}, home is {item.home}"
        yield f"{item.vm}{since}: {where}: {item.reason}{_then(item.next_command)}"


def _pull(result: StatusResult, pull: PullRequest, by: str = "") -> str:
    then = _then(result.next_of_pulls.get(pull.number, ""))
    return f"pull request {pull.number}{by} is open: {pull.title}{then}"


def _openings(result: StatusResult, *, wide: bool) -> Iterator[str]:
    ahead = result.openings
    shown = ahead if wide else ahead[:_OPENINGS]
    yield from (_opening(item) for item in shown)
    if len(shown) < len(ahead):
        yield f"and {len(ahead) - len(shown)} more (-o wide)"


def _opening(item: NextOpening) -> str:
    name = item.request or f"{item.intent.ref.kind} {item.intent.ref.name}"
    state = f", {item.state}" if item.state else ""
    early = f", moves from {item.begin_words}" if item.begin_words else ""
    then = f"; {item.then}" if item.then else ""
    return f"{name}{state}: {item.words}{early}{then}{_then(item.next_command)}"
