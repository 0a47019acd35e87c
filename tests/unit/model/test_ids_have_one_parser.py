"""Ids of requests are read and printed in one module, `model/ledger/request_id.py`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parents[3] / "gitbot"
PARSER = "model/ledger/request_id.py"
CUTS = {"partition", "rpartition", "split", "rsplit"}
ID = re.compile(r"(request|drain|return|heal|observed)/")
# Other rooms meet no ids: the simulation and the forges do not know them.
FOREIGN = ("adapters", "simulation")
# What these modules cut at "/" is not an id.
NO_IDS = {
    "calendar/ics_zones.py": "names of time zones",
    "settings/cluster_files.py": "paths of files",
    "cli/commands/describe.py": "TYPE/NAME, as a person types it",
    "cli/commands/get.py": "TYPE/NAME, as a person types it",
    "cli/commands/wait.py": "node/NAME, as a person types it",
    "cli/commands/explain.py": "vm/NAME or pod/NAME, as a person types it",
    "cli/main.py": "the path of the program",
    "cli/shared/linting.py": "paths of files",
    "constraints/rules/domains.py": "label keys",
    "constraints/scheduler/filters/in_tree_disks.py": "the address of a disk",
    "documents/envelope.py": "apiVersion",
    "documents/field_names.py": "references of a schema",
    "documents/formats.py": "label keys",
    "intents/codeowners.py": "paths of files",
    "intents/folder_owners.py": "paths of files",
    "intents/file_layout.py": "paths of files",
    "kubernetes/labels.py": "label keys",
    "kubernetes/names.py": "namespace/name",
    "kubevirt/network_devices.py": "namespace/name of a network, or its name",
    "policy/policy_files.py": "paths of files",
    "policy/library/addresses.py": "networks, as 10.0.0.0/8",
    "policy/library/texts.py": "qualified names",
    "policy/library/url.py": "URLs",
    "published/ledger_lines.py": "the path of a ledger file",
    "reports/finding_formats.py": "codes of findings",
    "settings/owners.py": "paths of files",
    "snapshot/from_objects.py": "apiVersion",
    "workflows/author/run.py": "the branch of a pull request",
    "workflows/ledger/anchor.py": "the path of a ledger file",
}


def nodes() -> Iterator[tuple[str, ast.AST]]:
    for path in sorted(HOUSE.rglob("*.py")):
        name = path.relative_to(HOUSE).as_posix()
        if name != PARSER and not name.startswith(FOREIGN):
            yield from ((name, node) for node in ast.walk(ast.parse(path.read_text("utf-8"))))


def is_cut(node: ast.AST) -> bool:
    """Whether a node cuts a text at a slash."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.Constant(value="/"), *_]):
            return name in CUTS
        case _:
            return False


def test_only_the_parser_cuts_ids() -> None:
    assert {name for name, node in nodes() if is_cut(node)} == set(NO_IDS)


def test_only_the_printer_writes_ids() -> None:
    assert not {
        f"{name}:{node.lineno} {node.value!r}"
        for name, node in nodes()
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ID.match(node.value)
    }
