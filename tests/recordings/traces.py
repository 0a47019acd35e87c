"""A recorded trace, lived again by the product's controllers on virtual time."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gitbot.kubernetes.objects import at
from gitbot.kubevirt.limits import limits_of
from gitbot.simulation.store import Change
from tests.recordings.actions import Actors
from tests.recordings.context import Context
from tests.recordings.differences import Difference, Verdict, first_difference
from tests.recordings.observed import (
    FIELDS,
    Courses,
    observed_events,
    observed_state,
    recorded_courses,
    recorded_events,
)
from tests.recordings.story import MIGRATION, VMI, Story
from tests.recordings.story_cluster import StoryCluster
from tests.recordings.story_objects import noted_settings

_PATIENCE = 3_000  # how long an action waits for what it waited for in the recording
_AFTER = 3_000  # what is still on its way at the end of a trace comes within that time
_CLOSE = 2_000


def replay_trace(record: Mapping[str, Any], context: Context) -> Verdict:
    """Equal, or the first difference."""
    del context
    story = Story.of(record)
    play = Play(story)
    play.run()
    found = next(play.differences(), None)
    notes = tuple(play.notes()) if found is None else ()
    return Verdict(record=story.name, difference=found, notes=notes)


class Play:
    """One trace on a cluster of its own."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.recorded = recorded_courses(story)
        self.ours = Courses()
        self.cluster = StoryCluster(story)
        self.actors = Actors(self.cluster)
        for kind in FIELDS:
            for obj in self.cluster.list(kind, story.namespace):
                self.ours.see(
                    kind, obj["metadata"]["name"], observed_state(obj, self.cluster.uids), 0
                )
        self.cluster.store.listeners.append(self._watch)

    def _watch(self, change: Change) -> None:
        if change.kind not in FIELDS or change.key[0] != self.story.namespace:
            return
        state = (
            {"gone": True}
            if change.type == "DELETED"
            else observed_state(change.new, self.cluster.uids)
        )
        self.ours.see(change.kind, change.key[1], state, self.cluster.timing.now())

    def run(self) -> None:
        """Let everything happen."""
        steps: list[tuple[int, int, Callable[[], None]]] = [
            (action.millis, 1, partial(self.actors.perform, action))
            for action in self.story.actions
        ]
        steps += [
            (when, 0, partial(self.actors.change, event)) for when, event in self.story.inputs
        ]
        for when, _, step in sorted(steps, key=lambda item: item[:2]):
            self._reach(when)
            step()
        self.cluster.play_until(self.story.end + _AFTER)

    def _reach(self, when: int) -> None:
        """Go to an instant, and on until what was there before it is there here too."""
        self.cluster.play_until(when)
        wanted = self._phases_before(when)

        def caught_up() -> bool:
            return all(value in self.ours.values.get(path, []) for path, value in wanted.items())

        if caught_up():
            return
        now = self.cluster.timing.now()

        if self.cluster.play_until(now + _PATIENCE, caught_up):
            self.cluster.timing.origin += self.cluster.timing.now() - max(now, when)

    def _phases_before(self, when: int) -> dict[tuple[str, str, str], Any]:
        found = {}
        for path, course in self.recorded.values.items():
            if path[0] != MIGRATION or path[2] != "phase":
                continue
            seen = [
                value
                for value, time in zip(course, self.recorded.times[path], strict=True)
                if time < when
            ]
            if seen and seen[-1] is not None:
                found[path] = seen[-1]
        return found

    # Comparing

    def differences(self) -> Iterator[Difference]:
        """All differences, the most telling first."""
        yield from self.cluster.findings.differences
        yield from self._courses((MIGRATION,))
        yield from self._phases()
        yield from self._limits()
        yield from self._times()
        yield from self._courses((VMI, "Pod"))
        yield from self._settings()
        yield from self._events()
        yield from self._final()

    def _phases(self) -> Iterator[Difference]:
        """The phases of every migration, as the recorder summed them up."""
        there = {i["name"] for i in self.story.record["initial"] if i["kind"] == MIGRATION}
        for name, steps in sorted((self.story.record.get("vmim_phases") or {}).items()):
            theirs = [phase for _, phase in steps]
            course = self.ours.values.get((MIGRATION, name, "phase"), [])
            course = course[1:] if name in there else course
            ours = ["(gone)" if phase is None else phase for phase in course]
            if theirs != ours:
                yield Difference(name=name, field="vmim_phases", recorded=theirs, ours=ours)

    def _final(self) -> Iterator[Difference]:
        """What is left at the end."""
        left = {
            obj["metadata"]["name"]: (kind, observed_state(obj, self.cluster.uids))
            for kind in FIELDS
            for obj in self.cluster.list(kind, self.story.namespace)
        }
        for name, state in sorted(self.story.record["final"].items()):
            if state["kind"] not in FIELDS:
                continue
            found = left.pop(name, (None, {}))[1]
            ours = {key: found.get(key) for key in ("phase", "nodeName") if key in state}
            theirs = {key: state[key] or None for key in ours}
            difference = first_difference(name, theirs, ours, "final")
            if difference is not None:
                yield difference
        for name, (kind, state) in sorted(left.items()):
            if self._existed(str(kind), name):
                phase = state.get("phase")
                yield Difference(name=name, field="final", recorded=None, ours=phase)

    def _existed(self, kind: str, name: str) -> bool:
        """Whether the recording shows an object of that name that is gone at its end."""
        return bool(self.recorded.values.get((kind, name, "gone")))

    def _was_blind(self, times: list[int]) -> bool:
        """Whether a migration met a virt-api that was away: how long retries take is luck."""
        away = [
            action.millis for action in self.story.actions if action.text.startswith("virt-api")
        ]
        return bool(away) and times[0] < max(away) and times[-1] > min(away)

    def _settings(self) -> Iterator[Difference]:
        """The settings that a migration froze, where a note tells them."""
        wanted = noted_settings(self.story)
        for vmi in self.cluster.list(VMI, self.story.namespace) if wanted else ():
            ours = at(vmi, "status", "migrationState", "migrationConfiguration", default={})
            name, field = vmi["metadata"]["name"], "migrationState.migrationConfiguration"
            found = first_difference(name, wanted, ours, field)
            if found is not None:
                yield found

    def _courses(self, kinds: tuple[str, ...]) -> Iterator[Difference]:
        paths = {*self.recorded.values, *self.ours.values}
        for path in sorted(path for path in paths if path[0] in kinds):
            theirs, ours = self.recorded.values.get(path, []), self.ours.values.get(path, [])
            if theirs != ours and not (path[2] == "deleting" and self._is_gone(path)):
                yield Difference(name=path[1], field=path[2], recorded=theirs, ours=ours)

    def _is_gone(self, path: tuple[str, str, str]) -> bool:
        """Of an object that vanished the mark before that may be too short to be seen."""
        gone = (path[0], path[1], "gone")
        return bool(self.recorded.values.get(gone)) and bool(self.ours.values.get(gone))

    def _limits(self) -> Iterator[Difference]:
        kubevirt = {"spec": self.story.record["kubevirt_spec"]}
        most = limits_of(kubevirt)[0]
        for whose, courses in (("recorded", self.recorded), ("ours", self.ours)):
            peak = _most_at_once(courses)
            if peak > most:
                told = {"recorded": most, "ours": most, whose: peak}
                yield Difference(name="migrations at once", field=whose, **told)

    def _times(self) -> Iterator[Difference]:
        for path, name, phase, theirs, ours in self._late():
            if abs(theirs - ours) > _CLOSE:
                del path
                recorded, here = (f"{value / 1000:.2f} s" for value in (theirs, ours))
                yield Difference(name=name, field=f"time of {phase}", recorded=recorded, ours=here)

    def _late(self) -> Iterator[tuple[tuple[str, str, str], str, str, int, int]]:
        for path, course in self.recorded.values.items():
            if path[0] == MIGRATION and path[2] == "phase" and course == self.ours.values.get(path):
                if self._was_blind(self.recorded.times[path]):
                    continue
                times = zip(course, self.recorded.times[path], self.ours.times[path], strict=True)
                for phase, theirs, ours in times:
                    yield path, path[1], str(phase), theirs, ours

    def _events(self) -> Iterator[Difference]:
        theirs = recorded_events(self.story)
        events = self.cluster.list("Event", self.story.namespace)
        ours = observed_events(events, self.cluster.uids)
        for kind, name, reason, message in sorted(theirs - ours):
            yield Difference(
                name=name, field=f"Event on {kind}", recorded=f"{reason}: {message}", ours=None
            )
        for kind, name, reason, message in sorted(ours - theirs):
            yield Difference(
                name=name, field=f"Event on {kind}", recorded=None, ours=f"{reason}: {message}"
            )

    def notes(self) -> Iterator[str]:
        """What was arbitrary, and why times differ."""
        yield from self.cluster.findings.notes
        late = [(abs(a - b), name, phase, a, b) for _, name, phase, a, b in self._late()]
        if late and max(late)[0] > 250:
            _, name, phase, theirs, ours = max(late)
            yield (
                f"times differ by up to {max(late)[0] / 1000:.2f} s ({name} {phase}: "
                f"{theirs / 1000:.2f} s, here {ours / 1000:.2f} s): the controllers count in whole "
                "seconds, and here they answer at once"
            )


def _most_at_once(courses: Courses) -> int:
    """The most migrations that were between Scheduling and their end at one time."""
    changes = []
    for path, course in courses.values.items():
        if path[0] != MIGRATION or path[2] != "phase":
            continue
        running = False
        for phase, when in zip(course, courses.times[path], strict=True):
            now = phase not in ("", "Pending", "Succeeded", "Failed", None)
            if now != running:
                changes.append((when, 1 if now else -1))
            running = now
    total = most = 0
    for _, step in sorted(changes):
        total += step
        most = max(most, total)
    return most
