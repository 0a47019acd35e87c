"""Snapshot files, recognised by content."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from gitbot.errors import SnapshotError
from gitbot.snapshot import from_objects, read_snapshot, write_snapshot

NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "0.5"}}}]},
}
EXPECTED = from_objects("cluster", [NODE, POD], 7)

YAML_NODE = b"apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n"
YAML_POD = (
    b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
    b"spec:\n  containers:\n  - name: c\n    env: [{name: A, value: s3cret}]\n"
    b"    resources: {requests: {cpu: 0.5}}\n"
)
LIST = {"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}
TYPED = {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]}


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize(
    "contents",
    [
        [dump(LIST)],
        [dump(NODE), dump(POD)],
        [dump(POD), dump(NODE)],
        [YAML_NODE + b"---\n" + YAML_POD],
        [b"---\n---\n" + YAML_NODE + b"---\n# nothing\n---\n" + YAML_POD],
        [YAML_NODE, YAML_POD],
        [gzip.compress(dump(LIST))],
        [dump(TYPED), YAML_POD],
        [dump(NODE) + b"\n---\n" + dump(POD)],
        [b"\xef\xbb\xbf" + dump(LIST)],
        [dump({"apiVersion": "v1", "kind": "List", "items": [LIST]})],
        [dump(LIST), b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: djE=}\n"],
    ],
)
def test_plain_objects_in_every_form(contents: list[bytes]) -> None:
    texts = [(f"f{index}", data) for index, data in enumerate(contents)]
    assert read_snapshot(texts, 7) == EXPECTED


def test_our_file_comes_back_as_it_was_and_is_the_same_bytes() -> None:
    snapshot = from_objects(
        "prod",
        [NODE, POD],
        1_800_000_000,
        kubernetes_version="v1.36.3",
        resource_version="42",
        absent_kinds=["VirtualMachinePool"],
    )
    data = write_snapshot(snapshot)
    assert read_snapshot([("x", data)], 0) == snapshot
    assert write_snapshot(read_snapshot([("x", data)], 0)) == data
    assert read_snapshot([("x", gzip.decompress(data))], 0) == snapshot
    assert data[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


@pytest.mark.parametrize(
    "data",
    [
        dump(NODE)
        + b"\n"
        + dump(POD)
        + b"\n",  # as several kubectl -o json print one after another
        dump(NODE) + dump(POD),
        dump([NODE, POD]),
        dump({"kind": "List", "items": [{"kind": "List", "items": [NODE]}]}) + dump([POD]),
    ],
)
def test_json_documents_may_stand_one_after_the_other_or_in_an_array(data: bytes) -> None:
    assert read_snapshot([("x", data)], 0) == read_snapshot([("x", dump(LIST))], 0)


def edited(**changes: Any) -> bytes:
    document = json.loads(gzip.decompress(write_snapshot(EXPECTED)))
    return dump(document | changes)


def test_a_snapshot_written_by_hand_needs_no_digest() -> None:
    data = edited(digest="", objects={"Node": [{"metadata": {"name": "n2"}}]})
    assert read_snapshot([("x", data)], 0).of("Node")[0]["metadata"] == {"name": "n2"}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ([], "no snapshot file given"),
        ([b""], "f0: found no Kubernetes object that a snapshot holds"),
        ([b"null"], "f0: found no Kubernetes object"),
        ([b"- a"], "f0: no Kubernetes object: found a list"),
        ([b"just text"], "f0: no Kubernetes object: found a text"),
        ([b"a: 1"], "f0: no Kubernetes object: found no kind"),
        ([b"a: [1"], "f0:2:1: no YAML: "),
        ([b"a:\n\t- b"], "f0:2:1: no YAML: "),
        ([b"\xff\xfe\xff"], "f0: no YAML: "),
        ([b'{"kind": "List", "items": ['], "f0:2:1: no YAML: "),
        ([b"a: &a {b: 1}\nc: {<<: *a}\n"], "f0:2:5: found a merge key (<<), expected "),
        ([b"a: &a [1]\nb: [*a, *a]\n"], "f0:2:5: found an alias (*a), expected "),
        ([gzip.compress(dump(LIST))[:-9]], "f0: torn gzip"),
        ([b"\x1f\x8bnonsense"], "f0: torn gzip"),
        ([write_snapshot(EXPECTED), dump(NODE)], "f0: a ClusterSnapshot is whole and stands alone"),
        ([edited(apiVersion="placement.gitbot.dev/v9")], "f0: apiVersion: found 'placement.gitbot"),
        ([edited(objects={"Node": [{"metadata": {"name": "n2"}}]})], "f0: digest: found sha256:"),
        ([edited(takenAt="yesterday")], "f0: torn ClusterSnapshot"),
        ([edited(objects=None)], "f0: torn ClusterSnapshot"),
        ([dump(NODE), YAML_NODE], "Node n1 occurs twice"),
        ([dump({"apiVersion": "v1", "kind": "List", "items": {}})], None),
        ([dump({"apiVersion": "v1", "kind": "List", "items": {"a": 1}})], "List.items: expected"),
    ],
)
def test_what_is_refused(contents: list[bytes], message: str | None) -> None:
    texts = [(f"f{index}", data) for index, data in enumerate(contents)]
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(texts, 0)
    assert (message or "found no Kubernetes object") in str(caught.value)
