"""Fields that several kinds share.

Durations are whole seconds, instants are seconds UTC. Values made in code may use snake_case names;
a file knows only the names of the reference.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from gitbot import calendar
from gitbot.documents import Path, Report, formats, schemas, value_at
from gitbot.documents.fields import DnsLabel
from gitbot.model.text.wording import one_of

ZONE_KEY = "topology.kubernetes.io/zone"

LocalTime = Annotated[str, AfterValidator(calendar.local_time), WithJsonSchema(schemas.LOCAL_TIME)]
LocalDate = Annotated[str, AfterValidator(calendar.local_date), WithJsonSchema(schemas.LOCAL_DATE)]
Name = Annotated[str, AfterValidator(formats.dns_subdomain), WithJsonSchema(schemas.OBJECT_NAME)]
IntentName = Annotated[str, AfterValidator(formats.ref_name), WithJsonSchema(schemas.INTENT_NAME)]
Namespace = DnsLabel
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
Enforcement = Literal["Required", "Preferred"]
Heal = Literal["Propose", "Auto", "Report"]

UNIQUE: dict[str, Any] = {"uniqueItems": True}


def names(description: str, **more: Any) -> Any:
    """A field with a list of at least one item and no repetitions."""
    return Field(
        strict=False, min_length=1, description=description, json_schema_extra=UNIQUE, **more
    )


def exactly_one(report: Report, path: Path, fields: Sequence[str]) -> None:
    """Report a mapping that does not have exactly one of the fields, at its key."""
    value = value_at(report.document.value, path)
    if not isinstance(value, dict) or report.silent(path):
        return
    present = [field for field in fields if field in value]
    if len(present) > 1:
        found = f"{', '.join(present[:-1])} and {present[-1]}"
        report.at_key(
            path,
            "exclusive",
            f"found {found}, expected exactly one of {one_of(fields)}",
            f"keep one and remove the other{'s' if len(present) > 2 else ''}",
        )
    elif not present and path not in report.document.holes:
        report.at_key(
            path,
            "exclusive",
            f"found none of {one_of(fields)}, expected exactly one",
            f"add {one_of(fields)}",
        )
