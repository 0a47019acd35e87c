"""The simulated cluster of a trace: the product's controllers, the recorder's surroundings.

As with the recorder there is no kube-controller-manager: no garbage collection by owner, no node
lifecycle. Kubelet and virt-handler are played by the dials.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at
from gitbot.kubevirt import names
from gitbot.model.text.canonical import short_digest
from gitbot.simulation.building import namespace
from gitbot.simulation.controller_loop import Controller
from gitbot.simulation.controllers.evacuation_controller import Evacuations
from gitbot.simulation.controllers.instance_controller import InstanceController
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.controllers.vm_controller import Owners
from gitbot.simulation.event_recorder import Recorder
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import Key, Store
from gitbot.simulation.virtual_clock import VirtualClock
from tests.recordings.context import kubevirt_object, recorded_node
from tests.recordings.guided import (
    Findings,
    GuidedMigrations,
    GuidedScheduler,
    Timing,
)
from tests.recordings.played import MilliClock, PlayedHandler, PlayedKubelet
from tests.recordings.standing import put
from tests.recordings.story import MIGRATION, VMI, Story
from tests.recordings.story_objects import (
    initial_objects,
    migration_policies,
)
from tests.recordings.story_sizes import node_sizes
from tests.recordings.uids import Uids, uid_text
from tests.virt_api.admission import admit_guest

_START = 1_800_000_000
_NEVER = 10**9  # guests are booted by the played handler


class StoryStore(Store):
    """Gives objects the names that they have in the recording, and UIDs that follow from them."""

    def tell(self, story: Story) -> None:
        """Say which story it is."""
        self._story = story
        self._given: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self.uids = Uids()

    def prepare(self, obj: KubernetesObject) -> dict[str, Any]:
        """The object as it would be created."""
        metadata = dict(obj["metadata"])
        if not metadata.get("name"):
            metadata["name"] = self._name(obj)
        created = metadata.get("creationTimestamp")
        prepared = super().prepare({**obj, "metadata": metadata})
        text = uid_text(obj["kind"], prepared["metadata"]["name"])
        count = self._counts[text] = self._counts.get(text, 0) + 1
        prepared["metadata"]["uid"] = self.uids.of(text, count)
        if created:
            prepared["metadata"]["creationTimestamp"] = created
        return prepared

    def _name(self, obj: KubernetesObject) -> str:
        base = str(obj["metadata"].get("generateName", ""))
        if obj["kind"] == "Pod":
            return self._numbered(f"{base}p", obj)
        if obj["kind"] == MIGRATION:
            vmi = at(obj, "spec", "vmiName")
            alike = [
                name
                for name, about in self._story.migrations.items()
                if name.startswith(base) and about == vmi
            ]
            number = self._given[f"{base}/{vmi}"] = self._given.get(f"{base}/{vmi}", 0) + 1
            if number <= len(alike):
                return alike[number - 1]
            return f"{base}{short_digest(f'{vmi}/{number}', 5)}"
        return super().new_name(base)

    def _numbered(self, base: str, obj: KubernetesObject) -> str:
        """Pods of one VMI are numbered; those of one migration keep the recorded number."""
        migration = annotations_of(obj).get(names.MIGRATION_NAME, "")
        recorded = [
            name
            for name, times in self._story.pods.items()
            if name.startswith(base) and times.migration == migration
        ]
        for name in recorded:
            if name not in self._given:
                self._given[name] = 1
                return name
        while True:
            number = self._given[base] = self._given.get(base, 0) + 1
            name = f"{base}{number}"
            known = self.find("Pod", (obj["metadata"]["namespace"], name)) is not None
            if not known and name not in self._story.pods and name not in self._given:
                return name


class StoryCluster(SimulatedCluster):
    """A cluster in which one trace is played. `findings` gathers what differs on the way."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.findings = Findings()
        super().__init__(
            start_time=_START,
            dials=SimulationSettings(boot=_NEVER),
            name=story.name,
            guest=admit_guest,
        )
        self._fill()

    def make_clock(self, start_time: int) -> VirtualClock:
        """A clock in milliseconds."""
        self.millis = MilliClock(start_time)
        self.timing = Timing(self.millis)
        return self.millis

    def make_store(self, seed: int, history: int) -> Store:
        """A store with the recorded names."""
        store = StoryStore(seed=seed, now=self.clock.now, history=history)
        store.tell(self.story)
        self.uids = store.uids
        return store

    def touch(self, controller: object, key: Key) -> None:
        """Wake a controller about a key."""
        self.engine.touch(controller, key)  # type: ignore[arg-type]

    def make_controllers(
        self, usual: Sequence[Controller], view: StoreView, writer: Callable[[], Writer]
    ) -> tuple[Controller, ...]:
        """KubeVirt's controllers of the product; scheduler and queue led, the rest played."""
        store, now = self.store, self.clock.now
        common: dict[str, Any] = {
            "story": self.story,
            "timing": self.timing,
            "clock": self.millis,
            "findings": self.findings,
            "touch": self.touch,
        }
        scheduler = GuidedScheduler(
            store=store,
            now=now,
            placement=self.placement,
            events=Recorder(store=store, now=now, source="default-scheduler"),
        )
        scheduler.lead(placement=self.placement, **common)
        migrations = GuidedMigrations(store=store, view=view, writer=writer(), now=now)
        migrations.lead(store=store, **common)
        self.migrations = migrations
        played: dict[str, Any] = {
            "store": store,
            "story": self.story,
            "clock": self.millis,
            "touch": self.touch,
        }
        self.handler = PlayedHandler(view=view, writer=writer(), **played)
        kept = [
            item for item in usual if isinstance(item, (Owners, InstanceController, Evacuations))
        ]
        return (*kept, migrations, scheduler, PlayedKubelet(**played), self.handler)

    def _fill(self) -> None:
        story = self.story
        nodes = [recorded_node(item["name"], item["state"]) for item in self._nodes()]
        kubevirt = kubevirt_object(story.record["kubevirt_spec"])
        around = [kubevirt, namespace(story.namespace), *migration_policies(story)]
        self.load_with(lambda: put(self.store, around))
        objects: list[dict[str, Any]] = self.uids.ours(initial_objects(story))
        sizes = node_sizes(story, objects)
        self.load([_sized(node, sizes) for node in nodes])
        self.load_with(lambda: put(self.store, objects))
        self.first_specs = {
            obj["metadata"]["name"]: obj["spec"] for obj in objects if obj["kind"] == VMI
        }

    def _nodes(self) -> list[Mapping[str, Any]]:
        return list(self.story.record["initial_nodes"])

    # Time

    def play_until(self, millis: int, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass to an instant of the trace, or until a condition holds."""
        target = self.timing.origin + millis
        self.engine.run_ready()
        while until is None or not until():
            due = self.millis.next_instant()
            if due is None or due > target:
                self.millis.move_to(max(target, self.millis.millis()))
                return until is None or until()
            self.millis.move_to(max(due, self.millis.millis()))
            while action := self.millis.pop_due():
                action()
            self.engine.run_ready()
        return True


def _sized(node: dict[str, Any], sizes: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    found = {**node["status"]["allocatable"], **sizes.get(node["metadata"]["name"], {})}
    return {**node, "status": {**node["status"], "allocatable": found, "capacity": found}}
