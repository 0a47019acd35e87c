"""Snapshot files, recognised by content."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from gitbot.errors import SnapshotError
from gitbot.model.cluster.node import Node
from gitbot.model.cluster.pod import Pod
from gitbot.snapshot import from_objects, read_files, read_snapshot, write_snapshot

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
SECRET = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: djE=}\n"
VM: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"runStrategy": "Allways", "template": {"spec": {"domain": {}}}},
}
BY_HAND = (
    b"kind: VirtualMachine\napiVersion: kubevirt.io/v1\n"
    b"metadata: {name: web, namespace: shop, annotations: {a: 'runStrategy: Allways'}}\n"
    b"spec:\n  template: {}\n  runStrategy: Allways\n"
)
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
        [gzip.compress(dump(LIST), mtime=0)],
        [
            gzip.compress(dump(NODE), mtime=0)
            + gzip.compress(b"\n" + dump(POD), mtime=0)
            + b"\0" * 8
        ],
        # each member costs the same, however many follow it
        [gzip.compress(b"\n", mtime=0) * 100_000 + gzip.compress(dump(LIST), mtime=0)],
        [dump(TYPED), YAML_POD],
        [dump(NODE) + b"\n---\n" + dump(POD)],
        [b"\xef\xbb\xbf" + dump(LIST)],
        [dump({"apiVersion": "v1", "kind": "List", "items": [LIST]})],
        [dump(LIST), SECRET],
    ],
)
def test_plain_objects_in_every_form(contents: list[bytes]) -> None:
    texts = [(f"f{index}", data) for index, data in enumerate(contents)]
    found = read_snapshot(texts, 7)
    assert "PersistentVolumeClaim" in found.missing_kinds
    assert not {"Node", "Pod", "ConfigMap"} & {*found.missing_kinds}
    assert replace(found, missing_kinds=()) == EXPECTED


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ([], True),
        ([{"kind": "MigrationPolicyList", "items": []}], False),
        ([{"kind": "List", "items": [{"kind": "MigrationPolicyList", "items": []}]}], False),
        ([{"apiVersion": "v1", "kind": "List", "items": []}], True),
    ],
)
def test_a_typed_list_without_items_says_that_there_is_none(more: list[Any], missing: bool) -> None:
    texts = [("f", dump(LIST)), *((f"g{index}", dump(item)) for index, item in enumerate(more))]
    found = read_snapshot(texts, 7)
    assert ("MigrationPolicy" in found.missing_kinds) is missing
    assert found.unread("MigrationPolicy") is missing


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


def test_what_is_equal_in_many_objects_of_our_file_is_one_value() -> None:
    near: dict[str, Any] = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    pods = [
        POD
        | {"metadata": {"name": name, "namespace": "default"}}
        | {"spec": POD["spec"] | {"affinity": near}}
        for name in ("p", "q")
    ]
    vmi = VM | {"kind": "VirtualMachineInstance", "spec": {"affinity": near, "domain": {}}}
    written = from_objects("cluster", [*pods, vmi], 7)
    found = read_snapshot([("f", write_snapshot(written))], 0)
    assert found == written
    one, other = (pod["spec"] for pod in found.of("Pod"))
    assert one["containers"] is other["containers"]
    assert one["affinity"] is other["affinity"]
    assert one["affinity"] is found.of("VirtualMachineInstance")[0]["spec"]["affinity"]


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


BAD = "f0: damaged ClusterSnapshot:"


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
        ([b""], "f0: found an empty file, expected a ClusterSnapshot, or Kubernetes objects"),
        ([b"null"], "f0: found no document, expected "),
        ([b"# a comment\n---\n"], "f0: found no document, expected "),
        ([gzip.compress(b"", mtime=0)], "f0: found an empty file"),
        ([dump(LIST), b""], "f1: found an empty file"),
        ([SECRET], "f0: found 1 Secret, expected a ClusterSnapshot, or Kubernetes objects with"),
        ([SECRET, dump(VM)], "f0, f1: found 1 Secret, 1 VirtualMachine, expected "),
        ([b"\xe3\xa9\x00\x17"], "f0: found bytes that are not text, the first at byte 1, expected"),
        ([b"a: caf\xe9"], "f0: found bytes that are not text, the first at byte 7, expected"),
        ([dump(LIST), dump(LIST)], ": Node n1 occurs twice"),
        ([gzip.compress(dump(LIST), mtime=0) + b"tail"], "f0: damaged gzip"),
        ([b"- a"], "f0: not a Kubernetes object: found a text"),
        ([b"just text"], "f0: not a Kubernetes object: found a text"),
        ([b"NAME   STATUS\nn1     Ready"],
         "and metadata; `kubectl get csinodes,kubevirts,"),
        ([b"a: 1"], "f0: not a Kubernetes object: found no kind"),
        ([b"a: [1"], "f0:2:1: not YAML: "),
        ([b"a:\n\t- b"], "f0:2:1: not YAML: "),
        ([b"\xff\xfe\xff"], "f0: not YAML: "),
        ([b'{"kind": "List", "items": ['], "f0:2:1: not YAML: "),
        ([b"a: &a {b: 1}\nc: {<<: *b}\n"], "f0:2:9: found an alias (*b), expected "),
        ([gzip.compress(dump(LIST), mtime=0)[:-9]], "f0: damaged gzip"),
        ([b"\x1f\x8bnonsense"], "f0: damaged gzip"),
        ([write_snapshot(EXPECTED), dump(NODE)], "f0: a ClusterSnapshot is whole and stands alone"),
        ([edited(apiVersion="placement.gitbot.dev/v9")], "f0: apiVersion: found 'placement.gitbot"),
        ([edited(objects={"Node": [{"metadata": {"name": "n2"}}]})], "f0: digest: found sha256:"),
        ([edited(takenAt="yesterday")], f"{BAD} takenAt: found 'yesterday', expected a time such"),
        ([edited(takenAt=5)], f"{BAD} takenAt: found a number, expected a text; take a new one"),
        ([edited(objects=None)], f"{BAD} objects: found nothing, expected a mapping"),
        ([edited(objects=[])], f"{BAD} objects: found a list, expected a mapping"),
        ([edited(objects={"Node": "x"})], f"{BAD} objects.Node: found a text, expected a list"),
        ([edited(objects={"Node": [NODE, "x"]})],
         f"{BAD} objects.Node[1]: found a text, expected an object"),
        ([edited(digest="", objects={"Node": [{"metadata": {"name": "n", "labels": ["a"]}}]})],
         "Node n: metadata.labels: found a list, expected a mapping"),
        ([edited(metadata={"name": ""})], f"{BAD} metadata.name: found an empty text, expected a"),
        ([edited(metadata=None)], f"{BAD} metadata: found nothing, expected a mapping"),
        ([edited(absentKinds=5)], f"{BAD} absentKinds: found a number, expected a list"),
        ([edited(absentKinds=[{}])], f"{BAD} absentKinds[0]: found a mapping, expected a text"),
        ([edited(kubernetesVersion=5)], f"{BAD} kubernetesVersion: found a number, expected a"),
        ([dump(NODE), YAML_NODE], "Node n1 occurs twice"),
        ([dump({"apiVersion": "v1", "kind": "List", "items": {}})],
         "f0: found no object, expected"),
        ([dump({"apiVersion": "v1", "kind": "List", "items": {"a": 1}})], "List.items: expected"),
    ],
)  # fmt: skip
def test_what_is_refused(contents: list[bytes], message: str) -> None:
    texts = [(f"f{index}", data) for index, data in enumerate(contents)]
    with pytest.raises(SnapshotError) as caught:
        read_snapshot(texts, 0)
    assert message in str(caught.value)


def _node(**more: Any) -> Any:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, **more}


IMPOSSIBLE = [
    (_node(status={"allocatable": {"memory": "-1Gi"}}),
     "Node n1 cannot be read: memory: found '-1Gi', expected 0 or more"),
    (_node(spec={"taints": [{"key": "a", "effect": "NoSchedul"}]}),
     "Node n1 cannot be read: taint a: found effect 'NoSchedul', expected NoSchedule, "),
    ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "x"},
     "spec": {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}},
     "Pod x/p cannot be read: cpu: found '-1', expected 0 or more"),
]  # fmt: skip


@pytest.mark.parametrize(("obj", "message"), IMPOSSIBLE)
def test_what_no_api_server_stores_is_refused_by_whoever_asks(obj: Any, message: str) -> None:
    found = read_snapshot([("f", dump(obj))], 0)
    with pytest.raises(SnapshotError) as caught:
        (Node if obj["kind"] == "Node" else Pod).from_object(found.of(obj["kind"])[0])
    assert str(caught.value).startswith(message)


def test_only_a_name_can_say_gzip() -> None:
    with pytest.raises(SnapshotError) as caught:
        read_snapshot([("random.gz", b"\xe3\xa9\x00\x17")], 0)
    assert "the first at byte 1 (only its name says gzip), expected " in str(caught.value)


def test_what_is_passed_over_is_counted_by_kind() -> None:
    others: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}},
        {"apiVersion": "metal3.io/v1", "kind": "Node", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "gitbot-hold", "namespace": "gitbot"},
        },
        {**POD, "metadata": {"name": "q"}, "status": {"phase": "Succeeded"}},
    ]
    reading = read_files([("f", dump(LIST)), ("g", dump(others))], 0)
    assert reading.passed_over == {
        "ConfigMap": 1,
        "Deployment": 1,
        "Node (metal3.io/v1)": 1,
        "Pod that has ended": 1,
        "Secret": 2,
    }
    no_version = {"kind": "VirtualMachine", "metadata": {"name": "a"}}
    assert read_files([("f", dump([NODE, no_version]))], 0).passed_over == {
        "VirtualMachine (no apiVersion)": 1
    }
    ours = edited(digest="", objects={"Node": [NODE], "Secret": [{"metadata": {"name": "a"}}]})
    assert read_files([("f", ours)], 0).passed_over == {"Secret": 1}
    assert read_files([("f", dump(LIST))], 0).passed_over == {}
    assert read_files([("f", write_snapshot(EXPECTED))], 0).passed_over == {}


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (dump(VM), "f:1:"),
        (YAML_NODE + b"---\n" + dump(VM), "f:6:"),
        (BY_HAND, "f:6:16: "),
    ],
)
def test_a_run_strategy_that_kubevirt_does_not_know_is_a_warning_with_its_place(
    data: bytes, place: str
) -> None:
    (warning,) = read_files([("p", dump(POD)), ("f", data)], 0).warnings
    assert warning.startswith(place)
    assert warning.endswith(
        "VirtualMachine shop/web: spec.runStrategy: found 'Allways', expected Halted, Manual, "
        "Always, RerunOnFailure, Once or WaitAsReceiver; did you mean Always?"
    )


def test_the_run_strategies_of_kubevirt_are_no_warning() -> None:
    specs: tuple[dict[str, Any], ...] = ({}, {"running": True}, {"runStrategy": "Halted"})
    machines = [{**VM, "metadata": {"name": f"v{n}"}, "spec": spec} for n, spec in enumerate(specs)]
    assert read_files([("f", dump([NODE, *machines]))], 0).warnings == ()
