"""A recorded migration and its target pod: the same VMI is migrated in the simulator.

The VMI, its source pod as it was, its node and its namespace are put there; the migration is
created through the API; virt-controller's part is then the product's own. Compared is the target
pod as it is created, or, where none came, what KubeVirt said about it.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from gitbot.kubernetes.objects import annotations_of, at, labels_of, name_of
from gitbot.kubevirt.launcher_pod import claim_of
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.store import Change, key_of
from tests.recordings.context import Context, named
from tests.recordings.differences import Difference, Verdict, first_difference
from tests.recordings.essence import essence
from tests.recordings.source_pods import replay_source_pod
from tests.recordings.standing import put
from tests.virt_api.admission import admit_guest

MIGRATION, VMI = "VirtualMachineInstanceMigration", "VirtualMachineInstance"
_RESERVATION = "pr.kubevirt.io/"
_NOW = "2026-11-21T12:00:00Z"
Record = Mapping[str, Any]


def replay_target_pod(record: Record, context: Context) -> Verdict:
    """Equal, or the first field in which the target pods differ."""
    if "requested_object" in record:
        return replay_source_pod(record, context)
    name = str(record["record"])
    scene = Scene(record, context)
    scene.migrate()
    if record["target_pod"] is None:
        found = scene.compare_absence(at(record, "no_target", default={}))
    elif scene.target is None:
        ours = scene.absence()
        recorded = name_of(record["target_pod"]).name
        found = Difference(name=name, field="target_pod", recorded=recorded, ours=ours)
    else:
        ours = essence(scene.translated_back(scene.target))
        theirs = essence(record["target_pod"])
        found = first_difference(scene.pod_name(), theirs, ours)
    return Verdict(record=name, difference=found)


class Scene:
    """One recorded migration in a cluster of its own."""

    def __init__(self, record: Record, context: Context) -> None:
        self._record = record
        self._uids: dict[str, str] = {}  # recorded UID -> ours
        self.target: dict[str, Any] | None = None
        self.cluster = SimulatedCluster(guest=admit_guest)
        self.cluster.store.listeners.append(self._watch)
        self.cluster.load([context.kubevirt(record["settings"]), *context.cluster_objects()])
        self._namespace = str(at(record, "vmi", "metadata", "namespace", default="default"))
        own = record.get("namespace_objects") or {}
        around = context.namespace_objects(self._namespace, own)
        self.cluster.load_with(lambda: put(self.cluster.store, around))
        self._load_claims()
        self._load(record["vmi"])
        self._load(self._source())
        if "limit" in record.get("why", ""):
            self._load_another_migration()

    # What was there

    def _named(self, api_version: str, kind: str, name: str) -> dict[str, Any]:
        return named(api_version, kind, name, self._namespace)

    def _load_claims(self) -> None:
        labels = labels_of(self._record["source_pod"])
        keys = sorted(key for key in labels if key.startswith(_RESERVATION))
        reserved = _reserved(self._record["vmi"])
        for claim in self._record.get("pvcs") or ():
            made = self._named("v1", "PersistentVolumeClaim", claim["name"])
            made["spec"] = {key: claim[key] for key in ("volumeMode", "accessModes")}
            made["status"] = {"phase": "Bound"}
            stored = self.cluster.store.create(made)
            if claim["name"] in reserved and keys:
                self._uids[keys.pop(0).removeprefix(_RESERVATION)] = stored["metadata"]["uid"]

    def _load(self, obj: Mapping[str, Any]) -> None:
        """Put an object there as it is; its UID becomes ours, wherever it is named."""
        recorded = str(at(obj, "metadata", "uid", default=""))
        made = self._translated(obj, self._uids)

        def create() -> None:
            stored = self.cluster.store.create(made)
            if recorded:
                self._uids[recorded] = stored["metadata"]["uid"]

        self.cluster.load_with(create)

    def _translated(self, obj: Any, uids: Mapping[str, str]) -> Any:
        text = json.dumps(obj).replace('"<time>"', f'"{_NOW}"')
        for old, new in uids.items():
            text = text.replace(old, new)
        return json.loads(text)

    def _source(self) -> dict[str, Any]:
        record, pod = self._record, self._record["source_pod"]
        now = record.get("source_pod_now") or pod["metadata"]
        metadata = {**pod["metadata"], **{key: now.get(key) for key in ("labels", "annotations")}}
        spec = {**pod["spec"], "nodeName": record["source_node"]}
        statuses = [_started(item, self._tells_digests()) for item in spec.get("containers") or ()]
        status = {"phase": "Running", "containerStatuses": statuses}
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        return {**made, "spec": spec, "status": status}

    def _tells_digests(self) -> bool:
        return "digest" not in self._record.get("why", "")

    def _load_another_migration(self) -> None:
        """Where a limit is said to be used up: somebody else's migration out of the same node."""
        node = self._record["source_node"]
        vmi = self._named("kubevirt.io/v1", VMI, "other")
        vmi["status"] = {"phase": "Running", "nodeName": node}
        migration = self._named("kubevirt.io/v1", MIGRATION, "other")
        migration |= {"spec": {"vmiName": "other"}, "status": {"phase": "Running"}}
        self.cluster.load([vmi, migration])

    # What happens

    def _watch(self, change: Change) -> None:
        if change.kind == "Pod" and change.type == "ADDED" and self.target is None:
            name = annotations_of(change.new).get("kubevirt.io/migrationJobName")
            if name == self._record["vmim"]["metadata"]["name"] and not at(
                change.new, "spec", "nodeName"
            ):
                self.target = dict(change.new)

    def migrate(self) -> None:
        """Create the migration as an ordinary account does, and let the controllers act."""
        asked = self._record["vmim"]
        kept = ("name", "namespace", "labels", "annotations")
        metadata = {key: asked["metadata"][key] for key in kept if key in asked["metadata"]}
        made = {**asked, "metadata": metadata}
        made.pop("status", None)
        answer = self.cluster.api.create(made)
        uid = str(at(asked, "metadata", "uid", default=""))
        self._uids[uid or "<vmim-uid>"] = answer.object["metadata"]["uid"]
        self.cluster.engine.run_ready()

    def translated_back(self, obj: Any) -> Any:
        """The object with the recorder's UIDs."""
        return self._translated(obj, {ours: theirs for theirs, ours in self._uids.items()})

    def pod_name(self) -> str:
        """The recorded name of the target pod."""
        return name_of(self._record["target_pod"]).name

    # Where no target pod came

    def absence(self) -> dict[str, Any]:
        """What is to be seen instead of a target pod: phase, conditions, Events, the log."""
        migration = self.cluster.store.get(
            MIGRATION, (self._namespace, self._record["vmim"]["metadata"]["name"])
        )
        conditions = at(migration, "status", "conditions", default=[])
        waits = self.cluster.migrations.waits_for.get(key_of(migration), "")
        return {
            "vmim_phase": at(migration, "status", "phase", default=""),
            "vmim_conditions": {item["type"]: item["status"] for item in conditions},
            "vmim_events": self._events(MIGRATION),
            "vmi_events": self._events(VMI),
            "controller_log": [waits] if waits else [],
        }

    def _events(self, kind: str) -> list[str]:
        found = [
            f"{event['reason']}: {event['message']}"
            for event in self.cluster.list("Event", self._namespace)
            if event["involvedObject"]["kind"] == kind
            and event["involvedObject"]["name"] != "other"
        ]
        return _texts(found)

    def compare_absence(self, recorded: Mapping[str, Any]) -> Difference | None:
        """The first difference between what KubeVirt said and what is said here."""
        name = str(self._record["vmim"]["metadata"]["name"])
        ours = self.absence()
        if self.target is not None:
            found = name_of(self.target).name
            return Difference(name=name, field="target_pod", recorded=None, ours=found)
        theirs = {
            "vmim_phase": recorded.get("vmim_phase"),
            "vmim_conditions": {
                item["type"]: item["status"] for item in recorded.get("vmim_conditions") or ()
            },
        }
        for kind in ("vmim_events", "vmi_events"):
            texts = [f"{item['reason']}: {item['message']}" for item in recorded.get(kind) or ()]
            theirs[kind] = _texts(texts)
        log = recorded.get("controller_log") or []
        said = ours.pop("controller_log")
        found_difference = first_difference(name, theirs, ours)
        if found_difference is None and log and not _says(said, log):
            return Difference(name=name, field="controller_log", recorded=log[-1], ours=said)
        return found_difference


def _reserved(vmi: Mapping[str, Any]) -> set[str]:
    """The claims behind disks with a SCSI reservation."""
    volumes = {volume["name"]: volume for volume in at(vmi, "spec", "volumes", default=[])}
    disks = at(vmi, "spec", "domain", "devices", "disks", default=[])
    return {
        claim_of(volumes.get(disk["name"], {})) for disk in disks if at(disk, "lun", "reservation")
    }


def _started(container: Mapping[str, Any], digest: bool) -> dict[str, Any]:
    image = "registry.invalid/image"
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"{image}@sha256:{'0' * 64}" if digest else "",
        "ready": True,
        "state": {"running": {"startedAt": _NOW}},
    }


def _texts(texts: list[str]) -> list[str]:
    """Events once each, without the boot, the names drawn by lot, and the marks of aggregation."""
    found = set()
    for text in texts:
        plain = text.replace("(combined from similar events): ", "")
        plain = re.sub(r"(virt-launcher-[a-z0-9.-]*?)(-xxxxx|-)(?=\")", r"\1", plain)
        if "Created virtual machine pod" not in plain:
            found.add(plain)
    return sorted(found)


def _says(ours: list[str], log: list[str]) -> bool:
    """Whether a recorded reason is the one that is given here; the log wraps it in more words."""
    recorded = {text.rsplit("Error creating pod: ", 1)[-1] for text in _texts(log)}
    return any(
        said.rsplit("Error creating pod: ", 1)[-1] in text or text in said
        for said in _texts(ours)
        for text in recorded
    )
