"""What people did in a trace, done again: requests with their answers, edits, drains."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gitbot.kubernetes.objects import annotations_of, at, with_value
from gitbot.kubernetes.phases import FINAL_PHASES
from gitbot.kubevirt.admission import Admitted, admit_migration
from gitbot.simulation.admission import the_kubevirt
from gitbot.simulation.schemas import SCHEMAS
from gitbot.simulation.simulated_api import WriteOptions
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import Key, key_of, with_metadata
from tests.doubles.old_kubevirt import before_1_6
from tests.recordings.recorded_changes import with_changes
from tests.recordings.story import MIGRATION, VMI, Action, Event, millis
from tests.recordings.story_cluster import StoryCluster

_API = {MIGRATION: "kubevirt.io/v1", VMI: "kubevirt.io/v1", "VirtualMachine": "kubevirt.io/v1"}
_DRAIN_AGAIN = 5_000  # kubectl waits that long before it asks for an eviction again
_LOOK_AHEAD = 1_000
_RACE = 500
_KUBEVIRT_KEYS = re.compile(
    r"kubevirt\.io/(latest|storage)-observed-api-version"
    r"|kubevirt\.io/(nonroot|vm-generation|nodeName)"
    r"|kubevirt\.io/(migrationTargetNodeName|outdatedLauncherImage|eviction-source)"
)
_IN_FLIGHT = re.compile(r"Active migration job \([^)]*\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said."""

    accepted: bool = True
    code: int = 0
    message: str = ""


class Actors:
    """Performs the actions of one story and compares the answers."""

    def __init__(self, cluster: StoryCluster) -> None:
        self._cluster = cluster
        self._story = cluster.story
        self._accepted: dict[Key, int] = {}  # migrations by the instant at which they were let in
        self._last: Mapping[str, Any] | None = None
        self._draining: set[str] = set()

    def perform(self, action: Action) -> None:
        """Do it, and keep the first difference between the answers."""
        answer = self._do(action)
        self._cluster.engine.run_ready()
        if answer is None:
            text = f"not understood, so left to the recorded changes: {action.text}"
            self._cluster.findings.notes[text] = None
        elif action.answered:
            self._compare(action, answer)

    def change(self, event: Event) -> None:
        """A change that no part of KubeVirt made: of a node, a quota, a guest's condition."""
        store, kind, name = self._cluster.store, event["kind"], event["name"]
        key = ("" if kind in ("Node", "MigrationPolicy") else self._story.namespace, name)
        found = store.find(kind, key)
        if found is not None and "changed" in event:
            store.replace(with_changes(found, event["changed"]))
        self._cluster.engine.run_ready()

    # Requests

    def _do(self, action: Action) -> Answer | None:
        text = re.sub(r"\s*\(?dry[- ]run\)?:?\s*", " ", action.text).strip()
        dry = text != action.text
        asked = WriteOptions(user="somebody", dry_run=dry)
        match text.split():
            case ["create", *rest] if not rest or rest[0] in _API:
                return self._create(action, rest, asked)
            case ["delete", kind, name, *_] if kind in _API or kind == "Pod":
                return self._try(lambda: self._delete(kind, name))
            case ["remove", kind, name, *_]:
                return self._remove(kind, name)
            case ["evict", "pod", name, *_]:
                return self._try(lambda: self._evict(name, action.millis, dry=dry))
            case ["kubectl", "drain", node, verb, *_]:
                return self._drain(node, starts=verb == "starts")
            case ["handler", "of", name, "released", *_]:
                return self._release(name)
            case ["handler", "sets", *_]:
                return self._set_selinux()
            case ["virt-api", verb, *_]:
                self._cluster.set_dials(webhooks_down=verb in ("killed", "stopped", "away"))
                return Answer()
            case _:
                return self._edit(action, text.split())

    def _edit(self, action: Action, words: list[str]) -> Answer | None:
        match words:
            case ["patch", "VM", *rest] if "runStrategy" in rest:
                return self._try(lambda: self._run_strategy(rest[-1], rest[0]))
            case ["annotate", name, *_]:
                return self._try(lambda: self._mark(MIGRATION, name, "annotations", action))
            case ["label", kind, name, *_] if kind in ("VMI", "VM", "VMIM"):
                return self._try(lambda: self._mark(_kind(kind), name, "labels", action))
            case ["cordon" | "uncordon" | "taint" | "untaint" | "label" | "raise" | "set", *_]:
                return Answer()  # the recorded change of the object follows
            case _:
                return None

    def _try(self, call: Callable[[], object]) -> Answer:
        try:
            call()
        except ApiError as refusal:
            message = self._cluster.uids.theirs(refusal.message)
            return Answer(accepted=False, code=refusal.code, message=message)
        return Answer()

    def _create(self, action: Action, words: list[str], asked: WriteOptions) -> Answer:
        kind, name = (words[0], words[1]) if len(words) > 1 else (MIGRATION, "")
        body = self._body(action, kind, name)
        body = self._cluster.uids.ours(body)
        self._last = body
        if kind == VMI:
            return self._try(lambda: self._cluster.api.create(body, asked=asked))
        asked = self._older_schema(action, body, asked)
        answer = self._try(lambda: self._cluster.api.create(body, asked=asked))
        key = (self._story.namespace, name)
        if not answer.accepted and action.accepted and self._raced(body):
            answer = self._admit_unseen(body)
        if answer.accepted and not asked.dry_run:
            self._accepted[key] = self._cluster.timing.now()
        return answer

    def _older_schema(
        self, action: Action, body: Mapping[str, Any], asked: WriteOptions
    ) -> WriteOptions:
        """A CRD of before 1.6 gives itself away: it drops addedNodeSelector, or refuses it."""
        if not at(body, "spec", "addedNodeSelector"):
            return asked
        if 'unknown field "spec.addedNodeSelector"' in action.message:
            self._cluster.api.schemas = before_1_6()
            return replace(asked, validation="Strict")
        for event in self._story.events:
            name = at(body, "metadata", "name")
            if event.get("kind") == MIGRATION and event.get("name") == name and "added" in event:
                kept = at(event, "added", "spec", "addedNodeSelector")
                self._cluster.api.schemas = SCHEMAS if kept else before_1_6()
        return asked

    def _body(self, action: Action, kind: str, name: str) -> dict[str, Any]:
        given: Mapping[str, Any] = action.object or self._recorded(action, kind, name)
        metadata = {**(given.get("metadata") or {}), "namespace": self._story.namespace}
        metadata.setdefault("name", name or "dry-run")
        made = {"apiVersion": _API[kind], "kind": kind, **given, "metadata": metadata}
        if kind == VMI:
            made["spec"] = given.get("spec") or self._spec_of(name)
        return made

    def _recorded(self, action: Action, kind: str, name: str) -> dict[str, Any]:
        """A request of which only the outcome was kept: the object that came of it."""
        for event in self._story.events:
            if event.get("kind") == kind and event.get("name") == name and "added" in event:
                state = event["added"]
                kept = {k: state[k] for k in ("annotations",) if k in state}
                return {"metadata": {"name": name, **kept}, "spec": state.get("spec")}
        if not name and self._last is not None:
            return {key: self._last[key] for key in ("metadata", "spec")}
        named = re.search(r"in progress for VMI (\S+?)\.?$", action.message)
        return {"metadata": {"name": name}, "spec": {"vmiName": named[1] if named else ""}}

    def _spec_of(self, name: str) -> Mapping[str, Any]:
        found = self._cluster.first_specs.get(name)
        return found if found is not None else {"domain": {}}

    def _raced(self, body: Mapping[str, Any]) -> bool:
        """Whether another migration of this VMI was let in a moment ago: nobody had seen it yet."""
        now = self._cluster.timing.now()
        recent = {key for key, when in self._accepted.items() if now - when <= _RACE}
        return any(
            at(self._cluster.store.find(MIGRATION, key), "spec", "vmiName")
            == at(body, "spec", "vmiName")
            for key in recent
        )

    def _admit_unseen(self, body: dict[str, Any]) -> Answer:
        """Let a migration pass that races with another: which ones pass is arbitrary."""
        store, now = self._cluster.store, self._cluster.timing.now()
        recent = {key for key, when in self._accepted.items() if now - when <= _RACE}
        namespace = self._story.namespace
        verdict = admit_migration(
            body,
            user="somebody",
            vmi=store.find(VMI, (namespace, at(body, "spec", "vmiName", default=""))),
            migrations=[m for m in store.all(MIGRATION, namespace) if key_of(m) not in recent],
            kubevirt=the_kubevirt(store),
        )
        if not isinstance(verdict, Admitted):
            return Answer(accepted=False, code=verdict.code, message=verdict.message)
        store.create(verdict.object)
        text = "admission: which of several creates at one moment pass is arbitrary"
        self._cluster.findings.notes[text] = None
        return Answer()

    def _delete(self, kind: str, name: str) -> None:
        self._cluster.api.delete(
            kind, (self._story.namespace, name), asked=WriteOptions(user="somebody")
        )

    def _remove(self, kind: str, name: str) -> Answer:
        """The object is deleted and loses its finalizers: it does not wait for its pods."""
        store, key = self._cluster.store, (self._story.namespace, name)
        answer = self._try(lambda: self._cluster.api.delete(kind, key))
        self._cluster.engine.run_ready()
        found = store.find(kind, key)
        if found is not None:
            store.replace(with_metadata(found, finalizers=None))
        return answer

    def _evict(self, name: str, when: int, *, dry: bool) -> None:
        key = (self._story.namespace, name)
        pod = self._cluster.store.get("Pod", key)
        annotations = {}
        if self._by_descheduler(annotations_of(pod).get("kubevirt.io/domain", ""), when):
            annotations = {"requested-by": "sigs.k8s.io/descheduler"}
        body = {"metadata": {"annotations": annotations}}
        self._cluster.api.evict(key, body, asked=WriteOptions(user="somebody", dry_run=dry))

    def _by_descheduler(self, vmi: str, when: int) -> bool:
        """Who evicted is not recorded; the mark that is left tells a descheduler."""
        for event in self._following(when):
            if event.get("kind") == VMI and event.get("name") == vmi and "changed" in event:
                changes = event["changed"]
                keys = {*changes, *(f"annotations/{k}" for k in changes.get("annotations") or {})}
                if any("eviction-source" in key and changes.get(key, 1) for key in keys):
                    return True
        return False

    def _following(self, when: int, within: int = _LOOK_AHEAD) -> list[Event]:
        return [e for e in self._story.events if when <= millis(e) <= when + within]

    def _drain(self, node: str, *, starts: bool) -> Answer:
        if not starts:
            self._end_drain(node)
            return Answer()
        self._draining.add(node)
        for pod in self._cluster.store.indexed("Pod", "node", node):
            wait = self._marked_after(annotations_of(pod).get("kubevirt.io/domain", ""))
            name = pod["metadata"]["name"]
            self._cluster.millis.after(wait, partial(self._drain_pod, node, name))
        return Answer()

    def _end_drain(self, node: str) -> None:
        """It ends with the last pod let go, which may be a try that our clock has not come to."""
        for pod in list(self._cluster.store.indexed("Pod", "node", node)):
            if at(pod, "status", "phase") in FINAL_PHASES:
                self._drain_pod(node, pod["metadata"]["name"])
        self._draining.discard(node)

    def _marked_after(self, vmi: str) -> int:
        """Kubectl evicts in an order of its own: when it came to this VMI, its mark tells."""
        for event in self._following(self._cluster.timing.now()):
            if event.get("name") == vmi and "evacuationNodeName" in (event.get("changed") or {}):
                return max(0, self._cluster.timing.until(millis(event)))
        return 0

    def _drain_pod(self, node: str, name: str) -> None:
        """As kubectl does: every pod that was there, again and again until it is let go."""
        if node not in self._draining:
            return
        answer = self._try(lambda: self._evict(name, -1, dry=False))
        self._cluster.engine.run_ready()
        if answer.code == 429:
            self._cluster.millis.after(_DRAIN_AGAIN, lambda: self._drain_pod(node, name))

    def _release(self, migration: str) -> Answer:
        vmi = self._story.migrations.get(migration, "")
        self._cluster.handler.release(migration, (self._story.namespace, vmi))
        return Answer()

    def _set_selinux(self) -> Answer:
        for vmi in list(self._cluster.store.all(VMI, self._story.namespace)):
            if not at(vmi, "status", "selinuxContext"):
                self._cluster.store.replace(with_value(vmi, "none", "status", "selinuxContext"))
        return Answer()

    def _run_strategy(self, value: str, name: str) -> None:
        machines = list(self._cluster.store.all("VirtualMachine", self._story.namespace))
        for vm in machines:
            if name in ("runStrategy", vm["metadata"]["name"]):
                patch = {"spec": {"runStrategy": value}}
                self._cluster.api.patch("VirtualMachine", key_of(vm), patch)

    def _mark(self, kind: str, name: str, part: str, action: Action) -> None:
        """Labels and annotations: which ones, the change that follows tells."""
        marks: dict[str, Any] = {}
        for event in self._following(action.millis):
            if event.get("kind") != kind or event.get("name") != name or "changed" not in event:
                continue
            for path, value in event["changed"].items():
                found, _, key = path.partition("/")
                if found == part and key and not _KUBEVIRT_KEYS.match(key):
                    marks[key] = value
        marks = marks or {"replay/marked": "yes"}
        patch = {"metadata": {part: marks}}
        key = (self._story.namespace, name)
        self._cluster.api.patch(kind, key, patch, asked=WriteOptions(user="somebody"))

    # Answers

    def _compare(self, action: Action, answer: Answer) -> None:
        differ = self._cluster.findings.differ
        if action.accepted != answer.accepted:
            said = {True: "accepted", False: "refused"}
            ours = said[answer.accepted] + (f": {answer.message}" if answer.message else "")
            differ(action.text, "answer", said[action.accepted], ours)
        elif not action.accepted and action.code != answer.code:
            differ(action.text, "answer.code", action.code, answer.code)
        elif not action.accepted and _plain(action.message) != _plain(answer.message):
            differ(action.text, "answer.message", action.message, answer.message)


def _plain(message: str) -> str:
    """Without arbitrary parts: addresses, and which of several racing migrations was first."""
    text = re.sub(r"failed to call webhook: .*", "failed to call webhook", message)
    return _IN_FLIGHT.sub("Active migration job", text)


def _kind(short: str) -> str:
    return {"VMI": VMI, "VMIM": MIGRATION, "VM": "VirtualMachine"}[short]
