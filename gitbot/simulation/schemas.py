"""Small structural schemas: what strict field validation refuses.

Only kinds whose fields a bot writes are closed; everything else keeps unknown fields, as a CRD
with `x-kubernetes-preserve-unknown-fields` does. The shape is a subset of OpenAPI v3, so that the
OpenAPI document is made from the same data. Fields: KubeVirt 1.9, api/core/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.model.objects import at

Schema = Mapping[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
ANY: Schema = {"x-kubernetes-preserve-unknown-fields": True}
OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def fields(*, required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """An object with these fields and no other."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": list(required)} if required else schema


def list_of(items: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": items}


def map_of(values: Schema) -> Schema:
    """An object with free keys."""
    return {"type": "object", "additionalProperties": values}


METADATA = fields(
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    uid=STRING,
    resourceVersion=STRING,
    generation=INTEGER,
    creationTimestamp=STRING,
    deletionTimestamp=STRING,
    deletionGracePeriodSeconds=INTEGER,
    labels=map_of(STRING),
    annotations=map_of(STRING),
    finalizers=list_of(STRING),
    ownerReferences=list_of(
        fields(
            apiVersion=STRING,
            kind=STRING,
            name=STRING,
            uid=STRING,
            controller=BOOLEAN,
            blockOwnerDeletion=BOOLEAN,
        )
    ),
    managedFields=list_of(OPEN),
    selfLink=STRING,
)


def _kind(**properties: Schema) -> Schema:
    common = {"apiVersion": STRING, "kind": STRING, "metadata": METADATA}
    return {"type": "object", "properties": {**common, **properties}}


_OPEN_KIND = _kind(spec=OPEN, status=OPEN)
SCHEMAS: Mapping[str, Schema] = {
    "ConfigMap": _kind(data=map_of(STRING), binaryData=map_of(STRING), immutable=BOOLEAN),
    "VirtualMachineInstanceMigration": _kind(
        spec=fields(
            vmiName=STRING,
            addedNodeSelector=map_of(STRING),
            priority=STRING,
            sendTo=fields(migrationID=STRING, connectURL=STRING),
            receive=fields(migrationID=STRING),
        ),
        status=OPEN,
    ),
    "MigrationPolicy": _kind(
        spec=fields(
            allowAutoConverge=BOOLEAN,
            allowPostCopy=BOOLEAN,
            allowWorkloadDisruption=BOOLEAN,
            bandwidthPerMigration=ANY,
            completionTimeoutPerGiB=INTEGER,
            maxDowntimeMs=INTEGER,
            experimental=OPEN,
            selectors=fields(
                namespaceSelector=map_of(STRING), virtualMachineInstanceSelector=map_of(STRING)
            ),
        ),
        status=OPEN,
    ),
    "VirtualMachine": _kind(
        spec=fields(
            running=BOOLEAN,
            runStrategy=STRING,
            instancetype=OPEN,
            preference=OPEN,
            template=OPEN,
            dataVolumeTemplates=list_of(OPEN),
            updateVolumesStrategy=STRING,
        ),
        status=OPEN,
    ),
    "VirtualMachineInstance": _OPEN_KIND,
    "VirtualMachineInstanceReplicaSet": _kind(
        spec=fields(replicas=INTEGER, paused=BOOLEAN, selector=OPEN, template=OPEN), status=OPEN
    ),
}


REQUIRED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Deployment": (("spec", "selector"), ("spec", "template", "spec", "containers")),
    "PersistentVolumeClaim": (("spec",),),
    "Pod": (("spec", "containers"),),
    "ReplicaSet": (("spec", "selector"), ("spec", "template", "spec", "containers")),
    "VirtualMachine": (("spec", "template", "spec", "domain"),),
    "VirtualMachineInstance": (("spec", "domain"),),
    "VirtualMachineInstanceReplicaSet": (
        ("spec", "selector"),
        ("spec", "template", "spec", "domain"),
    ),
    "VirtualMachinePool": (("spec", "virtualMachineTemplate", "spec", "template"),),
}


def missing_fields(kind: str, obj: Mapping[str, Any]) -> list[str]:
    """The paths of required fields that an object lacks."""
    return [".".join(path) for path in REQUIRED.get(kind, ()) if at(obj, *path) is None]


def schema_of(kind: str) -> Schema:
    """The schema of a kind; an open one where nothing is written down."""
    return SCHEMAS.get(kind, OPEN)


def prune(value: Any, schema: Schema, path: str = "") -> tuple[Any, list[str], list[str]]:
    """The value without unknown fields; the paths of unknown fields; type errors as text."""
    if value is None or schema.get("x-kubernetes-preserve-unknown-fields"):
        return value, [], []
    expected = schema["type"]
    if not _has_type(value, expected):
        found = type(value).__name__.replace("str", "string").replace("int", "integer")
        return value, [], [f'{path}: Invalid value: "{found}": must be of type {expected}']
    if expected == "array":
        return _prune_list(value, schema, path)
    if expected == "object":
        return _prune_object(value, schema, path)
    return value, [], []


def _has_type(value: Any, expected: str) -> bool:
    types: dict[str, type] = {
        "string": str,
        "integer": int,
        "boolean": bool,
        "array": list,
        "object": Mapping,
    }
    if expected == "integer" and isinstance(value, bool):
        return False
    return isinstance(value, types[expected])


def _prune_list(value: Any, schema: Schema, path: str) -> tuple[Any, list[str], list[str]]:
    kept, unknown, wrong = [], [], []
    for index, item in enumerate(value):
        item_kept, item_unknown, item_wrong = prune(item, schema["items"], f"{path}[{index}]")
        kept.append(item_kept)
        unknown += item_unknown
        wrong += item_wrong
    return kept, unknown, wrong


def _prune_object(value: Any, schema: Schema, path: str) -> tuple[Any, list[str], list[str]]:
    kept: dict[str, Any] = {}
    unknown: list[str] = []
    wrong: list[str] = []
    properties = schema.get("properties", {})
    for name, item in value.items():
        inner = properties.get(name, schema.get("additionalProperties"))
        where = f"{path}.{name}" if path else name
        if inner is None:
            unknown.append(where)
            continue
        kept[name], item_unknown, item_wrong = prune(item, inner, where)
        unknown += item_unknown
        wrong += item_wrong
    return kept, unknown, wrong
