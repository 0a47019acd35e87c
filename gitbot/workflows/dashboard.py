"""The dashboard issue of a cluster: what runs, what waits and for what, what failed, what is back.

One issue, found by a hidden marker and edited in place. It holds no time of its own, so that a pass
without news edits nothing, and nothing is ever read back from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitbot.errors import ForgeError
from gitbot.execution.approval import NotApproved
from gitbot.execution.requests import MoveRecord, RequestRecord, RequestState, fold_requests
from gitbot.execution.state import NodeRecord, NodeState
from gitbot.execution.values import Waiting
from gitbot.model.instants import format_instant
from gitbot.model.ledger import Ledger
from gitbot.ports.forge import PullRequest, PullState
from gitbot.reports import inert
from gitbot.reports.fit import Section, fit
from gitbot.workflows.feedback import MEMORY
from gitbot.workflows.shell import Shell
from gitbot.workflows.status import nodes_of

LIMIT = 60_000  # bytes, below GitHub's 65,536 characters
_FAILED = frozenset({RequestState.FAILED, RequestState.PARTIAL, RequestState.EXPIRED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a dashboard shows. `records` are all requests; `nodes` by `window/occurrence`."""

    cluster: str
    now: int
    stop: str
    records: Mapping[str, RequestRecord]
    nodes: Mapping[str, tuple[NodeRecord, ...]]
    waiting: tuple[Waiting, ...]
    refused: tuple[NotApproved, ...]
    pulls: tuple[PullRequest, ...]


def marker(cluster: str) -> str:
    """The hidden first line by which the issue is found again."""
    return f"<!-- gitbot:dashboard:{cluster} -->"


def write_dashboard(
    shell: Shell,
    ledger: Ledger,
    *,
    stop: str,
    waiting: tuple[Waiting, ...],
    refused: tuple[NotApproved, ...],
) -> None:
    """Bring the issue up to date. Where it cannot be written, that is said and nothing stops.

    There is none before there was anything to do in the cluster.
    """
    told = tuple(f"{family}/{shell.cluster_name}/" for family in ("requests", "nodes", "concerns"))
    own = (entry for entry in ledger.entries if not entry.request.startswith("observed/"))
    if not any(entry.file.startswith(told) for entry in own):
        return
    try:
        pulls = tuple(
            pull
            for pull in shell.forge.list_pulls(state=PullState.OPEN)
            if pull.author == shell.forge.bot
        )
        scene = Scene(
            cluster=shell.cluster_name,
            now=shell.clock.now(),
            stop=stop,
            records=fold_requests(ledger, shell.cluster_name),
            nodes=nodes_of(ledger, shell.cluster_name),
            waiting=waiting,
            refused=refused,
            pulls=pulls,
        )
        mark = marker(shell.cluster_name)
        title = f"gitbot on {shell.cluster_name}"
        shell.forge.upsert_issue(marker=mark, title=title, body=f"{mark}\n{body(scene)}")
    except ForgeError as error:
        shell.say(f"the dashboard is not written: {error}")


def body(scene: Scene) -> str:
    """The dashboard in Markdown, the oldest endings cut first."""
    open_ones = [item for item in scene.records.values() if not item.finished]
    waits = {(item.request, item.move): item for item in scene.waiting}
    parts: list[Section] = [Section(head=_head(scene))]
    parts += _section("Running", map(_running, filter(_runs, open_ones)), 1)
    timed = [item for item in open_ones if not _runs(item) and _opens(item, waits)]
    parts += _section("Waiting for a window", (_timed(item, waits) for item in timed), 2)
    held = [item for item in open_ones if not _runs(item) and item not in timed]
    parts += _section("Held", (_held(scene, item, waits) for item in held), 3)
    lately = [item for item in scene.records.values() if item.finished and _is_recent(scene, item)]
    failed = [item for item in lately if item.state in _FAILED]
    parts += _section("Failed", map(_failed, failed), 4)
    refused = [item for item in scene.refused if scene.now - item.merged_at <= MEMORY]
    parts += _section("Merged without effect", map(_refused, refused), 5)
    parts += _section(
        "Nodes in maintenance", _node_lines(scene, NodeState.RETURNED, equal=False), 6
    )
    parts += _section("Returned", _node_lines(scene, NodeState.RETURNED, equal=True), 7)
    parts += _section("Open proposals", map(_pull, scene.pulls), 8)
    ended = [item for item in lately if item not in failed]
    parts += _section("Ended within a week", map(_ended, ended), 9)
    if len(parts) == 1:
        parts.append(Section(head="Nothing is under way, and nothing waits.\n\n"))
    parts.append(Section(head="```console\ngitbot status\ngitbot hold\n```\n"))
    return fit(parts, limit=LIMIT)


def _head(scene: Scene) -> str:
    title = f"gitbot on {inert.code(scene.cluster)}"
    if not scene.stop:
        return f"{title}\n\n"
    return f"{title}\n\n**Stopped**: {inert.markdown(scene.stop)}\n\n"


def _section(title: str, lines: Iterable[str], rank: int) -> list[Section]:
    items = tuple(f"- {line}\n" for line in lines)
    if not items:
        return []
    return [Section(head=f"### {title}\n\n", items=items, foot="\n", rank=rank)]


def _runs(record: RequestRecord) -> bool:
    return any(move.under_way for move in record.moves.values())


def _running(record: RequestRecord) -> str:
    under_way = [move for _, move in sorted(record.moves.items()) if move.under_way]
    ended = sum(move.final for move in record.moves.values())
    moves = ", ".join(_move(move) for move in under_way[:5])
    more = f" and {len(under_way) - 5} more" if len(under_way) > 5 else ""
    share = f"{ended} of {len(record.moves)} ended"
    return f"{inert.code(record.id)}: {share}; {moves}{more}"


def _move(move: MoveRecord) -> str:
    return f"{inert.code(str(move.vm))} to {inert.code(move.to)}"


def _opens(record: RequestRecord, waits: Mapping[tuple[str, int], Waiting]) -> int:
    found = (waits.get((record.id, number)) for number in record.moves)
    return min((item.until for item in found if item and item.until), default=0)


def _timed(record: RequestRecord, waits: Mapping[tuple[str, int], Waiting]) -> str:
    opens = format_instant(_opens(record, waits))
    left = sum(not move.final for move in record.moves.values())
    return f"{inert.code(record.id)}: {left} {'move' if left == 1 else 'moves'}, opens {opens}"


def _held(scene: Scene, record: RequestRecord, waits: Mapping[tuple[str, int], Waiting]) -> str:
    found = (waits.get((record.id, number)) for number in sorted(record.moves))
    reasons = dict.fromkeys(item.reason for item in found if item)
    known = [move.reason for move in record.moves.values() if move.reason and not move.final]
    why = "; ".join(list(reasons)[:3]) or scene.stop or next(iter(known), "the next pass goes on")
    return f"{inert.code(record.id)}: {inert.markdown(why)}"


def _failed(record: RequestRecord) -> str:
    reasons = dict.fromkeys(
        move.reason for _, move in sorted(record.moves.items()) if move.final and move.reason
    )
    why = f": {inert.markdown('; '.join(list(reasons)[:3]))}" if reasons else ""
    return f"{inert.code(record.id)} {record.state}{why}"


def _ended(record: RequestRecord) -> str:
    return f"{inert.code(record.id)} {record.state}"


def _refused(item: NotApproved) -> str:
    return f"pull request {item.pull_request}: {inert.markdown(item.reason)}"


def _pull(pull: PullRequest) -> str:
    place = f"[{pull.number}]({pull.url})" if pull.url.startswith("https://") else str(pull.number)
    return f"{place}: {inert.markdown(pull.title)}"


def _is_recent(scene: Scene, record: RequestRecord) -> bool:
    ended = max((move.changed_at for move in record.moves.values()), default=0)
    return scene.now - ended <= MEMORY


def _node_lines(scene: Scene, state: NodeState, *, equal: bool) -> Iterator[str]:
    for name, nodes in scene.nodes.items():
        for node in nodes:
            is_wanted = (node.state is state) is equal
            if is_wanted and node.state is not NodeState.CLOSED:
                yield f"{inert.code(node.node)} {node.state} ({inert.code(name)})"
