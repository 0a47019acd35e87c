"""The pod that a live migration would create, decoded for the scheduler's filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gitbot.constraints.moves.claims_to_come import claims_to_come
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, KubernetesObject, at, condition_of, with_value
from gitbot.kubevirt.attachment_pod import attachment_pod
from gitbot.kubevirt.instance_defaults import with_instance_defaults
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.kubevirt.network_devices import network_devices, with_network_devices
from gitbot.kubevirt.target_pod import source_pod, target_pod
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.resource_requests import Requests, limits_of, requests_of
from gitbot.model.text.decoding import decoding


def target_of(
    source: ClusterSnapshot | Instances,
    vmi_name: NamespacedName,
    added_node_selector: Mapping[str, str] | None = None,
) -> Pod:
    """The target pod of a migration that would start now; the start of a stopped VM.

    Built from the VMI and its running launcher pod, else from the VM, marked `estimated`. Pass
    Instances if you ask about many VMs. Raises KeyError if neither VMI nor VM exists.
    """
    instances = source if isinstance(source, Instances) else Instances.of(source)
    if added_node_selector:
        return _target_of(instances, vmi_name, added_node_selector)
    if vmi_name not in instances.targets:
        instances.targets[vmi_name] = _target_of(instances, vmi_name, {})
    return instances.targets[vmi_name]


def target_requests(instances: Instances, vmi_name: NamespacedName) -> Requests:
    """The requests of `target_of`, read from the running pod alone if it has all of them.

    Counts VMs that no plan moves, without making their target pods.
    """
    instance = instances[vmi_name]
    spec = (instance.source_pod or {}).get("spec") or {}
    rendered = spec.get("initContainers") or setting(instances.kubevirt, "defaultRuntimeClass")
    known = instance.vmi is not None and spec.get("containers") and not _resized(instance.vmi)
    if vmi_name in instances.targets or rendered or not (known and instance.node):
        return target_of(instances, vmi_name).requests
    found, own = requests_of({"spec": spec}), (instance.vmi or {}).get("spec") or {}
    devices = network_devices(own, vmi_name.namespace, instances.networks)
    if any(found.filtered.get(name, 0) < count for name, count in devices.items()):
        return target_of(instances, vmi_name).requests
    return found


def _target_of(instances: Instances, vmi_name: NamespacedName, added: Mapping[str, str]) -> Pod:
    instance = instances[vmi_name]
    obj = (
        target_object(instances, instance, added, whole=False)
        if instance.node
        else start_object(instances, instance)
    )
    pod = launcher_of(instances, instance, obj, estimated=instance.source_pod is None)
    if vmi_name.namespace in instances.quotas:
        pod = pod.replace(limits=limits_of(obj))
    return pod.replace(name=target_name(vmi_name), node="", finished=False, terminating=False)


def launcher_of(
    instances: Instances,
    instance: Instance,
    obj: KubernetesObject,
    *,
    estimated: bool = False,
    copy: bool = False,
) -> Pod:
    """A launcher pod that does not exist yet, with what KubeVirt creates beside it.

    `copy`: of another VM like this one.
    """
    pod = Pod.from_object(obj, estimated=estimated)
    if instance.vmi is None:
        pod = pod.replace(unknown=instances.unread_type(instance))
    with decoding("VirtualMachineInstance", {"metadata": _metadata(instance)}):
        vmi = _running_or_next(instances, instance)
        beside = attachment_pod(vmi, obj, instances.kubevirt)
        new = claims_to_come(instances, instance, vmi, copy=copy).new
    if new:
        pod = pod.replace(new_claims=new)
    if beside is None:
        return pod
    other = Pod.from_object(beside).replace(new_claims=new, limits=limits_of(beside))
    return pod.replace(attachment=other)


def _running_or_next(instances: Instances, instance: Instance) -> KubernetesObject:
    return instance.vmi if instance.vmi is not None else _vmi_of(instances, instance)


def target_name(vm: NamespacedName, number: int = 1) -> NamespacedName:
    """A name for a pod that has none yet; two targets of one VM differ in `number`."""
    return NamespacedName(namespace=vm.namespace, name=f"virt-launcher-{vm.name}-target-{number}")


def moved_name(vm: NamespacedName, *, again: bool = False) -> NamespacedName:
    """What messages call the target pod of a planned move; `again`: of the move after that."""
    name = f"{vm.name}, moved again" if again else f"{vm.name}, moved"
    return NamespacedName(namespace=vm.namespace, name=name)


def pinned(pod: Pod, added_node_selector: Mapping[str, str]) -> Pod:
    """The same pod under another addedNodeSelector; the VM's own value wins for an equal key."""
    if not added_node_selector:
        return pod
    return pod.replace(node_selector={**added_node_selector, **pod.node_selector})


def target_object(
    instances: Instances, instance: Instance, added: Mapping[str, str], *, whole: bool = True
) -> KubernetesObject:
    """The target pod as the API server would store it. SnapshotError if the VMI is malformed.

    Unless `whole`, parts that follow from the running pod are not computed again.
    """
    with decoding("VirtualMachineInstance", {"metadata": _metadata(instance)}):
        return _target_object(instances, instance, added, whole=whole)


def _metadata(instance: Instance) -> Mapping[str, str]:
    return {"namespace": instance.name.namespace, "name": instance.name.name}


def _target_object(
    instances: Instances, instance: Instance, added: Mapping[str, str], *, whole: bool
) -> KubernetesObject:
    vmi = _running_or_next(instances, instance)
    namespace = instance.name.namespace
    held, resized = instance.source_pod, _resized(vmi)
    real: Mapping[str, Any] = (held or {}).get("spec") or {}
    if not isinstance(at(vmi, "spec", "domain", default={}), Mapping):
        raise ValueError("expected a mapping at spec.domain")  # noqa: TRY004 - becomes a SnapshotError
    pod = target_pod(
        vmi=vmi,
        source_pod=instance.source_pod,
        migration={"spec": {"addedNodeSelector": dict(added)}},
        kubevirt=instances.kubevirt,
        source_node=instances.nodes.get(instance.node),
        namespace_object=instances.namespaces.get(namespace),
        quotas=instances.quotas.get(namespace, ()),
        claims=instances.claims.get(namespace, {}),
        classes=instances.classes,
        containers=None if whole or resized else real.get("containers") or None,
        state_claim=claims_to_come(instances, instance, vmi).state,
    )
    name = target_name(instance.name).name
    pod["metadata"] = {**pod["metadata"], "namespace": namespace, "name": name}
    if held is not None:
        pod["spec"] = _with_real_requests(pod["spec"], real, resized=resized)
    return _with_networks(instances, vmi, pod, held=held is not None)


def _with_networks(
    instances: Instances, vmi: KubernetesObject, pod: KubernetesObject, *, held: bool
) -> KubernetesObject:
    spec: Json = vmi.get("spec") or {}
    devices = network_devices(spec, at(pod, "metadata", "namespace"), instances.networks)
    if not devices:
        return pod
    found = with_network_devices(list(at(pod, "spec", "containers")), devices, held=held)
    return {**pod, "spec": {**pod["spec"], "containers": found}}


def start_object(
    instances: Instances, instance: Instance, *, copy: bool = False
) -> KubernetesObject:
    with decoding("VirtualMachine", {"metadata": _metadata(instance)}):
        return _start_object(instances, instance, copy=copy)


def _start_object(instances: Instances, instance: Instance, *, copy: bool) -> KubernetesObject:
    namespace = instance.name.namespace
    vmi = _running_or_next(instances, instance)
    state = claims_to_come(instances, replace(instance, node=""), vmi, copy=copy).state
    pod = source_pod(
        vmi,
        instances.kubevirt,
        instances.namespaces.get(namespace),
        quotas=instances.quotas.get(namespace, ()),
        claims=instances.claims.get(namespace, {}),
        classes=instances.classes,
        state_claim=state,
    )
    name = target_name(instance.name, 0).name
    pod["metadata"] = {**pod["metadata"], "namespace": namespace, "name": name}
    return _with_networks(instances, vmi, pod, held=False)


def _vmi_of(instances: Instances, instance: Instance) -> KubernetesObject:
    template = at(instance.vm, "spec", "template")
    if not isinstance(template, Mapping) or not isinstance(template.get("spec"), Mapping):
        raise ValueError("found no spec.template.spec")  # noqa: TRY004 - becomes a SnapshotError
    metadata = {**(template.get("metadata") or {})}
    metadata |= {"namespace": instance.name.namespace, "name": instance.name.name}
    spec = instances.next_spec(instance)
    vmi = with_instance_defaults({"metadata": metadata, "spec": spec}, instances.kubevirt)
    # virt-api sets it in new VMs, so one without it was trimmed, and its nodes' labels may be too
    machine = at(spec, "domain", "machine")
    return vmi if machine else with_value(vmi, {}, "spec", "domain", "machine")


def _resized(vmi: KubernetesObject) -> bool:
    """Whether the VMI requests another amount than its pod has. The next pod gets that amount."""
    return any(
        (condition_of(vmi, name) or {}).get("status") == "True"
        for name in ("HotVCPUChange", "HotMemoryChange")
    )


def _resized_container(real: Json, rendered: Json | None) -> Json:
    if real.get("name") != "compute" or rendered is None:
        return real
    sides = ("requests", "limits")
    old, new = real.get("resources") or {}, rendered.get("resources") or {}
    kept = {side: _of_others(old.get(side) or {}) | dict(new.get(side) or {}) for side in sides}
    return {**real, "resources": {**old, **new, **kept}}


def _of_others(amounts: Mapping[str, Any]) -> dict[str, Any]:
    """The extended resources of a running container: they do not follow from size."""
    return {name: amount for name, amount in amounts.items() if "/" in name}


def _with_real_requests(
    spec: Mapping[str, Any], source: Mapping[str, Any], *, resized: bool
) -> dict[str, Any]:
    """The target with the requests that the running pod really has.

    A mutating webhook or another KubeVirt release may have changed what the formulas give, and will
    do so again. Ordinary init containers come only from the target: a source pod has some (volume
    of a container disk) that a target lacks. If the VMI was `resized`, compute takes what the
    formulas give; what only the running pod has (networks of device plugins) is added again.
    """
    rendered = {item.get("name") for item in spec.get("initContainers") or ()}
    initial = [
        item
        for item in source.get("initContainers") or ()
        if item.get("name") in rendered or item.get("restartPolicy") == "Always"
    ]
    containers = list(source.get("containers") or spec.get("containers") or ())
    if resized:
        new = {item.get("name"): item for item in spec.get("containers") or ()}
        containers = [_resized_container(item, new.get(item.get("name"))) for item in containers]
    result = {**spec, "containers": containers}
    result["initContainers"] = initial
    for key in ("resources", "overhead"):
        if source.get(key) is not None:
            result[key] = source[key]
    return result
