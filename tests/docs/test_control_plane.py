"""The page about the control plane names what there is."""

import ast
import re

import pytest

from tests.docs.scratch import ROOT

PAGE = (ROOT / "docs/contributing/control-plane.md").read_text("utf-8")
FOLDER = ROOT / "tests/controlplane"
TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8")))
ROWS = re.findall(r"(?m)^\| (`[^|]+`) \|", PAGE)


def _fixtures() -> set[str]:
    files = (FOLDER / "fixtures.py", FOLDER / "kubevirt/fixtures.py")
    return {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
        and any("fixture" in ast.unparse(each) for each in node.decorator_list)
    }


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z-]+)", PAGE)) - {"goes"}))
def test_make_knows_the_target(target: str) -> None:
    assert target in TARGETS


@pytest.mark.parametrize(
    "name",
    [name for row in ROWS for name in re.findall(r"`([^`]+)`", row) if "." in name or "/" in name],
)
def test_a_file_is_there(name: str) -> None:
    assert (FOLDER / name).exists()


def test_a_table_has_every_fixture_that_a_test_may_ask_for() -> None:
    told = {name for row in ROWS for name in re.findall(r"`([a-z_]+)`", row)} & _fixtures()
    assert told == {
        "plane", "admin", "namespace", "kubelets", "user", "kubevirt", "gitbot_kubeconfig",
    }  # fmt: skip


def test_the_versions_are_those_of_the_module() -> None:
    module = (FOLDER / "go.mod").read_text("utf-8")
    kubernetes = re.findall(r"(?m)^\s+k8s\.io/kubernetes v(\S+)$", module)
    assert re.findall(r"Kubernetes (\d+\.\d+\.\d+)", PAGE) == kubernetes
