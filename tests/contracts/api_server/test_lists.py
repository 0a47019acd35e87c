"""Lists: selectors, pages, versions, tables, and what is too old."""

import pytest

from tests.contracts.api_server.faces import TABLE, ApiFace, Object, config_map, node, pod

LABELS = {
    "a": {"tier": "db", "zone": "x"},
    "b": {"tier": "db", "zone": "y"},
    "c": {"tier": "web"},
    "d": {},
}


@pytest.fixture
def maps(face: ApiFace) -> str:
    """Four config maps with labels; the path of the collection."""
    for name, labels in LABELS.items():
        face.create(config_map(name, labels={"test": "yes", **labels}))
    return face.path("configmaps")


def _names(listed: Object) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def _list(face: ApiFace, path: str, **query: str) -> Object:
    return face.connection.request("GET", path, query=query)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("test=yes", "abcd"),
        ("test==yes,tier=db", "ab"),
        ("test,tier!=db", "cd"),
        ("test,tier in (db, web)", "abc"),
        ("test,tier notin (db)", "cd"),
        ("test,!tier", "d"),
        ("test,zone", "ab"),
        ("test,zone in (x,y),tier=db", "ab"),
        ("test=no", ""),
        ("test in (yes, no)", "abcd"),
        ("tier=", ""),
    ],
)
def test_label_selectors(face: ApiFace, maps: str, selector: str, expected: str) -> None:
    assert _names(_list(face, maps, labelSelector=selector)) == list(expected)


def test_field_selectors(face: ApiFace, maps: str) -> None:
    assert _names(_list(face, maps, fieldSelector="metadata.name=b")) == ["b"]
    both = _list(face, maps, labelSelector="test", fieldSelector="metadata.name!=b")
    assert _names(both) == ["a", "c", "d"]


def test_pods_are_selected_by_node_and_phase(face: ApiFace) -> None:
    face.create(pod("waiting", nodeSelector={"never": "there"}))
    path = face.path("pods")
    assert _names(_list(face, path, fieldSelector="status.phase=Pending")) == ["waiting"]
    assert _names(_list(face, path, fieldSelector="status.phase!=Pending")) == []
    assert _names(_list(face, path, fieldSelector="spec.nodeName=")) == ["waiting"]
    assert _names(_list(face, path, fieldSelector="spec.nodeName!=")) == []


def test_items_of_built_in_kinds_do_not_repeat_their_kind(face: ApiFace, maps: str) -> None:
    listed = _list(face, maps, labelSelector="test")
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])


def test_pages_show_one_moment(face: ApiFace, maps: str) -> None:
    first = _list(face, maps, limit="3", fieldSelector="metadata.name!=kube-root-ca.crt")
    assert _names(first) == ["a", "b", "c"]
    assert "remainingItemCount" not in first["metadata"]  # not told where a selector is at work
    face.answer("DELETE", face.path("configmaps", "d"))
    face.create(config_map("e"))
    token = {"continue": first["metadata"]["continue"]}
    query = {"limit": "3", "fieldSelector": "metadata.name!=kube-root-ca.crt", **token}
    rest = _list(face, maps, **query)
    assert _names(rest) == ["d"]
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in rest["metadata"]


def test_a_page_tells_how_many_are_left(face: ApiFace) -> None:
    face.host.add_nodes(*(node(f"n{index}") for index in range(5)))
    first = _list(face, face.path("nodes"), limit="2")
    assert (_names(first), first["metadata"]["remainingItemCount"]) == (["n0", "n1"], 3)
    token = first["metadata"]["continue"]
    second = _list(face, face.path("nodes"), limit="2", **{"continue": token})
    assert (_names(second), second["metadata"]["remainingItemCount"]) == (["n2", "n3"], 1)


def test_a_token_of_a_forgotten_past_has_expired(face: ApiFace, maps: str) -> None:
    token = _list(face, maps, limit="2")["metadata"]["continue"]
    face.patch(face.path("configmaps", "d"), {"data": {"key": "newer"}})
    face.host.forget()
    query = {"limit": "2", "continue": token}
    code, reason, message = face.refusal(lambda: _list(face, maps, **query))
    assert (code, reason) == (410, "Expired")
    assert "The provided continue parameter is too old to display a consistent list" in message


def test_a_list_at_a_version(face: ApiFace, maps: str) -> None:
    version = _list(face, maps)["metadata"]["resourceVersion"]
    face.answer("DELETE", face.path("configmaps", "a"))
    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact", "labelSelector": "test"}
    assert _names(_list(face, maps, **exact)) == ["a", "b", "c", "d"]
    assert _names(_list(face, maps, labelSelector="test")) == ["b", "c", "d"]
    at_least = {**exact, "resourceVersionMatch": "NotOlderThan"}
    assert _names(_list(face, maps, **at_least)) == ["b", "c", "d"]


def _table(face: ApiFace, path: str, **query: str) -> Object:
    return face.answer("GET", path, query=query, accept=TABLE).body


def _columns(table: Object) -> list[tuple[str, str, int]]:
    found = table["columnDefinitions"]
    return [(each["name"], each["type"], each["priority"]) for each in found]


def test_a_table_of_config_maps(face: ApiFace, maps: str) -> None:
    table = _table(face, maps, labelSelector="tier=db")
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert _columns(table) == [("Name", "string", 0), ("Data", "string", 0), ("Age", "string", 0)]
    assert [row["cells"][:2] for row in table["rows"]] == [["a", 1], ["b", 1]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert table["rows"][0]["object"]["metadata"]["name"] == "a"
    bare = _table(face, maps, labelSelector="tier=db", includeObject="None")
    assert bare["rows"][0].get("object") is None
    whole = _table(face, maps, labelSelector="tier=db", includeObject="Object")
    assert whole["rows"][0]["object"]["data"] == {"key": "value"}


def test_a_table_of_pods(face: ApiFace) -> None:
    face.create(pod("waiting", nodeSelector={"never": "there"}))
    table = _table(face, face.path("pods"))
    assert [name for name, _, priority in _columns(table) if not priority] == [
        "Name", "Ready", "Status", "Restarts", "Age",
    ]  # fmt: skip
    assert [name for name, _, priority in _columns(table) if priority] == [
        "IP", "Node", "Nominated Node", "Readiness Gates",
    ]  # fmt: skip
    cells = table["rows"][0]["cells"]
    assert [*cells[:4], *cells[5:]] == ["waiting", "0/1", "Pending", "0", *["<none>"] * 4]


def test_a_table_of_nodes(face: ApiFace) -> None:
    face.host.add_nodes(node("n1", labels={"node-role.kubernetes.io/worker": ""}))
    table = _table(face, face.path("nodes"))
    assert [name for name, _, _ in _columns(table)] == [
        "Name", "Status", "Roles", "Age", "Version", "Internal-IP", "External-IP", "OS-Image",
        "Kernel-Version", "Container-Runtime",
    ]  # fmt: skip
    cells = table["rows"][0]["cells"]
    assert [*cells[:3], cells[4], *cells[6:]] == [
        "n1", "Ready", "worker", "v1.36.3", "<none>", "simulated", "6.12.0 (amd64)",
        "containerd://2.2.0",
    ]  # fmt: skip


def test_one_object_as_a_table(face: ApiFace, maps: str) -> None:
    table = _table(face, f"{maps}/a")
    assert [row["cells"][0] for row in table["rows"]] == ["a"]
