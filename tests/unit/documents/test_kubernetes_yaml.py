"""The lenient door for plain Kubernetes YAML: core scalars, anchors, quantities as text."""

from typing import Any

import pytest

from gitbot.documents import read_kubernetes_yaml
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


def test_anchors_and_several_documents() -> None:
    text = b"a: &x {k: 1}\nb: &y 2\n---\n---\n# nothing\n---\nd: 3\n"
    assert read_kubernetes_yaml(text, "f") == ({"a": {"k": 1}, "b": 2}, {"d": 3})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!!str 1", "1"),
        ("! 1", "1"),
        ("!!int 7", 7),
        ('!!int "7"', 7),
        ("!!float 0.5", "0.5"),
        ("!!bool True", True),
        ("!!null ~", None),
        ("!!map {b: 1}", {"b": 1}),
        ("!!seq [1, '2']", [1, "2"]),
        ('"<<"', "<<"),
        ("<<", "<<"),
        ("{'<<': 1, 2: 3, true: 4}", {"<<": 1, 2: 3, True: 4}),
        ("{b: 1, b: 2}", {"b": 2}),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_tags_and_keys(text: str, value: Any) -> None:
    assert read_kubernetes_yaml(f"a: {text}".encode(), "f") == ({"a": value},)


def bomb(levels: int, item: str) -> bytes:
    """Each level names the one before ten times: ten to the power of `levels` values."""
    above = [
        f"a{level}: &a{level} {item.replace('X', f'*a{level - 1}')}" for level in range(1, levels)
    ]
    return "\n".join(["a0: &a0 {k: v}", *above]).encode()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (bomb(40, f"[{', '.join(['X'] * 10)}]"), "f:5:20: found aliases that add more than 10000"),
        (bomb(40, f"{{<<: [{', '.join(['X'] * 10)}]}}"), "f:5:20: found aliases"),
        (b"a: &a\n- *a\n", "f:2:3: found an alias (*a), expected &a before it"),
        (b"&k b: 1\n*k : 2\n", "f:2:1: found a mapping, a list or an alias as key, expected text"),
        (b"a: 1\n<<: [b]\n", "f:2:1: found a merge key (<<) of something else"),
        (b"a: *missing", "f:1:4: found an alias (*missing)"),
        (b"a: &a 1\n---\nb: *a\n", "f:3:4: found an alias (*a)"),
    ],
)
def test_what_could_stand_for_a_value_of_any_size_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_kubernetes_yaml(text, "f")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &a 1\nb: *a", {"a": 1, "b": 1}),
        ("a: &a {c: 1, d: 2}\nb: {d: 3, <<: *a}", {"a": {"c": 1, "d": 2}, "b": {"c": 1, "d": 3}}),
        ("a: {<<: [{b: 1}, {b: 2, c: 3}]}", {"a": {"b": 1, "c": 3}}),
        ("a: &a 1\nb: &a 2\nc: *a", {"a": 1, "b": 2, "c": 2}),
    ],
)
def test_aliases_and_merge_keys(text: str, value: Any) -> None:
    assert read_kubernetes_yaml(text.encode(), "f") == (value,)


def test_budgets() -> None:
    text = b"a: [1, 2]\n---\nb: 3\n"
    assert read_kubernetes_yaml(text, "f", max_nodes=8, max_bytes=len(text))
    with pytest.raises(InvalidInput, match=r"^f:3:4: found more than 7 keys, values and items"):
        read_kubernetes_yaml(text, "f", max_nodes=7)
    with pytest.raises(InvalidInput, match=r"^f: found 19 bytes, expected at most 18$"):
        read_kubernetes_yaml(text, "f", max_bytes=18)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: b: c", "f:1:5: not YAML"),
        (b"a: !!python/object:os.system x", "f:1:4: found the tag python/object:os.system"),
        (b"a: !secret x", "f:1:4: found the tag !secret, expected no tag"),
        (b"a: !!set {x}", "f:1:4: found the tag set, expected no tag"),
        (b"a: !!int x", "f:1:4: found the tag int, expected no tag"),
        (b"? [a]\n: b", "f:1:3: found a mapping, a list or an alias as key, expected text"),
        (b"\xff\xfe\x00", "f: not YAML"),
        (b"a: [" * 3_000, "f"),
        (b"- " * 20_000, "f:1:401: found values nested more than 200 deep"),
        (b"[" * 200_000, "f:1:201: found values nested more than 200 deep"),
        (b"{a: " * 20_000, "f:1:801: found values nested more than 200 deep"),
        (b"".join(b" " * n + b"a:\n" for n in range(400)), "f:201:201: found values nested"),
    ],
)
def test_what_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_kubernetes_yaml(text, "f")
    assert message in str(caught.value)
