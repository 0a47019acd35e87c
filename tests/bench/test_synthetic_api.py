"""The synthetic API server answers as kube-apiserver does, and counts what it sends."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from tests.bench.synthetic_api import SyntheticApi

PODS = "/api/v1/pods"


def pod(name: str, node: str = "n1", phase: str = "Running") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team"}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


@contextmanager
def api(*objects: dict[str, Any], bookmark_seconds: float = 60) -> Iterator[SyntheticApi]:
    with SyntheticApi(objects, bookmark_seconds=bookmark_seconds) as found:
        yield found


def get(found: SyntheticApi, path: str) -> tuple[int, Any]:
    connection = HTTPConnection(found.url.removeprefix("http://"))
    connection.request("GET", path)
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    lines = [json.loads(line) for line in data.splitlines()]
    return answer.status, lines if "watch=" in path else lines[0]


def names(answer: Any) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


def test_pages_keep_the_state_of_the_first() -> None:
    with api(pod("a"), pod("b"), pod("c")) as found:
        _, first = get(found, f"{PODS}?limit=2")
        found.remove("Pod", ("team", "c"))
        found.put(pod("aa"))
        _, rest = get(found, f"{PODS}?limit=2&continue={first['metadata']['continue']}")
        version = first["metadata"]["resourceVersion"]
        _, exact = get(found, f"{PODS}?resourceVersion={version}&resourceVersionMatch=Exact")
        _, newest = get(found, PODS)
    assert names(first) + names(rest) == ["a", "b", "c"] == names(exact)
    assert names(newest) == ["a", "aa", "b"]
    assert (found.lists["Pod"], found.requests["list Pod"]) == (3, 4)
    assert found.sent["list Pod"] > 0


def test_field_selectors() -> None:
    with api(pod("a"), pod("b", node="n2"), pod("c", phase="Succeeded")) as found:
        _, there = get(found, f"{PODS}?fieldSelector=spec.nodeName%3Dn2")
        _, unfinished = get(found, f"{PODS}?fieldSelector=status.phase%21%3DSucceeded")
    assert (names(there), names(unfinished)) == (["b"], ["a", "b"])


def test_watch_sends_changes_since_a_version_then_ends() -> None:
    with api(pod("a")) as found:
        found.put(pod("b"))
        found.put(pod("a", phase="Failed"))
        found.remove("Pod", ("team", "b"))
        _, events = get(found, f"{PODS}?watch=true&resourceVersion=2&timeoutSeconds=0.1")
    told = [(event["type"], event["object"]["metadata"]["name"]) for event in events]
    assert told == [("MODIFIED", "a"), ("DELETED", "b")]
    assert events[-1]["object"]["metadata"]["resourceVersion"] == "4"


def test_watch_with_initial_events_ends_them_with_a_bookmark() -> None:
    query = "watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=0.1"
    with api(pod("a")) as found:
        _, events = get(found, f"{PODS}?{query}")
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_bookmarks_carry_the_version_of_other_kinds() -> None:
    with api(pod("a"), bookmark_seconds=0.05) as found:
        found.put({"kind": "Node", "metadata": {"name": "n1"}})
        _, events = get(found, f"{PODS}?watch=true&resourceVersion=1&timeoutSeconds=0.1")
    assert {event["type"] for event in events} == {"BOOKMARK"}
    assert events[0]["object"]["metadata"]["resourceVersion"] == "2"


def test_forgotten_versions_are_410() -> None:
    with api(pod("a")) as found:
        found.put(pod("b"))
        found.forget()
        code, _ = get(found, f"{PODS}?resourceVersion=1&resourceVersionMatch=Exact")
        _, events = get(found, f"{PODS}?watch=true&resourceVersion=1&timeoutSeconds=0.1")
    assert code == 410
    assert [(event["type"], event["object"]["code"]) for event in events] == [("ERROR", 410)]
