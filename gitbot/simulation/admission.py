"""KubeVirt's webhooks in front of the simulated API server, by the rules of room kubevirt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitbot.kubevirt import names
from gitbot.kubevirt.configuration import setting
from gitbot.model.objects import KubernetesObject, at, labels_of
from gitbot.simulation.controllers.instances import the_kubevirt
from gitbot.simulation.store import Store, with_metadata


class KubeVirtAdmission:
    """virt-api's webhooks for VMIs, migrations and evictions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def mutate(self, obj: KubernetesObject, *, user: str) -> KubernetesObject:
        """Defaults of a new VMI; label and finalizer of a new migration."""
        del user
        match obj["kind"]:
            case "VirtualMachineInstance":
                return self._instance(obj)
            case "VirtualMachineInstanceMigration":
                return _migration(obj)
            case _:
                return obj

    def validate(self, obj: KubernetesObject, old: KubernetesObject | None, *, user: str) -> None:
        """Refuse what virt-api refuses."""

    def evict(self, pod: KubernetesObject, eviction: KubernetesObject, *, dry_run: bool) -> None:
        """Answer an eviction of a launcher pod."""

    def _instance(self, vmi: KubernetesObject) -> KubernetesObject:
        kubevirt = the_kubevirt(self._store)
        spec: dict[str, Any] = {**vmi["spec"]}
        strategy = setting(kubevirt, "evictionStrategy", default="")
        if strategy and not spec.get("evictionStrategy"):
            spec["evictionStrategy"] = strategy
        domain = {**at(spec, "domain", default={})}
        machine: Mapping[str, Any] = domain.get("machine") or {}
        domain["machine"] = {**machine, "type": machine.get("type") or "q35"}
        spec["domain"] = domain
        spec.setdefault("architecture", "amd64")
        finalizers = at(vmi, "metadata", "finalizers", default=[])
        if names.VMI_FINALIZER not in finalizers:
            finalizers = [*finalizers, names.VMI_FINALIZER]
        return {**with_metadata(vmi, finalizers=finalizers), "spec": spec}


def _migration(migration: KubernetesObject) -> KubernetesObject:
    name = at(migration, "spec", "vmiName", default="")
    finalizers = at(migration, "metadata", "finalizers", default=[])
    if names.MIGRATION_FINALIZER not in finalizers:
        finalizers = [*finalizers, names.MIGRATION_FINALIZER]
    labels = {**labels_of(migration), names.VMI_NAME: name}
    return with_metadata(migration, labels=labels, finalizers=finalizers)
