"""Laws of every intent kind, on its own examples: a new kind gets them with no more work."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.documents import Path as KeyPath
from gitbot.documents import read_documents, write_document
from gitbot.intents import IntentSet, read_intents
from gitbot.intents.registry import KINDS, json_schema
from gitbot.model.plan.findings import Finding, has_errors
from gitbot.settings import ClusterSettings, Settings

VALID = Path(__file__).parents[2] / "examples/valid"
SETTINGS = Settings(clusters=(ClusterSettings(name="prod", time_zone="UTC"),), allow_auto=True)
EXAMPLES: list[dict[str, Any]] = [
    document.value
    for path in sorted(VALID.rglob("*.yaml"))
    if path.parent.name not in ("cluster", "configuration")
    for document in read_documents(path.read_bytes(), str(path))[0]
]
CALENDARS = {f"intents/prod/{path.name}": path.read_bytes() for path in VALID.rglob("*.ics")}
# Kinds of mistakes that no JSON Schema can know: other documents, the calendar, the configuration.
ONLY_THE_READER = {
    "intents/calendar-file", "intents/unknown-window", "intents/time-zone", "intents/interval",
    "intents/never-open", "calendar/never-occurs", "calendar/overlap", "calendar/start-in-gap",
    "calendar/invalid-recurrence", "calendar/invalid-start",
}  # fmt: skip
JUNK: list[Any] = [
    "",
    "x",
    "X y",
    "a/b",
    "..",
    "PT1H",
    "In",
    "None",
    "2026-12-06T22:00",
    "2026-12-06T22:00Z",
    "a" * 300,
    0,
    1,
    -1,
    10**12,
    True,
    None,
    [],
    {},
    ["a"],
    ["a", "a"],
    [{}],
    {"a": "b"},
]


def paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, (*path, index))


def read(document: dict[str, Any]) -> tuple[IntentSet, tuple[Finding, ...]]:
    folder = "gitbot/" if document.get("kind") == "PlacementProposal" else ""
    data = write_document(document).encode()
    return read_intents({f"intents/prod/{folder}a.yaml": data, **CALENDARS}, SETTINGS, "prod")


@st.composite
def broken(draw: st.DrawFn) -> tuple[dict[str, Any], KeyPath]:
    """An example with one value replaced or removed, or one field added, and where."""
    document = copy.deepcopy(draw(st.sampled_from(EXAMPLES)))
    path = draw(st.sampled_from(list(paths(document))))
    parent: Any = document
    for step in path[:-1]:
        parent = parent[step]
    match draw(st.sampled_from(["replace", "remove", "add"])):
        case "remove":
            del parent[path[-1]]
        case "add" if isinstance(parent, dict):
            parent["another"] = draw(st.sampled_from(JUNK))
        case _:
            parent[path[-1]] = draw(st.sampled_from(JUNK))
    return document, path


def test_every_kind_has_an_example() -> None:
    assert {example["kind"] for example in EXAMPLES} == set(KINDS)


@given(st.sampled_from(EXAMPLES))
def test_what_a_spec_says_survives_being_written_anew(example: dict[str, Any]) -> None:
    first = read(example)
    assert first[1] == ()
    reordered = {key: example[key] for key in sorted(example, reverse=True)}
    assert read(reordered)[0].digests == first[0].digests


@settings(max_examples=300)
@given(broken())
def test_schema_and_reader_agree(case: tuple[dict[str, Any], KeyPath]) -> None:
    document, _ = case
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return
    refused = not jsonschema.Draft202012Validator(json_schema(kind)).is_valid(document)
    findings = [finding for finding in read(document)[1] if has_errors((finding,))]
    codes = {finding.code for finding in findings}
    if refused:
        assert findings
    else:
        duplicate = "topologySpread" in str(document) and codes == {"intents/duplicate"}
        assert codes <= ONLY_THE_READER or duplicate


@settings(max_examples=200)
@given(broken())
def test_every_error_stands_at_a_place_of_the_document(
    case: tuple[dict[str, Any], KeyPath],
) -> None:
    document, path = case
    text = write_document(document)
    ((made,), _) = read_documents(text.encode(), "a.yaml")
    positions = made.positions
    places = {*map(positions.value, positions.values), *map(positions.key, positions.keys)}
    intents, findings = read(document)
    assert intents.intents or has_errors(findings)
    for finding in findings:
        assert (finding.line, finding.column) in {(p.line, p.column) for p in places}, str(finding)
    # a mistake below metadata says nothing about spec, and the other way round
    if path[0] == "metadata" and "metadata" in document:
        assert all(not finding.key_path.startswith("spec.") for finding in findings)
