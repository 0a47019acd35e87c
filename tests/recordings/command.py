"""The command: arguments, one JSON line a record, exit code."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from gitbot.errors import GitbotError
from tests.recordings.admissions import replay_admission
from tests.recordings.context import Context, read_context
from tests.recordings.records import read_lines
from tests.recordings.target_pods import replay_target_pod
from tests.recordings.traces import replay_trace
from tests.recordings.verdict import Verdict

EQUAL, DIFFERENT, UNREADABLE = 0, 1, 2
Player = Callable[[Mapping[str, Any], Context], Verdict]


def main(arguments: Sequence[str], out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run the command; 0 all equal, 1 a difference, 2 something could not be read or played."""
    given = _parser().parse_args(arguments)
    out, err = out or sys.stdout, err or sys.stderr
    try:
        context = read_context(given.context, given.file)
        counts = _report(verdicts(given.file, _player(given), context), out)
    except GitbotError as error:
        err.write(f"tests.recordings: {error}\n")
        return UNREADABLE
    total = sum(counts.values())
    err.write(
        f"{given.file}: {total} records: {counts[EQUAL]} equal, {counts[DIFFERENT]} different, "
        f"{counts[UNREADABLE]} unreadable\n"
    )
    if not total:
        return UNREADABLE
    return max(code for code, count in counts.items() if count)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.recordings",
        description=(
            "Hold the simulator to what KubeVirt's own controllers were recorded doing: play "
            "recorded JSON lines (gzip or plain), print one JSON line a record: equal, or the "
            "first difference. Exit code 0: all equal, 1: a difference, 2: something could not be "
            "read or played."
        ),
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the recording")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument(
        "--target-pods", action="store_true", help="migrations and their pods (the default)"
    )
    kinds.add_argument(
        "--admission", action="store_true", help="requests with the answers of virt-api"
    )
    kinds.add_argument("--traces", action="store_true", help="stories with all their events")
    parser.add_argument(
        "--context",
        type=Path,
        metavar="FILE",
        help="settings, nodes and namespaces that records name (default: context.json.gz beside "
        "FILE)",
    )
    return parser


def _player(given: argparse.Namespace) -> Player:
    if given.admission:
        return replay_admission
    if given.traces:
        return replay_trace
    return replay_target_pod


def verdicts(path: Path, player: Player, context: Context) -> Iterator[Verdict]:
    """A verdict for every line of a recording that is not empty."""
    for line in read_lines(path):
        if line.record is None:
            yield Verdict(record=f"{path}:{line.number}", error=line.error)
        else:
            yield _played(player, line.record, context, f"{path}:{line.number}")


def _played(player: Player, record: Mapping[str, Any], context: Context, where: str) -> Verdict:
    try:
        return player(record, context)
    except GitbotError as error:
        return Verdict(record=where, error=str(error))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        text = f"not in the form of a recording: {type(error).__name__}: {error}"
        return Verdict(record=where, error=text)


def _report(found: Iterator[Verdict], out: TextIO) -> dict[int, int]:
    counts = dict.fromkeys((EQUAL, DIFFERENT, UNREADABLE), 0)
    for verdict in found:
        counts[UNREADABLE if verdict.error else DIFFERENT if verdict.difference else EQUAL] += 1
        out.write(json.dumps(verdict.to_json(), ensure_ascii=False) + "\n")
    return counts
