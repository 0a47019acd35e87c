"""`gitbot schema`: the JSON Schema of every kind that people write and every JSON output."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import click

from gitbot.errors import UsageError

_INTENTS = "gitbot.intents.schema:json_schema"

# kind -> module:function that gives its JSON Schema; an intents kind is the function's argument
SCHEMAS: dict[str, str] = {
    "ApplyResult": "gitbot.workflows.schemas:apply_schema",
    "ClusterSnapshot": "gitbot.snapshot.schema:snapshot_schema",
    "CommentResult": "gitbot.workflows.schemas:comment_schema",
    "Configuration": "gitbot.settings:json_schema",
    "Diagnosis": "gitbot.workflows.schemas:diagnosis_schema",
    "Explanation": "gitbot.constraints.explanation:schema",
    "FindingList": "gitbot.model.plan_schema:finding_list_schema",
    "FreezeWindow": _INTENTS,
    "LedgerEntryList": "gitbot.workflows.schemas:ledger_schema",
    "List": "gitbot.rendering.schema:list_schema",
    "MaintenanceWindow": _INTENTS,
    "MigrationRequest": _INTENTS,
    "PlacementPlan": "gitbot.model.plan_schema:plan_schema",
    "PlacementPolicy": "gitbot.policy.files:json_schema",
    "PlacementPolicyTest": "gitbot.policy.cases:json_schema",
    "PlacementProposal": _INTENTS,
    "PlacementRule": _INTENTS,
    "ProposeResult": "gitbot.workflows.schemas:propose_schema",
    "ReconcileResult": "gitbot.workflows.schemas:reconcile_schema",
    "Status": "gitbot.workflows.schemas:status_schema",
    "ZoneAntiAffinity": _INTENTS,
}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a kind. UsageError for an unknown one."""
    if kind not in SCHEMAS:
        from gitbot.documents.words import nearest  # noqa: PLC0415 - keeps --help quick

        near = nearest(kind, SCHEMAS)
        hint = f"did you mean {near}?" if near else f"expected {', '.join(SCHEMAS)}"
        raise UsageError(f"there is no kind {kind}", hint=hint)
    module, _, function = SCHEMAS[kind].partition(":")
    make = getattr(importlib.import_module(module), function)
    schema: dict[str, Any] = make(kind) if SCHEMAS[kind] == _INTENTS else make()
    return schema


@click.command("schema")
@click.argument("kind", required=False)
@click.option("--all", "every", is_flag=True, help="All kinds.")
@click.option(
    "-o", "--output", metavar="DIR", help="Write one file a kind, DIR/KIND.json, instead."
)
def command(kind: str | None, every: bool, output: str | None) -> None:
    """Print the JSON Schema of a KIND, for editors and CI; without KIND, the list of kinds.

    In an editor with yaml-language-server, begin a file with

    \b
        # yaml-language-server: $schema=DIR/MigrationRequest.json
    """  # noqa: D301 - click reads the escape as "keep these lines as they are"
    if kind is not None and every:
        raise click.UsageError("give a KIND or --all, not both")
    if kind is None and not every and output is not None:
        raise click.UsageError("-o writes a KIND, or --all: give one of them")
    if kind is None and not every:
        click.echo("\n".join(SCHEMAS))
        return
    kinds = [kind] if kind is not None else list(SCHEMAS)
    schemas = {name: schema_of(name) for name in kinds}
    if output is not None:
        _write(Path(output), schemas)
    else:
        click.echo(_text(schemas[kind] if kind is not None else schemas), nl=False)


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
