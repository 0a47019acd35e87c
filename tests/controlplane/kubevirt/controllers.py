"""virt-controller and virt-handler as a process: followers of an API server, one working thread.

The controllers are the simulator's own, hence the pure reconcilers of room kubevirt; what differs
is where they read (a mirror that watches feed) and where they write (the server).
"""

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from gitbot.adapters.clock import SystemClock
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.simulation.controller_loop import Controller, ControllerLoop
from gitbot.simulation.controllers.evacuation_controller import Evacuations
from gitbot.simulation.controllers.instance_controller import InstanceController
from gitbot.simulation.controllers.kubelet import Kubelet
from gitbot.simulation.controllers.migration_requeue import Migrations
from gitbot.simulation.controllers.node_handler import InjectedFailures, NodeHandler
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.controllers.vm_controller import owners
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.simulated_api import CONTROLLER
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Change, key_of
from gitbot.simulation.virtual_clock import VirtualClock
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.controlplane.kubevirt.mirror import Mirror, RemoteApi
from tests.controlplane.kubevirt.readiness import Readiness

FOLLOWED = (
    "KubeVirt", "MigrationPolicy", "Namespace", "Node", "PersistentVolumeClaim", "PriorityClass",
    "ResourceQuota", "RuntimeClass", "VirtualMachine", "VirtualMachineInstance",
    "VirtualMachineInstanceMigration", "VirtualMachineInstanceReplicaSet", "Pod",
)  # fmt: skip
QUICK = SimulationSettings(
    handler_step=0, copy_minimum=0, boot=0, pod_start=0, pod_stop=0, bandwidth=1 << 60
)
"""Dials with which nothing takes time but the requests themselves."""

SOURCE = "virtualmachine-controller"
_PAUSE = 0.2  # seconds until a watch that ended begins again
_TICK = 0.1  # seconds at most between two looks at the clock


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a watch brought: one change in its words, or (LIST) all that there is of a kind.

    `version` is the resourceVersion of a list.
    """

    kind: str
    type: str
    version: int = 0
    objects: Sequence[Mapping[str, Any]]


class Follower:
    """Lists and watches one kind in a thread; puts what it hears into a queue."""

    def __init__(self, connection: Connection, kind: str, inbox: queue.SimpleQueue[News]) -> None:
        self._connection = connection
        self._kind = kind
        self._path = path_of(BY_KIND[kind])
        self._inbox = inbox
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"follow-{kind}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end."""
        self._stop.set()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join(timeout=5)

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                self._once()
            except Exception:  # noqa: BLE001 - whatever a dying server says, it is asked again
                self._stop.wait(_PAUSE)

    def _once(self) -> None:
        items, version = self._connection.list(self._path)
        self._inbox.put(News(kind=self._kind, type="LIST", version=int(version), objects=items))
        while not self._stop.is_set():
            for what, obj in self._connection.watch(self._path, version, self._stop):
                version = obj["metadata"]["resourceVersion"]
                if what != "BOOKMARK":
                    self._inbox.put(News(kind=self._kind, type=what, objects=(obj,)))
            self._stop.wait(_PAUSE)


class LiveEngine(ControllerLoop):
    """An engine that hears the news between any two keys, so that nothing waits behind a queue."""

    hear: Callable[[], None] = staticmethod(lambda: None)

    def run_ready(self) -> None:
        """Reconcile until nothing is dirty at the present."""
        self.hear()
        while self._queue:
            item = self._queue.popleft()
            self._queued.discard(item)
            self._reconcile(item)
            self.hear()


class VirtualControllers:
    """KubeVirt's controllers and handlers on one API server. A context manager.

    `dials` may be turned at any time by `set_dials`. With `kubelet` the kubelets are played too,
    for servers that have none. What a controller could not digest is in `failures`.
    """

    def __init__(
        self, connection: Connection, *, dials: SimulationSettings = QUICK, kubelet: bool = False
    ) -> None:
        mine = connection.acting_as(CONTROLLER)
        self.dials = dials
        self.broken = InjectedFailures()
        self.clock = VirtualClock(SystemClock().now())
        self.mirror = Mirror(mine, now=self.clock.now)
        self._inbox: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._followers = [Follower(mine, kind, self._inbox) for kind in FOLLOWED]
        self._waiting = set(FOLLOWED)
        self._stop = threading.Event()
        self._ready = threading.Event()
        self.engine = LiveEngine(
            store=self.mirror, clock=self.clock, controllers=self._controllers(kubelet=kubelet)
        )
        self.engine.hear = self._hear
        self.engine.tolerant = True
        self.engine.paused = True  # until every kind was listed once
        self._thread = threading.Thread(target=self._run, name="virt-controller", daemon=True)
        self._recorder = threading.Thread(
            target=self.mirror.send_events, name="event-recorder", daemon=True
        )

    @property
    def failures(self) -> list[str]:
        """Failures that no real controller should have."""
        return self.engine.failures

    def set_dials(self, **changes: Any) -> None:
        """Turn dials from now on."""
        self.dials = replace(self.dials, **changes)

    def start(self, *, within: float = 30) -> None:
        """Start; returns when all kinds have been listed. Raises TimeoutError."""
        for follower in self._followers:
            follower.start()
        self._thread.start()
        self._recorder.start()
        if not self._ready.wait(within):
            self.stop()
            raise TimeoutError(f"after {within:.0f} s still no list of {sorted(self._waiting)}")

    def stop(self) -> None:
        """End all threads; objects stay as they are."""
        self._stop.set()
        for follower in self._followers:
            follower.stop()
        self._thread.join(timeout=30)
        self.mirror.outbox.put(None)
        self._recorder.join(timeout=10)
        for follower in self._followers:
            follower.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _controllers(self, *, kubelet: bool) -> tuple[Controller, ...]:
        store, now = self.mirror, self.clock.now

        def dials() -> SimulationSettings:
            return self.dials

        view = StoreView(store)

        def writer() -> Writer:
            return Writer(api=RemoteApi(store), now=now, source=SOURCE)

        store.add_index("Pod", "node", lambda pod: [pod.get("spec", {}).get("nodeName") or ""])
        played = (Kubelet(store=store, now=now, dials=dials),) if kubelet else ()
        return (
            *owners(store=store, view=view, writer=writer, now=now)[1:],  # no pools here
            InstanceController(store=store, view=view, writer=writer(), now=now, dials=dials),
            Evacuations(store=store, view=view, writer=writer(), now=now),
            Migrations(store=store, view=view, writer=writer(), now=now),
            Readiness(store=store, view=view, writer=writer(), now=now),
            *played,
            NodeHandler(
                store=store,
                view=view,
                writer=writer(),
                now=now,
                dials=dials,
                failures=self.broken,
            ),
        )

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wait_for_news()
            if self.engine.paused:
                continue
            now = max(SystemClock().now(), self.clock.now())
            try:
                self.engine.advance_to(now)
            except ApiError as refusal:  # a server that goes away while it is being asked
                self.failures.append(f"not carried out: {refusal}")

    def _wait_for_news(self) -> None:
        try:
            self._take(self._inbox.get(timeout=_TICK))
        except queue.Empty:
            return
        self._hear()

    def _hear(self) -> None:
        while not self._stop.is_set():
            try:
                self._take(self._inbox.get_nowait())
            except queue.Empty:
                return

    def _take(self, news: News) -> None:
        match news.type:
            case "LIST":
                self.mirror.reset(news.kind, list(news.objects), news.version)
                self._listed(news.kind)
            case "DELETED":
                self.mirror.drop(news.kind, news.objects[0])
            case _:
                self.mirror.take(news.kind, news.objects[0])

    def _listed(self, kind: str) -> None:
        if not self._waiting:
            return
        self._waiting.discard(kind)
        if self._waiting:
            return
        self.engine.paused = False
        for index, controller in enumerate(self.engine._controllers):
            for touched in sorted(controller.kinds):
                for obj in self.mirror.all(touched):
                    for key in controller.touched(_seen(touched, obj)):
                        self.engine._enqueue((index, key))
        self._ready.set()


def _seen(kind: str, obj: KubernetesObject) -> Change:
    """The change that an object is to a controller that has just begun."""
    return Change(version=0, type="ADDED", kind=kind, key=key_of(obj), old=None, new=obj)
