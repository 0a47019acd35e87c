"""GitHub's own OpenAPI description, and a watcher that holds every exchange of the double to it.

The description is OpenAPI 3.0 and is validated as JSON Schema after one change: `nullable` becomes
a type (jsonschema-rs knows only JSON Schema). Requests that GitHub itself would refuse are held to
it only if the double accepts them. An answer of the double is a part of GitHub's: it may lack what
GitHub always sends, so that nothing is kept that nobody reads, but it holds no field that GitHub
does not know, and each has GitHub's type. What gitbot needs and an answer lacks, gitbot's own tests
miss.
"""

import functools
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from tests.doubles.github.calls import Answer
from tests.doubles.github.service import WATCHERS, Exchange
from tests.forge import npm

NAME = "@octokit/openapi"
FILE = "generated/api.github.com.json"
# Refusals that GitHub gives everywhere, documented for an operation or not.
REFUSALS = {"400", "401", "403", "404", "405", "409", "422", "429", "500", "501", "502", "503"}
# Schemas that cannot judge: what the description says there is broken, and why we know.
WAIVERS = {
    "request PUT /repos/{owner}/{repo}/issues/{issue_number}/labels": (
        "its oneOf is ambiguous: {labels: [text]} fits two of the alternatives"
    ),
}


def present() -> bool:
    """Whether the description was fetched."""
    return npm.folder_of(NAME) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation: validators by status code, that of the request, and what a query may hold."""

    name: str
    request: Any
    answers: dict[str, Any]
    schemas: dict[str, Any]
    query: frozenset[str]


@functools.cache
def document() -> dict[str, Any]:
    """The whole description, its schemas made JSON Schema."""
    folder = npm.folder_of(NAME)
    assert folder is not None, "python -m tests.forge.npm fetches it"
    read: dict[str, Any] = json.loads((folder / FILE).read_bytes())
    _plain(read["components"]["schemas"])
    return read


def _plain(node: Any) -> None:
    """OpenAPI's `nullable` as JSON Schema, examples taken out, in place."""
    if isinstance(node, list):
        for item in node:
            _plain(item)
        return
    if not isinstance(node, dict):
        return
    for item in node.values():
        _plain(item)
    if node.pop("nullable", False) is not True:
        return
    if isinstance(node.get("type"), str):
        node["type"] = [node["type"], "null"]
        if "enum" in node and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
    elif any(key in node for key in ("allOf", "anyOf", "oneOf", "$ref")):
        inner = dict(node)
        node.clear()
        node["anyOf"] = [inner, {"type": "null"}]


@functools.cache
def operation(method: str, path: str) -> Operation | None:
    """One operation of the description; None where it has no such path or method."""
    found = document()["paths"].get(path, {}).get(method.lower())
    if found is None:
        return None
    answers = {code: _content(_resolved(row)) for code, row in found["responses"].items()}
    parameters = [_resolved(row) for row in found.get("parameters", ())]
    body = _content(_resolved(found["requestBody"])) if "requestBody" in found else None
    return Operation(
        name=f"{method} {path}",
        request=_validator(body),
        answers={code: _validator(schema, partly=True) for code, schema in answers.items()},
        schemas=answers,
        query=frozenset(row["name"] for row in parameters if row["in"] == "query"),
    )


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if reference is None:
        return node
    found: Any = document()
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return dict(found)


def _content(row: dict[str, Any]) -> dict[str, Any] | None:
    for kind, content in row.get("content", {}).items():
        if "json" in kind:
            schema: dict[str, Any] = json.loads(json.dumps(content["schema"]))
            _plain(schema)
            return schema
    return None


def _validator(schema: dict[str, Any] | None, *, partly: bool = False) -> Any:
    if schema is None:
        return None
    whole = {**schema, "components": {"schemas": _needed(schema)}}
    return jsonschema_rs.validator_for(_part(whole) if partly else whole, validate_formats=True)


def _part(node: Any) -> Any:
    """The schema of an answer that lacks some of its fields; alternatives may then fit at once."""
    if isinstance(node, list):
        return [_part(item) for item in node]
    if not isinstance(node, dict):
        return node
    names = {"oneOf": "anyOf"}
    return {
        names.get(name, name): _part(item)
        for name, item in node.items()
        if name != "required" or isinstance(item, dict)  # a field may be called so
    }


def strangers(value: Any, schemas: Sequence[Any], place: str = "") -> Iterator[str]:
    """Where an answer has a field that GitHub's description does not know."""
    parts = [part for schema in schemas for part in _parts(schema)]
    if isinstance(value, list):
        items = [part["items"] for part in parts if "items" in part]
        for number, item in enumerate(value):
            yield from strangers(item, items, f"{place}/{number}")
    if not isinstance(value, dict) or any(map(_is_open, parts)):
        return
    for name, item in value.items():
        known = [p["properties"][name] for p in parts if name in p.get("properties", {})]
        if known:
            yield from strangers(item, known, f"{place}/{name}")
        else:
            yield f"{place}/{name}"


def _is_open(part: dict[str, Any]) -> bool:
    """Whether an object may have fields of any name."""
    is_object = "object" in part.get("type", ())
    return bool(part.get("additionalProperties", is_object and "properties" not in part))


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema and all that it refers to or is made of."""
    yield _resolved(schema)
    for name in ("allOf", "anyOf", "oneOf"):
        for part in _resolved(schema).get(name, ()):
            yield from _parts(part)


def _needed(schema: dict[str, Any]) -> dict[str, Any]:
    """The shared schemas that one refers to, directly or not."""
    known = document()["components"]["schemas"]
    needed: dict[str, Any] = {}
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed[name] = known[name]
            waiting += _references(known[name])
    return needed


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference.rsplit("/", 1)[-1]
        for item in node.values():
            yield from _references(item)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)


@dataclass(slots=True)
class Watcher:
    """Sees every exchange inside `watching`. `wrong` has every departure from the description."""

    wrong: list[str] = field(default_factory=list)

    def __call__(self, exchange: Exchange) -> None:
        route, answer, request = exchange.route, exchange.answer, exchange.request
        if route is None:
            return
        found = operation(route.method, route.path)
        if found is None:
            self.wrong.append(f"{route.method} {route.path} is not in the description")
            return
        unknown = sorted(set(request.query) - found.query)
        if unknown and answer.code < 300:
            self.wrong.append(f"{found.name}: unknown in its query: {', '.join(unknown)}")
        asked = f"request {found.name}"
        if answer.code < 300 and found.request is not None and asked not in WAIVERS:
            self._check(asked, found.request, request.body if request.body is not None else {})
        self._check_answer(found, answer)

    def _check_answer(self, found: Operation, answer: Answer) -> None:
        code = str(answer.code)
        where = f"answer {code} of {found.name}"
        if code not in found.answers:
            if code not in REFUSALS:
                self.wrong.append(f"{where} is not in the description")
            return
        validator = found.answers[code]
        if validator is None:
            if answer.body is not None and answer.code < 300:
                self.wrong.append(f"{where} has a body, the description has none")
        elif not isinstance(answer.body, (bytes, str)):
            self._check(where, validator, answer.body)
            for name in strangers(answer.body, [found.schemas[code]]):
                self.wrong.append(f"{where}: GitHub knows no {name}")

    def _check(self, where: str, validator: Any, value: Any) -> None:
        for error in list(validator.iter_errors(value))[:3]:
            place = "/".join(str(part) for part in error.instance_path)
            self.wrong.append(f"{where}: at {place or 'the root'}: {error.message[:300]}")


@contextmanager
def watching() -> Iterator[Watcher]:
    """Hold what every double answers meanwhile to GitHub's description."""
    watcher = Watcher()
    WATCHERS.append(watcher)
    try:
        yield watcher
    finally:
        WATCHERS.remove(watcher)
    assert watcher.wrong == [], watcher.wrong
