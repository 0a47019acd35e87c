"""Scheduler and migration queue led by a recording where the real ones choose at will.

What is arbitrary is taken from the recording and checked to be allowed: the node that a pod gets
must be one that it fits on, a migration may start when a slot is free and nobody of a higher
priority could have it. What is not arbitrary is not led.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at
from gitbot.kubevirt import names
from gitbot.kubevirt.limits import priority_of, requeue_delay
from gitbot.model.cluster.pod import Pod
from gitbot.simulation.controllers.migration_requeue import Migrations
from gitbot.simulation.controllers.scheduler import Scheduler, is_pending
from gitbot.simulation.kubevirt.migration_controller import reconcile_migration
from gitbot.simulation.kubevirt.reconcile_result import Create, Reconciled, Write
from gitbot.simulation.placement import WorldPlacement, refusal
from gitbot.simulation.store import Key, Store
from tests.recordings.differences import Difference
from tests.recordings.played import MilliClock
from tests.recordings.story import MIGRATION, PodTimes, Story

_AT_ONCE = 1_000  # a pod that is bound within a second of its creation was never refused
_SCHEDULER_PAUSE = 12_000  # kube-scheduler tries a refused pod again after 1 to 10 seconds
_QUEUE_SLACK = 2_500  # target pods are created one at a time, with a pause of a second


@dataclass(slots=True)
class Findings:
    """What was seen to differ while a story was played, and remarks about what was arbitrary."""

    differences: list[Difference] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def differ(self, name: str, path: str, recorded: Any, ours: Any) -> None:
        """Keep a difference."""
        found = Difference(name=name, field=path, recorded=recorded, ours=ours)
        if found not in self.differences:
            self.differences.append(found)


class Timing:
    """The time of the trace on the cluster's clock; it can be shifted when something comes late."""

    def __init__(self, clock: MilliClock) -> None:
        self._clock = clock
        self.origin = clock.millis()

    def now(self) -> int:
        """Milliseconds since the start of the trace."""
        return self._clock.millis() - self.origin

    def until(self, millis: int) -> int:
        """How long it is to an instant of the trace; not positive where it is over."""
        return millis - self.now()


class GuidedScheduler(Scheduler):
    """Binds pods to the recorded nodes, if they fit there."""

    def lead(
        self,
        *,
        placement: WorldPlacement,
        story: Story,
        timing: Timing,
        clock: MilliClock,
        findings: Findings,
        touch: Callable[[object, Key], None],
    ) -> None:
        """Say what to follow."""
        self._world = placement
        self._story = story
        self._timing = timing
        self._clock = clock
        self._findings = findings
        self._touch = touch
        self._fits_since: dict[Key, int] = {}

    def reconcile(self, key: Key) -> int | None:
        """Try one pod, unless the recorded scheduler took its time."""
        pod = self._store.find("Pod", key)
        times = self._story.pods.get(key[1])
        if pod is None or not is_pending(pod) or times is None:
            return super().reconcile(key)
        world, wanted = self._world.world(), Pod.from_object(pod)
        feasible = world.feasible(wanted)
        if not feasible:
            return self._fits_nowhere(key, pod, times, refusal(world.judge(wanted)))
        return self._fits(key, pod, times, sorted(feasible))

    def _fits_nowhere(
        self, key: Key, pod: KubernetesObject, times: PodTimes, message: str
    ) -> int | None:
        self._fits_since.pop(key, None)
        if times.bound is not None and self._timing.until(times.bound) < -_AT_ONCE:
            self._findings.differ(key[1], "spec.nodeName", times.node, message)
        elif times.bound is not None:
            self._later(key, max(times.bound + _AT_ONCE + 1, self._timing.now() + 1))
        self._waiting[key] = None
        at_once = times.bound is not None and times.unschedulable is None
        if not at_once:
            self._refuse(pod, message)
        return None

    def _fits(
        self, key: Key, pod: KubernetesObject, times: PodTimes, nodes: list[str]
    ) -> int | None:
        self._waiting[key] = None
        since = self._fits_since.setdefault(key, self._timing.now())
        if times.bound is None:
            if self._timing.now() - since >= _SCHEDULER_PAUSE:
                self._findings.differ(key[1], "spec.nodeName", None, nodes)
            self._later(key, since + _SCHEDULER_PAUSE)
            return None
        if times.node not in nodes:
            self._findings.differ(key[1], "spec.nodeName", times.node, nodes)
            return None
        left = self._timing.until(times.bound)
        if left > 0 and times.unschedulable is not None:
            if left > _SCHEDULER_PAUSE:
                self._findings.differ(key[1], "spec.nodeName", None, nodes)
            self._later(key, times.bound)
            return None
        self._waiting.pop(key, None)
        if len(nodes) > 1:
            self._findings.notes["nodes: kube-scheduler chose among those that fit"] = None
        self._bind(pod, times.node)
        return None

    def _later(self, key: Key, millis: int) -> None:
        left = max(1, self._timing.until(millis))
        self._clock.after(left, lambda: self._touch(self, key))


class GuidedMigrations(Migrations):
    """Lets waiting migrations start in the recorded order, and holds that order to the rules."""

    def lead(
        self,
        *,
        store: Store,
        story: Story,
        timing: Timing,
        clock: MilliClock,
        findings: Findings,
        touch: Callable[[object, Key], None],
    ) -> None:
        """Say what to follow."""
        del store
        self._story = story
        self._timing = timing
        self._clock = clock
        self._findings = findings
        self._touch = touch
        self._eligible: dict[Key, int] = {}  # since when it could have started
        self._asked: set[Key] = set()  # those that have waited for a slot
        self._started: dict[str, int] = {}  # how many target pods it has got
        self._last_start = -_QUEUE_SLACK
        self._starts: dict[str, list[int]] = {}
        for times in sorted(story.pods.values(), key=lambda item: item.created):
            if times.migration:
                self._starts.setdefault(times.migration, []).append(times.created)

    def reconcile(self, key: Key) -> int | None:
        """One pass over one migration, without its start where that is not due yet."""
        migration = self._store.find(MIGRATION, key)
        if migration is None:
            self.waits_for.pop(key, None)
            self._eligible.pop(key, None)
            return None
        answer = reconcile_migration(self._view, migration, self._now())
        if _start_in(answer) is None:
            self._judge_wait(key, migration)
            if answer.waits_for:
                self._asked.add(key)
        elif not self._may_start(key, migration):
            return self._carry_out(key, _without_start(answer))
        before = self._store.version
        again = self._carry_out(key, answer)
        if _start_in(answer) is not None and self._has_target(key, before):
            self._note_start(key, migration)
        return again

    def _carry_out(self, key: Key, answer: Reconciled) -> int | None:
        self.waits_for[key] = answer.waits_for
        return self._writer.carry_out(key, answer, self._waits(key))

    def _has_target(self, key: Key, version: int) -> bool:
        return any(
            change.kind == "Pod"
            and change.type == "ADDED"
            and annotations_of(change.new).get(names.MIGRATION_NAME) == key[1]
            for change in self._store.history_since(version)
        )

    def _due(self, name: str) -> int | None:
        """When this migration got its next target pod in the recording; None if it never did."""
        starts = self._starts.get(name, [])
        number = self._started.get(name, 0)
        return starts[number] if number < len(starts) else None

    def _may_start(self, key: Key, migration: KubernetesObject) -> bool:
        due = self._due(key[1])
        if key[1] not in self._story.migrations or _refused_in(self._story, key[1]):
            return True
        self._eligible.setdefault(key, self._timing.now())
        most = self._patience(key, migration)
        if due is None:
            self._judge_wait(key, migration, still=True)
        if due is not None and self._timing.until(due) <= 0:
            return True
        left = most + 1 if due is None else self._timing.until(due)
        self._clock.after(max(1, left), lambda: self._touch(self, key))
        return False

    def _patience(self, key: Key, migration: KubernetesObject) -> int:
        """Until when the queue looks again: later at one that has asked for a slot in vain."""
        asked = requeue_delay(migration) * 1000 if key in self._asked else 0
        return asked + _QUEUE_SLACK

    def _judge_wait(self, key: Key, migration: KubernetesObject, *, still: bool = False) -> None:
        """Nobody leaves a slot free for longer than until the queue looks again."""
        since = self._eligible.get(key) if still else self._eligible.pop(key, None)
        if since is None:
            return
        waited = self._timing.now() - since
        if waited > self._patience(key, migration):
            recorded = f"waits for {waited / 1000:.1f} s"
            self._findings.differ(key[1], "status.phase", recorded, "can start: a slot is free")

    def _note_start(self, key: Key, migration: KubernetesObject) -> None:
        now = self._timing.now()
        self._started[key[1]] = self._started.get(key[1], 0) + 1
        self._judge_wait(key, migration)
        quiet = now - self._last_start > 1_200
        self._last_start = now
        waiting = [other for other in self._eligible if self._store.find(MIGRATION, other)]
        for other in waiting:
            found = self._store.get(MIGRATION, other)
            if quiet and priority_of(found) > priority_of(migration):
                self._findings.differ(
                    key[1],
                    "order of starts",
                    f"before {other[1]}",
                    f"after {other[1]}, whose priority {at(found, 'spec', 'priority')} is higher",
                )
            if priority_of(found) == priority_of(migration):
                self._findings.notes["order of starts: arbitrary among equal priorities"] = None
            self._touch(self, other)


def _refused_in(story: Story, name: str) -> bool:
    """Whether the recorded API server refused a target pod of this VMI, so that nothing waits."""
    vmi = story.migrations.get(name)
    return any(
        event.get("event") == "FailedCreate" and event.get("name") == vmi for event in story.events
    )


def _start_in(answer: Reconciled) -> Create | None:
    for write in answer.writes:
        if isinstance(write, Create) and write.object.get("kind") == "Pod":
            labels = at(write.object, "metadata", "labels", default={})
            if labels.get(names.APP) == "virt-launcher":
                return write
    return None


def _without_start(answer: Reconciled) -> Reconciled:
    start = _start_in(answer)
    kept: tuple[Write, ...] = tuple(write for write in answer.writes if write is not start)
    return replace(answer, writes=kept, requeue_after=None)
