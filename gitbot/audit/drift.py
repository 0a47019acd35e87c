"""Placement in VM manifests in Git compared with the live VMs.

Only fields that neither KubeVirt nor the API server writes are compared (`PLACEMENT_FIELDS`), so
what they add to a stored VM (firmware, machine type, architecture, defaults) is never a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gitbot.audit.finding import AuditFinding
from gitbot.audit.pins import differences
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, labels_of, name_of
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Finding, Severity

_FLUX = "kustomize.toolkit.fluxcd.io/name"
_HELM = "helm.toolkit.fluxcd.io/name"
_ARGO = "argocd.argoproj.io/instance"
_ARGO_TRACKING = "argocd.argoproj.io/tracking-id"


def drifted(
    instances: Instances, manifests: Iterable[tuple[str, KubernetesObject]]
) -> Iterator[AuditFinding]:
    """Live VMs whose template requests another placement than their manifest.

    A manifest without a namespace is about the only VM of its name; if there are several, none.
    """
    by_name = grouped((name.name, name) for name, item in instances.items() if item.vm is not None)
    for file, manifest in manifests:
        name = _meant(name_of(manifest), by_name)
        item = instances.get(name) if name is not None else None
        if item is None or item.vm is None:
            continue
        wanted = at(manifest, "spec", "template", "spec", default={})
        found = at(item.vm, "spec", "template", "spec", default={})
        typed = at(item.vm, "spec", "instancetype") is not None
        fields = differences(wanted, found, typed=typed)
        if fields:
            yield _differs(item, file, fields)


def uncompared(
    instances: Instances, manifests: Iterable[tuple[str, KubernetesObject]]
) -> Iterator[str]:
    """Manifests that could mean several live VMs, as their namespace is set elsewhere."""
    by_name = grouped((name.name, name) for name, item in instances.items() if item.vm is not None)
    for file, manifest in manifests:
        name = name_of(manifest)
        if not name.namespace and len(found := by_name.get(name.name, ())) > 1:
            spaces = ", ".join(sorted(other.namespace for other in found))
            what = f"VirtualMachine {name.name} without a namespace"
            yield f"{file}: {what}: there is one in {spaces}"


def _meant(
    name: NamespacedName, by_name: Mapping[str, tuple[NamespacedName, ...]]
) -> NamespacedName | None:
    if name.namespace:
        return name
    found = by_name.get(name.name, ())
    return found[0] if len(found) == 1 else None


def _differs(item: Instance, file: str, fields: list[str]) -> AuditFinding:
    keeper = _keeper(item.vm or {})
    return AuditFinding(
        finding=Finding(
            code="audit/git-differs",
            severity=Severity.WARNING,
            message=f"the live VM has {'; '.join(fields)} as its manifest says",
            file=file,
            key_path=f"VirtualMachine/{item.name}",
            hint=f"{keeper} keeps it: see why it is out of sync"
            if keeper
            else "apply the manifest, or bring the change into Git",
        ),
        kind="VirtualMachine",
        name=item.name,
        node=item.node,
        vms=(item.name,),
    )


def _keeper(machine: KubernetesObject) -> str:
    """The tool that applies the VM's manifest, by the marks of Argo CD and Flux; "" if unknown.

    Argo CD's older default, the label app.kubernetes.io/instance, is also set by Helm and by
    people, so it proves nothing.
    """
    labels, annotations = labels_of(machine), annotations_of(machine)
    if _FLUX in labels:
        return f"Flux (Kustomization {labels[_FLUX]})"
    if _HELM in labels:
        return f"Flux (HelmRelease {labels[_HELM]})"
    tracking = annotations.get(_ARGO_TRACKING, "").partition(":")[0]
    app = tracking or labels.get(_ARGO, "")
    return f"Argo CD (application {app})" if app else ""
