"""Laws of the room documents: what is written is read back, and nothing makes the reader fall."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitbot.documents import (
    Budget,
    key_path,
    read_documents,
    refused_in,
    value_at,
    write_document,
    write_documents,
)

texts = st.text(max_size=30).filter(lambda text: refused_in(text) is None)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(10**18) + 1, 10**18 - 1), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
documents = st.dictionaries(texts, values, min_size=1, max_size=4)

# Texts that are nearly YAML: the parser's own signs, in any order.
nearly = st.lists(
    st.sampled_from(
        [
            "a", "b:", "- ", ": ", "\n", "  ", "[", "]", "{", "}", ",", "'", '"', "|\n", ">\n", "#",
            "&a ", "*a", "!!x ", "---\n", "...\n", "? ", "%YAML 1.2\n", "<<: ", "\t", "\r",
            "\u00a0", "\u2028", "\ufeff", "\x00", "22:00", "010", "no", "\\", "é", "😀",
        ]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(documents)
def test_what_is_written_is_read_back(value: dict[str, Any]) -> None:
    text = write_document(value)
    read, findings = read_documents(text.encode(), "f")
    assert not findings
    assert [document.value for document in read] == [value]


@given(st.lists(documents, min_size=1, max_size=3))
def test_several_documents_are_read_back_in_order(written: list[dict[str, Any]]) -> None:
    read, findings = read_documents(write_documents(written).encode(), "f")
    assert not findings
    assert [document.value for document in read] == written


@given(documents)
def test_every_value_stands_where_its_position_says(value: dict[str, Any]) -> None:
    text = write_document(value)
    (document,), _ = read_documents(text.encode(), "f")
    lines = text.split("\n")
    for path, plain in document.positions.plain.items():
        place = document.positions.value(path)
        assert lines[place.line - 1][place.column - 1 :].startswith(plain), key_path(path)
    for path in document.positions.keys:
        key, place = str(path[-1]), document.positions.key(path)
        rest = lines[place.line - 1][place.column - 1 :]
        assert rest.startswith((key, '"')), key_path(path)
        assert value_at(value, path[:-1]) is not None


@given(st.one_of(st.binary(max_size=200), nearly.map(str.encode)))
def test_no_input_makes_the_reader_raise(data: bytes) -> None:
    read, findings = read_documents(data, "f")
    assert read or findings
    lines = data.decode("utf-8", "replace").count("\n") + data.count(b"\r") + 1
    for finding in findings:
        assert 1 <= finding.line <= lines + 1
        assert finding.column >= 1
        assert "found " in finding.message
        assert ", expected " in finding.message
    assert all(document.sound for document in read) or findings


@given(nearly)
def test_reading_is_deterministic(text: str) -> None:
    assert read_documents(text.encode(), "f") == read_documents(text.encode(), "f")


@given(documents, st.integers(1, 40))
def test_a_smaller_budget_never_reads_more(value: dict[str, Any], nodes: int) -> None:
    data = write_document(value).encode()
    read, findings = read_documents(data, "f", budget=Budget(nodes=nodes))
    if findings:
        assert [finding.code for finding in findings] == ["documents/budget"]
        assert not read
    else:
        assert [document.value for document in read] == [value]
