"""JSON Schemas of the forms of text, and the frame of every published schema.

Patterns help editors and CI: they refuse what the reader refuses, as far as a pattern can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot import calendar
from gitbot.documents import formats
from gitbot.model.text.names import BAD_REF

Json = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BASE = "https://placement.gitbot.dev/schemas/v1alpha1"


def _text(pattern: str, *examples: str, longest: int | None = None) -> Json:
    schema: Json = {"type": "string", "pattern": f"^{pattern}$"}
    if longest is not None:
        schema["maxLength"] = longest
    if examples:
        schema["examples"] = list(examples)
    return schema


# What the reader refuses of a time or a duration beyond its shape: month 13, hour 25, PT.
_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?"
_OFFSET = r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"

LABEL_NAME: Json = _text(formats.DNS_LABEL, "customapp", longest=63)
OBJECT_NAME: Json = _text(formats.DNS_SUBDOMAIN, "db-1", longest=253)
INTENT_NAME: Json = {**_text(formats.DNS_SUBDOMAIN, longest=253), "not": {"pattern": "\\.lock$"}}
CONCERN: Json = {**_text(formats.CONCERN, longest=400), "not": {"pattern": "\\.lock$"}}
LABEL_KEY: Json = {
    **_text(formats.LABEL_KEY, "app.kubernetes.io/name", longest=317),
    "not": {"pattern": "[^/]{64}$"},
}
LABEL_VALUE: Json = _text(formats.LABEL_VALUE, longest=63)
DURATION: Json = _text(calendar.DURATION, "PT4H", "P3D") | {"not": {"pattern": "[PT]$"}}
DURATION_OR_AUTO: Json = {"anyOf": [DURATION, {"const": "Auto"}]}
POSITIVE_DURATION: Json = DURATION | {"not": {"pattern": "^[^1-9]*$|[PT]$"}}
INSTANT: Json = _text(f"{_DATE}T{_TIME}{_OFFSET}", "2026-12-06T22:00+01:00")
LOCAL_TIME: Json = _text(f"{_DATE}T{_TIME}", "2026-12-06T22:00")
LOCAL_DATE: Json = _text(_DATE, "2027-01-03")
ZONE: Json = _text(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*", "Europe/Madrid", "UTC")
AMOUNT: Json = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        _text(r"[0-9]+(\.[0-9]+)?([kMGTPE]|[KMGTPE]i|[eE][0-9]{1,2})?", "64Mi")
        | {"not": {"pattern": "^[0.]*[A-Za-z]*$"}},
    ]
}
_RULE_PART = r"[A-Z]+=[-+0-9A-Z,]+"
RECURRENCE: Json = {
    **_text(
        rf"(RRULE:)?{_RULE_PART}(;{_RULE_PART})*",
        "FREQ=MONTHLY;BYDAY=1SU",
        "FREQ=WEEKLY;BYDAY=SU",
        longest=1000,
    ),
    "allOf": [{"pattern": "(^|[:;])FREQ=(YEARLY|MONTHLY|WEEKLY|DAILY|HOURLY)(;|$)"}],
}
BRANCH: Json = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "not": {"pattern": BAD_REF},
    "examples": ["main"],
}
PATH: Json = {
    "type": "string",
    "minLength": 1,
    "not": {"pattern": formats.BAD_PATH},
    "examples": ["vms"],
}
DIGEST: Json = _text("sha256:[0-9a-f]{64}")


def with_schema_frame(schema: Mapping[str, Any], *, kind: str, description: str) -> Json:
    """A schema with dialect, id and title, without titles that repeat field names."""
    body = _as_written(_without_null(_without_titles(schema)))
    definitions = body.pop("$defs", None)
    dressed_schema: Json = {
        "$schema": DIALECT,
        "$id": f"{_BASE}/{kind}.json",
        "title": kind,
        "description": description,
        **{key: value for key, value in body.items() if key != "description"},
    }
    if definitions:
        dressed_schema["$defs"] = definitions
    return dressed_schema


def _without_titles(value: Any, *, names: bool = False) -> Any:
    """`names`: the mapping's keys are field names, and one may be `title`."""
    if isinstance(value, Mapping):
        return {
            key: _without_titles(item, names=key in {"properties", "$defs"} and not names)
            for key, item in value.items()
            if names or key != "title" or not isinstance(item, str)
        }
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    return value


def _without_null(value: Any) -> Any:
    """An optional field may be absent, but not null."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    options = [option for option in value.get("anyOf", ()) if option != {"type": "null"}]
    if "anyOf" not in value or len(options) == len(value["anyOf"]):
        return {key: _without_null(item) for key, item in value.items()}
    rest = {
        key: _without_null(item)
        for key, item in value.items()
        if key != "anyOf" and not (key == "default" and item is None)
    }
    if len(options) == 1:
        return {**_without_null(options[0]), **rest}
    return {"anyOf": _without_null(options), **rest}


def _patterns(schema: Json) -> set[Any]:
    options = (schema, *schema.get("anyOf", ()))
    return {option.get("pattern") for option in options}


def _as_written(value: Any) -> Any:
    """Defaults as a file would write them: durations as text, none for whole mappings and lists."""
    if isinstance(value, list):
        return [_as_written(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    made = {key: _as_written(item) for key, item in value.items()}
    default = made.get("default")
    if isinstance(default, Mapping | list) and ("$ref" in made or not default):
        del made["default"]
    elif isinstance(default, int) and DURATION["pattern"] in _patterns(made):
        made["default"] = calendar.duration_text(default)
    return made
