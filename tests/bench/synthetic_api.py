"""An API server with a large cluster on a port of 127.0.0.1, which counts requests and bytes.

Objects are kept as the JSON that a client gets, so that serving costs little beside the client.
Lists come in pages at one resourceVersion, old ones for as long as the log reaches back; watches
have initial events, bookmarks and 410. Writes are those of ConfigMaps. No controller runs.
"""

import json
import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from gitbot.simulation.http.discovery import VERSION, group_list
from gitbot.simulation.http.routes import UnknownGroup, find_route
from gitbot.simulation.http.server import Listener
from gitbot.simulation.patching import merge_patch
from gitbot.snapshot import RESOURCES

Key = tuple[str, str]  # namespace, name
Query = Mapping[str, str]
Trouble = Callable[[str, Iterator[bytes]], Iterator[bytes]]
_END = b'"k8s.io/initial-events-end":"true"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change: `data` is the object as it is then, or was last if it is deleted."""

    version: int
    type: str
    key: Key
    data: bytes
    before: bytes | None


@dataclass(slots=True, kw_only=True)
class Kind:
    """The objects of one kind, and how they came to be. Mutable."""

    objects: dict[Key, bytes] = field(default_factory=dict)
    log: list[Event] = field(default_factory=list)
    since: int = 0  # older versions are forgotten

    def at(self, version: int) -> list[bytes]:
        """The objects at a version, in order."""
        found: dict[Key, bytes] = self.objects
        if self.log and self.log[-1].version > version:
            found = dict(found)
            for event in reversed(self.after(version)):
                if event.before is None:
                    del found[event.key]
                else:
                    found[event.key] = event.before
        return [found[key] for key in sorted(found)]

    def after(self, version: int) -> list[Event]:
        return self.log[bisect_right(self.log, version, key=lambda event: event.version) :]


class SyntheticApi:
    """`requests` counts by verb and kind (or path), `sent` the bytes of bodies by the same, `lists`
    the whole lists by kind, however many pages each has.

    `refused` has the status of kinds that no one may watch, `trouble` changes the lines of a watch
    (an empty one breaks the stream). Hold `changed` to look at several fields at once.
    """

    def __init__(
        self, objects: Iterable[Mapping[str, Any]], *, bookmark_seconds: float = 60
    ) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.version = 1
        self.kinds = {kind: Kind() for kind in RESOURCES}
        self.requests: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.lists: Counter[str] = Counter()
        self.bookmark_seconds = bookmark_seconds
        self.stopping = False
        self.refused: dict[str, int] = {}
        self.trouble: Trouble = lambda _kind, lines: lines
        for obj in objects:
            self.kinds[obj["kind"]].objects[_key(obj)] = self._stored(obj)
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.api = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.close_connections()
        self._server.server_close()

    def reset(self) -> None:
        """Count from now on."""
        with self.changed:
            self.requests.clear()
            self.sent.clear()
            self.lists.clear()

    def put(self, obj: Mapping[str, Any]) -> bytes:
        """Create or replace an object."""
        with self.changed:
            kind, key = self.kinds[obj["kind"]], _key(obj)
            before, data = kind.objects.get(key), self._stored(obj, self.version + 1)
            self._log(
                kind,
                Event(
                    version=self.version + 1,
                    type="ADDED" if before is None else "MODIFIED",
                    key=key,
                    data=data,
                    before=before,
                ),
            )
            kind.objects[key] = data
            return data

    def remove(self, kind_name: str, key: Key) -> None:
        with self.changed:
            kind = self.kinds[kind_name]
            before = kind.objects.pop(key)
            last = json.loads(before)
            last["metadata"]["resourceVersion"] = str(self.version + 1)
            self._log(
                kind,
                Event(
                    version=self.version + 1,
                    type="DELETED",
                    key=key,
                    data=_json(last),
                    before=before,
                ),
            )

    def forget(self) -> None:
        """Compact: every older version answers 410 from now on."""
        with self.changed:
            for kind in self.kinds.values():
                kind.log.clear()
                kind.since = self.version
            self.changed.notify_all()

    def _log(self, kind: Kind, event: Event) -> None:
        self.version = event.version
        kind.log.append(event)
        self.changed.notify_all()

    def _stored(self, obj: Mapping[str, Any], version: int = 1) -> bytes:
        return _json({**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}})


class _Server(Listener):
    api: SyntheticApi


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - the base class's name

    def do_GET(self) -> None:
        """Serve a discovery document, an object, a list or a watch."""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        if parts.path == "/version":
            self._send(200, _json(VERSION), "version")
        elif parts.path == "/apis":
            self._send(200, _json(group_list()), "apis")
        else:
            self._read(parts.path, query)

    def _read(self, path: str, query: Query) -> None:
        try:
            route = find_route(path)
        except UnknownGroup:
            self._send(404, b"404 page not found\n", path)
            return
        api, name = self.server.api, route.resource.kind
        kind = api.kinds.get(name, Kind())
        if query.get("watch") == "true":
            if name in api.refused:
                self._send(api.refused[name], _status(api.refused[name], "", "no", {}), path)
            else:
                self._watch(name, kind, query)
        elif route.name:
            with api.changed:
                found = kind.objects.get(route.key)
            if found is None:
                self._send(404, _not_found(route.name), f"get {name}")
            else:
                self._send(200, found, f"get {name}")
        else:
            self._list(name, kind, query, route.namespace)

    def do_PATCH(self) -> None:
        """Merge a patch into a ConfigMap."""
        route = find_route(urlsplit(self.path).path)
        patch, api = self._body(), self.server.api
        name = route.resource.kind
        with api.changed:
            found = api.kinds[name].objects.get(route.key)
            answer = None if found is None else api.put(merge_patch(json.loads(found), patch))
        if answer is None:
            self._send(404, _not_found(route.name), f"patch {name}")
        else:
            self._send(200, answer, f"patch {name}")

    def do_POST(self) -> None:
        """Create a ConfigMap, or answer that the account may do whatever it asks about."""
        made = self._body()
        if made["kind"] in self.server.api.kinds:
            self._send(201, self.server.api.put(made), f"create {made['kind']}")
        else:
            self._send(201, _json({**made, "status": {"allowed": True}}), "access review")

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _list(self, name: str, kind: Kind, query: Query, namespace: str) -> None:
        api = self.server.api
        with api.changed:
            asked, _, after = query.get("continue", "").partition("/")
            api.lists[name] += not asked
            asked = asked or (query.get("resourceVersion", "") if _is_exact(query) else "")
            version = int(asked or api.version)
            if version < kind.since:
                self._send(410, _expired(), f"list {name}")
                return
            found = kind.at(version)
        chosen = [item for item in found if _matches(item, query, namespace)]
        begin, limit = int(after or 0), int(query.get("limit", 0)) or len(chosen)
        page, rest = chosen[begin : begin + limit], len(chosen) - begin - limit
        metadata = {"resourceVersion": str(version)}
        if rest > 0:
            metadata |= {"continue": f"{version}/{begin + limit}"}
        head = {"kind": f"{name}List", "apiVersion": "v1", "metadata": metadata}
        body = _json(head)[:-1] + b',"items":[' + b",".join(page) + b"]}"
        self._send(200, body, f"list {name}")

    def _send(self, code: int, body: bytes, what: str) -> None:
        api = self.server.api
        with api.changed:
            api.requests[what] += 1
            api.sent[what] += len(body)
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _watch(self, name: str, kind: Kind, query: Query) -> None:
        api = self.server.api
        with api.changed:
            api.requests[f"watch {name}"] += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in api.trouble(name, _events(api, name, kind, query)):
            if not line:  # the stream breaks here
                self.close_connection = True
                return
            with api.changed:
                api.sent[f"watch {name}"] += len(line)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")


def _events(api: SyntheticApi, name: str, kind: Kind, query: Query) -> Iterator[bytes]:
    """The lines of a watch. It ends by its timeout, with the server, or with 410."""
    left = float(query.get("timeoutSeconds", 1800))
    with api.changed:
        version = int(query.get("resourceVersion") or 0)
        initial = kind.at(api.version) if query.get("sendInitialEvents") == "true" else []
        version = version or api.version
    yield from (_line("ADDED", item) for item in initial if _matches(item, query, ""))
    if query.get("sendInitialEvents") == "true":
        yield _bookmark(name, version, b',"annotations":{%s}' % _END)
    silent = 0.0
    while left > 0:
        with api.changed:
            if api.stopping:
                return
            if version < kind.since:
                yield _line("ERROR", _expired())
                return
            events = kind.after(version)
            now = api.version
            if not events:
                began = time.monotonic()
                api.changed.wait(min(left, api.bookmark_seconds - silent))
                pause = time.monotonic() - began
                left, silent = left - pause, silent + pause
        for event in events:
            if seen := _seen(event, query):
                yield _line(seen, event.data)
        version = events[-1].version if events else version
        if not events and silent >= api.bookmark_seconds:
            silent = 0
            version = max(version, now)
            yield _bookmark(name, version)


def _seen(event: Event, query: Query) -> str:
    """The type by which a watch with these selectors shows an event; "" for none."""
    before = event.before is not None and _matches(event.before, query, "")
    after = event.type != "DELETED" and _matches(event.data, query, "")
    if after:
        return "MODIFIED" if before else "ADDED"
    return "DELETED" if before else ""


def _line(kind: str, data: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), data)


def _bookmark(name: str, version: int, more: bytes = b"") -> bytes:
    head = b'{"kind":"%s","metadata":{"resourceVersion":"%d"%s}}'
    return _line("BOOKMARK", head % (name.encode(), version, more))


def _is_exact(query: Query) -> bool:
    return query.get("resourceVersionMatch") == "Exact"


def _matches(data: bytes, query: Query, namespace: str) -> bool:
    """The namespace, and a fieldSelector of paths; what its bytes rule out is not decoded."""
    terms = [term for term in query.get("fieldSelector", "").split(",") if term]
    if namespace:
        terms.append(f"metadata.namespace={namespace}")
    for term in terms:
        path, _, value = term.partition("=")
        negated, path = path.endswith("!"), path.removesuffix("!")
        there = f'"{value}"'.encode() in data and _at(json.loads(data), path) == value
        if there == negated:
            return False
    return True


def _at(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj.get(step, {})
    return obj


def _key(obj: Mapping[str, Any]) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _not_found(name: str) -> bytes:
    return _status(404, "NotFound", f"{name} not found", {"name": name})


def _expired() -> bytes:
    return _status(410, "Expired", "The resourceVersion for the provided watch is too old.", {})


def _status(code: int, reason: str, message: str, details: Mapping[str, str]) -> bytes:
    return _json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            "details": details,
        }
    )
