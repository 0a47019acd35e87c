"""Reading page by page into rows loses nothing: same objects, order and digest as one by one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitbot.errors import SnapshotError
from gitbot.kubevirt.names import HEARTBEAT, SCHEDULABLE
from gitbot.model.cluster.cluster import KINDS
from gitbot.snapshot import from_objects
from gitbot.snapshot.from_objects import from_sorted
from gitbot.snapshot.list_pages import KindReader
from gitbot.snapshot.packed_rows import Rows
from tests.bench.api_cluster import pages
from tests.bench.peers import official_client
from tests.laws.test_snapshot_file import QUICK, objects

NULLS: st.SearchStrategy[Any] = st.sampled_from([None, 1.5, "1", [], {}])


def rows_of(kind: str, texts: list[bytes]) -> Rows:
    reader = KindReader(kind)
    for text in texts:
        reader.add(text)
    return reader.rows()


def page_of(items: list[dict[str, Any]]) -> bytes:
    return json.dumps({"items": items}).encode()


@QUICK
@given(objects(), st.data())
def test_rows_are_the_objects_that_were_sent(
    found: list[dict[str, Any]], data: st.DataObject
) -> None:
    for obj in found:
        if obj["kind"] == "Pod" and isinstance(obj.get("spec"), dict):
            for field in ("affinity", "tolerations", "nodeSelector", "priority"):
                if data.draw(st.booleans()):
                    obj["spec"][field] = data.draw(NULLS)
    whole = from_objects("c", found, 7)
    chosen = {"ConfigMap", "ControllerRevision"}  # the server lists only those that belong
    rows = {}
    for kind in KINDS:
        items = [obj for obj in found if obj["kind"] == kind]
        cut = data.draw(st.integers(0, len(items)))
        if kind not in chosen:
            rows[kind] = rows_of(kind, [page_of(items[:cut]), page_of(items[cut:])])
    read = from_sorted("c", rows, 7)
    kept = {kind: items for kind, items in whole.objects.items() if kind not in chosen}
    assert dict(read.objects) == kept
    assert read.digest == from_objects("c", [o for items in kept.values() for o in items], 7).digest


def test_no_field_that_a_rule_can_refer_to_is_lost_beside_typed_objects() -> None:
    texts = {
        "Node": list(pages("Node", 40, nodes=40, seed=3)),
        "Pod": list(pages("Pod", 300, nodes=40, seed=3)),
    }
    read = from_sorted("c", {kind: rows_of(kind, found) for kind, found in texts.items()}, 7)
    api = official_client.client()
    typed = official_client.deserialise(
        api, ((kind, text) for kind, found in texts.items() for text in found)
    )
    plain = [
        {"apiVersion": "v1", "kind": kind, **official_client.plain(api, item)}
        for kind, items in typed.items()
        for item in items
    ]
    whole = from_objects("c", plain, 7)
    for kind in ("Node", "Pod"):
        for ours, theirs in zip(read.of(kind), whole.of(kind), strict=True):
            assert comparable(ours) == comparable(theirs)


@pytest.mark.parametrize(("label", "kept"), [("true", False), ("false", True)])
def test_a_page_keeps_the_heartbeat_of_a_silent_virt_handler_alone(label: str, kept: bool) -> None:
    metadata = {
        "name": "a",
        "labels": {SCHEDULABLE: label},
        "annotations": {HEARTBEAT: "2026-12-06T20:59:00Z"},
    }
    (read,) = rows_of("Node", [page_of([{"metadata": metadata}])])
    assert (HEARTBEAT in read["metadata"].get("annotations", {})) is kept


def comparable(value: Any) -> Any:
    """Times as the client writes them again; everything else as it is."""
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item) for item in value]
    return value.replace("+00:00", "Z") if isinstance(value, str) else value


def test_an_object_is_the_same_one_each_time_and_shares_what_others_have() -> None:
    (text,) = pages("Pod", 20, nodes=3)
    rows = rows_of("Pod", [text])
    assert rows[3] is rows[3]
    assert rows[-1] is rows[19]
    assert rows[2:4] == (rows[2], rows[3])
    assert rows[0]["spec"]["tolerations"] is rows[1]["spec"]["tolerations"]
    with pytest.raises(IndexError):
        rows[20]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([b'{"items":[{"metadata":{"name":"a"'], "a list of Pod cannot be read"),
        ([b'{"kind":"Status"}'], "found Status, expected items"),
        ([b'{"items":[{"metadata":{}}]}'], "Pod without metadata.name"),
        ([b'{"items":[{}]}'], "Pod without metadata.name"),
        ([b'{"items":[{"metadata":{"name":5}}]}'], "a list of Pod cannot be read"),
        (
            [b'{"items":[{"metadata":{"name":"a"},"spec":{"initContainers":{}}}]}'],
            "a list of Pod cannot be read",
        ),
        (
            [b'{"items":[{"metadata":{"name":"a","namespace":"n"}}]}'] * 2,
            "Pod n/a occurs twice",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_whole(texts: list[bytes], said: str) -> None:
    with pytest.raises(SnapshotError, match=said):
        rows_of("Pod", texts)
