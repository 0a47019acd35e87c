"""Lines of the ledger: events to canonical JSON and back, the schema, and the hash chain.

One event is one line of one file. `seq` counts over the whole ledger from 1; `previous` is the
digest of the line with the number before, in any file, so that a changed line is detected. Lines
are written strictly. A complete line with content that this gitbot does not know becomes an
UnknownEvent; a line that a person wrote by hand is refused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, NoReturn, get_args

import msgspec

from gitbot.errors import LedgerError
from gitbot.model.ledger.events import (
    AuditScored,
    ClusterIdentified,
    ConcernChanged,
    ConcernState,
    ForeignMove,
    FormatRaised,
    HomeNoted,
    KnownEvent,
    LedgerEvent,
    MergeJudged,
    MergeState,
    MoveApproved,
    MoveChanged,
    MoveState,
    NodeChanged,
    NodeState,
    PlanShown,
    PolicyOverridden,
    RequestCancelled,
    StopLifted,
    StopSet,
    UnknownEvent,
    WindowBegun,
)
from gitbot.model.ledger.ledger import FORMAT_FILE, HOLD_FILE, SUFFIX, place_of
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.canonical import canonical_json
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.published.document import (
    Document,
    Instant,
    decoded,
    encoded,
    json_decoder,
    json_schema,
    sorted_bytes,
    text_schema,
)

GENESIS = ""
"""`previous` of the first line."""

_FAMILIES: Mapping[str, Mapping[str, type[KnownEvent]]] = {
    "requests": {
        **dict.fromkeys(MoveState, MoveChanged),
        "approved": MoveApproved,
        "observed": ForeignMove,
        "cancelled": RequestCancelled,
    },
    "nodes": {
        **dict.fromkeys(NodeState, NodeChanged),
        "window": WindowBegun,
        "home": HomeNoted,
    },
    "concerns": dict.fromkeys(ConcernState, ConcernChanged),
    "pulls": {
        **dict.fromkeys(MergeState, MergeJudged),
        "shown": PlanShown,
        "overridden": PolicyOverridden,
    },
    "audit": {"scored": AuditScored},
    "clusters": {"identified": ClusterIdentified},
    FORMAT_FILE: {"raised": FormatRaised},
    HOLD_FILE: {"set": StopSet, "resumed": StopLifted},
}
"""The events by family of files and state."""

_FRAME = {"time": str, "cluster": str, "seq": int, "previous": str}

_COMPARE = "stop, and compare branch gitbot/ledger with a clone made before"


def line_value(event: LedgerEvent) -> dict[str, Any]:
    """The event as plain JSON data: camelCase names, empty fields absent, time as RFC 3339."""
    if isinstance(event, UnknownEvent):
        return dict(event.content)
    value: dict[str, Any] = encoded(event)
    del value["file"]
    return {**value, "time": format_instant(event.time)}


def encode_event(event: LedgerEvent) -> bytes:
    """The event's line, without the line feed: canonical JSON."""
    value = line_value(event)
    if isinstance(event, UnknownEvent):
        return canonical_json(value)
    return sorted_bytes(value)  # the same for what the fields of events hold, and much faster


def line_digest(line: bytes) -> str:
    """`sha256:` and hex digest of one line without its line feed."""
    return "sha256:" + hashlib.sha256(line).hexdigest()


def decode_line(line: bytes, *, file: str, number: int) -> LedgerEvent:
    """Read line `number` (from 1) of a file. Raises LedgerError that names the place."""
    usual = _usual_lines(file)(line)
    if usual is not None:
        return usual
    where = f"{file}:{number}"
    try:
        value = _plain(line)
    except (ValueError, RecursionError) as error:
        raise LedgerError(f"{where}: found no JSON, expected one ledger entry") from error
    if not isinstance(value, dict):
        raise LedgerError(f"{where}: found {type(value).__name__}, expected an object")
    try:
        event = _decode(value, file=file, where=where)
        canonical = encode_event(event)
    except (UnicodeEncodeError, OverflowError) as error:  # lone surrogate, year before the first
        raise LedgerError(f"{where}: found what no ledger entry holds: {error}") from error
    if canonical != line:
        raise LedgerError(f"{where}: not canonical JSON", hint="was it written by hand?")
    return event


class _UsualLines:
    """Reads the lines of a file as gitbot writes them, without the detour over plain data.

    It accepts a line only if its event, written again, gives the same bytes. An event has a file
    and seconds where a line has no file and a text. So it is read with the seconds and an empty
    file, and gets its own after the comparison: all events of a file share one text.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._decoders = _usual_decoders(file.partition("/")[0])

    def __call__(self, line: bytes) -> KnownEvent | None:
        """The event; None for a line of another form, whether it is a good one or not."""
        head, _, tail = line.rpartition(b'","time":"')
        decode = self._decoders.get(head[head.rfind(b'"') + 1 :])
        if decode is None or tail[20:21] != b'"' or line[:1] != b"{":
            return None
        body = b'%s","time":%s%s' % (head[1:], _seconds(tail[:20]), tail[21:])
        try:
            event = decode(_NO_FILE + body)
        except (ValueError, RecursionError):  # also msgspec.ValidationError
            return None
        if sorted_bytes(event).replace(_NO_FILE[1:], b"", 1) != b"{" + body:
            return None
        msgspec.structs.force_setattr(event, "file", self._file)
        return event


_NO_FILE = b'{"file":"",'
_usual_lines = lru_cache(maxsize=64)(_UsualLines)


@cache
def _usual_decoders(family: str) -> Mapping[bytes, Callable[[bytes], KnownEvent]]:
    known = _FAMILIES.get(family, {})
    decoders = {form: json_decoder(form).decode for form in known.values()}
    return {state.encode(): decoders[form] for state, form in known.items()}


_HOURS = {b"%02d:" % hour: hour * 3600 for hour in range(24)}
_MINUTES = {b"%02d:" % minute: minute * 60 for minute in range(60)}
_SECONDS = {b"%02dZ" % second: second for second in range(60)}


@lru_cache(maxsize=32_768)
def _seconds(text: bytes) -> bytes:
    """The seconds of a time that is written as gitbot writes it; empty for any other."""
    midnight = _midnight(text[:11])
    hour, minute = _HOURS.get(text[11:14]), _MINUTES.get(text[14:17])
    second = _SECONDS.get(text[17:])
    if midnight is None or hour is None or minute is None or second is None:
        return b""
    return b"%d" % (midnight + hour + minute + second)


@lru_cache(maxsize=4096)
def _midnight(date: bytes) -> int | None:
    """The seconds at which a day begins that is written as `2026-12-06T`."""
    text = date + b"00:00:00Z"
    try:
        seconds = parse_instant(text.decode("ascii"))
    except ValueError:
        return None
    return seconds if format_instant(seconds).encode() == text else None


def _plain(line: bytes) -> Any:
    try:
        return _quick(line)
    except (ValueError, RecursionError):  # json says the same of it, or reads more
        return json.loads(line, parse_float=_refuse, parse_constant=_refuse)


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


_quick = msgspec.json.Decoder(float_hook=_refuse).decode


def _decode(value: dict[str, Any], *, file: str, where: str) -> LedgerEvent:
    states = _FAMILIES.get(file.partition("/")[0], {})
    known = states.get(value["state"]) if isinstance(value.get("state"), str) else None
    if known is None:
        return _unknown(value, file=file, where=where)
    try:
        return decoded(value | {"file": file, "time": parse_instant(value["time"])}, known)
    except (ValueError, TypeError, KeyError):  # also msgspec.ValidationError
        return _unknown(value, file=file, where=where, known=known)


def _unknown(
    value: Mapping[str, Any], *, file: str, where: str, known: type[KnownEvent] | None = None
) -> UnknownEvent:
    """A line of a newer gitbot. Raises LedgerError if it is only wrong."""
    for key, expected in _FRAME.items():
        if key in value and type(value[key]) is not expected:
            found = type(value[key]).__name__
            raise LedgerError(f"{where}: {key}: found {found}, expected {expected.__name__}")
    try:
        time = parse_instant(value.get("time", ""))
    except ValueError as error:
        raise LedgerError(f"{where}: time: found no RFC 3339 instant") from error
    if known is not None:
        try:
            decoded({**value, "file": file, "time": time}, known)
        except msgspec.ValidationError as error:
            _must_be_newer(str(error), where)
    return UnknownEvent(
        file=file,
        time=time,
        cluster=value.get("cluster", ""),
        seq=value.get("seq", 0),
        previous=value.get("previous", ""),
        content=value,
    )


def _must_be_newer(error: str, where: str) -> None:
    """LedgerError if a known field has another type; a newer gitbot may add and remove fields."""
    if error.startswith("Expected"):
        types, _, place = error.partition(" - at ")
        expected, found = (
            word.strip("`") for word in types.removeprefix("Expected ").split(", got ")
        )
        key = place.strip("`").removeprefix("$.")
        raise LedgerError(f"{where}: {key}: found {found}, expected {expected}")


def chain(last: LedgerEvent | None, events: Iterable[KnownEvent]) -> tuple[KnownEvent, ...]:
    """The events with `seq` and `previous`, as successors of the last event of the ledger."""
    seq, previous = _next(last)
    chained = []
    for event in events:
        linked = msgspec.structs.replace(event, seq=seq, previous=previous)
        seq, previous = _next(linked)
        chained.append(linked)
    return tuple(chained)


def verify(events: Iterable[LedgerEvent]) -> tuple[Finding, ...]:
    """Breaks of the sequence or of the hash chain; empty if the ledger is intact.

    `events` in order of `seq`, from the first.
    """
    return _verify((event, line_digest(encode_event(event))) for event in events)


def _verify(
    events: Iterable[tuple[LedgerEvent, str]], last: LedgerEvent | None = None
) -> tuple[Finding, ...]:
    """As `verify`, for events with their digests, as successors of the last event before them."""
    findings = []
    expected, previous = _next(last)
    for event, digest in events:
        if not event.file.startswith(place := place_of(event)):
            findings.append(_broken(event, f"line {event.seq} belongs in {place}"))
        elif event.seq != expected:
            findings.append(_broken(event, f"found line {event.seq}, expected {expected}"))
        elif event.previous != previous:
            findings.append(_broken(event, f"line {event.seq} does not follow the line before it"))
        expected, previous = event.seq + 1, digest
    return tuple(findings)


def _next(last: LedgerEvent | None) -> tuple[int, str]:
    """`seq` and `previous` of the line after the last event of a ledger."""
    return (last.seq + 1, line_digest(encode_event(last))) if last else (1, GENESIS)


def _broken(event: LedgerEvent, message: str) -> Finding:
    return Finding(
        code="ledger/broken-chain",
        severity=Severity.ERROR,
        message=f"the ledger is damaged or was rewritten: {message}",
        file=event.file,
        hint=_COMPARE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLines:
    """Files of the ledger, and the events that they hold: verified, or written by gitbot."""

    files: Mapping[str, bytes]
    events: tuple[LedgerEvent, ...]


def read_files(
    files: Mapping[str, bytes], *, known: KnownLines | None = None
) -> tuple[LedgerEvent, ...]:
    """All events of the `.jsonl` files, verified, by `seq`. Raises LedgerError if damaged.

    If the files begin with all bytes of the `known` ones, only the lines after them are read.
    """
    told = {file: content for file, content in files.items() if file.endswith(SUFFIX)}
    before: Mapping[str, bytes] = {}
    former: tuple[LedgerEvent, ...] = ()
    if known is not None and _has_grown(told, known.files):
        before, former = known.files, known.events
    events = [
        item
        for file, content in told.items()
        if content is not before.get(file)
        for item in _read_lines(file, content, before.get(file, b""))
    ]
    events.sort(key=lambda item: item[0].seq)
    findings = _verify(events, former[-1] if former else None)
    if findings:
        raise LedgerError(str(findings[0]))
    return (*former, *(event for event, _ in events))


def _has_grown(files: Mapping[str, bytes], before: Mapping[str, bytes]) -> bool:
    """Whether each file that was there before still begins with all its lines."""
    lines = ((file, content) for file, content in before.items() if file.endswith(SUFFIX))
    return all(files.get(file, b"").startswith(content) for file, content in lines)


def _read_lines(file: str, content: bytes, before: bytes) -> Iterator[tuple[LedgerEvent, str]]:
    """The events of a file, and the digests of their lines, after those before."""
    if content and not content.endswith(b"\n"):
        raise LedgerError(f"{file}: the last line is cut off", hint=_COMPARE)
    lines = content[len(before) :].split(b"\n")[:-1]
    usual = _usual_lines(file)
    try:
        for number, line in enumerate(lines, before.count(b"\n") + 1):
            event = usual(line) or decode_line(line, file=file, number=number)
            yield event, line_digest(line)
    except LedgerError as error:
        raise LedgerError(str(error), hint=_COMPARE) from error


def append_lines(content: bytes, events: Iterable[LedgerEvent]) -> bytes:
    return content + b"".join(encode_event(event) + b"\n" for event in events)


class LedgerEntryList(Document, frozen=True, kw_only=True):
    """Lines of the ledger, oldest first."""

    kind: Literal["LedgerEntryList"] = "LedgerEntryList"
    items: list[dict[str, Any]]


def ledger_schema() -> dict[str, Any]:
    """The schema of `gitbot ledger show -o json`; empty fields of a line are absent."""
    instant = Instant.json_schema
    events, defs = msgspec.json.schema_components(
        get_args(KnownEvent), schema_hook=text_schema, ref_template="#/$defs/{name}"
    )
    for known in get_args(KnownEvent):
        defs[known.__name__]["properties"]["time"] = instant
    for part in defs.values():
        for of_line in part.get("properties", {}).values():
            of_line.pop("default", None)  # empty fields are absent
    newer = {
        "description": "An event of a newer gitbot.",
        "type": "object",
        "properties": {"file": {"type": "string"}, "time": instant},
        "required": ["file", "time"],
    }
    schema = json_schema(LedgerEntryList)
    schema["properties"]["items"]["items"] = {"anyOf": [*events, newer]}
    return {**schema, "$defs": defs}
