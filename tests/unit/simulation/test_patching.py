from typing import Any

import pytest

from gitbot.simulation.patching import json_patch, merge_patch, strategic_patch
from gitbot.simulation.status_errors import ApiError

OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["x"]},
    "spec": {
        "taints": [{"key": "k", "effect": "NoSchedule"}],
        "containers": [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:2"}],
    },
}


@pytest.mark.parametrize(
    ("patch", "path", "expected"),
    [
        ({"metadata": {"labels": {"a": None, "c": "3"}}}, ["metadata", "labels"],
         {"b": "2", "c": "3"}),
        ({"metadata": {"finalizers": ["y"]}}, ["metadata", "finalizers"], ["y"]),
        ({"spec": {"taints": None}}, ["spec"], {"containers": OBJECT["spec"]["containers"]}),
        ({"spec": {"containers": []}}, ["spec", "containers"], []),
        ({"status": {"a": {"b": None}}}, ["status"], {"a": {}}),
    ],
)  # fmt: skip
def test_merge_patch(patch: Any, path: list[str], expected: Any) -> None:
    result = merge_patch(OBJECT, patch)
    for key in path:
        result = result[key]
    assert result == expected


@pytest.mark.parametrize(
    ("patch", "path", "expected"),
    [
        ({"metadata": {"finalizers": ["y"]}}, ["metadata", "finalizers"], ["x", "y"]),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}},
         ["metadata", "finalizers"], []),
        ({"spec": {"containers": [{"name": "two", "image": "i:3"}]}}, ["spec", "containers"],
         [{"name": "one", "image": "i:1"}, {"name": "two", "image": "i:3"}]),
        ({"spec": {"$setElementOrder/containers": [], "containers":
          [{"name": "one", "$patch": "delete"}]}}, ["spec", "containers"],
         [{"name": "two", "image": "i:2"}]),
        ({"spec": {"containers": [{"$patch": "replace"}, {"name": "three"}]}},
         ["spec", "containers"], [{"name": "three"}]),
        ({"spec": {"taints": [{"key": "z", "effect": "NoExecute"}]}}, ["spec", "taints"],
         [{"key": "z", "effect": "NoExecute"}]),
        ({"metadata": {"$patch": "replace", "name": "n"}}, ["metadata"], {"name": "n"}),
        ({"metadata": {"labels": {"a": None}}}, ["metadata", "labels"], {"b": "2"}),
    ],
)  # fmt: skip
def test_strategic_patch(patch: Any, path: list[str], expected: Any) -> None:
    result = strategic_patch(OBJECT, patch)
    for key in path:
        result = result[key]
    assert result == expected


@pytest.mark.parametrize(
    ("operation", "path", "expected"),
    [
        ({"op": "add", "path": "/metadata/labels/c~1d", "value": "3"}, ["metadata", "labels"],
         {"a": "1", "b": "2", "c/d": "3"}),
        ({"op": "remove", "path": "/metadata/labels/a"}, ["metadata", "labels"], {"b": "2"}),
        ({"op": "replace", "path": "/metadata/labels/a", "value": "9"}, ["metadata", "labels"],
         {"a": "9", "b": "2"}),
        ({"op": "add", "path": "/metadata/finalizers/-", "value": "y"},
         ["metadata", "finalizers"], ["x", "y"]),
        ({"op": "add", "path": "/metadata/finalizers/0", "value": "y"},
         ["metadata", "finalizers"], ["y", "x"]),
        ({"op": "remove", "path": "/spec/containers/0"}, ["spec", "containers"],
         [{"name": "two", "image": "i:2"}]),
        ({"op": "replace", "path": "/spec/containers/1/image", "value": "z"},
         ["spec", "containers"], [{"name": "one", "image": "i:1"}, {"name": "two", "image": "z"}]),
        ({"op": "test", "path": "/metadata/labels/a", "value": "1"}, ["metadata", "labels"],
         {"a": "1", "b": "2"}),
        ({"op": "copy", "from": "/metadata/labels/a", "path": "/metadata/labels/c"},
         ["metadata", "labels"], {"a": "1", "b": "2", "c": "1"}),
        ({"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/c"},
         ["metadata", "labels"], {"b": "2", "c": "1"}),
    ],
)  # fmt: skip
def test_json_patch(operation: Any, path: list[str], expected: Any) -> None:
    result = json_patch(OBJECT, [operation])
    for key in path:
        result = result[key]
    assert result == expected


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ({"op": "add"}, 400),
        ([{"op": "jump", "path": "/a"}], 422),
        ([{"op": "add", "path": "no-slash", "value": 1}], 400),
        ([{"op": "test", "path": "/metadata/labels/a", "value": "2"}], 422),
        ([{"op": "remove", "path": "/metadata/labels/absent"}], 422),
        ([{"op": "replace", "path": "/absent/deeper", "value": 1}], 422),
        ([{"op": "remove", "path": "/spec/containers/7"}], 422),
    ],
)
def test_json_patches_that_are_refused(operations: Any, code: int) -> None:
    with pytest.raises(ApiError) as refused:
        json_patch(OBJECT, operations)
    assert refused.value.code == code


def test_a_patch_leaves_the_original_alone() -> None:
    before = str(OBJECT)
    strategic_patch(OBJECT, {"spec": {"containers": [{"name": "two", "image": "changed"}]}})
    merge_patch(OBJECT, {"metadata": {"labels": {"a": None}}})
    json_patch(OBJECT, [{"op": "remove", "path": "/spec/taints/0"}])
    assert str(OBJECT) == before
