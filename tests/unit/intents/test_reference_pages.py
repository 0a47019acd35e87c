"""The reference pages: every field, every finding, and examples that are right."""

import ast
import re
from pathlib import Path

import pytest

from gitbot.cli.shared.linting import lint
from gitbot.intents import read_intents
from gitbot.intents.registry import KINDS, json_schema
from gitbot.settings import ClusterSettings, Settings, cluster_schema
from gitbot.settings import json_schema as settings_schema
from tests.unit.intents.field_table import field_table

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs/reference/intents"
FINDINGS = (ROOT / "docs/reference/findings.md").read_text(encoding="utf-8")
BAD_INPUT = Path(__file__).parent / "bad_input"
SCHEMAS = {"Cluster": cluster_schema, "Configuration": settings_schema}
CONFIGURATION = (
    b"apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
    b"spec:\n  clusters: [{name: prod, timeZone: UTC}]\n"
)
FOLDERS = {"Cluster": "clusters", "PlacementProposal": "intents/prod/gitbot"}


def page(kind: str) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower()
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", [*KINDS, *SCHEMAS])
def test_the_table_of_fields_is_that_of_the_schema(kind: str) -> None:
    schema = SCHEMAS[kind]() if kind in SCHEMAS else json_schema(kind)
    assert field_table(schema) in page(kind)


@pytest.mark.parametrize("kind", [*KINDS, *SCHEMAS])
def test_the_example_lints_clean(kind: str) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", page(kind), re.DOTALL)
    folder = FOLDERS.get(kind, "intents/prod")
    path = ".gitbot.yaml" if kind == "Configuration" else f"{folder}/example.yaml"
    more = b"  clustersFrom: clusters\n" if kind == "Cluster" else b""
    assert lint({".gitbot.yaml": CONFIGURATION + more, path: text.encode()}) == ()


@pytest.mark.parametrize("kind", [*KINDS, *SCHEMAS])
def test_the_page_is_listed(kind: str) -> None:
    assert f"| {kind}, " in (PAGES / "README.md").read_text(encoding="utf-8")


def said() -> set[str]:
    """The codes of all findings about the catalogue of bad input."""
    settings = Settings(clusters=(ClusterSettings(name="prod"),))
    files = {f"intents/prod/{path.name}": path.read_bytes() for path in BAD_INPUT.glob("*.yaml")}
    return {finding.code for finding in read_intents(files, settings, "prod")[1]}


def written(*folders: str) -> set[str]:
    """The codes that stand as text in the code of some folders."""
    rooms = "documents|intents|settings|calendar|files|check|constraints|plan|policy"
    return {
        code
        for folder in folders
        for path in sorted((ROOT / "gitbot" / folder).rglob("*.py"))
        for code in re.findall(rf'"((?:{rooms})/[a-z-]+)"', path.read_text(encoding="utf-8"))
    }


def compiled() -> set[str]:
    """The codes that compiling intents for a cluster gives to `error` and `warning`."""
    calls = [
        node
        for path in sorted((ROOT / "gitbot/intents").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and len(node.args) >= 3
        if isinstance(node.func, ast.Name) and node.func.id in {"error", "warning"}
    ]
    codes = [call.args[2] for call in calls]
    return {
        f"intents/{code.value}"
        for code in codes
        if isinstance(code, ast.Constant) and isinstance(code.value, str)
    }


def test_every_finding_has_a_line_on_its_page() -> None:
    codes = said() | compiled() | written("documents", "intents", "cli", "calendar", "policy")
    missing = sorted(code for code in codes if f"| `{code}` |" not in FINDINGS)
    assert missing == []


def test_the_page_lists_each_code_once_in_order() -> None:
    for section in FINDINGS.split("\n## ")[1:]:
        codes = re.findall(r"^\| `([a-z]+/[a-z-]+)` \|", section, re.MULTILINE)
        assert codes == sorted(set(codes))
