"""The examples of the documentation, and that schema and reader agree on every one of them."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from check_jsonschema.cli import main as check_jsonschema  # type: ignore[import-untyped]
from click.testing import CliRunner

from gitbot.documents import read_documents
from gitbot.intents import read_intents
from gitbot.intents.registry import KINDS, json_schema
from gitbot.model.plan.findings import Finding
from gitbot.settings import ClusterSettings, Settings, cluster_schema, not_at_hand, read_settings
from gitbot.settings import json_schema as settings_schema

ROOT = Path(__file__).parents[3] / "examples"
HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
SCHEMAS = {"Cluster": cluster_schema, "Configuration": settings_schema}
SETTINGS = Settings(clusters=(ClusterSettings(name="prod", time_zone="UTC"),))


def examples(folder: str) -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.yaml"))


def found_by_the_reader(path: str) -> tuple[Finding, ...]:
    data = (ROOT / path).read_bytes()
    if "/configuration/" in path:
        return read_settings(data, ".gitbot.yaml", not_at_hand)[1]
    if "/cluster/" in path:
        whole = f"{HEAD}spec: {{clustersFrom: clusters}}\n".encode()
        return read_settings(whole, ".gitbot.yaml", lambda _: {"clusters/x.yaml": data})[1]
    folder = "gitbot/" if "/placement-proposal/" in path else ""
    beside = (ROOT / path).parent.glob("*.ics")
    files = {f"intents/prod/{file.name}": file.read_bytes() for file in beside}
    return read_intents({f"intents/prod/{folder}example.yaml": data, **files}, SETTINGS, "prod")[1]


def found_by_the_schema(path: str) -> list[str]:
    documents, findings = read_documents((ROOT / path).read_bytes(), path)
    assert not findings, "an example is always YAML that every reader reads alike"
    found: list[str] = []
    for document in documents:
        kind = kind_of(path, document.value)
        schema = SCHEMAS[kind]() if kind in SCHEMAS else json_schema(kind)
        validator = jsonschema.Draft202012Validator(schema)
        found += [error.message for error in validator.iter_errors(document.value)]
    return found


def kind_of(path: str, value: dict[str, Any]) -> str:
    if path.startswith("lint-only/"):
        return str(value["kind"])
    return "".join(word.title() for word in path.split("/")[1].split("-"))


def test_every_kind_has_valid_and_invalid_examples() -> None:
    for folder in ("valid", "invalid"):
        kinds = {kind_of(path, {}) for path in examples(folder)}
        assert kinds == {*KINDS, *SCHEMAS}


@pytest.mark.parametrize("path", examples("valid"))
def test_schema_and_reader_accept(path: str) -> None:
    assert found_by_the_reader(path) == ()
    assert found_by_the_schema(path) == []


@pytest.mark.parametrize("path", examples("invalid"))
def test_schema_and_reader_refuse(path: str) -> None:
    findings = found_by_the_reader(path)
    assert len(findings) == 1, [str(finding) for finding in findings]
    assert found_by_the_schema(path)


@pytest.mark.parametrize("path", examples("lint-only"))
def test_only_the_reader_can_know(path: str) -> None:
    findings = found_by_the_reader(path)
    assert len(findings) == 1, [str(finding) for finding in findings]
    assert found_by_the_schema(path) == []


def test_check_jsonschema_agrees(tmp_path: Path) -> None:
    """The tool that people run in CI, on the files as they are."""
    for folder in sorted((ROOT / "valid").iterdir()):
        kind = kind_of(f"valid/{folder.name}/x", {})
        schema = tmp_path / f"{kind}.json"
        body = SCHEMAS[kind]() if kind in SCHEMAS else json_schema(kind)
        schema.write_text(json.dumps(body), encoding="utf-8")
        good = sorted(str(path) for path in folder.glob("*.yaml"))
        bad = sorted(str(path) for path in (ROOT / "invalid" / folder.name).glob("*.yaml"))
        tool = ["--schemafile", str(schema)]
        accepted = CliRunner().invoke(check_jsonschema, [*tool, *good])
        assert accepted.exit_code == 0, accepted.output
        refused = CliRunner().invoke(check_jsonschema, [*tool, "-o", "json", *bad])
        failed = {error["filename"] for error in json.loads(refused.stdout)["errors"]}
        assert failed == set(bad)
