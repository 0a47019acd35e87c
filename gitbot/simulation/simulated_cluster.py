"""SimulatedCluster: store, virtual clock and controllers put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from gitbot.errors import Bug
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.simulation.admission import AdmitGuest, KubeVirtAdmission
from gitbot.simulation.controller_loop import Controller, ControllerLoop
from gitbot.simulation.controllers.evacuation_controller import Evacuations
from gitbot.simulation.controllers.garbage_collector import GarbageCollector
from gitbot.simulation.controllers.instance_controller import InstanceController
from gitbot.simulation.controllers.kubelet import Kubelet
from gitbot.simulation.controllers.migration_requeue import Migrations
from gitbot.simulation.controllers.node_controller import Nodes
from gitbot.simulation.controllers.node_handler import InjectedFailures, NodeHandler
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.controllers.scheduler import Scheduler
from gitbot.simulation.controllers.vm_controller import owners
from gitbot.simulation.controllers.workloads import Deployments, ReplicaSets
from gitbot.simulation.event_recorder import Recorder
from gitbot.simulation.kubevirt.instance_admission import admit_guest
from gitbot.simulation.placement import WorldPlacement
from gitbot.simulation.simulated_api import Api
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import Store, key_of
from gitbot.simulation.virtual_clock import VirtualClock

SETTLE_LIMIT = 6 * 3600  # virtual seconds; a cluster that is still busy after that is a bug
NAMESPACES = ("default", "kube-system", "kubevirt")


class SimulatedCluster:
    """One deterministic cluster. Same seed, start and calls: same objects, byte for byte.

    `start_time` is in seconds UTC. Things happen only through `advance`, `settle` and writes; a
    write also runs everything that the controllers do in that same second. `guest` answers for
    virt-api about VirtualMachines and VMIs.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        start_time: int = 1_764_547_200,
        dials: SimulationSettings | None = None,
        name: str = "simulated",
        history: int = 20_000,
        guest: AdmitGuest = admit_guest,
    ) -> None:
        self.name = name
        self.seed = seed
        self.dials = dials or SimulationSettings()
        self.clock = self.make_clock(start_time)
        self.store = self.make_store(seed, history)
        self.store.add_index("Pod", "node", _node_of)
        self.api = Api(self.store, self._admission(guest))
        self.failures = InjectedFailures()
        self._build()
        self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            for name in NAMESPACES
        )

    def _admission(self, guest: AdmitGuest) -> KubeVirtAdmission:
        return KubeVirtAdmission(self.store, lambda: self.dials.webhooks_down, guest)

    # Parts that a recording's replay replaces

    def make_clock(self, start_time: int) -> VirtualClock:
        return VirtualClock(start_time)

    def make_store(self, seed: int, history: int) -> Store:
        return Store(seed=seed, now=self.clock.now, history=history)

    def make_controllers(
        self, usual: Sequence[Controller], _view: StoreView, _writer: Callable[[], Writer]
    ) -> tuple[Controller, ...]:
        """The controllers of this cluster, in order; `usual` are those of the product."""
        return tuple(usual)

    def _build(self) -> None:
        store, now = self.store, self.clock.now

        def dials() -> SimulationSettings:
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
        self.instances = InstanceController(
            store=store, view=view, writer=writer(), now=now, dials=dials
        )
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
            NodeHandler(
                store=store,
                view=view,
                writer=writer(),
                now=now,
                dials=dials,
                failures=self.failures,
            ),
        )
        controllers = self.make_controllers(usual, view, writer)
        self.engine = ControllerLoop(store=store, clock=self.clock, controllers=controllers)

    # Time

    def now(self) -> int:
        return self.clock.now()

    def advance(self, seconds: int) -> None:
        self.engine.advance_to(self.now() + seconds)

    def run_until(self, condition: Callable[[], bool], *, limit: int = SETTLE_LIMIT) -> bool:
        """Let time pass until a condition holds or `limit` seconds are over; True if it holds."""
        return self.engine.advance_to(self.now() + limit, condition)

    def settle(self, *, limit: int = SETTLE_LIMIT) -> None:
        """Let time pass until nothing is due. Raises Bug after `limit` seconds."""
        if not self.run_until(self.engine.idle, limit=limit):
            raise Bug(f"BUG: the simulated cluster still works after {limit} s")

    def at(self, instant: int, action: Callable[[], None]) -> None:
        self.clock.at(instant, action)

    # Writes

    def apply(self, objects: Iterable[KubernetesObject]) -> tuple[KubernetesObject, ...]:
        """Create objects, or merge into existing ones; returns them as stored."""
        stored = tuple(self._apply_one(obj) for obj in objects)
        self.engine.run_ready()
        return stored

    def _apply_one(self, obj: KubernetesObject) -> KubernetesObject:
        key = key_of(obj)
        if self.store.find(obj["kind"], key) is None:
            return self.api.create(obj).object
        return self.api.patch(obj["kind"], key, obj, how="apply").object

    def load(self, objects: Iterable[KubernetesObject]) -> None:
        """Put objects into the store as they are, including status, without waking controllers.

        For scenes that start in a settled state.
        """
        self.load_with(lambda: [self.store.create(obj) for obj in objects])

    def load_with(self, action: Callable[[], object]) -> None:
        """Change the store without waking controllers."""
        self.engine.paused = True
        try:
            action()
        finally:
            self.engine.paused = False

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        self.api.delete(kind, (namespace, name))
        self.engine.run_ready()

    def cordon(self, node: str, *, unschedulable: bool = True) -> None:
        patch = {"spec": {"unschedulable": True if unschedulable else None}}
        self.api.patch("Node", ("", node), patch)
        self.engine.run_ready()

    def set_dials(self, **changes: Any) -> None:
        self.dials = replace(self.dials, **changes)

    # Reading

    def get(self, kind: str, name: str, namespace: str = "") -> KubernetesObject | None:
        return self.store.find(kind, (namespace, name))

    def list(self, kind: str, namespace: str = "") -> tuple[KubernetesObject, ...]:
        return tuple(self.store.all(kind, namespace))


def _node_of(obj: KubernetesObject) -> Iterable[str]:
    node = at(obj, "spec", "nodeName")
    return [node] if node else []
