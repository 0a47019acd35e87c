"""Recorded requests with their answers, made again on the simulated API server.

What stood around is put there, then the request goes through the same face that kubectl talks to:
schema, rights, webhooks, the API server's own checks. Compared are verdict, code, reason, message,
causes, the object that came of it, warnings, and where it is recorded what a moment later was seen.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from gitbot.errors import UsageError
from gitbot.kubernetes.objects import annotations_of, at, condition_of, labels_of
from gitbot.simulation.http.old_versions import present_path
from gitbot.simulation.http.request_handler import Handler, HttpRequest, Response
from gitbot.simulation.http.routes import find_route
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.status_errors import ApiError
from tests.recordings.context import Context
from tests.recordings.differences import Difference, Verdict, first_difference
from tests.recordings.rights import Account
from tests.recordings.story import MIGRATION, VMI, Story
from tests.recordings.story_cluster import StoryCluster

_MOMENT = 400  # milliseconds until the recorder looked again
_PLURALS = (
    ("namespaces", "Namespace"),
    ("vms", "VirtualMachine"),
    ("vmis", VMI),
    ("pods", "Pod"),
    ("vmims", MIGRATION),
)
Record = Mapping[str, Any]


def replay_admission(record: Record, context: Context) -> Verdict:
    """Equal, or the first difference between the answers."""
    name = str(record["case"])
    scene = Scene(record, context)
    return Verdict(record=name, difference=scene.difference(name, scene.ask()))


class Scene:
    """One request in a cluster of its own."""

    def __init__(self, record: Record, context: Context) -> None:
        self._record = record
        self._request: Mapping[str, Any] = record["request"]
        self._path, _, self._query = _path_of(self._request).partition("?")
        found = re.search(r"/namespaces/([^/]+)/", self._path)
        self._namespace = found[1] if found else "default"
        self.cluster = StoryCluster(Story.of(self._story(context)))
        self.cluster.load(self._budgets())

    def _story(self, context: Context) -> dict[str, Any]:
        """The surroundings as the start of a trace in which nothing happens."""
        states = [
            {"kind": kind, "name": state["name"], "state": state}
            for plural, kind in _PLURALS
            for state in _with_times(self._record.get(plural) or [])
        ]
        nodes = {state.get("nodeName") for item in states for state in [item["state"]]}
        spec = self._record.get("kubevirt_spec")
        if spec is None:
            spec = context.kubevirt(str(self._record.get("settings")))["spec"]
        return {
            "scenario": self._record["case"],
            "namespace": self._namespace,
            "kubevirt_spec": spec,
            "initial": states,
            "initial_nodes": [
                {"kind": "Node", "name": node, "state": _node(node)}
                for node in sorted(filter(None, nodes))
            ],
            "events": [],
            "final": {},
        }

    def _budgets(self) -> list[dict[str, Any]]:
        """A PodDisruptionBudget is kept in words alone: `PDB minAvailable 1` over the pod."""
        found = re.search(r"PDB (min|max)(Available|Unavailable) (\d+)", self._about())
        pods = self.cluster.list("Pod", self._namespace)
        if found is None or not pods:
            return []
        own = {k: v for k, v in labels_of(pods[0]).items() if "kubevirt.io" not in k}
        kept = {k: v for k, v in own.items() if not k.startswith("topology.")}
        spec = {f"{found[1]}{found[2]}": int(found[3]), "selector": {"matchLabels": kept}}
        metadata = {"name": "pdb", "namespace": self._namespace}
        made = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata}
        return [{**made, "spec": spec}]

    def _about(self) -> str:
        return str(self._record.get("about") or "")

    def ask(self) -> Response:
        """Make the request; rights first, as the API server does."""
        account = Account.of(str(self._record["user"]))
        request = HttpRequest(
            method=str(self._request["verb"]),
            path=self._path,
            query={key: values[-1] for key, values in parse_qs(self._query).items()},
            body=self.cluster.uids.ours(_with_times(self._request.get("body"))),
            content_type=str(self._request.get("contentType") or "application/json"),
            user=account.name,
        )
        try:
            account.check(request.method, find_route(present_path(self._path)))
        except ApiError as refusal:
            return Response(code=refusal.code, body=refusal.status())
        return Handler(self.cluster).answer(request)

    # Comparing

    def difference(self, name: str, response: Response) -> Difference | None:
        """The first difference."""
        theirs: Mapping[str, Any] = self._record["answer"]
        ours = self._answer(response)
        compared = ("allowed", "code", "message", "reason", "details", "object", "warning")
        for key in compared:
            if key not in theirs or (key == "reason" and theirs[key] is None):
                continue
            if key == "details" and "causes" not in theirs[key]:
                continue
            found = first_difference(name, *_aligned(key, theirs[key], ours.get(key)), key)
            if found is not None:
                return found
        return self._afterwards(name, theirs.get("afterwards") or self._record.get("afterwards"))

    def _answer(self, response: Response) -> dict[str, Any]:
        allowed = response.code < 400
        body: Mapping[str, Any] = response.body if isinstance(response.body, Mapping) else {}
        if not allowed:
            message = self.cluster.uids.theirs(str(body.get("message", "")))
            kept = {key: body.get(key) for key in ("reason", "details")}
            return {"allowed": False, "code": response.code, "message": message, **kept}
        found: dict[str, Any] = {"allowed": True, "code": response.code, "object": body}
        if response.warnings:
            quoted = (text.replace('"', '\\"') for text in response.warnings)
            found["warning"] = ", ".join(f'299 - "{text}"' for text in quoted)
        return found

    def _afterwards(self, name: str, theirs: Any) -> Difference | None:
        if not isinstance(theirs, Mapping) or "vmConditions" in theirs:
            return None  # what becomes of a changed VirtualMachine is not simulated
        self.cluster.play_until(_MOMENT)
        vmi = self._about_instance()
        ours = {
            "evacuationNodeName": at(vmi, "status", "evacuationNodeName"),
            "EvictionRequested": at(condition_of(vmi or {}, "EvictionRequested"), "status"),
            "phase": at(vmi, "status", "phase"),
            "nodeName": at(vmi, "status", "nodeName"),
            "annotations": _marks(vmi),
            "vmims": self._evacuations(vmi),
        }
        kept = {key: value for key, value in theirs.items() if key in ours}
        same = {key: ours[key] for key in kept}
        return first_difference(name, kept, same, "afterwards")

    def _about_instance(self) -> Mapping[str, Any] | None:
        named = self._path.rstrip("/").split("/")
        last = named[-2] if named[-1] == "eviction" else named[-1]
        for state in self._record.get("pods") or ():
            if state["name"] == last:
                last = str(at(state, "annotations", "kubevirt.io/domain", default=""))
        return self.cluster.get(VMI, last, self._namespace)

    def _evacuations(self, vmi: Mapping[str, Any] | None) -> list[list[Any]]:
        """What the evacuation controller made of it: name without its end, priority, node."""
        name = at(vmi, "metadata", "name")
        return [
            [
                migration["metadata"]["name"].rpartition("-")[0],
                at(migration, "spec", "priority"),
                annotations_of(migration).get("kubevirt.io/evacuationMigration"),
            ]
            for migration in self.cluster.list(MIGRATION, self._namespace)
            if at(migration, "spec", "vmiName") == name
            and "kubevirt.io/evacuationMigration" in annotations_of(migration)
        ]


def _path_of(request: Mapping[str, Any]) -> str:
    """The path; where only the kind of an object was kept, the path that creates it."""
    if request.get("path"):
        return str(request["path"])
    resource = BY_KIND.get(str(request.get("kind")))
    if resource is None:
        raise UsageError(f"the request names no path and no known kind: {request.get('kind')!r}")
    namespace = at(request, "body", "metadata", "namespace", default="default")
    return f"/apis/{resource.api_version}/namespaces/{namespace}/{resource.plural}?dryRun=All"


def _node(name: str) -> dict[str, Any]:
    return {"labels": {"kubernetes.io/hostname": name, "kubevirt.io/schedulable": "true"}}


def _with_times(body: Any) -> Any:
    """The body with a time where the recorder took one out."""
    if isinstance(body, Mapping):
        return {key: _with_times(value) for key, value in body.items()}
    if isinstance(body, list):
        return [_with_times(item) for item in body]
    return "2026-11-21T12:00:00Z" if body == "<time>" else body


def _marks(vmi: Mapping[str, Any] | None) -> dict[str, str]:
    """The descheduler's mark on a VMI, under either key."""
    found = annotations_of(vmi or {})
    return {key: value for key, value in found.items() if "eviction-source" in key}


def _aligned(key: str, theirs: Any, ours: Any) -> tuple[Any, Any]:
    """Both sides with the parts that the recorder kept, without random names."""
    if key == "details":
        causes = [_cause(item) for item in theirs.get("causes") or ()]
        return causes, [_cause(item) for item in (ours or {}).get("causes") or ()]
    if key != "object":
        return theirs, ours
    metadata = dict(theirs.get("metadata") or {})
    if "generateName" in metadata or re.search(r"-(xxxxx|m\d+)$", str(metadata.get("name", ""))):
        metadata.pop("name", None)
    kept = {part: at(ours, "metadata", part) for part in metadata}
    for part in [part for part, value in metadata.items() if value == "<time>"]:
        metadata[part], kept[part] = True, kept[part] is not None
    found = {"metadata": kept}
    wanted_parts: dict[str, Any] = {"metadata": metadata}
    if "spec" in theirs:
        wanted_parts["spec"], found["spec"] = theirs["spec"], at(ours, "spec")
    return wanted_parts, found


def _cause(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("reason", "message", "field") if item.get(key)}
