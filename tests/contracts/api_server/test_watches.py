"""Watches: every change from a version on, selectors, bookmarks, and a past that is forgotten."""

import json
from typing import Any

from tests.contracts.api_server.faces import TABLE, ApiFace, config_map


def _version(face: ApiFace) -> str:
    listed = face.connection.request("GET", face.path("configmaps"))
    return str(listed["metadata"]["resourceVersion"])


def _events(face: ApiFace, **query: str) -> list[tuple[str, dict[str, Any]]]:
    """The events of config maps, but for the one that Kubernetes puts into each namespace."""
    return [
        (kind, obj)
        for kind, obj in face.events(face.path("configmaps"), **query)
        if obj["metadata"].get("name") != "kube-root-ca.crt"
    ]


def _told(face: ApiFace, **query: str) -> list[tuple[str, str]]:
    return [(kind, obj["metadata"]["name"]) for kind, obj in _events(face, **query)]


def test_every_change_is_told_in_order(face: ApiFace) -> None:
    version = _version(face)
    face.create(config_map("a"))
    face.create(config_map("b"))
    face.patch(face.path("configmaps", "a"), {"data": {"key": "2"}})
    face.answer("DELETE", face.path("configmaps", "a"))
    assert _told(face, resourceVersion=version) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
    ]


def test_versions_grow_and_a_deletion_has_its_own(face: ApiFace) -> None:
    version = _version(face)
    made = face.create(config_map("a"))
    face.answer("DELETE", face.path("configmaps", "a"))
    found = [
        int(obj["metadata"]["resourceVersion"]) for _, obj in _events(face, resourceVersion=version)
    ]
    assert len(found) == 2
    assert int(version) < found[0] < found[1]
    assert found[0] == int(made["metadata"]["resourceVersion"])


def test_without_a_version_what_is_there_comes_first(face: ApiFace) -> None:
    face.create(config_map("a"))
    assert ("ADDED", "a") in _told(face)
    assert ("ADDED", "a") in _told(face, resourceVersion="0")


def test_an_object_that_leaves_the_selection_is_gone(face: ApiFace) -> None:
    version = _version(face)
    face.create(config_map("a", labels={"in": "yes"}))
    path = face.path("configmaps", "a")
    face.patch(path, {"metadata": {"labels": {"in": "no"}}})
    face.patch(path, {"data": {"key": "unseen"}})
    face.patch(path, {"metadata": {"labels": {"in": "yes"}}})
    told = _told(face, resourceVersion=version, labelSelector="in=yes")
    assert told == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


def test_one_object_is_watched_by_its_name(face: ApiFace) -> None:
    version = _version(face)
    face.create(config_map("a"))
    face.create(config_map("b"))
    told = _told(face, resourceVersion=version, fieldSelector="metadata.name=b")
    assert told == [("ADDED", "b")]


def test_initial_events_end_with_a_bookmark(face: ApiFace) -> None:
    face.create(config_map("a"))
    query = {
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
    events = list(face.events(face.path("configmaps"), **query))
    kinds = [kind for kind, _ in events]
    end = kinds.index("BOOKMARK")
    assert set(kinds[:end]) == {"ADDED"}
    bookmark = events[end][1]
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(
        face.get("configmaps", "a")["metadata"]["resourceVersion"]
    )


def test_a_watch_from_a_forgotten_version_has_expired(face: ApiFace) -> None:
    face.create(config_map("a"))
    face.host.forget()
    found = face.answer(
        "GET",
        face.path("configmaps"),
        query={"watch": "true", "resourceVersion": "1", "timeoutSeconds": "1"},
    )
    status = found.body if found.code == 410 else found.body["object"]
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert "too old resource version: 1 (" in status["message"]


def test_the_first_table_of_a_watch_has_the_head(face: ApiFace) -> None:
    version = _version(face)
    face.create(config_map("a", labels={"in": "yes"}))
    face.create(config_map("b", labels={"in": "yes"}))
    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "1"}
    query["labelSelector"] = "in=yes"  # Kubernetes puts a ConfigMap of its own into a new namespace
    data = face.answer("GET", face.path("configmaps"), query=query, accept=TABLE).data
    tables = [json.loads(line)["object"] for line in data.splitlines()]
    assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]
