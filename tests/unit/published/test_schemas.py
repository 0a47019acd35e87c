"""Schemas of what gitbot prints: closed, described, and every kind of a document is registered."""

from typing import Any

import pytest

from gitbot.cli.shared.schema_table import schema_of, schemas
from gitbot.published import Document
from gitbot.published.document import kind_of

PRINTED = sorted(kind for kind, where in schemas().items() if where == "gitbot.published:schema_of")


def parts(kind: str) -> list[tuple[str, dict[str, Any]]]:
    schema = schema_of(kind)
    objects = [item for item in schema.get("$defs", {}).items() if "properties" in item[1]]
    return [(kind, schema), *objects]


@pytest.mark.parametrize("kind", PRINTED)
def test_every_part_is_closed_and_described(kind: str) -> None:
    for name, part in parts(kind):
        assert part["additionalProperties"] is False, name
        assert len(part["description"]) > 10, name
        assert set(part["required"]) <= set(part["properties"]), name


@pytest.mark.parametrize("kind", PRINTED)
def test_nothing_is_left_to_guess(kind: str) -> None:
    for name, part in parts(kind):
        for field, schema in part["properties"].items():
            assert set(schema) & {"$ref", "anyOf", "const", "enum", "type"}, f"{name}.{field}"
            assert "default" not in schema, f"{name}.{field}: what is printed has no default"


def test_every_document_is_registered() -> None:
    of_the_room = {
        kind_of(form)
        for form in Document.__subclasses__()
        if form.__module__.startswith("gitbot.published")
    }
    assert of_the_room <= set(schemas())
