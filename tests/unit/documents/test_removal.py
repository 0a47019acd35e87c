"""A key taken out of a text: the rest stays as it was written."""

import pytest

from gitbot.documents import Path, read_kubernetes_yaml, remove_key

VM = """\
# of the shop
kind: VirtualMachine
spec:
  template:
    spec:
      # since the flood
      nodeSelector:
        kubernetes.io/hostname: node-a  # for tonight
        disk: fast
      # what it is
      domain: {devices: {}}
---
---
kind: ConfigMap
"""
SPEC = ("spec", "template", "spec")
HOST = (*SPEC, "nodeSelector", "kubernetes.io/hostname")
TERMS = """\
terms:
- matchExpressions:
  - key: a
    values: [x]
  - {key: b}
  matchFields:
  - key: c
"""

CASES: list[tuple[str, Path, str]] = [
    (VM, HOST, "        kubernetes.io/hostname: node-a  # for tonight\n"),
    (VM, (*SPEC, "domain"), "      domain: {devices: {}}\n"),
    ("a: {b: 1, c: 2}\n", ("a", "b"), "b: 1, "),
    ("a: {b: 1, c: 2}\n", ("a", "c"), ", c: 2"),
    ("a: {b: 1}\n", ("a", "b"), "b: 1"),
    ('{"a": {"b": [1, 2]}, "c": 3}', ("a", "b", 1), ", 2"),
    ('{"a": {"b": [1, 2]}, "c": 3}', ("c",), ', "c": 3'),
    (TERMS, ("terms", 0, "matchExpressions", 0), "  - key: a\n    values: [x]\n"),
    (TERMS, ("terms", 0, "matchExpressions", 1), "  - {key: b}\n"),
    (
        TERMS,
        ("terms", 0, "matchExpressions"),
        "matchExpressions:\n  - key: a\n    values: [x]\n  - {key: b}\n  ",
    ),
    (TERMS, ("terms", 0, "matchFields"), "  matchFields:\n  - key: c\n"),
    ("a:\n  b: |\n    text\n\n  c: 1\n", ("a", "b"), "  b: |\n    text\n"),
    ("a:\n  b: 1\n  c: é\n  d: 2", ("a", "d"), "  d: 2"),
]


@pytest.mark.parametrize(("text", "path", "cut"), CASES)
def test_only_that_goes(text: str, path: Path, cut: str) -> None:
    assert text.count(cut) == 1
    assert remove_key(text.encode(), "vm.yaml", 0, path) == text.replace(cut, "").encode()


def test_documents_are_counted_as_they_are_read() -> None:
    text = "a: 1\n---\n---\nb: 1\nc: 2\n"
    assert remove_key(text.encode(), "vm.yaml", 1, ("c",)) == b"a: 1\n---\n---\nb: 1\n"


@pytest.mark.parametrize("text", ["a:\n  b: 1\n", "- b\n"])
def test_what_cannot_be_cut_out_of_the_text_is_not(text: str) -> None:
    """An empty block is null, not an empty mapping."""
    (value,) = read_kubernetes_yaml(text.encode(), "vm.yaml")
    path: Path = ("a", "b") if isinstance(value, dict) else (0,)
    assert remove_key(text.encode(), "vm.yaml", 0, path) is None
