"""The table of fields of a kind, made from its JSON Schema, as the reference pages show it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]
HEAD = "| field | holds | default | meaning |\n|---|---|---|---|\n"
# What has a page, or a paragraph, of its own.
_ELSEWHERE = {"LabelSelector", "NodeAffinity", "PodAffinity", "TopologySpread", "ScheduleSpec"}


def field_table(schema: Json) -> str:
    """One line a field below `spec`: its path, what it holds, its default, what it means."""
    spec = _resolved(schema, schema["properties"]["spec"])[0]
    rows = [
        f"| `{path}`{' (required)' if required else ''} | {holds} | {default} | {meaning} |\n"
        for path, required, holds, default, meaning in _rows(schema, spec, "")
    ]
    return HEAD + "".join(rows)


def _rows(whole: Json, schema: Json, prefix: str) -> Iterator[tuple[str, bool, str, str, str]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        inner, definition = _resolved(whole, field)
        items, of_items = _resolved(whole, inner.get("items", {}))
        path = prefix + name + ("[]" if "properties" in items else "")
        default = f"`{_written(field['default'])}`" if "default" in field else ""
        meaning = field.get("description", inner.get("description", "")).replace("|", "\\|")
        yield path, name in required, _holds(inner, definition, items, of_items), default, meaning
        if "properties" in inner and definition not in _ELSEWHERE:
            yield from _rows(whole, inner, f"{path}.")
        if "properties" in items and of_items not in _ELSEWHERE:
            yield from _rows(whole, items, f"{path}.")


def _written(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def _resolved(whole: Json, schema: Json) -> tuple[Json, str]:
    if "$ref" not in schema:
        return schema, ""
    name = str(schema["$ref"]).rpartition("/")[2]
    return whole["$defs"][name], name


def _holds(schema: Json, definition: str, items: Json, of_items: str) -> str:
    if definition in _ELSEWHERE:
        return definition
    if "enum" in schema:
        return " \\| ".join(f"`{word}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {of_items or _noun(items)}" if of_items in _ELSEWHERE else "list"
    if schema.get("type") == "integer":
        return _range(schema)
    return _noun(schema)


def _range(schema: Json) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return "integer"
    return f"integer, {low} to {high}" if high is not None else f"integer, at least {low}"


def _noun(schema: Json) -> str:
    options = schema.get("anyOf", ())
    if any("const" in option for option in options):
        return " or ".join(
            f"`{each['const']}`" if "const" in each else _noun(each) for each in options
        )
    pattern = str(schema.get("pattern", ""))
    if pattern.startswith("^P(?:"):
        return "duration"
    if "T([01]" in pattern:
        return "time with offset" if "Z|" in pattern else "local time"
    if pattern.startswith("^[0-9]{4}"):
        return "date"
    nouns = {"string": "text", "object": "mapping", "boolean": "`true` or `false`"}
    return nouns.get(str(schema.get("type")), "quantity")
