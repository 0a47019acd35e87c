"""Fields in a JSON Schema: their types, and the one that a person probably meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gitbot.documents.positions import Path, key_path, shown
from gitbot.model.text.wording import nearest, one_of

Json = Mapping[str, Any]
_SHAPES = {
    "string": "text",
    "integer": "an integer",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_EXAMPLES = {"topologyKey": "topology.kubernetes.io/zone"}  # its type's would mislead
_SUGGESTIONS = 200  # most unknown fields of a document that are compared with the known ones


class FieldNames:
    """The fields of a document, from its JSON Schema."""

    def __init__(self, schema: Callable[[], Json]) -> None:
        self._made: Json | None = None
        self._make = schema
        self.budget = _SUGGESTIONS
        self._places: dict[str, Path] | None = None

    @property
    def schema(self) -> Json:
        if self._made is None:
            self._made = self._make()
        return self._made

    def wanted(self, path: Path) -> tuple[str, str]:
        """The type of a missing field, and the line to add."""
        schema = self.at(path)
        name = path[-1] if path else ""
        if "const" in schema or "enum" in schema:
            words = [str(word) for word in schema.get("enum", [schema.get("const")])]
            hint = f"add {name}: {words[0]}" if len(words) == 1 else f"add {name}"
            return one_of(words), hint
        wanted = _SHAPES.get(str(schema.get("type")), "a value")
        example = _EXAMPLES.get(str(name)) or next(iter(schema.get("examples", ())), None)
        return wanted, f"add {name}: {example}" if isinstance(example, str | int) else f"add {name}"

    def unknown(self, path: Path) -> tuple[str, str]:
        """The likely intended name of an unknown field."""
        name, parent = str(path[-1]), path[:-1]
        known = list(self.at(parent).get("properties", {}))
        message = f"found the unknown field {shown(name)}, expected {one_of(known or ['none'])}"
        if self.budget <= 0:
            return message, ""
        self.budget -= 1
        if near := nearest(name, known):
            return message, f"did you mean {near}?"
        elsewhere = self._everywhere().get(name)
        if elsewhere is not None:
            return message, f"{name} belongs to {key_path(elsewhere[:-1]) or 'the top level'}"
        if near := nearest(name, self._everywhere(), cutoff=0.8):
            place = key_path(self._everywhere()[near])
            return message, f"did you mean {place}?"
        return message, "remove it"

    def at(self, path: Path) -> Json:
        """The schema of a field, references resolved; empty if it is unknown."""
        schema = self._resolve(self.schema)
        for step in path:
            if isinstance(step, int):
                schema = self._resolve(schema.get("items", {}))
            else:
                inner = schema.get("properties", {}).get(step)
                other = schema.get("additionalProperties")
                if inner is None:
                    inner = other if isinstance(other, Mapping) else {}
                schema = self._resolve(inner)
        return schema

    def _resolve(self, schema: Json) -> Json:
        while "$ref" in schema:
            name = str(schema["$ref"]).rpartition("/")[2]
            schema = self.schema.get("$defs", {})[name]
        for option in () if "properties" in schema else schema.get("anyOf", ()):
            if option.get("type") != "null":
                return self._resolve(option)
        return schema

    def _everywhere(self) -> dict[str, Path]:
        """Every field's name and its place closest to the root."""
        if self._places is None:
            self._places = {}
            self._collect([((), self._resolve(self.schema))])
        return self._places

    def _collect(self, level: list[tuple[Path, Json]]) -> None:
        assert self._places is not None
        for _ in range(6):
            below: list[tuple[Path, Json]] = []
            for path, schema in level:
                for name, inner in schema.get("properties", {}).items():
                    self._places.setdefault(name, (*path, name))
                    below.append(((*path, name), self._resolve(inner)))
            level = below
