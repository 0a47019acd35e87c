"""The short way through a file gives what the long way gives, or sends the file there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.documents import DEFAULT_BUDGET, Budget, Document, read_documents, write_documents
from gitbot.documents.parsed import read_parsed
from gitbot.documents.plain_blocks import read_plain

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
        "- - a",
        "-",
        "- ",
        "a:b",
        "k: .5",
        "k: 1.0",
        "k: +1",
        "k: /x",
        "k: a: ",
        "  - a: b",
        "k: -x",
    ),
    *("no: 1", "1: 2", "null: 1", "true: 1", "k:  two", "%YAML 1.2", "k: [1 2]", "k: @x", "\tk: 1"),
)
QUICK = settings(max_examples=400, deadline=None)


def same(text: str, budget: Budget = DEFAULT_BUDGET) -> bool:
    """Whether the short way took it; asserts that it then gives what the long way gives."""
    documents, findings = read_parsed(text, "f.yaml", budget)
    plain = read_plain(text, budget, lambda: documents)
    if plain is None:
        return False
    assert not findings, (text, findings)
    assert [shown(document) for document in plain] == [shown(document) for document in documents]
    for ours, theirs in zip(plain, documents, strict=True):
        for key in ours.value:
            assert ours.positions.key((key,)) == theirs.positions.key((key,)), (text, key)
        assert ours.positions.value(()) == theirs.positions.value(())
        assert dict(ours.positions.values) == dict(theirs.positions.values)
        assert ours.positions.scalars == theirs.positions.scalars
    return True


def shown(document: Document) -> tuple[object, ...]:
    return (
        document.index,
        repr(document.value),
        document.reported,
        document.holes,
        document.sound,
    )


@QUICK
@given(st.lists(st.sampled_from(PIECES), max_size=7))
def test_any_lines(lines: list[str]) -> None:
    same("\n".join(lines))


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
    same("\n".join(lines))


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
    same(write_documents([{"spec": value}, {"other": 1}]))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example(path: Path) -> None:
    same(path.read_text("utf-8"))


def test_an_ordinary_intent_goes_the_short_way() -> None:
    text = """\
# why
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: db-1-to-bcn, namespace: customapp}
spec:
  vms:
    names:
    - db-1
    - 'db-2'
  target: {nodeSelector: {rack: r7}}
  note: "rack 7 gets new power supplies"
  attempts: 2
---
kind: Other
"""
    assert same(text)


@pytest.mark.parametrize(
    "budget", [Budget(nodes=3), Budget(depth=2), Budget(scalar=2), Budget(nodes=12)]
)
def test_budgets_hold_on_the_short_way_too(budget: Budget) -> None:
    text = "a: text\nb:\n  c: [1, 2]\n  d:\n  - e: f\n"
    _, findings = read_parsed(text, "f", budget)
    assert bool(findings) is not same(text, budget)
    assert read_documents(text.encode(), "f", budget=budget)[1] == findings
