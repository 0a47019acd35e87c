"""The reader gives what another parser gives: that of PyYAML in Python, not libyaml in C."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.documents import ParsedDocument, Position, key_path, read_documents, write_documents
from gitbot.documents import Path as KeyPath
from gitbot.documents.scalars import resolve

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
PIECES = (
    *("a: 1", "b: text", "c:", "  d: e", "  f: [1, two, 'three']", "  g: {h: i, j: [k]}"),
    *("- a", "- b: c", "  d: 'e'", '  f: "g h"', "  - x", "  - y: z", "    w: 1", "---", "...", ""),
    *(
        "# word",
        "a: 1 # word",
        "a: b: c",
        "a: b#c",
        "k: yes",
        "k: 22:30",
        "k: 0x1f",
        "k: ~",
        "k: -1",
    ),
    *("k: |", "  text", "k: &x 1", "k: *x", "<<: a", "? k", "k: 'it''s'", 'k: "a\\n"', "k: Zürich"),
    *("k: a,b", "k: [a, b", "k: {a:b}", "k: {a: b, a: c}", "k: []", "k: {}", "k: [a,]", "k: a "),
    *(
        "- - a", "-", "- ", "a:b", "k: .5", "k: 1.0", "k: +1", "k: /x", "k: a: ", "  - a: b",
        "k: -x",
    ),
    *("no: 1", "1: 2", "null: 1", "true: 1", "k:  two", "%YAML 1.2", "k: [1 2]", "k: @x", "\tk: 1"),
)  # fmt: skip
QUICK = settings(max_examples=400)


def check(text: str) -> None:
    """Every document without a finding has the other parser's values and places."""
    documents, findings = read_documents(text.encode(), "f.yaml")
    if findings:
        return
    nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    assert len(documents) == len(nodes), text
    for document, node in zip(documents, nodes, strict=True):
        assert repr(_value(node, document, ())) == repr(document.value), text


def _value(node: yaml.Node, document: ParsedDocument, path: KeyPath) -> Any:
    assert document.positions.value(path) == _place(node), key_path(path)
    if isinstance(node, yaml.MappingNode):
        for key, _ in node.value:
            assert document.positions.key((*path, key.value)) == _place(key), key_path(path)
        return {key.value: _value(value, document, (*path, key.value)) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, document, (*path, at)) for at, item in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    plain = node.style is None
    assert document.positions.plain.get(path) == (node.value if plain else None), key_path(path)
    return resolve(node.value) if plain else node.value


def _place(node: yaml.Node) -> Position:
    mark = node.start_mark
    assert mark is not None
    return Position(line=mark.line + 1, column=mark.column + 1)


@QUICK
@given(st.lists(st.sampled_from(PIECES), max_size=7))
def test_any_lines(lines: list[str]) -> None:
    check("\n".join(lines))


@QUICK
@given(st.sampled_from(EXAMPLES), st.data())
def test_examples_with_a_line_changed(path: Path, data: st.DataObject) -> None:
    lines = path.read_text("utf-8").split("\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    change = data.draw(st.sampled_from(("drop", "twice", "deeper", "flatter", "other", "joined")))
    line = lines[at]
    lines[at : at + 1] = {
        "drop": [],
        "twice": [line, line],
        "deeper": [" " + line],
        "flatter": [line.removeprefix(" ")],
        "other": [data.draw(st.sampled_from(PIECES))],
        "joined": [line + data.draw(st.sampled_from(PIECES))],
    }[change]
    check("\n".join(lines))


@QUICK
@given(
    st.recursive(
        st.one_of(st.text("ab1:#-' ", max_size=5), st.integers(-9, 99), st.booleans()),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(("a", "b", "no", "x/y")), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_written_documents(value: object) -> None:
    check(write_documents([{"spec": value}, {"other": 1}]))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example(path: Path) -> None:
    check(path.read_text("utf-8"))
