"""The lenient door for plain Kubernetes YAML: core scalars, anchors, quantities as text."""

from __future__ import annotations

from typing import Any

import pytest

from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml
from gitbot.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-7", -7),
        ("0", 0),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("0.5", "0.5"),
        ("1e3", "1e3"),
        ("500m", "500m"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("off", "off"),
        ("null", None),
        ("~", None),
        ("22:00", "22:00"),
        ("2026-12-06", "2026-12-06"),
        ("2026-12-06T21:00:00Z", "2026-12-06T21:00:00Z"),
        ('"1"', "1"),
        ("", None),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    assert read_kubernetes_yaml(f"a: {text}".encode(), "f") == ({"a": value},)


def test_anchors_merges_and_several_documents() -> None:
    text = b"a: &x {k: 1}\nb: *x\nc:\n  <<: *x\n  l: 2\n---\n---\n# nothing\n---\nd: 3\n"
    assert read_kubernetes_yaml(text, "f") == (
        {"a": {"k": 1}, "b": {"k": 1}, "c": {"k": 1, "l": 2}},
        {"d": 3},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: b: c", "f:1:5: no YAML"),
        (b"a: !!python/object:os.system x", "f:1:4: no YAML"),
        (b"a: *missing", "f:1:4: no YAML"),
        (b"\xff\xfe\x00", "f: no YAML"),
        (b"a: [" * 3_000, "f"),
        (b"- " * 20_000, "f:1: no YAML: nested more than 200 deep"),
        (b"[" * 200_000, "f:1: no YAML: nested more than 200 deep"),
        (b"{a: " * 20_000, "f:1: no YAML: nested more than 200 deep"),
        (b"".join(b" " * n + b"a:\n" for n in range(400)), "f:201: no YAML: nested more than"),
    ],
)
def test_what_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_kubernetes_yaml(text, "f")
    assert message in str(caught.value)
