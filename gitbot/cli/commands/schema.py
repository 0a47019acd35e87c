"""`gitbot schema`: the JSON Schema of every kind that people write and every JSON output."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import click

from gitbot.errors import UsageError

_INTENTS = "gitbot.intents.registry:json_schema"
_PUBLISHED = "gitbot.published:schema_of"

# kind -> module:function that gives its JSON Schema; with several kinds it takes the kind
SCHEMAS: dict[str, str] = {
    "ApplyResult": _PUBLISHED,
    "Audit": _PUBLISHED,
    "Calendar": _PUBLISHED,
    "ClusterLoad": _PUBLISHED,
    "ClusterSnapshot": _PUBLISHED,
    "CommentResult": _PUBLISHED,
    "Configuration": "gitbot.settings:json_schema",
    "Diagnosis": _PUBLISHED,
    "Explanation": _PUBLISHED,
    "FindingList": _PUBLISHED,
    "Forecast": _PUBLISHED,
    "FreezeWindow": _INTENTS,
    "LedgerEntryList": "gitbot.published.ledger_lines:ledger_schema",
    "List": _PUBLISHED,
    "Listing": _PUBLISHED,
    "LoadRule": _INTENTS,
    "MaintenanceWindow": _INTENTS,
    "MigrationRequest": _INTENTS,
    "PlacementPlan": _PUBLISHED,
    "PlacementPolicy": "gitbot.policy.policy_files:json_schema",
    "PlacementPolicyExemption": "gitbot.policy.exemptions:json_schema",
    "PlacementPolicyTest": "gitbot.policy.cases:json_schema",
    "PlacementProposal": _INTENTS,
    "PlacementRule": _INTENTS,
    "PolicyEvaluation": _PUBLISHED,
    "PolicyList": _PUBLISHED,
    "ProposeResult": _PUBLISHED,
    "ReconcileResult": _PUBLISHED,
    "Status": _PUBLISHED,
    "ZoneAntiAffinity": _INTENTS,
}


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a kind. Raises UsageError for an unknown one."""
    if kind not in SCHEMAS:
        from gitbot.model.text.wording import nearest  # noqa: PLC0415 - keeps --help quick

        near = nearest(kind, SCHEMAS)
        hint = f"did you mean {near}?" if near else f"expected {', '.join(SCHEMAS)}"
        raise UsageError(f"there is no kind {kind}", hint=hint)
    module, _, function = SCHEMAS[kind].partition(":")
    make = getattr(importlib.import_module(module), function)
    schema: dict[str, Any] = make(kind) if SCHEMAS[kind] in (_INTENTS, _PUBLISHED) else make()
    return schema


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
        click.echo("\n".join(SCHEMAS))
        return
    kinds = [kind] if kind is not None else list(SCHEMAS)
    schemas = {name: schema_of(name) for name in kinds}
    if folder is not None:
        _write(Path(folder), schemas)
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
