"""The claims that are created for a launcher pod: state of TPM and EFI, and DataVolumes.

Sources: KubeVirt, pkg/virt-controller/watch/vm/vm.go (handleDataVolumes) and
watch/vmi/datavolumes.go: the launcher pod waits until each claim is bound, or waits for a consumer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.state_storage import (
    DEFAULT_CLASS,
    DEFAULT_VIRT_CLASS,
    claim_told,
    default_class,
    state_claim,
)

_CLAIM_FIELDS = ("accessModes", "resources", "selector", "volumeMode", "volumeName")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsToCome:
    """The claim with the VM's state ("" if it has none), and all new claims by name."""

    state: str = ""
    new: Mapping[str, Json] = field(default_factory=dict)


def claims_to_come(
    instances: Instances, instance: Instance, vmi: KubernetesObject, *, copy: bool = False
) -> ClaimsToCome:
    """The claims of the next launcher pod. A `copy` of a VM shares none of its own claims."""
    claims = {} if copy else instances.claims.get(instance.name.namespace, {})
    held = instances.state_claims.get(instance.name) if claims else None
    if not (copy or claims):
        held = claim_told(vmi)
    state = state_claim(vmi, instances.storage, held, migrates=bool(instance.node))
    starts = copy or (instance.source_pod is None and not instance.node)
    new = dict(_of_templates(instances, instance, claims)) if starts else {}
    if state is not None and state.new is not None:
        new[state.name] = state.new
    return ClaimsToCome(state=state.name if state else "", new=new)


def _of_templates(
    instances: Instances, instance: Instance, claims: Mapping[str, KubernetesObject]
) -> Iterator[tuple[str, Json]]:
    """The claims of DataVolume templates that do not exist yet.

    Those of a running VM exist. In a dump without any storage they may exist; then nothing is known
    of them.
    """
    if instances.without_storage:
        return
    for template in at(instance.vm, "spec", "dataVolumeTemplates", default=[]):
        name = str(at(template, "metadata", "name", default=""))
        if name and name not in claims:
            yield name, _claim(instances, instance, name, template.get("spec") or {})


def _claim(instances: Instances, instance: Instance, name: str, spec: Json) -> Json:
    """The claim that CDI creates (pkg/controller/datavolume/util.go, renderPvcSpec).

    `spec.storage` takes KubeVirt's default class before that of Kubernetes, `spec.pvc` only that.
    """
    plain: Json | None = spec.get("pvc")
    asked: Json = spec.get("storage") or {} if plain is None else plain
    kinds = (DEFAULT_VIRT_CLASS, DEFAULT_CLASS) if plain is None else (DEFAULT_CLASS,)
    named = asked.get("storageClassName")
    if named is None:
        named = default_class(instances.storage.classes, *kinds)
    kept = {key: asked[key] for key in _CLAIM_FIELDS if key in asked}
    return {
        "metadata": {"name": name, "namespace": instance.name.namespace},
        "spec": {"storageClassName": named, **kept},
        "status": {"phase": "Pending"},
    }
