"""CustomResourceDefinitions of KubeVirt, made from the same schemas that the simulator checks with.

Names, scopes, subresources and printer columns are those of KubeVirt 1.9
(pkg/virt-operator/resource/generate/components/crds.go); version v1alpha3 is left out.
"""

from collections.abc import Mapping
from typing import Any

from gitbot.simulation.schemas import SCHEMAS
from gitbot.simulation.served_resources import BY_KIND, ServedResource

KINDS = (
    "KubeVirt", "MigrationPolicy", "VirtualMachine", "VirtualMachineInstance",
    "VirtualMachineInstanceMigration", "VirtualMachineInstanceReplicaSet",
)  # fmt: skip
MIGRATION = "VirtualMachineInstanceMigration"
SINCE_1_6 = ("addedNodeSelector", "priority", "receive", "sendTo")
_SINGULAR = {"MigrationPolicy": "migrationpolicy"}


def _column(name: str, path: str, *, type: str = "string", wide: bool = False) -> dict[str, Any]:  # noqa: A002
    column: dict[str, Any] = {"name": name, "type": type, "jsonPath": path}
    return {**column, "priority": 1} if wide else column


def _condition(name: str) -> str:
    return f".status.conditions[?(@.type=='{name}')].status"


_AGE = _column("Age", ".metadata.creationTimestamp", type="date")
_PHASE = _column("Phase", ".status.phase")
COLUMNS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "KubeVirt": (_AGE, _PHASE),
    "VirtualMachine": (
        _AGE,
        _column("Status", ".status.printableStatus"),
        _column("Ready", _condition("Ready")),
    ),
    "VirtualMachineInstance": (
        _AGE,
        _PHASE,
        _column("IP", ".status.interfaces[0].ipAddress"),
        _column("NodeName", ".status.nodeName"),
        _column("Ready", _condition("Ready")),
        _column("Live-Migratable", _condition("LiveMigratable"), wide=True),
        _column("Paused", _condition("Paused"), wide=True),
    ),
    MIGRATION: (_PHASE, _column("VMI", ".spec.vmiName")),
    "VirtualMachineInstanceReplicaSet": (
        _column("Desired", ".spec.replicas", type="integer"),
        _column("Current", ".status.replicas", type="integer"),
        _column("Ready", ".status.readyReplicas", type="integer"),
        _AGE,
    ),
}
_SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.labelSelector",
}


def definitions(*, before_1_6: bool = False) -> tuple[dict[str, Any], ...]:
    """The CRDs; with `before_1_6` a migration has no field but vmiName, and unknown ones go."""
    return tuple(_definition(BY_KIND[kind], before_1_6=before_1_6) for kind in KINDS)


def _definition(resource: ServedResource, *, before_1_6: bool) -> dict[str, Any]:
    schema = _schema(resource.kind)
    if before_1_6 and resource.kind == MIGRATION:
        for name in SINCE_1_6:
            schema["properties"]["spec"]["properties"].pop(name)
    version: dict[str, Any] = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [dict(item) for item in COLUMNS.get(resource.kind, ())],
    }
    subresources = _subresources(resource)
    if subresources:
        version["subresources"] = subresources
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": {
                "kind": resource.kind,
                "plural": resource.plural,
                "singular": _SINGULAR.get(resource.kind, resource.singular),
                "shortNames": list(resource.short_names),
                "categories": list(resource.categories),
            },
            "versions": [version],
        },
    }


def _subresources(resource: ServedResource) -> dict[str, Any]:
    found: dict[str, Any] = {"status": {}} if resource.status else {}
    if resource.kind == "VirtualMachineInstanceReplicaSet":
        found["scale"] = dict(_SCALE)
    return found


def _schema(kind: str) -> dict[str, Any]:
    """A structural schema: of the metadata a CRD may say nothing but that it is an object."""
    schema: dict[str, Any] = _copied(SCHEMAS[kind])
    schema["properties"]["metadata"] = {"type": "object"}
    if kind == "VirtualMachineInstanceReplicaSet":
        schema["properties"]["status"]["properties"] = {"labelSelector": {"type": "string"}}
    return schema


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
