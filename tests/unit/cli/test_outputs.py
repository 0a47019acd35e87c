"""Every JSON that a command prints: of a published kind, valid by its schema, without a float."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml
from click.testing import CliRunner, Result

from gitbot.cli.commands import apply, get, ledger, propose, reconcile, status
from gitbot.cli.main import COMMANDS, cli
from gitbot.cli.shared.schema_table import schema_of
from gitbot.documents import write_documents
from gitbot.errors import SnapshotError, UsageError
from gitbot.workflows.core.context import RunContext
from tests.doubles.intents import REQUEST as JUMP
from tests.doubles.intents import RULE as MSSQL
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_check import (
    CONFIGURATION,
    IMPOSSIBLE,
    OBJECTS,
    PROTECT,
    REQUEST,
    RULE,
    WINDOW,
)

Run = Callable[..., Result]
KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
    "spec": {"configuration": {"cpuAllocationRatio": 10}},
}
RENDERED = RULE.replace("default}", "other}") + "  admission: Render\n"
BROKEN = RULE.replace("selector", "selektor")
FAILING = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicyTest
metadata: {name: no-web}
spec:
  policy: no-web
  cases:
  - name: web
    given: {vm: {name: web, namespace: default}}
    expect: Pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a rule and a request, and the cluster as a file beside it."""
    root = tmp_path / "repository"
    write(root, rule=RULE, request=REQUEST)
    (root / ".gitbot.yaml").write_text(CONFIGURATION, encoding="utf-8")
    text = write_documents([*OBJECTS, KUBEVIRT])
    (tmp_path / "cluster.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(root)
    return root


def write(root: Path, **intents: str) -> None:
    for name, text in intents.items():
        path = root / "intents" / "iberia" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def judged(document: Any) -> str:
    """The kind of a document, which keeps its published schema and has no float."""
    assert not list(floats(document))
    kind: str = document["kind"]
    assert document["apiVersion"] == ("v1" if kind == "List" else "placement.gitbot.dev/v1alpha1")
    jsonschema.validate(document, schema_of(kind))
    return kind


def floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from floats(item)
    elif isinstance(value, list):
        for item in value:
            yield from floats(item)


SNAPSHOT = ("--snapshot", "../cluster.yaml", "--now", "2026-12-06T21:00:00Z")
ASKING: list[tuple[tuple[str, ...], dict[str, str], str]] = [
    (("plan", *SNAPSHOT), {}, "PlacementPlan"),
    (("plan", *SNAPSHOT), {"impossible": IMPOSSIBLE, "window": WINDOW}, "PlacementPlan"),
    (("plan", *SNAPSHOT), {"rule": BROKEN}, "FindingList"),
    (("check", *SNAPSHOT), {}, "PlacementPlan"),
    (("check", *SNAPSHOT), {"rule": BROKEN}, "FindingList"),
    (("explain", "vm/web", "pod/virt-launcher-web", *SNAPSHOT), {}, "Explanation"),
    (("render", *SNAPSHOT), {"window": WINDOW, "rendered": RENDERED}, "List"),
    (("render", "--kind", "Node", *SNAPSHOT), {}, "List"),
    (("audit", *SNAPSHOT), {}, "Audit"),
    (("simulate", "drain", "n1", *SNAPSHOT), {}, "Forecast"),
    (("simulate", "grow", "vm/web", *SNAPSHOT), {}, "Forecast"),
    (("simulate", "label", "n1", "disk=ssd", *SNAPSHOT), {}, "Forecast"),
    (("simulate", "lose", "n1", *SNAPSHOT), {}, "Forecast"),
    (("simulate", "reboot", *SNAPSHOT), {}, "Forecast"),
    (("simulate", "rule", "intents/iberia/rule.yaml", *SNAPSHOT), {}, "Forecast"),
    (("simulate", "survive", *SNAPSHOT), {}, "Forecast"),
    (("calendar",), {"window": WINDOW}, "Calendar"),
    (("policy", "list"), {}, "PolicyList"),
    (("policy", "eval", "size(plan.moves) == 1", *SNAPSHOT), {}, "PolicyEvaluation"),
    (("policy", "eval", "vm.name == 'web'", *SNAPSHOT), {}, "PolicyEvaluation"),
    (("lint",), {}, "FindingList"),
    (("lint",), {"rule": BROKEN}, "FindingList"),
]


@pytest.mark.parametrize(("command", "intents", "kind"), ASKING)
def test_what_commands_print_about_a_repository(
    folder: Path, command: tuple[str, ...], intents: dict[str, str], kind: str
) -> None:
    write(folder, **intents)
    assert judged(json.loads(run(*command, "-o", "json").stdout)) == kind


@pytest.mark.parametrize("command", ["plan", "check", "explain"])
def test_yaml_is_the_same_document(folder: Path, command: str) -> None:
    arguments = (command, *(("vm/web",) if command == "explain" else ()), *SNAPSHOT)
    document = yaml.safe_load(run(*arguments, "-o", "yaml").stdout)
    assert document == json.loads(run(*arguments, "-o", "json").stdout)


def odd(folder: Path, **names: str) -> tuple[str, ...]:
    """A file of objects of these kinds and names, as JSON may hold them, and its option."""
    objects = [
        {
            "kind": kind,
            "apiVersion": "v1",
            "metadata": {"name": name, **({"namespace": "default"} if kind == "Pod" else {})},
            "spec": {"containers": []},
        }
        for kind, name in names.items()
    ]
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": objects})
    (folder.parent / "odd.json").write_text(text, encoding="ascii")
    return ("--snapshot", "../odd.json")


def test_yaml_of_characters_that_no_field_may_hold(folder: Path) -> None:
    files = odd(folder, Pod="p\0q", Node="n\x1b")
    asked = ("explain", "--all-pending", *files)
    (subject,) = yaml.safe_load(run(*asked, "-o", "yaml").stdout)["subjects"]
    assert (subject["name"], subject["nodes"][0]["name"]) == ("pU+0000q", "nU+001B")
    (subject,) = json.loads(run(*asked, "-o", "json").stdout)["subjects"]
    assert (subject["name"], subject["nodes"][0]["name"]) == ("p\0q", "n\x1b")


def test_half_a_character_is_named(folder: Path) -> None:
    files = odd(folder, Pod="p", Node="n\ud800")
    done = CliRunner().invoke(cli, ["explain", "--all-pending", *files], standalone_mode=False)
    assert isinstance(done.exception, SnapshotError)
    assert "found half of a surrogate pair (U+D800)" in str(done.exception)


def test_a_list_has_every_kind_that_is_rendered(folder: Path) -> None:
    write(folder, window=WINDOW, rendered=RENDERED)
    document = json.loads(run("render", *SNAPSHOT, "-o", "json").stdout)
    kinds = {item["properties"]["kind"]["const"] for item in _items(schema_of("List"))}
    assert {item["kind"] for item in document["items"]} == kinds


def _items(schema: Any) -> list[Any]:
    items: list[Any] = schema["properties"]["items"]["items"]["oneOf"]
    return items


def test_a_snapshot_file(folder: Path) -> None:
    out = folder.parent / "out.json.gz"
    assert run("snapshot", *SNAPSHOT, "-o", str(out)).exit_code == 0
    document = json.loads(gzip.decompress(out.read_bytes()))
    assert judged(document) == "ClusterSnapshot"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document | {"objects": {"Secret": []}}, schema_of("ClusterSnapshot"))


def test_tests_of_policies(folder: Path) -> None:
    policies = folder / "policies"
    policies.mkdir()
    (policies / "web.yaml").write_text(PROTECT, encoding="utf-8")
    (policies / "web.test.yaml").write_text(FAILING, encoding="utf-8")
    document = json.loads(run("policy", "test", "policies", "-o", "json").stdout)
    assert judged(document) == "FindingList"
    assert document["items"]


def test_commands_that_change_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story.begin(db=MSSQL, jump=JUMP)

    @contextmanager
    def opened(where: dict[str, str], **_: bool) -> Iterator[RunContext]:
        yield story.shell

    @contextmanager
    def looked_at(where: dict[str, str], *, human: bool) -> Iterator[tuple[RunContext, str]]:
        del where, human
        yield story.shell, ""

    for module in (apply, propose, reconcile):
        monkeypatch.setattr(module, "running", opened)
    for module in (get, ledger, status):
        monkeypatch.setattr(module, "open_read_only", looked_at)

    def kind(*arguments: str) -> str:
        return judged(json.loads(run(*arguments, "-o", "json").stdout))

    assert kind("propose") == "ProposeResult"
    assert kind("status") == "Status"
    assert kind("get", "requests") == "Listing"
    for pull in story.pulls():
        story.merge(pull.number)
    assert kind("apply") == "ApplyResult"
    assert kind("reconcile") == "ReconcileResult"
    assert kind("status") == "Status"
    assert kind("ledger", "show", "--all") == "LedgerEntryList"


def test_no_command_with_json_is_forgotten() -> None:
    here = {_named(command) for command, _, _ in ASKING} | {"policy test", "ledger show"}
    here |= {"diff", "propose", "status", "get", "apply", "reconcile", "serve", "comment", "doctor"}
    assert set(_with_json()) == here


def _named(command: tuple[str, ...]) -> str:
    return " ".join(command[:2]) if command[0] in ("policy", "simulate") else command[0]


def _with_json() -> Iterator[str]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            below = [(f"{name} {item.name}", item) for item in command.commands.values()]
        else:
            below = [(name, command)]
        for full, item in below:
            for parameter in item.params:
                if isinstance(parameter.type, click.Choice) and "json" in parameter.type.choices:
                    yield full


def test_an_expression_is_shown_part_by_part(folder: Path) -> None:
    found = run("policy", "eval", "vm.name == 'web' && 1 < 2", "--of", "web", *SNAPSHOT)
    assert (found.exit_code, found.stdout) == (
        0,
        """\
PLACE   VALUE   EXPRESSION
1:1     true    vm.name == 'web' && 1 < 2
1:1     true      vm.name == 'web'
1:1     "web"       vm.name
1:21    true      1 < 2
""",
    )
    names = run("policy", "eval", "vm.name == 'web'", "-o", "name", *SNAPSHOT).stdout
    assert names == "default/web\n"
    message = (
        "line 1, column 4: vm has no field nope; did you mean vm.node?; it stands before `nope"
    )
    with pytest.raises(UsageError, match=re.escape(message)):
        run("policy", "eval", "vm.nope == 'web'", "--over", "vm", *SNAPSHOT)
