"""A recorded VMI that never ran: what KubeVirt said about its first pod, said again here."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gitbot.kubernetes.objects import at, condition_of, with_value
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.recordings.context import Context
from tests.recordings.differences import Difference, Verdict, first_difference
from tests.recordings.standing import put
from tests.virt_api.admission import admit_guest

VMI = "VirtualMachineInstance"
_LOST_NETWORK = re.compile(r"failed to locate network attachment definition ([a-z0-9./-]+)")
_STARTED = 60  # seconds in which a pod would have come to run


def replay_source_pod(record: Mapping[str, Any], context: Context) -> Verdict:
    """Equal, or the first difference in the phase, the Events, and the pods."""
    name = str(record["record"])
    lost = _LOST_NETWORK.search(str(condition_of(record["vmi"], "Synchronized") or ""))
    if lost is not None:
        return _without_network(record, lost[1])
    vmi = record["vmi"]
    namespace = str(at(vmi, "metadata", "namespace", default="default"))
    own = record.get("namespace_objects") or {}
    cluster = SimulatedCluster(guest=admit_guest)
    cluster.load([context.kubevirt(record["settings"]), *context.cluster_objects()])
    around = context.namespace_objects(namespace, own)
    cluster.load_with(lambda: put(cluster.store, around))
    cluster.store.create(_as_requested(vmi))
    cluster.engine.run_ready()
    _bind(cluster, namespace, record.get("source_node"))
    cluster.advance(_STARTED)
    ours = _seen(cluster, namespace, str(at(vmi, "metadata", "name")))
    theirs = {
        "phase": at(vmi, "status", "phase", default=""),
        "events": _texts(record.get("vmi_events") or ()),
        "pods": len(record.get("source_pods") or ()),
    }
    return Verdict(record=name, difference=first_difference(name, theirs, ours))


def _bind(cluster: SimulatedCluster, namespace: str, node: str | None) -> None:
    """As the recorder did it: no scheduler was asked."""
    for pod in cluster.list("Pod", namespace):
        if node and not at(pod, "spec", "nodeName"):
            cluster.store.replace(with_value(pod, node, "spec", "nodeName"))


def _as_requested(vmi: Mapping[str, Any]) -> dict[str, Any]:
    """The VMI as it was admitted, before anybody acted on it."""
    kept = ("name", "namespace", "labels", "annotations", "finalizers")
    metadata = {key: vmi["metadata"][key] for key in kept if key in vmi["metadata"]}
    made = {"apiVersion": "kubevirt.io/v1", "kind": VMI, "metadata": metadata}
    return {**made, "spec": vmi["spec"]}


def _without_network(record: Mapping[str, Any], lost: str) -> Verdict:
    """A recording does not list networks: only that the guest asks for the lost one is checked."""
    vmi = record["vmi"]
    namespace = at(vmi, "metadata", "namespace", default="default")
    asked = [
        network["multus"]["networkName"]
        for network in at(vmi, "spec", "networks", default=[])
        if at(network, "multus", "networkName")
    ]
    full = [text if "/" in text else f"{namespace}/{text}" for text in asked]
    note = "that a network attachment definition is missing is taken from the recording"
    name = str(record["record"])
    if lost in full:
        return Verdict(record=name, notes=(note,))
    found = Difference(name=name, field="spec.networks", recorded=lost, ours=full)
    return Verdict(record=name, difference=found)


def _seen(cluster: SimulatedCluster, namespace: str, name: str) -> dict[str, Any]:
    vmi = cluster.store.find(VMI, (namespace, name)) or {}
    events = (
        event
        for event in cluster.list("Event", namespace)
        if event["involvedObject"]["kind"] == VMI and event["involvedObject"]["name"] == name
    )
    return {
        "phase": at(vmi, "status", "phase", default=""),
        "events": _texts(events),
        "pods": len(cluster.list("Pod", namespace)),
    }


def _texts(events: Iterable[Mapping[str, Any]]) -> list[str]:
    found = set()
    for event in events:
        text = f"{event['reason']}: {event['message']}"
        text = text.replace("(combined from similar events): ", "")
        found.add(
            re.sub(r"(virt-launcher-[a-z0-9.-]*?)-(xxxxx|[a-z0-9]{5})?(?![a-z0-9-])", r"\1", text)
        )
    return sorted(found)
