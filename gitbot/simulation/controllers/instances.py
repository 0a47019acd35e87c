"""The life of a VMI from creation to its end, migrations excepted.

Source: KubeVirt 1.9.0, pkg/virt-controller/watch/vmi (phases, labels) and pkg/virt-handler/vm.go
(Running, Ready, LiveMigratable).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitbot.kubevirt import names
from gitbot.kubevirt.boot import BootTimes, reconcile_boot
from gitbot.kubevirt.edits import with_condition, with_value, without_condition
from gitbot.kubevirt.phases import with_phase
from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.kubevirt.reconcile import Update
from gitbot.kubevirt.target_pod import source_pod
from gitbot.model.objects import KubernetesObject, annotations_of, at, condition_of, labels_of
from gitbot.simulation.api import CONTROLLER, Api, Asked
from gitbot.simulation.controllers.kubelet import is_ready
from gitbot.simulation.controllers.machines import INSTANCE, is_final
from gitbot.simulation.controllers.workloads import owner_key
from gitbot.simulation.dials import Dials
from gitbot.simulation.events import Recorder
from gitbot.simulation.status import ApiError
from gitbot.simulation.store import Change, Key, Store, key_of, with_metadata

RETRY = 5
MACHINE = "pc-q35-rhel9.6.0"
_NOT_SHARED = (
    "cannot migrate VMI: PVC is not shared, live migration requires that all PVCs must be shared "
    "(using ReadWriteMany access mode)"
)
NOT_MIGRATABLE = "simulation.gitbot.dev/not-migratable"  # annotation: reason of LiveMigratable
_ASKED = Asked(user=CONTROLLER, validation="Ignore")


def the_kubevirt(store: Store) -> KubernetesObject:
    """The KubeVirt object; an empty one where there is none."""
    return next(store.all("KubeVirt"), {"metadata": {"namespace": "kubevirt"}})


class Instances:
    """Creates launcher pods, brings VMIs to Running, ends them with their pod."""

    kinds = frozenset({INSTANCE, "Pod"})

    def __init__(
        self,
        *,
        store: Store,
        api: Api,
        now: Callable[[], int],
        dials: Callable[[], Dials],
    ) -> None:
        self._store = store
        self._api = api
        self._now = now
        self._dials = dials
        self._events = Recorder(store=store, now=now, source="virtualmachine-controller")

    def touched(self, change: Change) -> Iterable[Key]:
        """The VMI itself, or the one that owns a changed launcher pod."""
        if change.kind == INSTANCE:
            return [change.key] if change.type != "DELETED" else []
        return owner_key(change, INSTANCE)

    def reconcile(self, key: Key) -> int | None:
        """Bring one VMI a step forward."""
        vmi = self._store.find(INSTANCE, key)
        if vmi is None:
            return None
        pods = self._store.indexed("Pod", "owner", vmi["metadata"]["uid"])
        if "deletionTimestamp" in vmi["metadata"]:
            return self._end(vmi, pods)
        if is_final(vmi):
            self._drop_pods(pods)
            return None
        match at(vmi, "status", "phase", default=""):
            case "" | "Pending":
                return self._create_pod(vmi, pods)
            case "Scheduling":
                return self._await_pod(vmi, pods)
            case "Scheduled":
                return self._boot(vmi)
            case _:
                return self._follow(vmi, pods)

    def _create_pod(self, vmi: KubernetesObject, pods: tuple[KubernetesObject, ...]) -> int | None:
        if not pods:
            try:
                self._api.create(self._render(vmi), asked=_ASKED)
            except ApiError as refusal:
                text = f"Error creating pod: {refusal.message}"
                self._events.record(vmi, reason="FailedCreate", message=text, warning=True)
                self._write(vmi, phase="Pending")
                return RETRY
        self._write(vmi, phase="Scheduling")
        return None

    def _render(self, vmi: KubernetesObject) -> Mapping[str, Any]:
        namespace = vmi["metadata"]["namespace"]
        claims = self._store.all("PersistentVolumeClaim", namespace)
        return source_pod(
            vmi,
            the_kubevirt(self._store),
            self._store.find("Namespace", ("", namespace)),
            quotas=tuple(self._store.all("ResourceQuota", namespace)),
            claims={claim["metadata"]["name"]: claim for claim in claims},
            classes=class_objects(self._store),
        )

    def _await_pod(self, vmi: KubernetesObject, pods: tuple[KubernetesObject, ...]) -> int | None:
        pod = next((pod for pod in pods if not _ended(pod)), None)
        if pod is None:
            self._write(vmi, phase="Failed")
            return None
        scheduled = condition_of(pod, "PodScheduled") or {}
        if scheduled.get("reason") == "Unschedulable":
            text = str(scheduled.get("message", ""))
            changed = with_condition(
                vmi, "PodScheduled", "False", self._now(), reason="Unschedulable", message=text
            )
            self._store.replace(changed)
        if at(pod, "status", "phase") != "Running":
            return None
        name = pod["spec"]["nodeName"]
        labels = {**labels_of(vmi), names.NODE_NAME: name}
        placed = with_metadata(without_condition(vmi, "PodScheduled"), labels=labels)
        self._write(
            placed, phase="Scheduled", nodeName=name, activePods={pod["metadata"]["uid"]: name}
        )
        return None

    def _boot(self, vmi: KubernetesObject) -> int | None:
        times = boot_times(vmi, self._dials())
        answer = reconcile_boot(with_guest_facts(vmi), self._now(), times)
        for write in answer.writes:
            if isinstance(write, Update):
                self._store.replace(write.object)
        return answer.requeue_after

    def _follow(self, vmi: KubernetesObject, pods: tuple[KubernetesObject, ...]) -> int | None:
        """End the VMI with the pod that it runs in; keep `activePods`."""
        node = at(vmi, "status", "nodeName", default="")
        home = [pod for pod in pods if at(pod, "spec", "nodeName") == node and not _ended(pod)]
        if not home:
            gone = self._store.find("Node", ("", node))
            phase = "Succeeded" if is_ready(gone) and not _any_failed(pods, node) else "Failed"
            self._write(vmi, phase=phase)
            return None
        active = {pod["metadata"]["uid"]: pod["spec"].get("nodeName", "") for pod in pods}
        if active != at(vmi, "status", "activePods", default={}):
            self._store.replace(with_value(vmi, active, "status", "activePods"))
        return None

    def _end(self, vmi: KubernetesObject, pods: tuple[KubernetesObject, ...]) -> int | None:
        living = [pod for pod in pods if not _ended(pod)]
        self._drop_pods(living)
        if any(not _ended(pod) for pod in self._pods_of(vmi)):
            return None
        finalizers = [
            item
            for item in at(vmi, "metadata", "finalizers", default=[])
            if item != names.VMI_FINALIZER
        ]
        if at(vmi, "metadata", "finalizers"):
            self._store.replace(with_metadata(vmi, finalizers=finalizers or None))
        return None

    def _pods_of(self, vmi: KubernetesObject) -> tuple[KubernetesObject, ...]:
        return self._store.indexed("Pod", "owner", vmi["metadata"]["uid"])

    def _drop_pods(self, pods: Iterable[KubernetesObject]) -> None:
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"] and not _ended(pod):
                self._api.delete("Pod", key_of(pod))

    def _write(self, vmi: KubernetesObject, *, phase: str, **status: Any) -> None:
        self._store.replace(in_phase(vmi, phase, self._now(), **status))


def class_objects(store: Store) -> ClassObjects:
    """PriorityClasses and RuntimeClasses by name."""
    return ClassObjects(
        priority={item["metadata"]["name"]: item for item in store.all("PriorityClass")},
        runtime={item["metadata"]["name"]: item for item in store.all("RuntimeClass")},
    )


def in_phase(vmi: KubernetesObject, phase: str, now: int, **status: Any) -> dict[str, Any]:
    """The VMI in a phase, entered now unless it was there before; other status fields set."""
    merged = {**(vmi.get("status") or {}), **status}
    changed = with_phase({**vmi, "status": merged}, phase, now)
    if phase in ("Succeeded", "Failed"):
        return with_condition(changed, "Ready", "False", now, reason="PodTerminating")
    return changed


def with_guest_facts(vmi: KubernetesObject) -> dict[str, Any]:
    """The VMI with what virt-handler reports of the guest: machine, CPUs, memory."""
    guest = at(vmi, "spec", "domain", "memory", "guest") or at(
        vmi, "spec", "domain", "resources", "requests", "memory", default="1Gi"
    )
    cpu = at(vmi, "spec", "domain", "cpu", default={})
    facts = {
        "migrationTransport": "Unix",
        "machine": {"type": MACHINE},
        "currentCPUTopology": {key: cpu.get(key, 1) for key in ("cores", "sockets", "threads")},
        "memory": {"guestAtBoot": guest, "guestCurrent": guest, "guestRequested": guest},
    }
    return {**vmi, "status": {**(vmi.get("status") or {}), **facts}}


def boot_times(vmi: KubernetesObject, dials: Dials) -> BootTimes:
    """How the guest boots; the annotation NOT_MIGRATABLE or a dial make it unmovable."""
    reason = annotations_of(vmi).get(NOT_MIGRATABLE)
    if dials.live_migratable and reason is None:
        return BootTimes(boot=dials.boot)
    refused = ("False", reason or "DisksNotLiveMigratable", _NOT_SHARED)
    stuck = {"LiveMigratable": refused, "StorageLiveMigratable": ("False", "NotMigratable", "")}
    return BootTimes(boot=dials.boot, conditions=stuck)


def _ended(pod: KubernetesObject) -> bool:
    return at(pod, "status", "phase") in ("Succeeded", "Failed")


def _any_failed(pods: Iterable[KubernetesObject], node: str) -> bool:
    return any(
        at(pod, "status", "phase") == "Failed" and at(pod, "spec", "nodeName") == node
        for pod in pods
    )
