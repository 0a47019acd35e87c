"""Upgrade and rollback in the middle of a migration: the ledger's format decides who may go on."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from gitbot.execution import ledger_folds
from gitbot.model.ledger.events import FormatRaised, KnownEvent
from gitbot.model.ledger.ledger import FORMAT, FORMAT_FILE, Ledger
from gitbot.published import ledger_lines
from gitbot.published.ledger_lines import read_files
from gitbot.workflows.apply import apply
from gitbot.workflows.ask import status
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

RECORDED = Path(__file__).resolve().parents[2] / "recordings" / "ledger"
STOP = (
    "the ledger has format 2 since line 6, and this gitbot knows 1: install gitbot 0.3.0 or newer"
)


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A migration that runs, and an executor without a version that ended meanwhile."""
    monkeypatch.setattr("gitbot.workflows.apply.run.gitbot_version", lambda: "")
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.cluster.uid = ""  # not noted by a gitbot of the oldest format
    stage.approve(a_plan(a_move("one", "a", "c")))

    def is_created() -> bool:
        return any(event.state == "created" for event in stage.store.ledger.events)

    apply(replace(stage.shell, interrupted=is_created))
    assert stage.states() == ["1 approved", "1 intended", "1 created", "1 running"]
    return stage


def recorded() -> Ledger:
    """What a gitbot of format 1 had written when that migration ran."""
    files: dict[str, bytes] = {}
    for row in (RECORDED / "format-1-running.txt").read_bytes().splitlines(keepends=True):
        file, _, line = row.partition(b" ")
        files[file.decode()] = files.get(file.decode(), b"") + line
    return Ledger(events=read_files(files))


def raise_format(stage: Stage, number: int, needs: str) -> None:
    line = FormatRaised(
        file=FORMAT_FILE, time=stage.clock.now(), format=number, needs=needs, author="ann"
    )
    stage.store.append(stage.store.ledger, (line,), {})


def test_a_newer_gitbot_ends_a_migration_of_the_oldest_format(running: Stage) -> None:
    began = running.cluster.creates()
    assert running.store.ledger.events == recorded().events
    assert apply(running.shell).states == {"succeeded": 1}
    assert running.cluster.creates() == began
    assert apply(running.shell).did_nothing


def test_an_older_gitbot_leaves_a_newer_format_alone_and_names_the_version(running: Stage) -> None:
    raise_format(running, 2, "0.3.0")
    before, calls = running.store.ledger, running.cluster.creates()
    result = apply(running.shell)
    assert (result.stop, result.did_nothing, result.unsure) == (STOP, True, True)
    assert status(running.shell).stop == STOP
    assert running.store.ledger == before
    assert running.cluster.creates() == calls


def test_the_needed_gitbot_goes_on_where_the_older_one_stopped(
    running: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    raise_format(running, 2, "0.3.0")
    assert apply(running.shell).stop == STOP
    monkeypatch.setattr(ledger_folds, "FORMAT", 2)
    assert apply(running.shell).states == {"succeeded": 1}
    assert len(running.cluster.creates()) == 1


def test_a_line_of_the_known_format_stops_nothing(running: Stage) -> None:
    raise_format(running, FORMAT, "0.1.0")
    assert apply(running.shell).states == {"succeeded": 1}


def test_no_line_has_what_a_gitbot_of_this_format_does_not_know() -> None:
    """So that an older gitbot reads each line: otherwise raise FORMAT (docs/upgrade.md)."""
    known = json.loads((RECORDED / f"format-{FORMAT}.json").read_text("utf-8"))
    assert written() == known


def written() -> dict[str, dict[str, str]]:
    """The family and states of each event, and its fields with those of `data`."""
    found: dict[str, dict[str, str]] = {}
    for event in get_args(KnownEvent):
        states = [
            f"{family} {state}"
            for family, known in ledger_lines._FAMILIES.items()
            for state, written_as in known.items()
            if written_as is event
        ]
        found[event.__name__] = {
            "lines": ", ".join(states),
            "fields": " ".join(sorted(fields(event, ""))),
        }
    return found


def fields(of: Any, above: str) -> Iterator[str]:
    for field in msgspec.structs.fields(of):
        name = f"{above}{field.encode_name}"
        yield name
        for inner in (field.type, *get_args(field.type)):
            if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                yield from fields(inner, f"{name}.")
