"""A small cluster: objects that are replaced and never changed, migrations that take their course.

Whatever is written goes through here, so that its log is the witness of what gitbot did.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.errors import ClusterRefused
from gitbot.kubernetes.objects import KubernetesObject
from tests.doubles.tiny_cluster import NOW
from tests.doubles.tiny_objects import HOST, tiny_instance, tiny_migration, tiny_node
from tests.torture.loop import Loop
from tests.torture.pods import Pods

ZONES = {"a": "east", "b": "east", "c": "west", "d": "west"}
OWN_UID = "uid-of-prod"
PATIENCE = 300_000  # milliseconds until KubeVirt gives up a target that takes nothing
Shelf = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The whole cluster at one moment."""

    version: int
    nodes: tuple[KubernetesObject, ...]
    instances: tuple[KubernetesObject, ...]
    migrations: tuple[KubernetesObject, ...]
    pods: tuple[KubernetesObject, ...] = ()


@dataclass(slots=True, kw_only=True)
class Create:
    """One creation that reached the server and was accepted."""

    name: str
    time: int
    sender: str


@dataclass(eq=False)
class World:
    loop: Loop
    takes: int
    lingers: int = 0  # seconds that a pod takes to go; 0: there are no pods
    nodes: Shelf = field(default_factory=dict)
    instances: Shelf = field(default_factory=dict)
    migrations: Shelf = field(default_factory=dict)
    log: list[Create] = field(default_factory=list)
    history: list[Look] = field(default_factory=list)
    fails: set[str] = field(default_factory=set)
    stuck: set[str] = field(default_factory=set)
    lands: dict[str, str] = field(default_factory=dict)
    flag: str | None = None
    anchor: str | None = None
    restarts: dict[str, int] = field(default_factory=dict)  # when a VM last got another UID
    ended: dict[str, str] = field(default_factory=dict)  # UID of each migration that ended: phase
    uncordoned: dict[str, int] = field(default_factory=dict)  # by a person, under gitbot's mark
    cordoned_by_person: set[str] = field(default_factory=set)
    version: int = 1
    finished: Callable[[], None] = lambda: None  # a migration has ended
    uid: Callable[[], str] = lambda: OWN_UID  # of namespace kube-system; "" if it is unreadable
    pods: Pods = field(init=False)
    until: dict[int, int] = field(default_factory=dict)  # version -> when the next one followed
    _uids: int = 0
    _starts: dict[str, int] = field(default_factory=dict)
    _look: Look | None = None

    def __post_init__(self) -> None:
        self.pods = Pods(self.loop, 1000 * self.lingers, self.changed)

    @property
    def seconds(self) -> int:
        """The server's clock, UTC."""
        return NOW + self.loop.now // 1000

    def add_node(self, name: str) -> None:
        self.nodes[name] = tiny_node(name, ZONES[name])

    def add_instance(self, name: str, node: str) -> None:
        self.instances[name] = tiny_instance(name, node)
        self.pods.runs(name, self.instances[name]["metadata"]["uid"], node)

    def look(self) -> Look:
        if self._look is None or self._look.version != self.version:
            self._look = Look(
                version=self.version,
                nodes=tuple(item for _, item in sorted(self.nodes.items())),
                instances=tuple(item for _, item in sorted(self.instances.items())),
                migrations=tuple(item for _, item in sorted(self.migrations.items())),
                pods=tuple(item for _, item in sorted(self.pods.shelf.items())),
            )
        return self._look

    def changed(self) -> None:
        """Call it before a change: what was is kept for lists that are old."""
        self.history.append(self.look())
        self.until[self.version] = self.loop.now
        self.version += 1

    # Migrations

    def create(self, wanted: KubernetesObject, sender: str, *, otherwise: bool) -> KubernetesObject:
        """What the API server and KubeVirt's webhook answer to a POST that arrives now."""
        name, vm = wanted["metadata"]["name"], wanted["spec"]["vmiName"]
        if name in self.migrations:
            raise ClusterRefused("already exists", code=409, reason="AlreadyExists")
        if vm not in self.instances:
            raise ClusterRefused("the VMI does not exist", code=422, reason="Invalid")
        if any(self.unfinished(of=vm)):
            raise ClusterRefused("in-flight migration detected", code=400)
        self.log.append(Create(name=name, time=self.loop.now, sender=sender))
        spec = {"vmiName": vm} if otherwise else dict(wanted["spec"])
        return self._store(name, spec, wanted["metadata"])

    def _store(
        self, name: str, spec: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> KubernetesObject:
        self._uids += 1
        self.changed()
        stored = tiny_migration(name, spec, metadata, uid=f"vmim-{self._uids}")
        self.migrations[name] = stored
        self._starts[name] = self.loop.now
        self.loop.at(self.loop.now + 2500, lambda: self._begin(name, stored["metadata"]["uid"]))
        return stored

    def by_hand(self, vm: str, *, evacuation: bool = False) -> None:
        """Somebody else migrates a VM, to wherever it fits."""
        if vm not in self.instances or any(self.unfinished(of=vm)):
            return
        here = self.instances[vm]["status"]["nodeName"]
        free = [name for name, node in self.nodes.items() if not node["spec"].get("unschedulable")]
        targets = [name for name in sorted(free, reverse=True) if name != here]
        if targets:
            name = f"{'kubevirt-evacuation' if evacuation else 'by-hand'}-{self._uids}"
            selector = {HOST: targets[0]}
            self._store(name, {"vmiName": vm, "addedNodeSelector": selector}, {})

    def unfinished(self, *, of: str = "") -> list[dict[str, Any]]:
        return [
            item
            for item in self.migrations.values()
            if item["status"]["phase"] not in ("Succeeded", "Failed")
            and of in ("", item["spec"]["vmiName"])
        ]

    def _is(self, name: str, uid: str) -> dict[str, Any] | None:
        found = self.migrations.get(name)
        return found if found is not None and found["metadata"]["uid"] == uid else None

    def _target(self, migration: Mapping[str, Any]) -> str:
        vm = migration["spec"]["vmiName"]
        wanted = dict(migration["spec"].get("addedNodeSelector", {}))
        here = self.instances[vm]["status"]["nodeName"]
        if vm in self.lands:
            return self.lands[vm]
        for name, node in sorted(self.nodes.items()):
            fits = wanted.items() <= node["metadata"]["labels"].items()
            closed = node["spec"].get("unschedulable") or self.pods.full(name)
            if name != here and fits and not closed:
                return name
        return ""

    def _begin(self, name: str, uid: str) -> None:
        migration = self._is(name, uid)
        if migration is None or migration["status"]["phase"] != "Pending":
            return
        vm = migration["spec"]["vmiName"]
        if vm not in self.instances:
            self.remove(name)
            return
        if self.pods.waits(vm):
            self.loop.at(self.loop.now + 11_000, lambda: self._begin(name, uid))
            return
        running = sum(item["status"]["phase"] == "Running" for item in self.unfinished())
        target = "" if vm in self.stuck else self._target(migration)
        if running < 5:
            self.pods.appears(migration, self.instances[vm], target)
        if running >= 5 or not target:
            if self.loop.now - self._starts[name] > PATIENCE and running < 5:
                self._end(
                    name, migration, "Failed", failed=True, failureReason="target unschedulable"
                )
            else:
                self.loop.at(self.loop.now + 11_000, lambda: self._begin(name, uid))
            return
        self._set(name, {**migration, "status": {"phase": "Running"}})
        self.loop.at(self.loop.now + 1000 * self.takes, lambda: self._finish(name, uid))

    def _finish(self, name: str, uid: str) -> None:
        migration = self._is(name, uid)
        if migration is None or migration["status"]["phase"] != "Running":
            return
        vm = migration["spec"]["vmiName"]
        if vm not in self.instances:
            self.remove(name)
            return
        target = self._target(migration)
        if vm in self.fails or not target:
            self.fails.discard(vm)
            self._end(name, migration, "Failed", failed=True, failureReason="no route to host")
            return
        self.lands.pop(vm, None)
        self._end(name, migration, "Succeeded", targetNode=target)

    def _end(self, name: str, migration: dict[str, Any], phase: str, **more: Any) -> None:
        vm, uid = migration["spec"]["vmiName"], migration["metadata"]["uid"]
        instance = self.instances[vm]
        source = instance["status"]["nodeName"]
        state = {"migrationUid": uid, "sourceNode": source, "completed": True, **more}
        self.ended[uid] = phase
        self.changed()
        self.pods.ends(vm, uid, moved=phase == "Succeeded")
        status = {**instance["status"], "migrationState": state}
        if phase == "Succeeded":
            status["nodeName"] = more["targetNode"]
        self.instances[vm] = {**instance, "status": status}
        gone = "deletionTimestamp" in migration["metadata"]
        self.migrations[name] = {
            **migration,
            "status": {"phase": phase, "migrationState": state},
        }
        if gone:
            self.loop.at(self.loop.now + 1000, lambda: self.remove(name, uid))
        self.finished()

    def _set(self, name: str, migration: dict[str, Any]) -> None:
        self.changed()
        self.migrations[name] = migration

    def remove(self, name: str, uid: str = "") -> None:
        if name in self.migrations and uid in ("", self.migrations[name]["metadata"]["uid"]):
            self.changed()
            gone = self.migrations.pop(name)
            self.pods.ends(gone["spec"]["vmiName"], gone["metadata"]["uid"], moved=False)

    def delete(self, name: str, uid: str) -> bool:
        """A DELETE that arrives: Pending goes at once, a running copy is aborted."""
        migration = self._is(name, uid)
        if migration is None:
            return False
        if migration["status"]["phase"] != "Running":
            self.remove(name)
            return True
        if "deletionTimestamp" in migration["metadata"]:
            return True
        marked = {**migration["metadata"], "deletionTimestamp": "2027-01-15T08:00:00Z"}
        self._set(name, {**migration, "metadata": marked})
        self.loop.at(self.loop.now + 2000, lambda: self._abort(name, uid))
        return True

    def _abort(self, name: str, uid: str) -> None:
        migration = self._is(name, uid)
        if migration is None or migration["status"]["phase"] != "Running":
            return
        if migration["spec"]["vmiName"] not in self.instances:
            self.remove(name)
            return
        self._end(name, migration, "Failed", failed=True, failureReason="aborted")

    # Nodes and VMs

    def patch_node(
        self, node: str, labels: Mapping[str, str | None], *, unschedulable: bool | None = None
    ) -> None:
        found = self.nodes.get(node)
        if found is None:
            raise ClusterRefused(f"nodes {node!r} not found", code=404, reason="NotFound")
        known = {**found["metadata"]["labels"], **labels}
        kept = {key: value for key, value in known.items() if value is not None}
        spec = dict(found["spec"])
        if unschedulable is not None:
            spec.pop("unschedulable", None)
            if unschedulable:
                spec["unschedulable"] = True
        self.changed()
        self.nodes[node] = {
            **found,
            "metadata": {**found["metadata"], "labels": kept},
            "spec": spec,
        }

    def reboot(self, node: str) -> None:
        if node in self.nodes:
            found = self.nodes[node]
            self.changed()
            info = {"bootID": f"boot-{node}-{self.version}"}
            self.nodes[node] = {**found, "status": {**found["status"], "nodeInfo": info}}

    def restart(self, vm: str) -> None:
        """The VM gets another VMI: another UID, on the same node; its migrations are deleted."""
        if vm not in self.instances:
            return
        found = self.instances[vm]
        self.stop(vm)
        self.changed()
        self.instances[vm] = {
            **found,
            "metadata": {**found["metadata"], "uid": f"uid-{vm}-{self.version}"},
            "status": {"nodeName": found["status"]["nodeName"], "phase": "Running"},
        }
        uid = self.instances[vm]["metadata"]["uid"]
        self.pods.runs(vm, uid, found["status"]["nodeName"])

    def stop(self, vm: str) -> None:
        if vm in self.instances:
            self.restarts[vm] = self.loop.now
            self.changed()
            del self.instances[vm]
            self.pods.stops(vm)
            for name, item in list(self.migrations.items()):
                if item["spec"]["vmiName"] == vm:
                    self.ended.setdefault(item["metadata"]["uid"], "Deleted")
                    del self.migrations[name]
