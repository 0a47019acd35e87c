"""A tiny cluster that migrates by the clock."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gitbot.errors import ClusterRefused, NotSent, OutcomeUnknown
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.cluster import ClusterTraffic, Gate, no_gate
from tests.doubles.tiny_objects import HOST, tiny_instance, tiny_migration, tiny_node

NOW = 1_800_000_000
T = TypeVar("T")


def copied(value: T) -> T:
    """A copy of plain data, as an API server gives one at each look; quicker than deepcopy."""
    copy: T = pickle.loads(pickle.dumps(value, -1))
    return copy


def no_trouble(verb: str, what: str) -> None:
    """Every call goes well."""
    del verb, what


class TestClock:
    """Time that passes only by sleeping; those who listen are told."""

    __test__ = False

    def __init__(self, now: int = NOW) -> None:
        self.present = now
        self.listeners: list[Callable[[], None]] = []

    def now(self) -> int:
        return self.present

    def sleep(self, seconds: int) -> None:
        for _ in range(seconds):
            self.present += 1
            for listener in self.listeners:
                listener()


@dataclass(slots=True)
class Migrating:
    """One VMIM's course: it starts when a slot is free and takes `seconds`."""

    created: int
    started: int = 0


class TinyCluster:
    """Nodes, VMIs and VMIMs; a VMIM runs at once and ends after `seconds`.

    `fails` holds VMs whose migrations fail; `stuck` those that stay Pending. `calls` records every
    write. `trouble` is asked before every call by verb.
    """

    name = "prod"
    traffic = ClusterTraffic()

    def __init__(
        self, clock: TestClock, *, nodes: Mapping[str, str], vms: Mapping[str, str]
    ) -> None:
        self.clock = clock
        clock.listeners.append(self.tick)
        self.seconds = 10
        self.fails: set[str] = set()
        self.stuck: set[str] = set()
        self.lands: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.flag: str | None = None
        self.skew = 0  # seconds that the API server's clock is ahead
        self.cordoned_by_others: set[str] = set()  # as managedFields say
        self.anchors: dict[str, str] = {}
        self.uid = "uid-of-prod"
        self.lost_answers = 0
        self.trouble: Callable[[str, str], None] = no_trouble
        self.nodes: dict[str, dict[str, Any]] = {
            name: tiny_node(name, zone) for name, zone in nodes.items()
        }
        self.instances: dict[str, dict[str, Any]] = {
            name: tiny_instance(name, node) for name, node in vms.items()
        }
        self.migrations: dict[str, dict[str, Any]] = {}
        self._courses: dict[str, Migrating] = {}
        self._count = 0

    # what happens by itself

    def tick(self) -> None:
        for name, migration in list(self.migrations.items()):
            phase = migration["status"]["phase"]
            vm = migration["spec"]["vmiName"]
            course = self._courses[name]
            if phase in ("Succeeded", "Failed") or vm in self.stuck:
                continue
            if vm not in self.instances:
                del self.migrations[name]
            elif phase == "Pending":
                course.started = self.clock.present
                migration["status"]["phase"] = "Running"
            elif self.clock.present - course.started >= self.seconds:
                self._finish(migration, vm)

    def _finish(self, migration: dict[str, Any], vm: str) -> None:
        target = self.target_of(migration)
        state = {
            "migrationUid": migration["metadata"]["uid"],
            "sourceNode": self.instances[vm]["status"]["nodeName"],
            "targetNode": target,
            "completed": True,
        }
        if vm in self.fails:
            state |= {"failed": True, "failureReason": "no route to host"}
            migration["status"] = {"phase": "Failed", "migrationState": state}
        else:
            self.instances[vm]["status"]["nodeName"] = target
            migration["status"] = {"phase": "Succeeded", "migrationState": state}
        self.instances[vm]["status"]["migrationState"] = state

    def target_of(self, migration: Mapping[str, Any]) -> str:
        vm = migration["spec"]["vmiName"]
        wanted = migration["spec"].get("addedNodeSelector", {})
        here = self.instances[vm]["status"]["nodeName"]
        fitting = [
            name
            for name, node in sorted(self.nodes.items())
            if name != here and wanted.items() <= node["metadata"]["labels"].items()
        ]
        return self.lands.get(vm) or fitting[0]

    def foreign(self, vm: str, target: str) -> None:
        """Somebody else migrates a VM."""
        self._store(f"kubevirt-evacuation-{self._count}", vm, {HOST: target}, {})

    # the port

    def snapshot(self) -> ClusterSnapshot:
        self.trouble("snapshot", "")
        objects = copied(
            {
                "Node": tuple(node for _, node in sorted(self.nodes.items())),
                "VirtualMachineInstance": tuple(vm for _, vm in sorted(self.instances.items())),
                "VirtualMachineInstanceMigration": self._listed(),
            }
        )
        return ClusterSnapshot(
            cluster="prod", taken_at=self.clock.now(), objects=objects, digest=""
        )

    def server_time(self) -> int:
        return self.clock.now() + self.skew

    def cluster_uid(self) -> str:
        self.trouble("uid", "")
        return self.uid

    def get_migration(self, name: NamespacedName) -> KubernetesObject | None:
        return copied(self.migrations.get(name.name))

    def list_migrations(self) -> tuple[KubernetesObject, ...]:
        return copied(self._listed())

    def _listed(self) -> tuple[KubernetesObject, ...]:
        return tuple(item for _, item in sorted(self.migrations.items()))

    def get_instance(self, name: NamespacedName) -> KubernetesObject | None:
        return copied(self.instances.get(name.name))

    def list_events(self, name: NamespacedName) -> tuple[KubernetesObject, ...]:
        del name
        return ()

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        del dry_run
        if reason := gate():
            raise NotSent(reason)
        name, vm = name_of(migration).name, migration["spec"]["vmiName"]
        self.trouble("create", name)
        if name in self.migrations:
            raise ClusterRefused("already exists", code=409, reason="AlreadyExists")
        if any(
            item["spec"]["vmiName"] == vm and item["status"]["phase"] not in ("Succeeded", "Failed")
            for item in self.migrations.values()
        ):
            raise ClusterRefused("in-flight migration detected", code=400)
        self.calls.append(("create", name))
        spec, metadata = migration["spec"], migration["metadata"]
        stored = self._store(name, vm, spec.get("addedNodeSelector", {}), metadata)
        if self.lost_answers:
            self.lost_answers -= 1
            raise OutcomeUnknown("the answer was lost")
        self.trouble("created", name)
        return copied(stored)

    def _store(
        self, name: str, vm: str, selector: Mapping[str, str], metadata: Mapping[str, Any]
    ) -> dict[str, Any]:
        self._count += 1
        spec: dict[str, Any] = {"vmiName": vm}
        if selector:
            spec["addedNodeSelector"] = dict(selector)
        stored = tiny_migration(name, spec, metadata, uid=f"vmim-{self._count}")
        self.migrations[name] = stored
        self._courses[name] = Migrating(created=self.clock.present)
        return stored

    def create_event(self, event: KubernetesObject) -> None:
        self.trouble("event", name_of(event).name)
        self.calls.append(("event", name_of(event).name))

    def delete_migration(self, name: NamespacedName, *, uid: str) -> bool:
        self.trouble("delete", name.name)
        self.calls.append(("delete", name.name))
        if name.name in self.migrations and self.migrations[name.name]["metadata"]["uid"] != uid:
            return False
        return self.migrations.pop(name.name, None) is not None

    def patch_node_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        self.trouble("label", node)
        self.calls.append(("label", node))
        self._set_labels(node, labels)

    def _set_labels(self, node: str, labels: Mapping[str, str | None]) -> None:
        known = self.nodes[node]["metadata"]["labels"]
        for key, value in labels.items():
            if value is None:
                known.pop(key, None)
            else:
                known[key] = value

    def set_unschedulable(
        self, node: str, unschedulable: bool, labels: Mapping[str, str | None]
    ) -> bool:
        self.trouble("cordon", node)
        self.calls.append(("cordon" if unschedulable else "uncordon", node))
        theirs = not unschedulable and node in self.cordoned_by_others
        if not theirs:
            self.nodes[node]["spec"]["unschedulable"] = unschedulable
        self._set_labels(node, labels)
        return not theirs

    def hold_flag(self) -> str | None:
        self.trouble("flag", "")
        return self.flag

    def flag_and_time(self) -> tuple[str | None, int]:
        return self.hold_flag(), self.server_time()

    def set_hold_flag(self, reason: str | None) -> None:
        self.trouble("set-flag", "")
        self.flag = reason

    def missing(self, group: str, namespace: str = "") -> tuple[str, ...]:  # noqa: ARG002
        return ()

    def ledger_anchors(self) -> Mapping[str, str]:
        self.trouble("anchor", "")
        return dict(self.anchors)

    def set_ledger_anchor(self, ledger: str, head: str) -> None:
        self.trouble("set-anchor", "")
        self.anchors[ledger] = head

    # for tests

    def where(self) -> dict[str, str]:
        return {name: vm["status"]["nodeName"] for name, vm in sorted(self.instances.items())}

    def creates(self) -> list[str]:
        return [name for verb, name in self.calls if verb == "create"]
