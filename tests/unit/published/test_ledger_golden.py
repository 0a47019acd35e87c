"""Ledgers as gitbot wrote them once: every byte is read, written equal, and means the same.

`rack.json.gz` is the ledger of the rack story, with what its lines meant then; `shapes.jsonl` has
one line for each set of fields that gitbot ever wrote, of every family. Neither is made again: they
stand for the ledgers that people have.
"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gitbot.execution.ledger_folds import (
    concerns_of,
    fold_concern,
    fold_homes,
    fold_nodes,
    observed_migrations,
    stop_flag,
)
from gitbot.execution.request_records import fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.struct import FrozenStruct
from gitbot.published.ledger_lines import append_lines, decode_line, encode_event, read_files

LEDGERS = Path(__file__).parent / "ledgers"
OCCURRENCE = OccurrenceId(window="rack-r03", id="20261201T030000Z")
SHAPES = [json.loads(line) for line in (LEDGERS / "shapes.jsonl").read_text().splitlines()]


def rack() -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(
        gzip.decompress((LEDGERS / "rack.json.gz").read_bytes())
    )
    return content


def meaning(ledger: Ledger) -> Any:
    """What gitbot makes of the ledger, as plain data."""
    return plain(
        {
            "requests": fold_requests(ledger, "rack"),
            "nodes": fold_nodes(ledger, cluster="rack", occurrence=OCCURRENCE),
            "homes": fold_homes(ledger, cluster="rack", occurrence=OCCURRENCE),
            "concerns": {
                name: fold_concern(ledger, cluster="rack", concern=name)
                for name in concerns_of(ledger, "rack")
            },
            "observed": observed_migrations(ledger, "rack"),
            "stop": stop_flag(ledger, "rack"),
        }
    )


def plain(value: Any) -> Any:
    """A folded value as JSON data."""
    if is_dataclass(value) or isinstance(value, FrozenStruct):
        items = fields(value) if is_dataclass(value) else structs.fields(value)
        known = {item.name: getattr(value, item.name) for item in items}
        return {name: plain(item) for name, item in known.items() if item is not None}
    match value:
        case NamespacedName() | Enum():
            return str(value)
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case frozenset():
            return sorted(value)
        case tuple():
            return [plain(item) for item in value]
        case _:
            return value


def test_the_ledger_of_the_rack_is_read_and_written_byte_by_byte() -> None:
    files = {path: text.encode() for path, text in rack()["files"].items()}
    events = read_files(files)
    assert len(events) == 1731
    assert {
        path: append_lines(b"", (event for event in events if event.file == path)) for path in files
    } == files


def test_the_ledger_of_the_rack_means_what_it_meant() -> None:
    golden = rack()
    events = read_files({path: text.encode() for path, text in golden["files"].items()})
    for concern in golden["meaning"]["concerns"].values():
        concern["files"] = dict.fromkeys(concern["files"], "")  # these lines have no base yet
        concern["no_plan"] = ""  # nor a state for a concern without a plan
    assert meaning(Ledger(events=events)) == golden["meaning"]


@pytest.mark.parametrize("shape", SHAPES, ids=[f"{item['seq']}-{item['state']}" for item in SHAPES])
def test_every_line_ever_written_is_written_equal(shape: Mapping[str, Any]) -> None:
    known = {key: value for key, value in shape.items() if key != "file"}
    line = json.dumps(known, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert encode_event(decode_line(line, file=shape["file"], number=1)) == line
