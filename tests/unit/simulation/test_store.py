from typing import Any

import pytest

from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Change, Store, owner_uids


def config_map(name: str = "", **metadata: Any) -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": "default", **named, **metadata},
    }


@pytest.fixture
def store() -> Store:
    return Store(seed=7, now=lambda: 1_764_547_200)


def test_versions_grow_and_a_write_without_change_makes_none(store: Store) -> None:
    first = store.create(config_map("a"))
    second = store.create(config_map("b"))
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    assert store.replace(first) is first
    changed = store.replace({**first, "data": {"k": "v"}})
    assert int(changed["metadata"]["resourceVersion"]) == store.version


def test_the_same_seed_gives_the_same_names_and_uids() -> None:
    def story(seed: int) -> list[str]:
        store = Store(seed=seed, now=lambda: 0)
        created = [store.create(config_map(generateName="x-")) for _ in range(3)]
        return [obj["metadata"]["name"] + obj["metadata"]["uid"] for obj in created]

    assert story(1) == story(1)
    assert story(1) != story(2)


def test_history_tells_every_change_and_says_when_it_is_too_short() -> None:
    store = Store(seed=0, now=lambda: 0, history=3)
    start = store.version
    for name in "abc":
        store.create(config_map(name))
    assert [change.type for change in store.history_since(start)] == ["ADDED"] * 3
    store.delete("ConfigMap", ("default", "a"))
    with pytest.raises(ApiError) as refused:
        store.history_since(start)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_listeners_see_old_and_new(store: Store) -> None:
    seen: list[Change] = []
    store.listeners.append(seen.append)
    stored = store.create(config_map("a"))
    changed = store.replace({**stored, "data": {"k": "v"}})
    store.delete("ConfigMap", ("default", "a"))
    assert [(change.type, change.old) for change in seen] == [
        ("ADDED", None),
        ("MODIFIED", stored),
        ("DELETED", changed),
    ]


def test_a_list_can_be_read_as_it_was(store: Store) -> None:
    for name in "abc":
        store.create(config_map(name))
    version, before = store.version, list(store.all("ConfigMap"))
    changed = {**store.get("ConfigMap", ("default", "a")), "data": {"k": "v"}}
    store.replace(changed)
    store.delete("ConfigMap", ("default", "b"))
    store.create(config_map("d"))
    store.create(config_map("b"))
    assert list(store.all_at("ConfigMap", version)) == before
    assert list(store.all_at("ConfigMap", store.version)) == list(store.all("ConfigMap"))


def test_indexes_follow_writes(store: Store) -> None:
    store.add_index("ConfigMap", "owner", owner_uids)
    owned = store.create(config_map("a", ownerReferences=[{"uid": "u1"}]))
    assert store.indexed("ConfigMap", "owner", "u1") == (owned,)
    moved = {**owned["metadata"], "ownerReferences": [{"uid": "u2"}]}
    store.replace({**owned, "metadata": moved})
    assert store.indexed("ConfigMap", "owner", "u1") == ()
    assert [o["metadata"]["name"] for o in store.indexed("ConfigMap", "owner", "u2")] == ["a"]


def test_a_list_is_sorted_and_can_be_cut_to_a_namespace(store: Store) -> None:
    for namespace, name in [("b", "x"), ("a", "y"), ("ab", "z"), ("a", "b")]:
        store.create({**config_map(name), "metadata": {"namespace": namespace, "name": name}})
    assert [o["metadata"]["name"] for o in store.all("ConfigMap")] == ["b", "y", "z", "x"]
    assert [o["metadata"]["name"] for o in store.all("ConfigMap", "a")] == ["b", "y"]
