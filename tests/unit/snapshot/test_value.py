"""From Kubernetes objects to a snapshot: what is kept, sorted, digested, refused."""

import json
from typing import Any

import pytest

from gitbot.errors import SnapshotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import KINDS
from gitbot.snapshot import from_objects
from gitbot.snapshot.decode import indented_json
from gitbot.snapshot.kept_fields import FIELDS
from gitbot.snapshot.resources import RESOURCES


def node(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec}


def pod(name: str, namespace: str = "a", **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"nodeName": "n1"},
        "status": status,
    }


def test_every_kind_has_fields_and_a_resource() -> None:
    assert set(KINDS) == set(FIELDS) == set(RESOURCES)


def test_objects_are_sorted_by_namespace_and_name_in_code_points() -> None:
    objects = [pod("b", "a"), pod("a", "b"), pod("Z", "a"), node("n10"), node("n2")]
    snapshot = from_objects("c", objects, 5)
    assert [o["metadata"]["name"] for o in snapshot.of("Pod")] == ["Z", "b", "a"]
    assert [o["metadata"]["name"] for o in snapshot.of("Node")] == ["n10", "n2"]
    assert snapshot == from_objects("c", reversed(objects), 5)
    assert snapshot.find("Pod", NamespacedName(namespace="b", name="a")) is not None


def test_the_digest_covers_content_and_cluster_but_not_the_time() -> None:
    snapshot = from_objects("c", [node("n1")], 5)
    assert snapshot.digest == from_objects("c", [node("n1")], 6, resource_version="9").digest
    assert snapshot.digest != from_objects("d", [node("n1")], 5).digest
    assert snapshot.digest != from_objects("c", [node("n1", unschedulable=True)], 5).digest
    assert snapshot.digest.startswith("sha256:")


@pytest.mark.parametrize(
    ("obj", "kept"),
    [
        (pod("a", phase="Running"), 1),
        (pod("a", phase="Succeeded"), 0),
        (pod("a", phase="Failed"), 0),
        (pod("a"), 1),
        ({"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "x"}}, 0),
        ({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}, 0),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, 0),
        ({"kind": ["Pod"]}, 0),
        ({"apiVersion": "kubevirt.io/v1alpha3", "kind": "KubeVirt", "metadata": {"name": "k"}}, 1),
    ],
)
def test_what_a_snapshot_holds(obj: dict[str, Any], kept: int) -> None:
    snapshot = from_objects("c", [obj], 0)
    assert sum(len(objects) for objects in snapshot.objects.values()) == kept


def test_a_snapshot_shares_nothing_with_its_input() -> None:
    source = node("n1", taints=[{"key": "k", "effect": "NoSchedule"}])
    snapshot = from_objects("c", [source], 0)
    source["spec"]["taints"][0]["key"] = "changed"
    assert snapshot.of("Node")[0]["spec"]["taints"][0]["key"] == "k"


def test_null_is_absent_and_empty_stays() -> None:
    obj = pod("a")
    obj["metadata"]["creationTimestamp"] = None
    obj["spec"]["affinity"] = {"podAffinity": {"x": [{"namespaceSelector": {}}]}}
    obj["spec"]["nodeSelector"] = None
    kept = from_objects("c", [obj], 0).of("Pod")[0]
    assert "creationTimestamp" not in kept["metadata"]
    assert "nodeSelector" not in kept["spec"]
    assert kept["spec"]["affinity"]["podAffinity"]["x"] == [{"namespaceSelector": {}}]


def test_a_number_with_a_fraction_becomes_text() -> None:
    obj = pod("a")
    obj["spec"]["containers"] = [{"name": "c", "resources": {"requests": {"cpu": 0.5, "m": 2}}}]
    kept = from_objects("c", [obj], 0).of("Pod")[0]
    assert kept["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "0.5", "m": 2}


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([node("n1"), node("n1")], "Node n1 occurs twice; keep one of the two objects"),
        ([pod("p"), pod("p")], "Pod a/p occurs twice"),
        ([{"apiVersion": "v1", "kind": "Node", "metadata": {}}], "Node without metadata.name"),
        ([{"apiVersion": "v1", "kind": "Node"}], "Node without metadata.name"),
        ([node("n1") | {"spec": "x"}], "Node n1: spec: found a text, expected a mapping"),
        ([node("n1") | {"spec": {1, 2}}], "Node n1: "),
        (
            [node("n1") | {"metadata": {"name": 5}}],
            "Node 5: metadata.name: found a number, expected",
        ),
        (
            [node("n1") | {"metadata": {"name": "n1", "annotations": ["a"]}}],
            "Node n1: metadata.annotations: found a list, expected a mapping",
        ),
    ],
)
def test_what_is_refused(objects: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        from_objects("c", objects, 0)
    assert message in str(caught.value)


def test_indented_json_is_that_of_the_standard_library() -> None:
    value = {
        "a": [],
        "b": {},
        "c": [1, 'é\u2028\x01\n"\\/<>&\x7f', None, True, {"x": [[]]}],
        "": "",
    }
    assert indented_json(value) == json.dumps(value, indent=2, ensure_ascii=False)


@pytest.mark.parametrize(("label", "kept"), [("true", False), ("false", True)])
def test_a_heartbeat_is_kept_only_of_a_virt_handler_that_is_silent(label: str, kept: bool) -> None:
    beaten = {"kubevirt.io/heartbeat": "2026-12-01T00:00:00Z"}
    metadata = {
        "name": "n1",
        "labels": {"kubevirt.io/schedulable": label},
        "annotations": beaten,
    }
    (found,) = from_objects("c", [node("n1") | {"metadata": metadata}], 0).of("Node")
    assert found["metadata"].get("annotations") == (beaten if kept else None)
