"""The walk names functions that are where it says they are."""

import ast
import re

import pytest

from tests.docs.scratch import ROOT

WALK = ROOT / "docs/contributing/walk.md"
LINKS = sorted(set(re.findall(r"\[`([\w.]+)`\]\(([^)#]+\.py)\)", WALK.read_text("utf-8"))))


def functions(path: str) -> set[str]:
    """Every function of a module, and every method as `Class.method`."""
    found = set()
    for node in ast.parse((WALK.parent / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{item.name}"
                for item in node.body
                if isinstance(item, ast.FunctionDef)
            }
    return found


@pytest.mark.parametrize(("name", "path"), LINKS)
def test_each_function_of_the_walk_is_in_its_file(name: str, path: str) -> None:
    assert name in functions(path)


def test_the_walk_links_the_functions_that_it_names() -> None:
    assert len(LINKS) >= 20


def test_a_newcomer_finds_the_walk() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "(docs/architecture.md)" in contributing
    assert "(docs/contributing/walk.md)" in contributing
    assert "(docs/contributing/style.md)" in contributing
    assert "(contributing/walk.md)" in (ROOT / "docs/architecture.md").read_text("utf-8")
