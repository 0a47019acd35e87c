"""`gitbot schema`: the JSON Schema of every kind that people write and every JSON output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from gitbot.cli.shared.schema_table import schema_of, schemas
from gitbot.errors import UsageError


@click.command("schema")
@click.argument("kind", required=False)
@click.option("--all", "every", is_flag=True, help="All kinds.")
@click.option("--folder", metavar="DIR", help="Write one file a kind, DIR/KIND.json, instead.")
def schema(kind: str | None, every: bool, folder: str | None) -> None:
    """Print the JSON Schema of a KIND, for editors and CI; without KIND, the list of kinds.

    In an editor with yaml-language-server, begin a file with

    \b
        # yaml-language-server: $schema=DIR/MigrationRequest.json
    """  # noqa: D301 - click reads the escape as "keep these lines as they are"
    if kind is not None and every:
        raise click.UsageError("give a KIND or --all, not both")
    if kind is None and not every and folder is not None:
        raise click.UsageError("--folder writes a KIND, or --all: give one of them")
    if kind is None and not every:
        click.echo("\n".join(schemas()))
        return
    kinds = [kind] if kind is not None else list(schemas())
    texts = {name: schema_of(name) for name in kinds}
    if folder is not None:
        _write(Path(folder), texts)
    else:
        click.echo(_text(texts[kind] if kind is not None else texts), nl=False)


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _write(folder: Path, schemas: dict[str, dict[str, Any]]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in schemas.items():
            (folder / f"{name}.json").write_text(_text(schema), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
    click.echo(f"{len(schemas)} schemas written to {folder}", err=True)
