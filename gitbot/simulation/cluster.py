"""SimulatedCluster: store, virtual clock and controllers put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gitbot.errors import Bug
from gitbot.kubevirt.edits import without
from gitbot.kubevirt.limits import is_final
from gitbot.model.objects import KubernetesObject, annotations_of, at
from gitbot.simulation.admission import KubeVirtAdmission
from gitbot.simulation.api import Api
from gitbot.simulation.clock import VirtualClock
from gitbot.simulation.controllers.evacuations import Evacuations
from gitbot.simulation.controllers.garbage import GarbageCollector
from gitbot.simulation.controllers.handler import Failures, Handler
from gitbot.simulation.controllers.instances import Instances
from gitbot.simulation.controllers.kubelet import Kubelet
from gitbot.simulation.controllers.migrations import Migrations
from gitbot.simulation.controllers.nodes import Nodes
from gitbot.simulation.controllers.owners import owners
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.controllers.scheduler import Scheduler
from gitbot.simulation.controllers.workloads import Deployments, ReplicaSets
from gitbot.simulation.dials import Dials
from gitbot.simulation.engine import Controller, Engine
from gitbot.simulation.events import Recorder
from gitbot.simulation.placement import WorldPlacement
from gitbot.simulation.status import ApiError
from gitbot.simulation.store import Store, key_of

SETTLE_LIMIT = 6 * 3600  # virtual seconds after which a cluster that still works is a bug
NAMESPACES = ("default", "kube-system", "kubevirt")


class SimulatedCluster:
    """One deterministic cluster. Same seed, start and calls: same objects, byte for byte.

    `start_time` is in seconds UTC. Nothing happens but through `advance`, `settle` and writes;
    writes are followed at once by everything that the controllers do in that same second.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        start_time: int = 1_764_547_200,
        dials: Dials | None = None,
        name: str = "simulated",
        history: int = 20_000,
    ) -> None:
        self.name = name
        self.seed = seed
        self.dials = dials or Dials()
        self.clock = self.make_clock(start_time)
        self.store = self.make_store(seed, history)
        self.store.add_index("Pod", "node", _node_of)
        self.api = Api(self.store, KubeVirtAdmission(self.store, lambda: self.dials.webhooks_down))
        self.failures = Failures()
        self._build()
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in NAMESPACES
        )

    # What a recording's replay puts its own parts in for

    def make_clock(self, start_time: int) -> VirtualClock:
        """The clock of this cluster."""
        return VirtualClock(start_time)

    def make_store(self, seed: int, history: int) -> Store:
        """The store of this cluster."""
        return Store(seed=seed, now=self.clock.now, history=history)

    def make_controllers(
        self, usual: Sequence[Controller], view: StoreView, writer: Callable[[], Writer]
    ) -> tuple[Controller, ...]:
        """The controllers of this cluster, in order; `usual` are those of the product."""
        del view, writer
        return tuple(usual)

    def _build(self) -> None:
        store, now = self.store, self.clock.now

        def dials() -> Dials:
            return self.dials

        view = StoreView(store)

        def writer() -> Writer:
            return Writer(api=self.api, now=now, source="virtualmachine-controller")

        self.placement = WorldPlacement(store=store, prefer=lambda: self.dials.prefer)
        self.nodes = Nodes(store=store, api=self.api, now=now, dials=dials)
        scheduler = Scheduler(
            store=store,
            now=now,
            placement=self.placement,
            events=Recorder(store=store, now=now, source="default-scheduler"),
        )
        self.owners = owners(store=store, view=view, writer=writer, now=now)
        self.migrations = Migrations(store=store, view=view, writer=writer(), now=now)
        self.instances = Instances(store=store, view=view, writer=writer(), now=now, dials=dials)
        usual: tuple[Controller, ...] = (
            GarbageCollector(store=store, api=self.api),
            self.nodes,
            Deployments(store=store, api=self.api, now=now),
            ReplicaSets(store=store, api=self.api),
            *self.owners,
            self.instances,
            Evacuations(store=store, view=view, writer=writer(), now=now),
            self.migrations,
            scheduler,
            Kubelet(store=store, now=now, dials=dials),
            Handler(
                store=store,
                view=view,
                writer=writer(),
                now=now,
                dials=dials,
                failures=self.failures,
            ),
        )
        controllers = self.make_controllers(usual, view, writer)
        self.engine = Engine(store=store, clock=self.clock, controllers=controllers)

    # Time

    def now(self) -> int:
        """The virtual present in seconds UTC."""
        return self.clock.now()

    def advance(self, seconds: int) -> None:
        """Let virtual time pass."""
        self.engine.advance_to(self.now() + seconds)

    def run_until(self, condition: Callable[[], bool], *, limit: int = SETTLE_LIMIT) -> bool:
        """Let time pass until a condition holds or `limit` seconds are over; whether it holds."""
        return self.engine.advance_to(self.now() + limit, condition)

    def settle(self, *, limit: int = SETTLE_LIMIT) -> None:
        """Let time pass until nothing is due any more. Raises Bug after `limit` seconds."""
        if not self.run_until(self.engine.idle, limit=limit):
            raise Bug(f"BUG: the simulated cluster still works after {limit} s")

    # Writes

    def apply(self, objects: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
        """Create objects, or replace what is there by merging; returns them as stored."""
        stored = tuple(self._apply_one(obj) for obj in objects)
        self.engine.run_ready()
        return stored

    def _apply_one(self, obj: KubernetesObject) -> KubernetesObject:
        key = key_of(obj)
        if self.store.find(obj["kind"], key) is None:
            return self.api.create(obj).object
        return self.api.patch(obj["kind"], key, obj, how="apply").object

    def load(self, objects: Iterable[KubernetesObject]) -> None:
        """Put objects into the store as they are, status included, and wake no controller.

        For scenes that start in a settled state.
        """
        self.load_with(lambda: [self.store.create(obj) for obj in objects])

    def load_with(self, action: Callable[[], object]) -> None:
        """Do something to the store that wakes no controller."""
        self.engine.paused = True
        try:
            action()
        finally:
            self.engine.paused = False

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object."""
        self.api.delete(kind, (namespace, name))
        self.engine.run_ready()

    def cordon(self, node: str, *, unschedulable: bool = True) -> None:
        """Make a node unschedulable, or schedulable again."""
        patch = {"spec": {"unschedulable": True if unschedulable else None}}
        self.api.patch("Node", ("", node), patch)
        self.engine.run_ready()

    def set_dials(self, **changes: Any) -> None:
        """Turn dials from now on."""
        self.dials = replace(self.dials, **changes)

    # Trouble

    def fail_next_migration(self, vmi: str, namespace: str, *, reason: str) -> None:
        """Let the next memory copy of a VMI fail, with that reason."""
        self.failures.add((namespace, vmi), reason)

    def evict_instance(self, vmi: str, namespace: str) -> str:
        """Evict the pod in which a VMI runs, as a foreign drain does; the refusal's text or ""."""
        found = self.store.get("VirtualMachineInstance", (namespace, vmi))
        node = at(found, "status", "nodeName")
        pods = self.store.indexed("Pod", "owner", found["metadata"]["uid"])
        answer = ""
        for pod in pods:
            ended = at(pod, "status", "phase") in ("Succeeded", "Failed")
            if at(pod, "spec", "nodeName") == node and not ended:
                try:
                    self.api.evict(key_of(pod), {})
                except ApiError as refusal:
                    answer = refusal.message
        self.engine.run_ready()
        return answer

    def cancel_evacuation(self, vmi: str, namespace: str) -> None:
        """`virtctl evacuate-cancel`: take the eviction's mark away and end the evacuation."""
        key = (namespace, vmi)
        found = self.store.get("VirtualMachineInstance", key)
        self.store.replace(without(found, "status", "evacuationNodeName"))
        for migration in self.list("VirtualMachineInstanceMigration", namespace):
            evacuates = "kubevirt.io/evacuationMigration" in annotations_of(migration)
            if evacuates and at(migration, "spec", "vmiName") == vmi and not is_final(migration):
                self.api.delete("VirtualMachineInstanceMigration", key_of(migration))
        self.engine.run_ready()

    def restart_machine(self, name: str, namespace: str) -> None:
        """Restart a VirtualMachine: its VMI is deleted and made anew, with another UID."""
        self.delete("VirtualMachineInstance", name, namespace)

    def at(self, instant: int, action: Callable[[], None]) -> None:
        """Let something happen at an instant of virtual time (seconds UTC)."""
        self.clock.at(instant, action)

    def lose_node(self, node: str) -> None:
        """The node's heartbeats end now."""
        self.nodes.lose(node)
        self.engine.touch(self.nodes, ("", node))
        self.engine.run_ready()

    def return_node(self, node: str, *, rebooted: bool = True) -> None:
        """The node reports again, by default after a reboot."""
        self.nodes.give_back(node, rebooted=rebooted)
        self.engine.touch(self.nodes, ("", node))
        self.engine.run_ready()

    # Reading

    def get(self, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
        """One object, None where there is none."""
        return self.store.find(kind, (namespace, name))

    def list(self, kind: str, namespace: str = "") -> tuple[KubernetesObject, ...]:
        """All objects of a kind, sorted by (namespace, name)."""
        return tuple(self.store.all(kind, namespace))


def _node_of(obj: KubernetesObject) -> Iterable[str]:
    node = at(obj, "spec", "nodeName")
    return [node] if node else []
