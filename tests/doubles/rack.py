"""Scene `rack`: 300 nodes in 3 zones, racks of 12 by label, 4,000 VMs, settled from the start."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitbot.kubernetes.objects import KubernetesObject, labels_of, with_value
from gitbot.kubevirt import names
from gitbot.kubevirt.target_pod import source_pod
from gitbot.model.cluster.pod import Pod
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.instants import format_instant
from gitbot.simulation.building import REGION, ZONE, guest, kubevirt, machine, namespace, node
from gitbot.simulation.controllers.instance_controller import (
    NOT_MIGRATABLE,
    boot_times,
    with_guest_facts,
)
from gitbot.simulation.controllers.kubelet import running_status
from gitbot.simulation.kubevirt.boot import reconcile_boot
from gitbot.simulation.kubevirt.reconcile_result import VMI, Update
from gitbot.simulation.kubevirt.status_writes import with_phase
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.simulation.store import key_of, with_metadata

RACK = "example.com/rack"
TIER = "example.com/tier"
QUORUM = 3  # how many VMs carry TIER=quorum
SIZES = (4, 8, 8, 16, 16, 16, 24, 32)  # GiB of guest memory, drawn by seed


@dataclass(frozen=True, slots=True, kw_only=True)
class RackSize:
    """How big the scene is. `full_percent` is requested memory over allocatable memory."""

    nodes: int = 300
    zones: int = 3
    nodes_in_rack: int = 12
    machines: int = 4000
    full_percent: int = 85
    not_migratable_percent: int = 5
    namespaces: int = 20


def rack(
    size: RackSize | None = None,
    *,
    seed: int = 0,
    start_time: int = 1_764_547_200,
    dials: SimulationSettings | None = None,
) -> SimulatedCluster:
    """The settled cluster.

    Nodes are node-001 ..., racks r01 ... (label example.com/rack, all of one zone). VMs are
    vm-0001 ... in team-00 ...; vm-0001 to vm-0003 carry example.com/tier=quorum in team-00, two of
    them in one zone: a rule on that label is broken from the start.
    """
    size = size or RackSize()
    cluster = SimulatedCluster(
        seed=seed, start_time=start_time, dials=dials or SimulationSettings(), name="rack"
    )
    teams = [f"team-{index:02d}" for index in range(size.namespaces)]
    wanted = [_memory(seed, index) for index in range(size.machines)]
    settings = kubevirt(evictionStrategy="LiveMigrate")
    pods = [_demand(gib, settings) for gib in sorted(set(SIZES))]
    demand = dict(zip(sorted(set(SIZES)), pods, strict=True))
    total = sum(demand[gib] for gib in wanted)
    capacity = -(-total * 100 // (size.nodes * size.full_percent))
    nodes = [_node(size, index, capacity) for index in range(size.nodes)]
    cluster.load([settings, *nodes, *(namespace(team) for team in teams)])
    homes = _homes(wanted, demand, nodes)
    _break_the_quorum(homes, nodes, wanted)
    cluster.load_with(lambda: _load_machines(cluster, size, settings, wanted, homes))
    return cluster


def _memory(seed: int, index: int) -> int:
    if index < QUORUM:
        return 16  # the most frequent size, so that homes can be swapped
    return SIZES[int(short_digest(f"size/{seed}/{index}", 6), 16) % len(SIZES)]


def _demand(gib: int, settings: KubernetesObject) -> int:
    """Bytes that the launcher pod of a guest of that size requests."""
    vmi = {"kind": "VirtualMachineInstance", "metadata": {"name": "x"}, "spec": _spec(gib)}
    return Pod.from_object(source_pod(vmi, settings)).requests.held.get("memory", 0)


def _spec(gib: int) -> dict[str, Any]:
    domain = {**guest(memory=f"{gib}Gi", cores=2, requests=False), "machine": {"type": "q35"}}
    return {"architecture": "amd64", "domain": domain, "evictionStrategy": "LiveMigrate"}


def _node(size: RackSize, index: int, capacity: int) -> dict[str, Any]:
    per_zone = -(-size.nodes // size.zones)
    zone, inside = divmod(index, per_zone)
    rack_in_zone = inside // size.nodes_in_rack
    racks_per_zone = -(-per_zone // size.nodes_in_rack)
    number = zone * racks_per_zone + rack_in_zone + 1
    labels = {REGION: "region-1", ZONE: f"zone-{zone + 1}", RACK: f"r{number:02d}"}
    memory = f"{capacity // 1024}Ki"
    return node(f"node-{index + 1:03d}", labels=labels, cpu="64", memory=memory)


def _homes(
    wanted: list[int], demand: Mapping[int, int], nodes: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """A node for each VM: always the one with the least requested memory, ties by name."""
    heap = [(0, index) for index in range(len(nodes))]
    heapq.heapify(heap)
    homes: list[dict[str, Any]] = [{}] * len(wanted)
    for index in sorted(range(len(wanted)), key=lambda item: (-wanted[item], item)):
        used, number = heapq.heappop(heap)
        homes[index] = nodes[number]
        heapq.heappush(heap, (used + demand[wanted[index]], number))
    return homes


def _break_the_quorum(
    homes: list[dict[str, Any]], nodes: list[dict[str, Any]], wanted: list[int]
) -> None:
    """Swap homes of equal size so that two of the first three VMs share a zone, one does not."""
    last = labels_of(nodes[-1])[ZONE]
    taken: set[int] = set()
    for index, same in ((0, True), (1, True), (2, False)):
        other = next(
            place
            for place in range(QUORUM, len(homes))
            if place not in taken
            and wanted[place] == wanted[index]
            and (labels_of(homes[place])[ZONE] == last) is same
        )
        taken.add(other)
        homes[index], homes[other] = homes[other], homes[index]


def _load_machines(
    cluster: SimulatedCluster,
    size: RackSize,
    settings: KubernetesObject,
    wanted: list[int],
    homes: list[dict[str, Any]],
) -> None:
    every = 100 // size.not_migratable_percent if size.not_migratable_percent else 0
    for index, (gib, home) in enumerate(zip(wanted, homes, strict=True)):
        labels = {"example.com/size": f"{gib}Gi", **({TIER: "quorum"} if index < QUORUM else {})}
        team = f"team-{0 if index < QUORUM else index % size.namespaces:02d}"
        made = machine(f"vm-{index + 1:04d}", namespace=team, labels=labels, spec=_spec(gib))
        if every and index % every == every - 1:
            annotations = {NOT_MIGRATABLE: "DisksNotLiveMigratable"}
            path = ("spec", "template", "metadata", "annotations")
            made = with_value(made, annotations, *path)
        _load_machine(cluster, cluster.store.create(made), settings, home)


def _load_machine(
    cluster: SimulatedCluster,
    owner: KubernetesObject,
    settings: KubernetesObject,
    home: KubernetesObject,
) -> None:
    """The VM's own controllers make its objects; placement and boot are written down here."""
    now, key = cluster.now(), key_of(owner)
    for controller in cluster.owners:
        if controller.owns("VirtualMachine"):
            controller.reconcile(key)
    vmi = cluster.store.get(VMI, key)
    node_name = home["metadata"]["name"]
    labels = {**labels_of(vmi), names.NODE_NAME: node_name}
    placed = with_value(with_metadata(vmi, labels=labels), node_name, "status", "nodeName")
    times = replace(boot_times(placed, cluster.dials), boot=0)
    scheduled = with_phase(with_guest_facts(placed), "Scheduled", now)
    for write in reconcile_boot(scheduled, now, times).writes:
        if isinstance(write, Update):
            cluster.store.replace(write.object)
    _load_pod(cluster, cluster.store.get(VMI, key), settings, home)
    cluster.instances.reconcile(key)
    for controller in cluster.owners:
        if controller.owns("VirtualMachine"):
            controller.reconcile(key)


def _load_pod(
    cluster: SimulatedCluster,
    vmi: KubernetesObject,
    settings: KubernetesObject,
    home: KubernetesObject,
) -> None:
    now = cluster.now()
    pod = source_pod(vmi, settings, cluster.get("Namespace", vmi["metadata"]["namespace"]))
    topology = {key: labels_of(home)[key] for key in (REGION, ZONE)}
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": format_instant(now),
    }
    bound: dict[str, Any] = {
        **with_metadata(pod, labels={**labels_of(pod), **topology}),
        "spec": {**pod["spec"], "nodeName": home["metadata"]["name"]},
        "status": {"phase": "Pending", "conditions": [condition]},
    }
    cluster.store.create({**bound, "status": running_status(bound, now)})
