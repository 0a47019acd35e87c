"""The base of published documents: one struct writes, reads and gives the JSON Schema.

Names are camelCase, instants RFC 3339 with Z, numbers integers. A field is always written, unless
its part has `omit_defaults`, or it is UNSET. Writers use no other fields (additionalProperties is
false); readers ignore unknown fields of a newer gitbot.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.model.text.names import API_VERSION, ApiVersion

Count = Annotated[int, msgspec.Meta(ge=0)]
Digest = Annotated[str, msgspec.Meta(pattern="^sha256:[0-9a-f]{64}$")]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_INSTANT = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"}


class Instant(int):
    """Seconds UTC, written `2026-12-06T21:00:00Z`."""

    json_schema: ClassVar[dict[str, Any]] = _INSTANT

    def __str__(self) -> str:
        return format_instant(self)

    @classmethod
    def read(cls, value: object) -> Instant:
        """From seconds, or from RFC 3339 text. Raises ValueError for anything else."""
        if isinstance(value, int) and not isinstance(value, bool):
            return cls(value)
        try:
            return cls(parse_instant(value if isinstance(value, str) else ""))
        except ValueError as error:
            expected = "a time such as 2026-12-06T21:00:00Z"
            raise ValueError(f"found {value!r}, expected {expected}") from error


class KnownInstant(Instant):
    """An instant, or "" (0) if unknown."""

    json_schema: ClassVar[dict[str, Any]] = {"anyOf": [_INSTANT, {"const": ""}]}

    def __str__(self) -> str:
        return format_instant(self) if self else ""

    @classmethod
    def read(cls, value: object) -> KnownInstant:
        return cls(0 if value == "" else Instant.read(value))


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """An object inside a document."""


class Document(Part, frozen=True, kw_only=True):
    """A whole document; a subclass adds the literal `kind`, which `gitbot schema` knows."""

    api_version: ApiVersion = API_VERSION


T = TypeVar("T")


def published(value: object, form: type[T]) -> T:
    """Convert a value, or a mapping of camelCase names to values, into its written form."""
    return msgspec.convert(value, form, from_attributes=True, dec_hook=_decoded)


def encoded(form: object) -> Any:
    """A form as plain JSON data, in the order of its fields."""
    return msgspec.to_builtins(form, enc_hook=_encoded)


def json_text(document: Part) -> str:
    """A document as printed and stored: indented JSON in ASCII with a final line feed."""
    return indented(encoded(document)) + "\n"


def indented(data: object) -> str:
    """The text of json.dumps(indent=2), which does without its C code then and takes twice as long.

    `data` is plain JSON data.
    """
    text = json.dumps(data)
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:  # half a sign, NaN
        return json.dumps(data, indent=2)


def sorted_bytes(form: object) -> bytes:
    """A form as JSON with sorted keys and no spaces."""
    return _SORTED.encode(form)


def decoded(data: object, form: type[T]) -> T:
    """Plain JSON data as a form. Raises msgspec.ValidationError; `misfit` puts it into words."""
    return msgspec.convert(data, form, dec_hook=_decoded)


def json_decoder(form: type[T]) -> msgspec.json.Decoder[T]:
    """Reads bytes of JSON as a form. Its `decode` raises ValueError, also for what does not fit."""
    return msgspec.json.Decoder(form, dec_hook=_decoded)


@cache
def fields_of(form: type[Part]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a form. msgspec evaluates all annotations for this: three milliseconds."""
    return msgspec.structs.fields(form)


def kind_of(document: type[Part]) -> str:
    fields = {field.name: field.default for field in fields_of(document)}
    return str(fields["kind"])


def json_schema(document: type[Part]) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a kind of document."""
    _, parts = msgspec.json.schema_components([document], schema_hook=text_schema)
    forms = {form.__name__: form for form in _subclasses(Part)}
    for name, part in parts.items():
        if "description" in part:
            part["description"] = " ".join(part["description"].split())
        if name in forms and "properties" in part:
            form = forms[name]
            unset = {f.encode_name for f in fields_of(form) if f.default is msgspec.UNSET}
            _close(part, unset, optional=bool(form.__struct_config__.omit_defaults))
    whole = {**parts.pop(document.__name__), "title": kind_of(document)}
    return {"$schema": _DIALECT, **whole} | ({"$defs": parts} if parts else {})


def _close(part: dict[str, Any], unset: Collection[str], *, optional: bool) -> None:
    """Allow no other fields in a part, and require each field that is always written."""
    for field in part["properties"].values():
        default = field.pop("default", None)
        if len(field.get("enum", ())) == 1 and default is not None:
            (field["const"],) = field.pop("enum")
    if not optional:
        part["required"] = [name for name in part["properties"] if name not in unset]
    part["additionalProperties"] = False


def _subclasses(base: type[Part]) -> Iterator[type[Part]]:
    for form in base.__subclasses__():
        yield form
        yield from _subclasses(form)


_TEXTS = (str, Instant)  # `str | Instant` would be a new union for each line


def _encoded(value: object) -> object:
    if isinstance(value, _TEXTS):  # msgspec knows no subclass of str
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError


_SORTED = msgspec.json.Encoder(order="sorted", enc_hook=_encoded)


def _decoded(form: type, value: Any) -> Any:
    if issubclass(form, RequestId):
        return RequestId.read(str(value))
    if issubclass(form, Instant):
        return form.read(value)
    raise NotImplementedError


def text_schema(form: type) -> dict[str, Any]:
    """The schema of a value that is written as text."""
    if issubclass(form, Instant):
        return form.json_schema
    if issubclass(form, RequestId):
        return {"type": "string"}
    raise NotImplementedError


_EXPECTED = {
    "int": "an integer",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_MISMATCH = re.compile(r"Expected `([^`]*)`(?:, got `([^`]*)`)?(.*)", re.DOTALL)
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def misfit(error: msgspec.ValidationError, data: object) -> str:
    """The error as words: `moves[0].id: found '1', expected an integer`."""
    said, inside, place = str(error).rpartition(" - at `$")
    if not inside:
        return _words(str(error), "", data)
    path = place.removesuffix("`").removeprefix(".")
    return f"{path}: {_words(said, path, data)}"


def _words(said: str, path: str, data: object) -> str:
    if mismatch := _MISMATCH.fullmatch(said):
        wanted, got, rest = mismatch.groups()
        found = got if "[...]" in path else _shown(_at(data, path))
        return f"found {found}, expected {_EXPECTED.get(wanted, wanted)}{rest}"
    if said.startswith("Invalid enum value "):
        return f"found {said.removeprefix('Invalid enum value ')}, expected a word of its schema"
    if said.startswith("Object missing required field "):
        return f"{said.removeprefix('Object missing required field ').strip('`')} is missing"
    return said


def _at(data: Any, path: str) -> Any:
    for name, index in _STEP.findall(path):
        data = data[name] if name else data[int(index)]
    return data


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
    return repr(value)
