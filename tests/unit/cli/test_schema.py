"""`gitbot schema`: every registered schema is one, and editors find what they need in it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner, Result

from gitbot.cli.commands.schema import schema as schema_command
from gitbot.cli.shared.schema_table import schema_of, schemas
from gitbot.errors import UsageError
from gitbot.intents.registry import KINDS

WRITTEN = sorted([*KINDS, "Cluster", "Configuration"])


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(schema_command, list(arguments), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


@pytest.mark.parametrize("kind", sorted(schemas()))
def test_every_schema_is_valid_and_named(kind: str) -> None:
    schema = schema_of(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == kind
    assert run(kind).stdout == json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def test_kinds_are_listed_in_order() -> None:
    assert run().stdout.split() == sorted(schemas())
    assert set(WRITTEN) <= set(schemas())


def test_a_folder_without_a_kind_is_refused() -> None:
    with pytest.raises(click.UsageError, match="--folder writes a KIND, or --all"):
        run("--folder", "schemas")


def objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        if "properties" in schema and schema.get("type") == "object":
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_people_write_is_closed_and_described(kind: str) -> None:
    whole = schema_of(kind)
    assert whole["description"]
    for schema in objects(whole):
        assert schema["additionalProperties"] is False
        for name, field in schema["properties"].items():
            named = whole.get("$defs", {}).get(field.get("$ref", "").rpartition("/")[2], {})
            described = {**named, **field}
            assert described.get("description") or "const" in field, f"{kind}: {name}"
            assert "null" not in json.dumps(field), f"{kind}: {name} may be absent, not null"


DEFAULTS = [
    ("MaintenanceWindow", "DrainSpec", "lead", "PT0S"),
    ("MaintenanceWindow", "DrainSpec", "maxNodesAtOnce", 1),
    ("Configuration", "ProposalSettings", "announce", "P3D"),
    ("Configuration", "Settings", "snapshotMaxAge", "PT30M"),
    ("ZoneAntiAffinity", "ZoneAntiAffinitySpec", "topologyKey", "topology.kubernetes.io/zone"),
]


@pytest.mark.parametrize(("kind", "definition", "field", "default"), DEFAULTS)
def test_defaults_are_shown_as_a_file_writes_them(
    kind: str, definition: str, field: str, default: object
) -> None:
    assert schema_of(kind)["$defs"][definition]["properties"][field]["default"] == default


@pytest.mark.parametrize("kind", WRITTEN)
def test_defaults_and_examples_are_themselves_valid(kind: str) -> None:
    whole = schema_of(kind)
    for schema in objects(whole):
        for name, field in schema["properties"].items():
            validator = jsonschema.Draft202012Validator({**field, "$defs": whole.get("$defs", {})})
            values = [
                *field.get("examples", ()),
                *(field[key] for key in ("default",) if key in field),
            ]
            for value in values:
                assert validator.is_valid(value), f"{kind}: {name}: {value}"


def test_all_in_one_mapping_or_one_file_each(tmp_path: Path) -> None:
    assert json.loads(run("--all").stdout) == {kind: schema_of(kind) for kind in schemas()}
    run("--all", "--folder", str(tmp_path / "new/folder"))
    written = {path.stem: json.loads(path.read_text()) for path in tmp_path.rglob("*.json")}
    assert written == {kind: schema_of(kind) for kind in schemas()}


def test_an_unknown_kind_gets_the_nearest_one() -> None:
    with pytest.raises(UsageError, match="did you mean MigrationRequest"):
        run("migrationrequest")
