"""Whole commands beside a ledger of 100,000 lines: what each takes beyond the same with 100 lines.

A finished request of four moves is a file of twenty lines. Cluster and forge are those of
`bench_pass`, with ten nodes, so that the ledger weighs most. Rounds of both sizes alternate; the
best of each counts.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from gitbot.model.grouping import grouped
from gitbot.model.ledger.event_parts import MoveTerms
from gitbot.model.ledger.events import Claim, MoveApproved, MoveChanged, MoveEvent, MoveState
from gitbot.model.ledger.ledger import request_file
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.published.ledger_lines import append_lines, chain
from tests.bench.bench_pass import Cost, bench
from tests.bench.table import Figure, ms, show

SIZES = (100, 100_000)
GOAL_SECONDS = 1.0  # beyond the same command with the small ledger
ROUNDS = 3
NODES = 10
MOVES = 4  # of a request
NAMESPACES = 40
BEGAN = 1_764_000_000
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("status",),
    ("apply",),
    ("hold", "--reason", "bench"),
)


def ledger_files(lines: int) -> Mapping[str, bytes]:
    """The files of a ledger with that many lines, all of finished requests."""
    requests = -(-lines // (MOVES * 5))
    events = [event for number in range(requests) for event in _request(number)]
    linked = chain(None, events[:lines])
    by_file = grouped((event.file, event) for event in linked)
    return {file: append_lines(b"", of_file) for file, of_file in by_file.items()}


def _request(number: int) -> Iterator[MoveEvent]:
    namespace = f"team-{number % NAMESPACES:02}"
    request = MigrationRequestId(namespace=namespace, name=f"move-{number:06}")
    began = BEGAN + number * 60
    allowed = ((began, began + 86_400),)
    terms = MoveTerms(
        group="",
        wave=1,
        attempts=2,
        intent=f"MigrationRequest/{namespace}/move-{number:06}",
        planned=request,
        allowed=allowed,
        finish=False,
    )
    claim = Claim(executor="bench", version="0", epoch=1, judged=1, until=began + 61)
    for move in range(1, MOVES + 1):
        name = f"vm-{number * MOVES + move:06}"
        of: dict[str, Any] = {
            "file": request_file("prod", request),
            "cluster": "prod",
            "request": request,
            "vm": f"{namespace}/{name}",
            "vm_uid": f"00000000-0000-4000-8000-{number * MOVES + move:012x}",
            "move": move,
            "source": f"node-{number % NODES:04}",
            "to": f"node-{(number + 1) % NODES:04}",
            "pull_request": number + 1,
            "digest": f"sha256:{number:064x}",
        }
        yield MoveApproved(**of, time=began, author="ann", merger="bob", terms=terms)
        of |= {"attempt": 1, "migration": f"{namespace}/gitbot-{name}-0123456789"}
        yield MoveChanged(**of, time=began + 1, state=MoveState.INTENDED, claim=claim)
        of |= {"migration_uid": f"10000000-0000-4000-8000-{number * MOVES + move:012x}"}
        yield MoveChanged(**of, time=began + 2, state=MoveState.CREATED)
        yield MoveChanged(**of, time=began + 9, state=MoveState.RUNNING)
        of |= {"landed": of["to"], "seconds": 31}
        yield MoveChanged(**of, time=began + 40, state=MoveState.SUCCEEDED)


def figures() -> Iterator[Figure]:
    """The time of each command with the short and the long ledger, and their ratio."""
    taken: dict[tuple[tuple[str, ...], int], Cost] = {}
    with ExitStack() as stack:
        found = {
            lines: stack.enter_context(bench(NODES, ledger=ledger_files(lines))) for lines in SIZES
        }
        for words in COMMANDS:  # a hold is last: no apply after it has anything to judge
            for _ in range(ROUNDS):
                for lines, beside in found.items():
                    cost, best = beside.cost(*words), taken.get((words, lines))
                    if best is None or cost.seconds < best.seconds:
                        taken[words, lines] = cost
    for words in COMMANDS:
        few, many = (taken[words, lines] for lines in SIZES)
        beyond = many.seconds - few.seconds
        yield Figure(
            what=f"gitbot {words[0]}, {SIZES[1]:,} lines instead of {SIZES[0]}: "
            f"{many.seconds / few.seconds:.1f} times, {many.mib:.0f} MiB; seconds beyond",
            gitbot=ms(beyond),
            peer=f"{ms(few.seconds)} ({SIZES[0]} lines)",
            ratio=GOAL_SECONDS / beyond,
            goal=1.0,
        )


if __name__ == "__main__":
    show(figures())
