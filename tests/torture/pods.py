"""Launcher pods of a run: they appear before their migration runs, and linger after it.

The pod of the source holds its place after the migration has ended: half of the time nobody asked
it to go, then it terminates. KubeVirt starts no further migration of the VM until it has gone. Pods
of others fill nodes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.execution.cluster_facts import JOB_NAME
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.kubevirt.names import CREATED_BY
from tests.torture.loop import Loop

CROWD = "crowd-"


@dataclass(eq=False)
class Pods:
    """`lingers`: milliseconds until a pod that ends has gone; 0: the cluster shows no pods."""

    loop: Loop
    lingers: int
    changed: Callable[[], None]
    shelf: dict[str, KubernetesObject] = field(default_factory=dict)
    homes: dict[str, str] = field(default_factory=dict)  # VM to the pod that it runs in
    targets: dict[str, str] = field(default_factory=dict)  # UID of a migration to its pod

    def runs(self, vm: str, uid: str, node: str) -> None:
        """A VM has started on a node."""
        if self.lingers:
            self.homes[vm] = self._add(f"launcher-{vm}", uid, node)

    def appears(self, migration: Mapping[str, Any], vm: KubernetesObject, node: str) -> None:
        """The target pod: pending while `node` is "", then on it."""
        if not self.lingers:
            return
        job = migration["metadata"]
        known = self.targets.get(job["uid"])
        if known is None:
            uid = vm["metadata"]["uid"]
            self.targets[job["uid"]] = self._add(job["name"], uid, node, job=job["name"])
        elif node and known in self.shelf:
            found = self.shelf[known]
            self._put(known, {**found, "spec": {"nodeName": node}, "status": {"phase": "Running"}})

    def ends(self, vm: str, uid: str, *, moved: bool) -> None:
        """A migration has ended, or was deleted: the source's pod goes if the VM has moved."""
        gone = target = self.targets.pop(uid, "")
        if moved and target:
            gone, self.homes[vm] = self.homes.get(vm, ""), target
        self.leaves(gone, failed=not moved)

    def waits(self, vm: str) -> bool:
        """Whether a pod of the VM is still there beside those of its VM and its migrations."""
        own = self.shelf.get(self.homes.get(vm, ""))
        return own is not None and any(
            name not in (self.homes[vm], *self.targets.values())
            and pod["metadata"]["labels"] == own["metadata"]["labels"]
            and pod["status"]["phase"] in ("Pending", "Running")
            for name, pod in self.shelf.items()
        )

    def stops(self, vm: str) -> None:
        """A VM is gone, and all of its pods go."""
        own = self.shelf.get(self.homes.pop(vm, ""))
        for name, pod in list(self.shelf.items()):
            if own is not None and pod["metadata"]["labels"] == own["metadata"]["labels"]:
                self.leaves(name)

    def leaves(self, name: str, *, failed: bool = False) -> None:
        """A pod ends: it terminates after half of the time, and has gone after all of it."""
        if name not in self.shelf:
            return
        if failed:
            self._put(name, {**self.shelf[name], "status": {"phase": "Failed"}})
        now, uid = self.loop.now, self.shelf[name]["metadata"]["uid"]
        self.loop.at(now + self.lingers // 2, lambda: self._terminates(name, uid))
        self.loop.at(now + self.lingers, lambda: self._goes(name, uid))

    def crowd(self, node: str) -> None:
        """Pods of others take all the room of a node."""
        if self.lingers and not self.full(node):
            self._add(CROWD + node, "", node)

    def disperse(self, node: str) -> None:
        """They terminate, and keep their room until they have gone."""
        found = self.shelf.get(CROWD + node)
        if found is not None and "deletionTimestamp" not in found["metadata"]:
            self._terminates(CROWD + node, found["metadata"]["uid"])
            self.leaves(CROWD + node)

    def full(self, node: str) -> bool:
        return CROWD + node in self.shelf

    def _add(self, name: str, owner: str, node: str, *, job: str = "") -> str:
        name = name if name not in self.shelf else f"{name}-{self.loop.now}"
        labels = {CREATED_BY: owner, "kubevirt.io": "virt-launcher"} if owner else {}
        metadata: dict[str, Any] = {
            "namespace": "db",
            "name": name,
            "uid": f"pod-{name}-{self.loop.now}",
            "labels": labels,
            "annotations": {JOB_NAME: job} if job else {},
        }
        spec = {"nodeName": node} if node else {}
        phase = "Running" if node else "Pending"
        self._put(name, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})
        return name

    def _put(self, name: str, pod: dict[str, Any]) -> None:
        self.changed()
        self.shelf[name] = pod

    def _terminates(self, name: str, uid: str) -> None:
        found = self.shelf.get(name)
        if found is not None and found["metadata"]["uid"] == uid:
            marked = {**found["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}
            self._put(name, {**found, "metadata": marked})

    def _goes(self, name: str, uid: str) -> None:
        found = self.shelf.get(name)
        if found is not None and found["metadata"]["uid"] == uid:
            self.changed()
            del self.shelf[name]
