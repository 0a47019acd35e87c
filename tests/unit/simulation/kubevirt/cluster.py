"""A very small cluster in memory that runs the reconcilers on virtual time.

No scheduler: pods are bound, declared unschedulable, started or crashed as a script says. Time is
kept in milliseconds, reconcilers get whole seconds.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import annotations_of, at, name_of, uid_of
from gitbot.kubernetes.phases import is_final, phase_of
from gitbot.kubevirt.admission import Admitted, Refused, admit_migration
from gitbot.kubevirt.limits import is_running
from gitbot.model.text.instants import format_instant
from gitbot.simulation.controllers.migration_requeue import by_priority
from gitbot.simulation.kubevirt.boot import BootTimes, reconcile_boot
from gitbot.simulation.kubevirt.evacuation import reconcile_evacuation
from gitbot.simulation.kubevirt.migration_controller import reconcile_migration
from gitbot.simulation.kubevirt.reconcile_result import (
    MIGRATION,
    UNFINISHED,
    VMI,
    Create,
    Delete,
    Index,
    Reconciled,
    RecordEvent,
    Update,
)
from gitbot.simulation.kubevirt.virt_handler import HandlerTimes, reconcile_handler
from gitbot.simulation.kubevirt.vm_owners import (
    reconcile_pool,
    reconcile_replica_set,
    reconcile_virtual_machine,
)
from gitbot.simulation.kubevirt.vmi_lifecycle import reconcile_instance
from tests.virt_api.admission import admit_instance

START = 1_800_000_000
CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller"
OWNERS = {
    "VirtualMachine": reconcile_virtual_machine,
    "VirtualMachineInstanceReplicaSet": reconcile_replica_set,
    "VirtualMachinePool": reconcile_pool,
}
Object = dict[str, Any]
Key = tuple[str, str, str]


class ConflictError(Exception):
    """Somebody wrote in between."""


class Cluster:
    """Objects, virtual time, and the reconcilers that a change wakes."""

    def __init__(self, kubevirt: Object, namespace: str = "t") -> None:
        self.namespace = namespace
        self.objects: dict[Key, Object] = {}
        self.millis = 0
        self.events: set[tuple[str, str, str, str]] = set()
        self.phases: dict[str, list[str]] = {}
        self.most_at_once = 0
        self.times: Callable[[Object], HandlerTimes] = lambda _: HandlerTimes()
        self.boot: Callable[[Object], BootTimes] = lambda _: BootTimes()
        self.pod_script: Callable[[Object], list[tuple[int, str, str]]] = lambda _: []
        self.pod_stop = 300
        self.names: dict[str, int] = {}
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._uids: set[str] = set()
        self._version = 0
        self._dirty: deque[tuple[str, Key]] = deque()
        self.add({"kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": kubevirt})

    # -- the view that reconcilers get

    def get(self, kind: str, name: NamespacedName) -> Object | None:
        return self.objects.get((kind, name.namespace, name.name))

    def list(self, kind: str, namespace: str = "") -> Sequence[Object]:
        keys = sorted(k for k in self.objects if k[0] == kind and namespace in ("", k[1]))
        return [self.objects[key] for key in keys]

    def select(self, index: Index, value: str) -> Sequence[Object]:
        return [obj for obj in self.list(index.kind) if index.key(obj) == value]

    # -- time

    @property
    def now(self) -> int:
        return START + self.millis // 1000

    def after(self, millis: int, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (self.millis + millis, self._sequence, action))

    def run_until(self, millis: int) -> None:
        self._settle()
        while self._heap and self._heap[0][0] <= millis:
            self.millis, _, action = heapq.heappop(self._heap)
            action()
            self._settle()
        self.millis = millis

    # -- the API server

    def key_of(self, obj: Object) -> Key:
        namespace = "" if obj["kind"] in ("Node", "KubeVirt") else self.namespace
        return (obj["kind"], namespace, obj["metadata"]["name"])

    def add(self, obj: Object) -> Object:
        """Store a new object as it is, with what the server adds."""
        metadata = dict(obj["metadata"])
        if "name" not in metadata:
            metadata["name"] = self._name(obj)
        kind, name = obj["kind"], metadata["name"]
        if kind not in ("Node", "KubeVirt"):
            metadata["namespace"] = self.namespace
        metadata.setdefault("creationTimestamp", format_instant(self.now))
        self._version += 1
        uid = f"<uid of {kind} {name}>"
        metadata.setdefault("uid", f"{uid}{self._version}" if uid in self._uids else uid)
        self._uids.add(uid)
        stored = {**obj, "metadata": metadata}
        assert self.key_of(stored) not in self.objects, self.key_of(stored)
        self._store(stored, None)
        if kind == "Pod":
            for delay, what, text in self.pod_script(stored):
                self.after(delay, partial(self._play, uid_of(stored), what, text))
        return stored

    def _name(self, obj: Object) -> str:
        base: str = obj["metadata"]["generateName"]
        if obj["kind"] == "Pod":
            base += "p"
        elif obj["kind"] == MIGRATION:
            base += "m"
        self.names[base] = self.names.get(base, 0) + 1
        return f"{base}{self.names[base]}"

    def _store(self, obj: Object, old: Object | None) -> None:
        self._version += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self._version)}
        new = {**obj, "metadata": metadata}
        key = self.key_of(new)
        gone = at(new, "metadata", "deletionTimestamp") and not metadata.get("finalizers")
        if gone and new["kind"] != "Pod":
            del self.objects[key]
        else:
            self.objects[key] = new
        self._note(new, old, bool(gone))
        self._wake(new, old)

    def replace(self, new: Object) -> None:
        old = self.objects.get(self.key_of(new))
        if old is None or at(old, "metadata", "uid") != at(new, "metadata", "uid"):
            raise ConflictError
        if old["metadata"]["resourceVersion"] != new["metadata"].get("resourceVersion"):
            raise ConflictError
        if new != old:
            self._store(new, old)

    def change(self, kind: str, name: str, edit: Callable[[Object], Object]) -> None:
        namespace = "" if kind == "Node" else self.namespace
        self.replace(edit(self.objects[kind, namespace, name]))

    def delete(self, kind: str, name: str, uid: str = "") -> None:
        key = (kind, self.namespace, name)
        old = self.objects.get(key)
        if old is None or (uid and uid_of(old) != uid):
            return
        if at(old, "metadata", "deletionTimestamp"):
            return
        marked = {**old["metadata"], "deletionTimestamp": format_instant(self.now)}
        if kind == "Pod":
            uid = uid_of(old)
            if not at(old, "spec", "nodeName") or phase_of(old) in ("Succeeded", "Failed"):
                self.remove(key)
                return
            self.after(self.pod_stop, lambda: self._end_pod(key, uid))
        self._store({**old, "metadata": marked}, old)

    def _end_pod(self, key: Key, uid: str) -> None:
        pod = self.objects.get(key)
        if pod is not None and uid_of(pod) == uid:
            self._store({**pod, "status": {**pod["status"], "phase": "Succeeded"}}, pod)
            self._settle()
            self.remove(key)

    def remove(self, key: Key) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            self._note(old, old, True)
            self._wake(old, old)

    def create_migration(self, obj: Object, user: str = "somebody") -> Admitted | Refused:
        obj = {"kind": MIGRATION, "apiVersion": "kubevirt.io/v1", **obj}
        obj["metadata"] = {**obj["metadata"], "namespace": self.namespace}
        name = str(at(obj, "spec", "vmiName", default=""))
        verdict = admit_migration(
            obj,
            user=user,
            vmi=self.objects.get((VMI, self.namespace, name)),
            migrations=self.list(MIGRATION),
            kubevirt=self.list("KubeVirt")[0],
        )
        if isinstance(verdict, Admitted):
            self.add(dict(verdict.object))
        return verdict

    # -- kubelet and scheduler, by script

    def _play(self, uid: str, what: str, text: str) -> None:
        pod = next((item for item in self.list("Pod") if uid_of(item) == uid), None)
        if pod is None or at(pod, "metadata", "deletionTimestamp"):
            return
        status, spec = dict(pod.get("status") or {}), dict(pod["spec"])
        if what == "bind":
            spec["nodeName"] = text
            status["conditions"] = [{"type": "PodScheduled", "status": "True"}]
        elif what == "unschedulable":
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            status["conditions"] = [condition]
        else:
            status["phase"] = what.capitalize()
        self._store({**pod, "spec": spec, "status": status}, pod)

    # -- the controllers

    def _note(self, obj: Object, old: Object | None, gone: bool) -> None:
        if obj["kind"] != MIGRATION:
            return
        phases = self.phases.setdefault(name_of(obj).name, [])
        if old is None or phase_of(obj) != phase_of(old):
            phases.append(phase_of(obj))
        if gone:
            phases.append("(gone)")
        running = sum(is_running(item) for item in self.list(MIGRATION))
        self.most_at_once = max(self.most_at_once, running)

    def _wake(self, new: Object, old: Object | None) -> None:
        kind, name = new["kind"], new["metadata"]["name"]
        if kind == MIGRATION:
            self._ask("migration", self.key_of(new))
            if is_final(new) and not (old is not None and is_final(old)):
                waiting = self.select(UNFINISHED, "unfinished")
                for item in by_priority(m for m in waiting if phase_of(m) == "Pending"):
                    self._ask("migration", self.key_of(dict(item)))
            self._wake_vmi(at(new, "spec", "vmiName", default=""))
        elif kind == VMI:
            self._wake_migrations(name)
            self._wake_vmi(name)
            for reference in at(new, "metadata", "ownerReferences", default=[]):
                self._ask("owner", (reference["kind"], self.namespace, reference["name"]))
        elif kind == "Pod":
            vmi_name = annotations_of(new).get("kubevirt.io/domain", "")
            self._wake_migrations(vmi_name)
            self._wake_vmi(vmi_name)
        elif kind == "Node":
            self._ask("node", self.key_of(new))
        elif kind in OWNERS:
            self._ask("owner", self.key_of(new))
            for reference in at(new, "metadata", "ownerReferences", default=[]):
                self._ask("owner", (reference["kind"], self.namespace, reference["name"]))
        elif kind == "ResourceQuota":
            for item in self.list(MIGRATION):
                self._ask("migration", self.key_of(item))

    def _wake_migrations(self, vmi_name: str) -> None:
        for item in self.list(MIGRATION):
            if at(item, "spec", "vmiName") == vmi_name:
                self._ask("migration", self.key_of(item))

    def _wake_vmi(self, name: str) -> None:
        for loop in ("vmi", "boot", "handler"):
            self._ask(loop, (VMI, self.namespace, name))
        vmi = self.objects.get((VMI, self.namespace, name))
        node = at(vmi, "status", "nodeName", default="")
        self._ask("node", ("Node", "", node))

    def _ask(self, loop: str, key: Key) -> None:
        if (loop, key) not in self._dirty:
            self._dirty.append((loop, key))

    def _settle(self) -> None:
        for _ in range(20_000):
            if not self._dirty:
                return
            loop, key = self._dirty.popleft()
            obj = self.objects.get(key)
            if obj is not None:
                self._carry_out(loop, key, self._reconcile(loop, obj))
        raise AssertionError(f"never quiet: {self._dirty[0]}")

    def _reconcile(self, loop: str, obj: Object) -> Reconciled:
        match loop:
            case "migration":
                return reconcile_migration(self, obj, self.now)
            case "vmi":
                return reconcile_instance(self, obj, self.now)
            case "boot":
                return reconcile_boot(obj, self.now, self.boot(obj))
            case "handler":
                return reconcile_handler(self, obj, self.now, self.times(obj))
            case "node":
                return reconcile_evacuation(self, obj)
            case _:
                return OWNERS[obj["kind"]](self, obj, self.now)

    def _carry_out(self, loop: str, key: Key, answer: Reconciled) -> None:
        for write in answer.writes:
            try:
                refusal = self._write(write)
            except ConflictError:
                self._ask(loop, key)
                return
            if refusal is not None:
                self._carry_out(loop, key, refusal)
                self.after(1000, lambda: self._ask(loop, key))
                return
        if answer.requeue_after is not None:
            whole = (self.now + max(1, answer.requeue_after) - START) * 1000
            self.after(whole - self.millis, lambda: self._ask(loop, key))

    def _write(self, write: Any) -> Reconciled | None:
        match write:
            case Create(object=obj, event=event, refused=refused):
                stored = self._create(dict(obj))
                if isinstance(stored, str):
                    assert refused is not None
                    return refused(stored)
                if event is not None:
                    text = event.message.replace("{name}", stored["metadata"]["name"])
                    self._write(replace(event, message=text))
            case Update(object=obj):
                self.replace(dict(obj))
            case Delete(kind=kind, name=name, uid=uid):
                self.delete(kind, name.name, uid)
            case RecordEvent(object=obj, reason=reason, message=message):
                self.events.add((str(obj.get("kind")), name_of(obj).name, reason, message))
        return None

    def _create(self, obj: Object) -> Object | str:
        if obj["kind"] == MIGRATION:
            obj["metadata"] = {**obj["metadata"], "name": self._name(obj)}
            verdict = self.create_migration(obj, CONTROLLER)
            assert isinstance(verdict, Admitted), verdict
            return self.objects[MIGRATION, self.namespace, obj["metadata"]["name"]]
        if obj["kind"] == VMI:
            admitted = admit_instance(obj, user=CONTROLLER, kubevirt=self.list("KubeVirt")[0])
            assert isinstance(admitted, Admitted)
            obj = dict(admitted.object)
        if obj["kind"] == "Pod":
            refusal = self._quota(obj)
            if refusal:
                return refusal
            obj["status"] = {"phase": "Pending"}
        return self.add(obj)

    def _quota(self, pod: Object) -> str:
        for quota in self.list("ResourceQuota"):
            most = int(at(quota, "spec", "hard", "pods", default=999))
            used = sum(phase_of(p) not in ("Succeeded", "Failed") for p in self.list("Pod"))
            if used >= most:
                name = pod["metadata"]["generateName"]
                return f'pods "{name}xxxxx" is forbidden: exceeded quota: q, used: pods={used}'
        return ""
