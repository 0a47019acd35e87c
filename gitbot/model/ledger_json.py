"""Canonical JSON of ledger entries, both ways, and the hash chain that makes tampering visible.

One entry is one line of one file. `seq` counts over the whole ledger from 1, `previous` is the
digest of the line with the number before, whatever file it is in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gitbot.errors import LedgerError
from gitbot.model.canonical import canonical_json
from gitbot.model.findings import Finding, Severity
from gitbot.model.instants import format_instant, parse_instant
from gitbot.model.ledger import Entry

GENESIS = ""
"""`previous` of the first line."""

_TEXTS = {
    "cluster": "cluster",
    "state": "state",
    "previous": "previous",
    "request": "request",
    "vm": "vm",
    "vm_uid": "vmUid",
    "source": "from",
    "to": "to",
    "landed": "landed",
    "reason": "reason",
    "note": "note",
    "author": "author",
    "merger": "merger",
    "commit": "commit",
    "digest": "digest",
    "migration": "migration",
    "migration_uid": "migrationUid",
    "outcome": "outcome",
}
_NUMBERS = {
    "seq": "seq",
    "move": "move",
    "attempt": "attempt",
    "pull_request": "pullRequest",
    "seconds": "seconds",
}
_KEYS = {*_TEXTS.values(), *_NUMBERS.values(), "time", "approvers", "data"}


def entry_value(entry: Entry) -> dict[str, Any]:
    """The entry as plain JSON data: camelCase names, empty fields absent, time as RFC 3339."""
    value: dict[str, Any] = {"time": format_instant(entry.time)}
    for field, key in (_TEXTS | _NUMBERS).items():
        content = getattr(entry, field)
        if content:
            value[key] = content
    if entry.approvers:
        value["approvers"] = list(entry.approvers)
    if entry.data:
        value["data"] = dict(entry.data)
    return value


def encode_entry(entry: Entry) -> bytes:
    """The entry's line, without the line feed."""
    return canonical_json(entry_value(entry))


def line_digest(line: bytes) -> str:
    """`sha256:` and hex digest of one line without its line feed."""
    return "sha256:" + hashlib.sha256(line).hexdigest()


def decode_line(line: bytes, *, file: str, number: int) -> Entry:
    """Read line `number` (from 1) of a file. Raises LedgerError that names the place."""
    where = f"{file}:{number}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"{where}: found no JSON, expected one ledger entry") from error
    if not isinstance(value, dict):
        raise LedgerError(f"{where}: found {type(value).__name__}, expected an object")
    unknown = sorted(set(value) - _KEYS)
    if unknown:
        raise LedgerError(f"{where}: unknown field {unknown[0]}", hint="was it written by hand?")
    entry = _decode(value, file=file, where=where)
    if encode_entry(entry) != line:
        raise LedgerError(f"{where}: not canonical JSON", hint="was it written by hand?")
    return entry


def _decode(value: Mapping[str, Any], *, file: str, where: str) -> Entry:
    fields: dict[str, Any] = {}
    for name, key in _TEXTS.items():
        fields[name] = _typed(value.get(key, ""), str, where, key)
    for name, key in _NUMBERS.items():
        fields[name] = _typed(value.get(key, 0), int, where, key)
    approvers = _typed(value.get("approvers", []), list, where, "approvers")
    data = _typed(value.get("data", {}), dict, where, "data")
    try:
        time = parse_instant(_typed(value.get("time", ""), str, where, "time"))
    except ValueError as error:
        raise LedgerError(f"{where}: time: found no RFC 3339 instant") from error
    return Entry(file=file, time=time, approvers=tuple(approvers), data=data, **fields)


def _typed(value: Any, expected: type, where: str, key: str) -> Any:
    if type(value) is not expected:
        found = type(value).__name__
        raise LedgerError(f"{where}: {key}: found {found}, expected {expected.__name__}")
    return value


def chain(last: Entry | None, entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries with `seq` and `previous` given, to follow the last entry of the ledger."""
    seq, previous = (last.seq, line_digest(encode_entry(last))) if last else (0, GENESIS)
    chained = []
    for entry in entries:
        seq += 1
        linked = replace(entry, seq=seq, previous=previous)
        previous = line_digest(encode_entry(linked))
        chained.append(linked)
    return tuple(chained)


def verify(entries: Iterable[Entry]) -> tuple[Finding, ...]:
    """What breaks the sequence or the hash chain; nothing where the ledger is whole.

    `entries` in order of `seq`, from the first.
    """
    findings = []
    expected, previous = 1, GENESIS
    for entry in entries:
        if entry.seq != expected:
            findings.append(_broken(entry, f"found line {entry.seq}, expected {expected}"))
        elif entry.previous != previous:
            findings.append(_broken(entry, f"line {entry.seq} does not follow the line before it"))
        expected, previous = entry.seq + 1, line_digest(encode_entry(entry))
    return tuple(findings)


def _broken(entry: Entry, message: str) -> Finding:
    return Finding(
        code="ledger/broken-chain",
        severity=Severity.ERROR,
        message=f"the ledger is torn or was rewritten: {message}",
        file=entry.file,
        hint="stop, and compare branch gitbot/ledger with a clone made before",
    )


def read_files(files: Mapping[str, bytes]) -> tuple[Entry, ...]:
    """All entries of the `.jsonl` files, in order of `seq`, verified. LedgerError where torn."""
    entries = []
    for file, content in files.items():
        if not file.endswith(".jsonl"):
            continue
        if content and not content.endswith(b"\n"):
            raise LedgerError(f"{file}: the last line is torn")
        lines = content.split(b"\n")[:-1]
        entries += [
            decode_line(line, file=file, number=number) for number, line in enumerate(lines, 1)
        ]
    entries.sort(key=lambda entry: entry.seq)
    findings = verify(entries)
    if findings:
        raise LedgerError(str(findings[0]))
    return tuple(entries)


def append_lines(content: bytes, entries: Iterable[Entry]) -> bytes:
    """A file's content with the chained entries of that file added at its end."""
    return content + b"".join(encode_entry(entry) + b"\n" for entry in entries)
