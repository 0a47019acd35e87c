"""One struct: what it writes is valid by its schema, and what does not fit is put in words."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest

from gitbot.published import Document, Part, decoded, encoded, json_schema, json_text, published
from gitbot.published.document import Count, Instant, KnownInstant, indented, misfit

OPENS = 1_796_590_800


class Visitor(Part, frozen=True):
    """Who came."""

    name: str
    came_from: str = msgspec.field(name="from")


class Notice(Part, frozen=True, omit_defaults=True):
    text: str
    line: Count = 0


class Gate(Document, frozen=True, kw_only=True):
    """A gate."""

    kind: Literal["Gate"] = "Gate"
    opens_at: Instant
    closes_at: KnownInstant
    visitors: list[Visitor]
    labels: dict[str, str]
    side: Annotated[Literal["east", "west"], msgspec.Meta(description="Where it is.")]
    notices: list[Notice]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    came_from: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    text: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    opens_at: int
    closes_at: int
    visitors: tuple[Person, ...]
    labels: dict[str, str]
    side: str
    notices: tuple[Sign, ...]


DOOR = Door(
    opens_at=OPENS,
    closes_at=0,
    visitors=(Person(name="a", came_from="b"),),
    labels={"k": "v"},
    side="east",
    notices=(Sign(text="x", line=0), Sign(text="y", line=2)),
)
WRITTEN: dict[str, Any] = {
    "apiVersion": "placement.gitbot.dev/v1alpha1",
    "kind": "Gate",
    "opensAt": "2026-12-06T21:00:00Z",
    "closesAt": "",
    "visitors": [{"name": "a", "from": "b"}],
    "labels": {"k": "v"},
    "side": "east",
    "notices": [{"text": "x"}, {"text": "y", "line": 2}],
}


def test_a_value_is_written_by_its_attributes_in_the_order_of_the_struct() -> None:
    document = published(DOOR, Gate)
    assert list(encoded(document).items()) == list(WRITTEN.items())
    assert json.loads(json_text(document)) == WRITTEN
    jsonschema.validate(WRITTEN, json_schema(Gate))


def test_what_was_written_is_read_back_to_the_value() -> None:
    assert published(decoded(WRITTEN, Gate), Door) == DOOR


def test_a_field_of_a_newer_gitbot_is_passed_over() -> None:
    assert decoded(WRITTEN | {"paint": "red"}, Gate) == decoded(WRITTEN, Gate)


@pytest.mark.parametrize(
    "changed",
    [
        {"paint": "red"},
        {"kind": "Fence"},
        {"opensAt": "2026-12-06 21:00"},
        {"closesAt": "later"},
        {"side": "north"},
        {"visitors": [{"name": "a"}]},
        {"visitors": [{"name": "a", "from": "b", "age": 3}]},
        {"notices": [{"line": 2}]},
        {"notices": [{"text": "x", "line": -1}]},
    ],
)
def test_the_schema_is_closed_and_strict(changed: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(WRITTEN | changed, json_schema(Gate))


def test_the_schema_asks_for_everything_that_is_always_written() -> None:
    schema = json_schema(Gate)
    assert schema["title"] == "Gate"
    assert schema["description"] == "A gate."
    assert schema["required"] == list(WRITTEN)
    assert schema["properties"]["kind"] == {"const": "Gate"}
    assert schema["properties"]["side"]["description"] == "Where it is."
    assert schema["$defs"]["Visitor"]["required"] == ["name", "from"]
    assert schema["$defs"]["Notice"]["required"] == ["text"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"visitors": None}, "visitors: found null, expected a list"),
        ({"visitors": [3]}, "visitors[0]: found 3, expected an object"),
        ({"visitors": [{"name": "a"}]}, "visitors[0]: from is missing"),
        ({"visitors": [{"name": 3, "from": ""}]}, "visitors[0].name: found 3, expected text"),
        ({"notices": {}}, "notices: found an object, expected a list"),
        (
            {"notices": [{"text": "", "line": True}]},
            "notices[0].line: found True, expected an integer",
        ),
        (
            {"notices": [{"text": "", "line": -1}]},
            "notices[0].line: found -1, expected an integer >= 0",
        ),
        ({"labels": {"k": 3}}, "labels[...]: found int, expected text"),
        ({"side": "north"}, "side: found 'north', expected a word of its schema"),
        (
            {"opensAt": "soon"},
            "opensAt: found 'soon', expected a time such as 2026-12-06T21:00:00Z",
        ),
        ({"opensAt": None}, "opensAt: found None, expected a time such as 2026-12-06T21:00:00Z"),
    ],
)
def test_what_does_not_fit_is_put_in_words(changed: dict[str, Any], words: str) -> None:
    data = WRITTEN | changed
    with pytest.raises(msgspec.ValidationError) as caught:
        decoded(data, Gate)
    assert misfit(caught.value, data) == words


@pytest.mark.parametrize(
    ("data", "words"), [([], "found a list, expected an object"), ({}, "opensAt is missing")]
)
def test_the_whole_may_not_fit(data: object, words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        decoded(data, Gate)
    assert misfit(caught.value, data) == words


@pytest.mark.parametrize(
    "data",
    [
        {"a": [], "b": {}, "c": [{}, [[]]], "d": None, "e": [True, -1, 10**20, 0.1, 1e22]},
        {"text": 'a "b"\\\n\u2028 \u00e9 \U0001f600 \x00 </x>', "\u00e9": {"": ""}},
        ["half a sign: \ud800"],
        [float("inf")],
        "alone",
    ],
)
def test_indents_as_the_standard_library_does(data: object) -> None:
    assert indented(data) == json.dumps(data, indent=2)
