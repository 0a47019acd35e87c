"""The base of every spec, and the fields that several kinds share.

Durations are whole seconds, instants are seconds UTC. Values made in code may use snake_case
names; a file knows only the names of the reference.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from gitbot.documents import formats, schemas
from gitbot.documents.decoding import from_text

API_VERSION = "placement.gitbot.dev/v1alpha1"
ZONE_KEY = "topology.kubernetes.io/zone"


class Value(BaseModel):
    """The base of every value in an intent: strict, frozen, no unknown field.

    A default that is such a value is made by `model_construct`: importing builds no validator.
    Their annotations are not postponed: pydantic would compile them at each start.
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
        """The value as plain data with the names of a file, without what is at its default.

        Lists, mappings, text, integers and booleans: Kubernetes' own shapes where the value holds
        such (selectors, affinity terms). Durations and instants are integers.
        """
        data = self.model_dump(by_alias=True, exclude_defaults=True)
        return {str(key): _listed(item) for key, item in data.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_listed(item) for item in value]
    return value


_SECONDS = ("a duration as text", "write PT4H for four hours, P3D for three days")
_MOMENT = ("a time in quotes", 'write it as "2026-12-06T22:00+01:00"')

Duration = Annotated[
    int,
    BeforeValidator(from_text(formats.duration, *_SECONDS)),
    WithJsonSchema(schemas.POSITIVE_DURATION),
]
DurationOrZero = Annotated[
    int,
    BeforeValidator(from_text(formats.duration_or_zero, *_SECONDS)),
    WithJsonSchema(schemas.DURATION),
]
Instant = Annotated[
    int,
    BeforeValidator(from_text(formats.instant, *_MOMENT)),
    WithJsonSchema(schemas.INSTANT),
]
LocalTime = Annotated[str, AfterValidator(formats.local_time), WithJsonSchema(schemas.LOCAL_TIME)]
LocalDate = Annotated[str, AfterValidator(formats.local_date), WithJsonSchema(schemas.LOCAL_DATE)]
TimeZone = Annotated[str, AfterValidator(formats.zone), WithJsonSchema(schemas.ZONE)]
Name = Annotated[str, AfterValidator(formats.dns_subdomain), WithJsonSchema(schemas.OBJECT_NAME)]
IntentName = Annotated[str, AfterValidator(formats.ref_name), WithJsonSchema(schemas.INTENT_NAME)]
Namespace = Annotated[str, AfterValidator(formats.dns_label), WithJsonSchema(schemas.LABEL_NAME)]
LabelKey = Annotated[str, AfterValidator(formats.label_key), WithJsonSchema(schemas.LABEL_KEY)]
LabelValue = Annotated[
    str, AfterValidator(formats.label_value), WithJsonSchema(schemas.LABEL_VALUE)
]
Digest = Annotated[str, AfterValidator(formats.digest_text), WithJsonSchema(schemas.DIGEST)]
Labels = Annotated[
    dict[LabelKey, LabelValue],
    WithJsonSchema(
        {
            "type": "object",
            "propertyNames": schemas.LABEL_KEY,
            "additionalProperties": schemas.LABEL_VALUE,
        }
    ),
]
ZoneName = Annotated[
    str,
    AfterValidator(formats.filled_label_value),
    WithJsonSchema({**schemas.LABEL_VALUE, "minLength": 1}),
]
Text = Annotated[str, Field(min_length=1, max_length=1000)]

Enforcement = Literal["Required", "Preferred"]
Heal = Literal["Propose", "Auto", "Report"]

UNIQUE: dict[str, Any] = {"uniqueItems": True}


def names(description: str, **more: Any) -> Any:
    """A field that holds a list without repetitions and with at least one item."""
    return Field(
        strict=False, min_length=1, description=description, json_schema_extra=UNIQUE, **more
    )
