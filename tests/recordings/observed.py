"""What is seen of a story: the values that each field of each object goes through, and Events.

The same is read off the recording and off the simulator's store. Order within an object is exact;
between objects it is not compared, as it comes from different watches.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, annotations_of, at, labels_of
from tests.recordings.story import MIGRATION, VMI, Story, millis
from tests.recordings.uids import Uids

Path = tuple[str, str, str]  # kind, name, field
_PARTS = ("labels", "annotations", "conditions", "migrationState")
_STATE = (
    "migrationUid", "sourceNode", "sourcePod", "targetNode", "targetPod", "completed", "failed",
    "failureReason", "abortRequested", "abortStatus", "migrationPolicyName",
)  # fmt: skip
_LABELS = ("kubevirt.io/nodeName", "kubevirt.io/migrationTargetNodeName")
FIELDS: Mapping[str, frozenset[str]] = {
    MIGRATION: frozenset(
        {
            "phase",
            "deleting",
            "gone",
            *(
                f"conditions/{name}"
                for name in (
                    "migrationAbortRequested",
                    "migrationRejectedByResourceQuota",
                    "migrationBlockedByBackup",
                    "migrationBlockedByUtilityVolumes",
                )
            ),
        }
    ),
    VMI: frozenset(
        {
            "phase",
            "nodeName",
            "evacuationNodeName",
            "deleting",
            "gone",
            "conditions/EvictionRequested",
            "annotations/kubevirt.io/eviction-source",
            *(f"labels/{key}" for key in _LABELS),
            *(f"migrationState/{key}" for key in _STATE),
        }
    ),
    "Pod": frozenset(
        {
            "phase", "nodeName", "deleting", "gone", "labels/kubevirt.io/nodeName",
            "annotations/descheduler.alpha.kubernetes.io/eviction-in-progress",
        }
    ),
}  # fmt: skip


class Courses:
    """The values of fields in the order in which they were seen, and when."""

    def __init__(self) -> None:
        self.values: dict[Path, list[Any]] = {}
        self.times: dict[Path, list[int]] = {}

    def see(self, kind: str, name: str, state: Mapping[str, Any], now: int) -> None:
        """The whole state of an object, flat."""
        for field in FIELDS[kind]:
            self._note((kind, name, field), state.get(field), now)

    def _note(self, path: Path, value: Any, now: int) -> None:
        course = self.values.setdefault(path, [])
        if (course and course[-1] == value) or (not course and value in (None, False)):
            return
        course.append(value)
        self.times.setdefault(path, []).append(now)


def recorded_courses(story: Story) -> Courses:
    """The courses of the recording."""
    courses, states = Courses(), {}
    for item in story.record["initial"]:
        if item["kind"] in FIELDS:
            states[item["kind"], item["name"]] = flat = _flat(item["state"])
            courses.see(item["kind"], item["name"], flat, 0)
    for event in story.events:
        key = (event.get("kind"), event.get("name"))
        if key[0] not in FIELDS or "event" in event:
            continue
        state = states.setdefault(key, {})
        if "added" in event:
            state.clear()
            state.update(_flat(event["added"]), gone=None)
            state.setdefault("phase", "" if key[0] == MIGRATION else None)
        elif "changed" in event:
            _apply(state, event["changed"])
        elif event.get("deleted"):
            state.clear()
            state["gone"] = True
        courses.see(str(key[0]), str(key[1]), state, millis(event))
    return courses


def _flat(state: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    _apply(found, state)
    return found


def _apply(state: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for path, value in changes.items():
        part, slash, key = path.partition("/")
        if part in _PARTS and not slash:
            for known in [item for item in state if item.startswith(f"{part}/")]:
                del state[known]
            for inner, item in (value or {}).items():
                state[f"{part}/{inner}"] = _simple(part, item)
        elif part in _PARTS:
            state[f"{part}/{key}"] = _simple(part, value)
        else:
            state[path] = value


def _simple(part: str, value: Any) -> Any:
    return at(value, "status") if part == "conditions" else value


def observed_state(obj: KubernetesObject, uids: Uids) -> dict[str, Any]:
    """The same of one of our objects."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    found: dict[str, Any] = {"phase": status.get("phase")}
    found["deleting"] = True if metadata.get("deletionTimestamp") else None
    found["nodeName"] = at(obj, "spec", "nodeName") or status.get("nodeName")
    found["evacuationNodeName"] = status.get("evacuationNodeName")
    found |= {f"labels/{key}": value for key, value in labels_of(obj).items()}
    found |= {f"annotations/{key}": value for key, value in annotations_of(obj).items()}
    for condition in status.get("conditions") or ():
        found[f"conditions/{condition['type']}"] = condition["status"]
    for key, value in (status.get("migrationState") or {}).items():
        found[f"migrationState/{key}"] = value
    if obj["kind"] == MIGRATION:
        found["phase"] = found["phase"] or ""
        found = {k: v for k, v in found.items() if not k.startswith("migrationState/")}
    uid = found.get("migrationState/migrationUid")
    if uid:
        found["migrationState/migrationUid"] = uids.theirs(uid)
    return found


Told = tuple[str, str, str, str]  # kind, name, reason, message


def recorded_events(story: Story) -> set[Told]:
    """The Events of KubeVirt's controllers about migrations and VMIs."""
    return set(_told(_recorded(story)))


def _recorded(story: Story) -> Iterator[Told]:
    for event in story.events:
        if "event" in event and event.get("kind") in (MIGRATION, VMI):
            yield event["kind"], event["name"], event["event"], str(event.get("message", ""))


def observed_events(events: Iterable[KubernetesObject], uids: Uids) -> set[Told]:
    """Ours."""
    return set(
        _told(
            (
                event["involvedObject"]["kind"],
                event["involvedObject"]["name"],
                event["reason"],
                uids.theirs(event["message"]),
            )
            for event in events
            if event["involvedObject"]["kind"] in (MIGRATION, VMI)
        )
    )


# A patch that lost a race with another writer: how often that happens is luck.
_LUCK = ("FailedAbortMigration", "FailedHandOver")
_ONCE = re.compile(r"\(combined from similar events\): ")


def _told(events: Iterable[Told]) -> Iterator[Told]:
    for kind, name, reason, message in events:
        if reason not in _LUCK and "please apply your changes" not in message:
            text = _ONCE.sub("", message)
            yield kind, name, reason, re.sub(r'(pods "virt-launcher-\S+?)(-|-xxxxx)"', r"\1", text)
