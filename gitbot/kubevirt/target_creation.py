"""The creation of a target pod, and what happens where that is refused.

Source: KubeVirt 1.9.0, migration.go, createTargetPod and processMigrationPhase.
"""

from __future__ import annotations

import re

from gitbot.kubevirt import names
from gitbot.kubevirt.configuration import gate, setting
from gitbot.kubevirt.containers import container_disks
from gitbot.kubevirt.edits import with_condition, with_value
from gitbot.kubevirt.migration_scene import Scene
from gitbot.kubevirt.pod_context import pod_context
from gitbot.kubevirt.pods import current_pod
from gitbot.kubevirt.reconcile import Create, Reconciled, RecordEvent, Update
from gitbot.kubevirt.target_pod import target_pod
from gitbot.model.names import NamespacedName
from gitbot.model.objects import Json, KubernetesObject, at, condition_of, labels_of, name_of

QUOTA_CONDITION = "migrationRejectedByResourceQuota"
_RETRY = 5  # seconds; virt-controller doubles its delay from milliseconds up to 1000 s


def why_no_target(
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    source_node: KubernetesObject | None,
    source_pod: KubernetesObject | None = None,
) -> str:
    """Why virt-controller cannot even ask for a target pod, "" where it can.

    It says so in its own log alone; the migration stays Pending for good.
    """
    unfit = _cannot_render(vmi, kubevirt, source_pod)
    if unfit:
        return f"failed to render launch manifest: {unfit}"
    if source_node is None:
        node, name = at(vmi, "status", "nodeName", default=""), name_of(vmi).name
        return f'node "{node}" associated with vmi "{name}" does not exist'
    matches = setting(kubevirt, "migrations", "matchSELinuxLevelOnMigration")
    if matches is not False and not at(vmi, "status", "selinuxContext"):
        return "SELinux context not set on VMI status"
    return ""


def _cannot_render(
    vmi: KubernetesObject, kubevirt: KubernetesObject, source_pod: KubernetesObject | None
) -> str:
    unknown = _without_digest(vmi, kubevirt, source_pod)
    if unknown:
        return (
            "can not proceed with the migration when no reproducible image digest can be "
            f"detected: {unknown}"
        )
    refused = _not_permitted(vmi, kubevirt)
    if refused:
        return refused
    known: Json = setting(kubevirt, "network", "binding", default={})
    for interface in at(vmi, "spec", "domain", "devices", "interfaces", default=[]):
        binding = at(interface, "binding", "name")
        if binding is not None and binding not in known:
            return f"couldn't find configuration for network binding: {binding}"
    return _verbosity(vmi)


def _verbosity(vmi: KubernetesObject) -> str:
    """A label that says how much the launcher logs has to be a number."""
    text = labels_of(vmi).get(names.LOG_VERBOSITY)
    if text is None or re.fullmatch(r"[+-]?[0-9]+", text):
        return ""
    return f'verbosity {text} cannot cast to int: strconv.Atoi: parsing "{text}": invalid syntax'


def _not_permitted(vmi: KubernetesObject, kubevirt: KubernetesObject) -> str:
    """Devices that the cluster does not list, where it lists any."""
    permitted: Json | None = setting(kubevirt, "permittedHostDevices")
    if permitted is None:
        return ""
    listed = {
        device.get("resourceName")
        for kind in ("pciHostDevices", "mediatedDevices", "usb")
        for device in permitted.get(kind) or ()
    }
    devices: Json = at(vmi, "spec", "domain", "devices", default={})
    kinds = (("gpus", "GPU", "GPUsWithDRA"), ("hostDevices", "HostDevice", "HostDevicesWithDRA"))
    return " ".join(
        f"{word} {device.get('deviceName', '')} is not permitted in permittedHostDevices "
        "configuration"
        for kind, word, by_claim in kinds
        for device in devices.get(kind) or ()
        if device.get("deviceName") not in listed
        and not (gate(kubevirt, by_claim) and device.get("claimName"))
    )


def _without_digest(
    vmi: KubernetesObject, kubevirt: KubernetesObject, source_pod: KubernetesObject | None
) -> str:
    """The container disk whose image's digest the source pod does not tell, in KubeVirt's words."""
    statuses = list(at(source_pod, "status", "containerStatuses", default=[]))
    if gate(kubevirt, "ImageVolume"):
        statuses += at(source_pod, "status", "initContainerStatuses", default=[])
    images = {
        str(status.get("name")): str(status["imageID"])
        for status in statuses
        if "imageID" in status
    }  # a snapshot does not keep it: then nothing can be said
    for disk, image in container_disks(vmi).items():
        told = images.get(f"volume{disk}")
        if told is not None and "@sha256:" not in told:
            return f'failed to identify image digest for container "{image}" with id "{told}"'
    return ""


def create_target(scene: Scene, vmi: KubernetesObject) -> Reconciled:
    """Ask for the target pod, or say why that is not possible."""
    view, kubevirt = scene.view, scene.kubevirt()
    node = NamespacedName(namespace="", name=str(at(vmi, "status", "nodeName", default="")))
    source_node, source_pod = view.get("Node", node), current_pod(view, vmi)
    reason = why_no_target(vmi, kubevirt, source_node, source_pod)
    if reason:
        return Reconciled(requeue_after=_RETRY, waits_for=reason)
    context = pod_context(view, vmi)
    pod = target_pod(
        vmi=vmi,
        source_pod=source_pod,
        migration=scene.migration,
        kubevirt=kubevirt,
        source_node=source_node,
        namespace_object=context.namespace,
        quotas=context.quotas,
        claims=context.claims,
        classes=context.classes,
    )
    event = RecordEvent(
        object=scene.migration,
        type="Normal",
        reason="SuccessfulCreate",
        message="Created migration target pod {name}",
    )
    create = Create(object=pod, event=event, refused=lambda message: _refused(scene, message))
    return Reconciled(writes=(create,))


def _refused(scene: Scene, message: str) -> Reconciled:
    """An Event on the VMI; where a quota refused, a condition on the migration too."""
    text = f"Error creating pod: {message}"
    if "violates PodSecurity" in message:
        text = (
            "failed to render launch manifest: failed to create target pod for vmi "
            f"{scene.text}, it needs a privileged namespace to run: {message}"
        )
    event = RecordEvent(object=scene.vmi, type="Warning", reason="FailedCreate", message=text)
    if "exceeded quota" not in message or condition_of(scene.migration, QUOTA_CONDITION):
        return Reconciled(writes=(event,), requeue_after=_RETRY, waits_for=text)
    held = with_condition(scene.migration, QUOTA_CONDITION, "True", scene.now)
    state = at(held, "status", "migrationState")
    if state is None:
        pod = current_pod(scene.view, scene.vmi)
        if pod is not None:
            path = ("status", "migrationState", "sourcePod")
            held = with_value(held, name_of(pod).name, *path)
    update = Update(object=held, subresource="status")
    return Reconciled(writes=(event, update), requeue_after=_RETRY, waits_for=text)
