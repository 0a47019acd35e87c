"""Small structural schemas: what strict field validation refuses.

Only kinds whose fields a bot writes are closed; all others keep unknown fields, as a CRD with
`x-kubernetes-preserve-unknown-fields` does. The OpenAPI document is made from the same data, so its
shape is a subset of OpenAPI v3. Fields: KubeVirt, api/core/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import at
from gitbot.simulation.instance_schema import (
    INSTANCE_SPEC,
    INSTANCE_STATUS,
    LABEL_SELECTOR,
    TEMPLATE,
)
from gitbot.simulation.schema_parts import (
    BOOLEAN,
    INT_OR_STRING,
    INTEGER,
    OPEN,
    STRING,
    Schema,
    fields,
    list_of,
    map_of,
    opened,
)

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


_OF_A_POLICY: dict[str, Schema] = {
    "allowAutoConverge": BOOLEAN,
    "allowPostCopy": BOOLEAN,
    "allowWorkloadDisruption": BOOLEAN,
    "bandwidthPerMigration": INT_OR_STRING,
    "completionTimeoutPerGiB": INTEGER,
    "maxDowntimeMs": INTEGER,
}


def _tuning(**more: Schema) -> Schema:
    return {"type": "object", "properties": {**_OF_A_POLICY, **more}}


_MIGRATIONS = _tuning(
    disableTLS=BOOLEAN,
    matchSELinuxLevelOnMigration=BOOLEAN,
    network=STRING,
    nodeDrainTaintKey=STRING,
    parallelMigrationsPerCluster=INTEGER,
    parallelOutboundMigrationsPerNode=INTEGER,
    progressTimeout=INTEGER,
    unsafeMigrationOverride=BOOLEAN,
    utilityVolumesTimeout=INTEGER,
)
KUBEVIRT_SPEC = opened(configuration=opened(migrations=_MIGRATIONS, evictionStrategy=STRING))
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
        spec=_tuning(
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
            template=TEMPLATE,
            dataVolumeTemplates=list_of(OPEN),
            updateVolumesStrategy=STRING,
            required=("template",),
        ),
        status=OPEN,
    ),
    "VirtualMachineInstance": _kind(spec=INSTANCE_SPEC, status=INSTANCE_STATUS),
    "VirtualMachineInstanceReplicaSet": _kind(
        spec=fields(
            replicas=INTEGER,
            paused=BOOLEAN,
            selector=LABEL_SELECTOR,
            template=TEMPLATE,
            required=("selector", "template"),
        ),
        status=OPEN,
    ),
    "KubeVirt": _kind(spec=KUBEVIRT_SPEC, status=OPEN),
}


REQUIRED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Deployment": (("spec", "selector"), ("spec", "template", "spec", "containers")),
    "PersistentVolumeClaim": (("spec",),),
    "Pod": (("spec", "containers"),),
    "ReplicaSet": (("spec", "selector"), ("spec", "template", "spec", "containers")),
    "VirtualMachine": (("spec", "template", "spec", "domain"),),
    "VirtualMachineInstance": (("spec", "domain"),),
    "VirtualMachineInstanceMigration": (("spec",),),
    "VirtualMachineInstanceReplicaSet": (
        ("spec", "selector"),
        ("spec", "template", "spec", "domain"),
    ),
    "VirtualMachinePool": (("spec", "virtualMachineTemplate", "spec", "template"),),
}


def missing_fields(kind: str, obj: Mapping[str, Any]) -> list[str]:
    return [".".join(path) for path in REQUIRED.get(kind, ()) if at(obj, *path) in (None, [])]


def schema_of(kind: str) -> Schema:
    """The schema of a kind; an open one for all other kinds."""
    return SCHEMAS.get(kind, OPEN)


def prune(value: Any, schema: Schema, path: str = "") -> tuple[Any, list[str], list[str]]:
    """The value without unknown fields; the paths of unknown fields; type errors as text."""
    if value is None or not _says_something(schema):
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


def _says_something(schema: Schema) -> bool:
    """Whether a schema forbids anything: quantities and open values without fields do not."""
    if schema.get("x-kubernetes-int-or-string"):
        return False
    opened = schema.get("x-kubernetes-preserve-unknown-fields")
    return not opened or "properties" in schema


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
        if inner is None and schema.get("x-kubernetes-preserve-unknown-fields"):
            kept[name] = item
            continue
        if inner is None:
            unknown.append(where)
            continue
        kept[name], item_unknown, item_wrong = prune(item, inner, where)
        unknown += item_unknown
        wrong += item_wrong
    return kept, unknown, wrong
