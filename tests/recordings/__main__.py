"""`python -m tests.recordings FILE`: hold the simulator to what KubeVirt was recorded doing.

Plays recorded JSON lines (gzip or plain) and prints one JSON line a record: equal, or the first
difference. Exit code 0: all equal, 1: a difference, 2: something could not be read or played.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from gitbot.errors import GitbotError, UsageError
from tests.recordings.admissions import replay_admission
from tests.recordings.context import Context, read_context
from tests.recordings.differences import Verdict
from tests.recordings.records import read_records
from tests.recordings.target_pods import replay_target_pod
from tests.recordings.traces import replay_trace

EQUAL, DIFFERENT, UNREADABLE = 0, 1, 2
Player = Callable[[Mapping[str, Any], Context], Verdict]


def main(arguments: Sequence[str], out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run the command; returns its exit code."""
    given = _parser().parse_args(arguments)
    out, err = out or sys.stdout, err or sys.stderr
    total = different = 0
    try:
        for verdict in _verdicts(given.file, given.player, read_context(given.context, given.file)):
            out.write(json.dumps(verdict.to_json(), ensure_ascii=False) + "\n")
            total += 1
            different += verdict.difference is not None
    except GitbotError as error:
        err.write(f"tests.recordings: {error}\n")
        return UNREADABLE
    err.write(f"{given.file}: {total} records: {total - different} equal, {different} different\n")
    return DIFFERENT if different else EQUAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.recordings", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="the recording")
    parser.set_defaults(player=replay_target_pod)
    kinds = parser.add_mutually_exclusive_group()
    for option, player, about in (
        ("--target-pods", replay_target_pod, "migrations and their pods (the default)"),
        ("--admission", replay_admission, "requests with the answers of virt-api"),
        ("--traces", replay_trace, "stories with all their events"),
    ):
        kinds.add_argument(option, dest="player", action="store_const", const=player, help=about)
    parser.add_argument(
        "--context",
        type=Path,
        metavar="FILE",
        help="settings, nodes and namespaces that records name (default: context.json.gz beside "
        "FILE)",
    )
    return parser


def _verdicts(path: Path, player: Player, context: Context) -> Iterator[Verdict]:
    for number, record in enumerate(read_records(path), start=1):
        try:
            yield player(record, context)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            text = f"{path}: record {number} is not in the form of a recording: {error!r}"
            raise UsageError(text) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
