"""The parts that the recorder played itself, played again: kubelet and virt-handler.

They take the recorder's dials. Their clock is finer than the controllers': a trace has many steps
in one second.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    labels_of,
    uid_of,
    with_value,
)
from gitbot.kubernetes.phases import FINAL_PHASES
from gitbot.kubevirt import names
from gitbot.simulation.controllers.instance_controller import with_guest_facts
from gitbot.simulation.controllers.kubelet import running_status
from gitbot.simulation.controllers.node_handler import NodeHandler
from gitbot.simulation.controllers.reconciled import StoreView, Writer
from gitbot.simulation.kubevirt.boot import BootTimes, reconcile_boot
from gitbot.simulation.kubevirt.status_writes import with_condition, with_phase
from gitbot.simulation.kubevirt.virt_handler import HandlerTimes, reconcile_handler
from gitbot.simulation.store import Change, Key, Store
from gitbot.simulation.virtual_clock import Action, VirtualClock
from tests.recordings.story import MIGRATION, VMI, Story

_POD_START, _POD_STOP, _HANDLER_STEP = 200, 300, 100
_GUEST_DOWN = 150
_DURATION, _SETTLE, _CLEANUP, _SOURCE_DOWN = 1000, 120, 350, 550


class MilliClock(VirtualClock):
    """A clock in milliseconds that tells controllers whole seconds."""

    def __init__(self, start: int) -> None:
        super().__init__(start * 1000)

    def now(self) -> int:
        """The virtual present in seconds UTC."""
        return self._now // 1000

    def millis(self) -> int:
        """The virtual present in milliseconds."""
        return self._now

    def at(self, instant: int, action: Action) -> int:
        """Run an action at a whole second."""
        return super().at(instant * 1000, action)

    def after(self, millis: int, action: Action) -> int:
        """Run an action some milliseconds from now."""
        return super().at(self._now + millis, action)


class Gate:
    """Lets a step pass only when its time has come: `wait` milliseconds after it was first seen."""

    def __init__(self, clock: MilliClock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, str], int] = {}
        self._waiting: set[tuple[str, str]] = set()

    def open(self, uid: str, step: str, wait: int, again: Callable[[], None]) -> bool:
        """Whether the step may be made now; else `again` is called when it may."""
        key = (uid, step)
        since = self._since.setdefault(key, self._clock.millis())
        left = since + wait - self._clock.millis()
        if left <= 0:
            return True
        if key not in self._waiting:
            self._waiting.add(key)

            def due() -> None:
                self._waiting.discard(key)
                again()

            self._clock.after(left, due)
        return False


class PlayedKubelet:
    """Starts bound pods and stops deleted ones, as the dials say."""

    kinds = frozenset({"Pod"})

    def __init__(
        self,
        *,
        store: Store,
        story: Story,
        clock: MilliClock,
        touch: Callable[[object, Key], None],
    ) -> None:
        self._store = store
        self._story = story
        self._clock = clock
        self._gate = Gate(clock)
        self._touch = touch

    def touched(self, change: Change) -> Iterable[Key]:
        """The pod."""
        return [change.key] if change.type != "DELETED" else []

    def reconcile(self, key: Key) -> int | None:
        """Start or stop one pod when its time has come."""
        pod = self._store.find("Pod", key)
        if pod is None or not at(pod, "spec", "nodeName"):
            return None
        if "deletionTimestamp" in pod["metadata"]:
            self._stop(key, pod)
        elif at(pod, "status", "phase") == "Pending":
            self._start(key, pod)
        return None

    def _again(self, key: Key) -> Callable[[], None]:
        return lambda: self._touch(self, key)

    def _dials(self, pod: KubernetesObject) -> dict[str, Any]:
        return self._story.dials(annotations_of(pod).get(names.MIGRATION_NAME, ""))

    def _start(self, key: Key, pod: KubernetesObject) -> None:
        dials = self._dials(pod)
        delay = dials.get("pod_start", _default_start(self._story, key[1]))
        if delay is None:
            return  # its kubelet never starts it
        wait = round(delay * 1000)
        if not self._gate.open(uid_of(pod), "start", wait, self._again(key)):
            return
        if dials.get("target_fail") and names.MIGRATION_UID in labels_of(pod):
            self._store.replace(_ended(pod, "Failed", self._clock.now()))
            return
        self._store.replace({**pod, "status": running_status(pod, self._clock.now())})

    def _stop(self, key: Key, pod: KubernetesObject) -> None:
        if at(pod, "status", "phase") in FINAL_PHASES:
            self._store.delete("Pod", key, grace=0)
        elif self._gate.open(uid_of(pod), "stop", _POD_STOP, self._again(key)):
            never_ran = at(pod, "status", "phase") == "Pending"
            phase = "Failed" if never_ran else "Succeeded"
            self._store.replace(_ended(pod, phase, self._clock.now()))


def _default_start(story: Story, pod: str) -> float:
    """As long as it took in the recording, where it is told."""
    times = story.pods.get(pod)
    if times is None or times.bound is None or times.started is None:
        return _POD_START / 1000
    return max(0, times.started - times.bound) / 1000


def _ended(pod: KubernetesObject, phase: str, now: int) -> dict[str, Any]:
    changed = with_value(pod, phase, "status", "phase")
    return with_condition(changed, "Ready", "False", now, reason="PodCompleted")


class PlayedHandler:
    """Room kubevirt says which write comes next; this says when, and whether it comes."""

    kinds = NodeHandler.kinds

    def __init__(
        self,
        *,
        store: Store,
        story: Story,
        clock: MilliClock,
        view: StoreView,
        writer: Writer,
        touch: Callable[[object, Key], None],
    ) -> None:
        self._store = store
        self._story = story
        self._clock = clock
        self._gate = Gate(clock)
        self._view = view
        self._writer = writer
        self._touch = touch
        self.released: set[str] = set()

    def touched(self, change: Change) -> Iterable[Key]:
        """A VMI that moves."""
        key = change.key
        if change.kind == MIGRATION:
            key = (key[0], at(change.new, "spec", "vmiName", default=""))
        elif change.kind == "Pod":
            domain = annotations_of(change.new).get(names.DOMAIN)
            if domain is None:
                return []
            key = (key[0], domain)
        vmi = self._store.find(VMI, key)
        moves = at(vmi, "status", "migrationState") is not None
        boots = at(vmi, "status", "phase") == "Scheduled"
        goes = at(vmi, "metadata", "deletionTimestamp") is not None
        return [key] if moves or boots or goes else []

    def release(self, migration: str, vmi: Key) -> None:
        """The handler of a migration wakes up."""
        self.released.add(migration)
        self._touch(self, vmi)

    def reconcile(self, key: Key) -> int | None:
        """One step of the handlers of one VMI, if it is due."""
        vmi = self._store.find(VMI, key)
        state = at(vmi, "status", "migrationState")
        if vmi is not None and at(vmi, "metadata", "deletionTimestamp") is not None:
            self._shut_down(key, vmi)
            return None
        if vmi is not None and at(vmi, "status", "phase") == "Scheduled":
            return self._boot(key, vmi)
        if vmi is None or state is None:
            return None
        dials = self._dials_of(key, state)
        times = HandlerTimes(
            prepare=0, start=0, copy=0, settle=0, leave=0, fails=dials.get("fail") or ""
        )
        answer = reconcile_handler(self._view, vmi, self._clock.now(), times)
        if not answer.writes:
            return None
        name = self._name_of(key, state)
        step, wait = _step(state, vmi, dials)
        if "hang" not in dials and name not in self.released and not _told(dials, step):
            seen = self._story.steps.wait(name, step)
            wait = wait if seen is None else seen
        if step in _hanging(dials) and not state.get("abortRequested"):
            return None

        def again() -> None:
            self._touch(self, key)

        if not self._gate.open(str(state["migrationUid"]), step, wait, again):
            return None
        return self._writer.carry_out(key, answer)

    def _boot(self, key: Key, vmi: KubernetesObject) -> int | None:
        """The guest boots when it did so in the recording; where it never did, it does not."""
        known = any(
            event.get("kind") == VMI and event.get("name") == key[1] and "added" in event
            for event in self._story.events
        )
        wait = self._story.steps.boot(key[1])
        if wait is None and known:
            return None
        if not self._gate.open(uid_of(vmi), "boot", wait or 0, lambda: self._touch(self, key)):
            return None
        dials = self._story.boot_dials(key[1])
        movable = "False" if dials.get("migratable") is False else "True"
        stated = dict.fromkeys(("LiveMigratable", "StorageLiveMigratable"), (movable, "", ""))
        times = BootTimes(boot=0, conditions=stated)
        answer = reconcile_boot(with_guest_facts(vmi), self._clock.now(), times)
        return self._writer.carry_out(key, answer)

    def _shut_down(self, key: Key, vmi: KubernetesObject) -> None:
        """The guest of a deleted VMI goes down; one that its pod does not wait for has failed."""
        dials = self._story.boot_dials(key[1])
        if at(vmi, "status", "phase") != "Running":
            return
        wait = _millis(dials, "vmidown", _GUEST_DOWN)

        def again() -> None:
            self._touch(self, key)

        if self._gate.open(uid_of(vmi), "down", wait, again):
            self._store.replace(with_phase(vmi, "Succeeded", self._clock.now()))

    def _dials_of(self, key: Key, state: Mapping[str, Any]) -> dict[str, Any]:
        name = self._name_of(key, state)
        dials = self._story.dials(name)
        if name in self.released:
            dials.pop("hang", None)
        return dials

    def _name_of(self, key: Key, state: Mapping[str, Any]) -> str:
        """The migration that a state is about, "" where it is gone."""
        for item in self._store.all(MIGRATION, key[0]):
            if uid_of(item) == state.get("migrationUid"):
                return str(item["metadata"]["name"])
        return ""


def _told(dials: Mapping[str, Any], step: str) -> bool:
    """Whether a dial says how long a step takes."""
    return ("duration" if step in ("detect", "switch") else step) in dials


def _hanging(dials: Mapping[str, Any]) -> frozenset[str]:
    """The steps that never come: none, the target's address, the start, or the end of the copy."""
    if "hang" not in dials:
        return frozenset()
    if dials["hang"] in ("prepare", "start"):
        return frozenset({str(dials["hang"])})
    return frozenset({"detect", "switch"})


def _step(
    state: Mapping[str, Any], vmi: KubernetesObject, dials: Mapping[str, Any]
) -> tuple[str, int]:
    """The name of the next step and how long it takes, in milliseconds."""
    if state.get("completed"):
        if names.TARGET_NODE_NAME in labels_of(vmi):
            return "label", _millis(dials, "cleanup", _CLEANUP)
        return "leave", max(
            0, _millis(dials, "srcdown", _SOURCE_DOWN) - _millis(dials, "cleanup", _CLEANUP)
        )
    if not state.get("targetNodeAddress"):
        return "prepare", _millis(dials, "prepare", _HANDLER_STEP)
    if not state.get("startTimestamp"):
        return "start", _millis(dials, "start", _HANDLER_STEP)
    if state.get("abortRequested") and not state.get("endTimestamp"):
        return "abort", _millis(dials, "abort", _HANDLER_STEP)
    half = _millis(dials, "duration", _DURATION) // 2
    if not state.get("endTimestamp"):
        return ("switch" if state.get("targetNodeDomainDetected") else "detect"), half
    return "settle", _millis(dials, "settle", _SETTLE)


def _millis(dials: Mapping[str, Any], name: str, default: int) -> int:
    value = dials.get(name)
    return default if not isinstance(value, (int, float)) else round(value * 1000)
