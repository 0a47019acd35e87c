"""Patches: JSON (RFC 6902), merge (RFC 7386) and strategic merge for built-in kinds.

Merge keys: k8s.io/api types, `patchMergeKey` tags; lists without one are replaced whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitbot.simulation.status_errors import ApiError, bad_request

MERGE_KEYS: Mapping[str, str] = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "topologySpreadConstraints": "topologyKey",
}
_PRIMITIVE_MERGE = frozenset({"finalizers"})


def merge_patch(value: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return patch
    result = dict(value) if isinstance(value, Mapping) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), item)
    return result


def strategic_patch(value: Any, patch: Any) -> Any:
    """Strategic merge: lists of objects with a merge key are merged item by item."""
    if not isinstance(patch, Mapping):
        return patch
    if patch.get("$patch") == "replace":
        return {key: item for key, item in patch.items() if key != "$patch"}
    result = dict(value) if isinstance(value, Mapping) else {}
    for key, item in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            name = key.split("/", 1)[1]
            result[name] = [kept for kept in result.get(name) or [] if kept not in item]
        elif key.startswith("$"):
            continue
        elif item is None:
            result.pop(key, None)
        else:
            result[key] = _strategic_value(key, result.get(key), item)
    return result


def _strategic_value(key: str, old: Any, item: Any) -> Any:
    if isinstance(item, Mapping):
        return strategic_patch(old, item)
    if not isinstance(item, list):
        return item
    if key in _PRIMITIVE_MERGE:
        return [*(old or []), *(new for new in item if new not in (old or []))]
    if key in MERGE_KEYS and all(isinstance(entry, Mapping) for entry in item):
        return _merge_list(old or [], item, MERGE_KEYS[key])
    return item


def _merge_list(old: Sequence[Any], patch: Sequence[Any], merge_key: str) -> list[Any]:
    if any(entry.get("$patch") == "replace" for entry in patch):
        return [entry for entry in patch if "$patch" not in entry]
    result = list(old)
    for entry in patch:
        index = next(
            (i for i, item in enumerate(result) if item.get(merge_key) == entry.get(merge_key)),
            None,
        )
        if entry.get("$patch") == "delete":
            if index is not None:
                del result[index]
        elif index is None:
            result.append(strategic_patch({}, entry))
        else:
            result[index] = strategic_patch(result[index], entry)
    return result


def json_patch(value: Any, operations: Any) -> Any:
    """RFC 6902; raises 422 if a test fails or a path is missing, 400 if it is malformed."""
    if not isinstance(operations, list):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type "
            "[]handlers.jsonPatchOp"
        )
    for operation in operations:
        value = _operate(value, operation)
    return value


def _operate(value: Any, operation: Mapping[str, Any]) -> Any:
    path = _pointer(operation.get("path", ""))
    match operation.get("op"):
        case "add":
            return _edit(value, path, "add", operation.get("value"))
        case "replace":
            return _edit(value, path, "replace", operation.get("value"))
        case "remove":
            return _edit(value, path, "remove", None)
        case "test":
            if _look(value, path) != operation.get("value"):
                raise _unprocessable(f"testing value {operation['path']} failed")
            return value
        case "copy":
            return _edit(value, path, "add", _look(value, _pointer(operation["from"])))
        case "move":
            source = _pointer(operation["from"])
            moved = _look(value, source)
            return _edit(_edit(value, source, "remove", None), path, "add", moved)
        case other:
            raise _unprocessable(f"unknown JSON patch operation {other!r}")


def _unprocessable(cause: str) -> ApiError:
    """422; the real server hides the cause, here it is in the details."""
    return ApiError(
        "the server rejected our request due to an error in our request",
        details={"causes": [{"message": cause}]},
        code=422,
        reason="Invalid",
    )


def _pointer(text: str) -> list[str]:
    if text and not text.startswith("/"):
        raise bad_request(f"{text!r} is not a JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:]]


def _look(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(value, Mapping):
            if part not in value:
                return None
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _edit(value: Any, path: Sequence[str], how: str, new: Any) -> Any:
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        return _edit_list(value, head, rest, how, new)
    if not isinstance(value, Mapping) or (head not in value and (rest or how != "add")):
        raise _unprocessable(f"path not found: {head!r}")
    result = dict(value)
    if rest:
        result[head] = _edit(result[head], rest, how, new)
    elif how == "remove":
        del result[head]
    else:
        result[head] = new
    return result


def _edit_list(value: list[Any], head: str, rest: Sequence[str], how: str, new: Any) -> Any:
    result = list(value)
    if head == "-" and not rest and how == "add":
        return [*result, new]
    limit = len(result) + (1 if how == "add" and not rest else 0)
    if not head.isdigit() or int(head) >= limit:
        raise _unprocessable(f"index out of range: {head!r}")
    index = int(head)
    if rest:
        result[index] = _edit(result[index], rest, how, new)
    elif how == "remove":
        del result[index]
    elif how == "add":
        result.insert(index, new)
    else:
        result[index] = new
    return result
