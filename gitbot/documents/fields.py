"""Documents as typed values: the base of every value in a file, and fields of several rooms.

Only this module of the room imports pydantic.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticKnownError, core_schema

from gitbot import calendar
from gitbot.documents import formats, schemas
from gitbot.documents.decode_errors import report_errors
from gitbot.documents.field_names import Json
from gitbot.documents.finding_report import Report
from gitbot.model.plan.findings import Refusal

Model = TypeVar("Model", bound=BaseModel)


class Value(BaseModel):
    """The base of every value in a file: strict, frozen, no unknown field, camelCase in files.

    A default that is such a value is built by `model_construct`, so importing builds no validator.
    Annotations are not postponed: pydantic would compile them at each start.
    """

    model_config = ConfigDict(
        strict=True,
        defer_build=True,
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
    )

    def plain(self) -> dict[str, Any]:
        """The value as plain data with the names of a file, without fields at their default.

        Lists, mappings, text, integers and booleans, in Kubernetes' own shapes for selectors and
        affinity terms. Durations and instants are integers.
        """
        data = self.model_dump(by_alias=True, exclude_defaults=True)
        return {str(key): _listed(item) for key, item in data.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    return value


def decode(
    report: Report,
    model: type[Model],
    schema: Callable[[], Json],
    *,
    skip: Callable[[Mapping[str, Any]], bool] = lambda _: False,
) -> Model | None:
    """The document as a value; None if a field is wrong. Every error is reported at its place.

    `schema` creates the JSON Schema of the document; `skip` selects pydantic's error records to
    ignore.
    """
    try:
        return model.model_validate(
            report.document.value, by_alias=True, by_name=False, context={"file": report.file}
        )
    except ValidationError as error:
        records = error.errors(include_url=False, include_input=False)
        report_errors(report, [record for record in records if not skip(record)], schema)
        return None


def from_text(read: Callable[[str], Any], expected: str, hint: str) -> Callable[[Any, Any], Any]:
    """A before-validator for a field that is text in files and another type as a value.

    Values made in code (no validation context) pass unchanged. In a file, anything but text is
    refused.
    """

    def convert(value: Any, info: Any) -> Any:
        if isinstance(value, str):
            return read(value)
        if info.context is None:
            return value
        raise Refusal("type", expected, hint if value is not None else "write a value")

    return convert


_SECONDS = ("a duration as text", "write PT4H for four hours, P3D for three days")
Duration = Annotated[
    int,
    BeforeValidator(from_text(calendar.duration, *_SECONDS)),
    WithJsonSchema(schemas.POSITIVE_DURATION),
]
DurationOrZero = Annotated[
    int,
    BeforeValidator(from_text(calendar.duration_or_zero, *_SECONDS)),
    WithJsonSchema(schemas.DURATION),
]
Instant = Annotated[
    int,
    BeforeValidator(
        from_text(calendar.instant, "a time in quotes", 'write it as "2026-12-06T22:00+01:00"')
    ),
    WithJsonSchema(schemas.INSTANT),
]
TimeZone = Annotated[str, AfterValidator(calendar.zone), WithJsonSchema(schemas.ZONE)]
DnsLabel = Annotated[str, AfterValidator(formats.dns_label), WithJsonSchema(schemas.LABEL_NAME)]
Text = Annotated[str, Field(min_length=1, max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """Annotates a text that is one word of a table. Like `Literal`, but the table may grow."""

    words: Callable[[], Collection[str]]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._checked)

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        return {"enum": [*self.words()], "type": "string"}

    def _checked(self, value: Any) -> Any:
        words = self.words()
        if not isinstance(value, str) or value not in words:
            expected = ", ".join(f"'{word}'" for word in words)
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value


class Metadata(Value):
    """What a document says of itself."""

    name: DnsLabel = Field(description="Name.")
    labels: dict[str, str] = Field(default={}, description="Free for your own use.")
    annotations: dict[str, str] = Field(default={}, description="Free for your own use.")
