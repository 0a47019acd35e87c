"""Objects from creation to deletion: versions, dry runs, patches, conflicts, finalizers."""

import re
from typing import Any

import pytest

from tests.contracts.api_server.faces import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    ApiFace,
    config_map,
    node,
    pod,
)

STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


@pytest.fixture
def path(face: ApiFace) -> str:
    """The path of a config map `a`."""
    face.create(config_map("a"))
    return face.path("configmaps", "a")


def test_a_new_object_gets_what_the_server_gives(face: ApiFace) -> None:
    made = face.create(config_map("a"))
    metadata = made["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", metadata["uid"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", metadata["creationTimestamp"])
    assert metadata["resourceVersion"].isdecimal()
    assert "generation" not in metadata
    assert face.get("configmaps", "a") == made


def test_what_only_the_server_gives_is_not_taken(face: ApiFace) -> None:
    given = {"uid": "mine", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7}
    made = face.create(config_map("a", **given))
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] != "2020-01-01T00:00:00Z"


def test_names_are_generated(face: ApiFace) -> None:
    body = config_map("")
    body["metadata"] = {"generateName": "made-"}
    names = {face.create(body)["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"made-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_a_dry_run_answers_like_a_write_and_stores_nothing(face: ApiFace, path: str) -> None:
    made = face.create(config_map("dry"), dryRun="All")
    assert made["metadata"]["uid"]
    assert face.refusal(lambda: face.get("configmaps", "dry"))[0] == 404
    patched = face.patch(path, {"data": {"key": "other"}}, dryRun="All")
    assert patched["data"] == {"key": "other"}
    assert face.get("configmaps", "a")["data"] == {"key": "value"}
    face.answer("DELETE", path, query={"dryRun": "All"})
    assert face.get("configmaps", "a")
    code, _, _ = face.refusal(lambda: face.create(config_map("a"), dryRun="All"))
    assert code == 409


@pytest.mark.parametrize(
    ("how", "patch", "expected"),
    [
        (MERGE, {"data": {"key": None, "new": "1"}}, {"new": "1"}),
        (MERGE, {"data": {"deep": "1"}, "metadata": {"labels": {"l": "1"}}},
         {"key": "value", "deep": "1"}),
        (STRATEGIC, {"data": {"key": None, "new": "1"}}, {"new": "1"}),
        (STRATEGIC, {"data": {"$patch": "replace", "only": "1"}}, {"only": "1"}),
        (JSON_PATCH, [{"op": "add", "path": "/data/new", "value": "1"}],
         {"key": "value", "new": "1"}),
        (JSON_PATCH, [{"op": "replace", "path": "/data/key", "value": "2"}], {"key": "2"}),
        (JSON_PATCH, [{"op": "remove", "path": "/data/key"},
                      {"op": "add", "path": "/data/b", "value": "2"}], {"b": "2"}),
        (JSON_PATCH, [{"op": "test", "path": "/data/key", "value": "value"},
                      {"op": "move", "from": "/data/key", "path": "/data/moved"}],
         {"moved": "value"}),
        (JSON_PATCH, [{"op": "copy", "from": "/data/key", "path": "/data/a~1b"}],
         {"key": "value", "a/b": "value"}),
    ],
)  # fmt: skip
def test_a_patch(face: ApiFace, path: str, how: str, patch: Any, expected: Any) -> None:
    if "a/b" in expected:  # no key of a config map may have a slash
        path = face.path("configmaps", "annotated")
        face.create(config_map("annotated", annotations={"key": "value"}))
        patch = [{"op": "copy", "from": "/metadata/annotations/key",
                  "path": "/metadata/annotations/a~1b"}]  # fmt: skip
        assert face.patch(path, patch, how)["metadata"]["annotations"] == expected
        return
    assert face.patch(path, patch, how)["data"] == expected
    assert face.get("configmaps", "a")["data"] == expected


def test_a_strategic_patch_merges_lists_by_their_key(face: ApiFace) -> None:
    face.create(pod("p", nodeSelector={"never": "there"}))
    path = face.path("pods", "p", "status")
    for name in ("First", "Second"):
        condition = {"type": name, "status": "True"}
        face.patch(path, {"status": {"conditions": [condition]}}, STRATEGIC)
    face.patch(path, {"status": {"conditions": [{"type": "First", "status": "False"}]}}, STRATEGIC)
    conditions = face.get("pods", "p")["status"]["conditions"]
    found = {each["type"]: each["status"] for each in conditions}
    assert {"First": "False", "Second": "True"}.items() <= found.items()


def test_apply_creates_and_then_changes(face: ApiFace) -> None:
    path = face.path("configmaps", "applied")
    found = face.answer(
        "PATCH", path, config_map("applied"), query={"fieldManager": "me"}, content_type=APPLY
    )
    assert (found.code, found.body["data"]) == (201, {"key": "value"})
    changed = {**config_map("applied"), "data": {"key": "other"}}
    found = face.answer("PATCH", path, changed, query={"fieldManager": "me"}, content_type=APPLY)
    assert (found.code, found.body["data"]) == (200, {"key": "other"})


def test_the_second_of_two_writers_loses(face: ApiFace, path: str) -> None:
    first = face.get("configmaps", "a")
    face.connection.request("PUT", path, {**first, "data": {"key": "one"}})
    code, reason, message = face.refusal(
        lambda: face.connection.request("PUT", path, {**first, "data": {"key": "two"}})
    )
    assert (code, reason) == (409, "Conflict")
    assert message == f'Operation cannot be fulfilled on configmaps "a": {STALE}'
    version = first["metadata"]["resourceVersion"]
    late = {"metadata": {"resourceVersion": version}, "data": {"key": "three"}}
    assert face.refusal(lambda: face.patch(path, late))[0] == 409
    assert face.get("configmaps", "a")["data"] == {"key": "one"}


def test_a_write_that_changes_nothing_makes_no_version(face: ApiFace, path: str) -> None:
    before = face.get("configmaps", "a")["metadata"]["resourceVersion"]
    after = face.patch(path, {"data": {"key": "value"}})["metadata"]["resourceVersion"]
    assert after == before
    assert face.patch(path, {"data": {"key": "2"}})["metadata"]["resourceVersion"] != before


def test_a_finalizer_keeps_an_object_until_it_is_taken_away(face: ApiFace) -> None:
    face.create(config_map("held", finalizers=["example.org/hold"]))
    path = face.path("configmaps", "held")
    answer = face.answer("DELETE", path)
    assert (answer.code, answer.body["kind"]) == (200, "ConfigMap")
    marked = face.get("configmaps", "held")
    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    again = face.answer("DELETE", path)
    assert again.body["metadata"]["resourceVersion"] == marked["metadata"]["resourceVersion"]
    more = {"metadata": {"finalizers": ["example.org/hold", "example.org/more"]}}
    code, reason, message = face.refusal(lambda: face.patch(path, more))
    assert (code, reason) == (422, "Invalid")
    assert "no new finalizers can be added if the object is being deleted" in message
    assert face.patch(path, {"data": {"still": "writable"}})["data"]["still"] == "writable"
    face.patch(path, {"metadata": {"finalizers": None}})
    assert face.refusal(lambda: face.get("configmaps", "held"))[0] == 404


def test_a_deletion_answers_with_a_status(face: ApiFace, path: str) -> None:
    uid = face.get("configmaps", "a")["metadata"]["uid"]
    found = face.answer("DELETE", path, {"preconditions": {"uid": uid}})
    assert (found.code, found.body["kind"], found.body["status"]) == (200, "Status", "Success")
    assert found.body["details"] == {"name": "a", "kind": "configmaps", "uid": uid}


def test_a_collection_is_deleted_by_selector(face: ApiFace, path: str) -> None:
    face.create(config_map("b", labels={"gone": "yes"}))
    found = face.answer("DELETE", face.path("configmaps"), query={"labelSelector": "gone=yes"})
    assert found.code == 200
    assert face.get("configmaps", "a")
    assert face.refusal(lambda: face.get("configmaps", "b"))[0] == 404


def test_status_and_spec_are_written_apart(face: ApiFace) -> None:
    face.host.add_nodes(node("n1"))
    path = face.path("nodes", "n1")
    face.patch(path, {"status": {"nodeInfo": {"bootID": "x"}}})
    assert face.get("nodes", "n1")["status"]["nodeInfo"]["bootID"] != "x"
    face.patch(f"{path}/status", {"status": {"nodeInfo": {"bootID": "x"}}}, STRATEGIC)
    face.patch(f"{path}/status", {"spec": {"unschedulable": True}}, STRATEGIC)
    found = face.get("nodes", "n1")
    assert found["status"]["nodeInfo"]["bootID"] == "x"
    assert "unschedulable" not in found["spec"]


def test_labels_of_a_node(face: ApiFace) -> None:
    face.host.add_nodes(node("n1"))
    path, key = face.path("nodes", "n1"), "placement.gitbot.dev/state"
    assert face.patch(path, {"metadata": {"labels": {key: "draining"}}})["metadata"]["labels"][key]
    removed = face.patch(path, {"metadata": {"labels": {key: None}}})["metadata"]["labels"]
    assert key not in removed
    assert removed["kubernetes.io/hostname"] == "n1"


def test_a_cordoned_node_is_tainted_and_an_uncordoned_one_is_not(face: ApiFace) -> None:
    face.host.add_nodes(node("n1"))
    path = face.path("nodes", "n1")

    def taints() -> list[str]:
        return [taint["key"] for taint in face.get("nodes", "n1")["spec"].get("taints", [])]

    face.patch(path, {"spec": {"unschedulable": True}})
    face.host.eventually(lambda: taints() == ["node.kubernetes.io/unschedulable"])
    face.patch(path, {"spec": {"unschedulable": None}})
    face.host.eventually(lambda: taints() == [])


def test_a_namespace_has_its_label_and_phase(face: ApiFace) -> None:
    found = face.get("namespaces", face.namespace)
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": face.namespace}
    assert found["status"]["phase"] == "Active"
    assert found["spec"]["finalizers"] == ["kubernetes"]
