"""A cluster full of VMs with rules of all kinds, drawn by a seed, put into the API server at once.

VMs, VMIs and pods are written as they are after a boot, by the functions that the controllers use,
on homes that keep the VMs' own rules; the rules of the intents may be broken from the start.
"""

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from gitbot.adapters.clock import SystemClock
from gitbot.kubernetes.objects import KubernetesObject, labels_of, with_value
from gitbot.kubevirt import names
from gitbot.kubevirt.admission import Admitted
from gitbot.kubevirt.launcher_pod import owner_reference
from gitbot.kubevirt.target_pod import source_pod
from gitbot.simulation.building import ZONE, guest, machine, node
from gitbot.simulation.controllers.instance_controller import with_guest_facts
from gitbot.simulation.kubevirt.boot import BootTimes, reconcile_boot
from gitbot.simulation.kubevirt.reconcile_result import VMI, Update
from gitbot.simulation.kubevirt.status_writes import with_phase
from gitbot.simulation.kubevirt.vm_owners import VM_FINALIZER
from gitbot.simulation.served_resources import BY_KIND
from gitbot.simulation.simulated_api import CONTROLLER
from tests.controlplane.kubevirt.connection import Connection, path_of
from tests.virt_api.admission import admit_instance

TIER, GROUP = "example.com/tier", "example.com/group"
HOSTNAME = "kubernetes.io/hostname"
ZONES = 4
MEMBERS = 3  # VMs of a group
GIBIBYTES = (2, 2, 4, 4, 4, 8)
CAPACITY, FILLED = 64, 52  # GiB of a node, and how much of it is taken at first
OVERHEAD = 1  # GiB that a launcher pod asks for beyond its guest, rounded up
WRITERS = 6
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PROFILES = {
    "none": 49,
    "apart-by-zone": 12,  # rules of the VMs themselves
    "apart-by-host": 12,
    "ssd": 10,
    "rather-ssd": 5,
    "spread": 4,
    "rule-zone": 4,  # rules of intents
    "rule-host": 4,
}


@dataclass(slots=True, kw_only=True)
class Crowd:
    """Nodes, VMs with their homes, and the rules of the intents: group -> topology key."""

    namespace: str
    nodes: list[KubernetesObject] = field(default_factory=list)
    homes: list[tuple[KubernetesObject, str]] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)  # GiB of each node

    def intents(self) -> dict[str, str]:
        """The rules as files."""
        return {f"{group}.yaml": self._intent(group) for group in self.rules}

    def _intent(self, group: str) -> str:
        return (
            "apiVersion: placement.gitbot.dev/v1alpha1\nkind: ZoneAntiAffinity\n"
            f"metadata: {{name: {group}, namespace: {self.namespace}}}\n"
            f"spec:\n  selector: {{matchLabels: {{{GROUP}: {group}}}}}\n"
            f"  topologyKey: {self.rules[group]}\n  heal: Report\n"
        )


def draw(seed: int, *, namespace: str, nodes: int = 60, machines: int = 600) -> Crowd:
    """The crowd of a seed."""
    dice = random.Random(seed)
    crowd = Crowd(namespace=namespace)
    for index in range(nodes):
        labels = {ZONE: f"zone-{index % ZONES}", TIER: "ssd" if dice.random() < 0.5 else "disk"}
        crowd.nodes.append(
            node(f"node-{index:02d}", labels=labels, cpu="64", memory=f"{CAPACITY}Gi")
        )
    for number in range(machines // MEMBERS):
        (profile,) = dice.choices(list(PROFILES), list(PROFILES.values()))
        _group(crowd, f"g{number:03d}", profile, dice)
    return crowd


def _group(crowd: Crowd, group: str, profile: str, dice: random.Random) -> None:
    if profile.startswith("rule-"):
        crowd.rules[group] = ZONE if profile == "rule-zone" else HOSTNAME
    taken: list[KubernetesObject] = []
    for member in range(MEMBERS):
        size = dice.choice(GIBIBYTES)
        spec = {
            **_placement(profile, group),
            "domain": guest(memory=f"{size}Gi", cores=2, requests=False),
        }
        home = _home(crowd, profile, size + OVERHEAD, dice, taken)
        taken.append(home)
        crowd.used[home["metadata"]["name"]] += size + OVERHEAD
        made = machine(
            f"{group}-{member}", namespace=crowd.namespace, labels={GROUP: group}, spec=spec
        )
        crowd.homes.append((made, home["metadata"]["name"]))


def _home(
    crowd: Crowd,
    profile: str,
    size: int,
    dice: random.Random,
    taken: Sequence[KubernetesObject],
) -> KubernetesObject:
    """A node that keeps the VM's own rules, with place."""
    key = {"apart-by-zone": ZONE, "apart-by-host": HOSTNAME, "spread": ZONE}.get(profile)
    for candidate in dice.sample(crowd.nodes, len(crowd.nodes)):
        labels = labels_of(candidate)
        if crowd.used[candidate["metadata"]["name"]] + size > FILLED:
            continue
        if profile == "ssd" and labels[TIER] != "ssd":
            continue
        if key is None or all(labels_of(other)[key] != labels[key] for other in taken):
            return candidate
    raise AssertionError("the crowd does not fit: fewer VMs or more nodes")


def _placement(profile: str, group: str) -> dict[str, Any]:
    """The VMs' own rules."""
    selector = {"matchLabels": {GROUP: group}}
    ssd = {"matchExpressions": [{"key": TIER, "operator": "In", "values": ["ssd"]}]}
    match profile:
        case "apart-by-zone" | "apart-by-host":
            term = {
                "topologyKey": ZONE if profile == "apart-by-zone" else HOSTNAME,
                "labelSelector": selector,
                "mismatchLabelKeys": [names.CREATED_BY],
            }
            return {"affinity": {"podAntiAffinity": {_REQUIRED: [term]}}}
        case "ssd":
            return {"nodeSelector": {TIER: "ssd"}}
        case "rather-ssd":
            wish = {"weight": 10, "preference": ssd}
            return {"affinity": {"nodeAffinity": {_PREFERRED: [wish]}}}
        case "spread":
            constraint = {
                "maxSkew": 2,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
            return {"topologySpreadConstraints": [constraint]}
        case _:
            return {}


def load(admin: Connection, crowd: Crowd) -> None:
    """Write VMs, VMIs and pods; nobody else may play KubeVirt meanwhile."""
    settings = admin.request("GET", path_of(BY_KIND["KubeVirt"], "kubevirt", "kubevirt"))
    known = {each["metadata"]["name"] for each in crowd.nodes}
    assert known >= {home for _, home in crowd.homes}
    controller = admin.acting_as(CONTROLLER)
    homes = [home for _, home in crowd.homes]

    def start(vm: KubernetesObject, home: str) -> KubernetesObject:
        vmi = _settled(vm, settings, home)
        return controller.request("POST", path_of(BY_KIND[VMI], crowd.namespace), vmi)

    def run(vmi: KubernetesObject, home: str) -> None:
        bound = with_value(source_pod(vmi, settings, None), home, "spec", "nodeName")
        controller.request("POST", path_of(BY_KIND["Pod"], crowd.namespace), bound)

    vm_path = path_of(BY_KIND["VirtualMachine"], crowd.namespace)
    with ThreadPoolExecutor(WRITERS) as writers:
        # owners first: the garbage collector asks for every owner that it has not heard of yet
        vms = list(writers.map(lambda item: admin.request("POST", vm_path, item[0]), crowd.homes))
        vmis = list(writers.map(start, vms, homes))
        list(writers.map(run, vmis, homes))


def clear(admin: Connection, namespace: str) -> None:
    """Take all VMs, VMIs, migrations and pods away at once; nobody may play KubeVirt meanwhile."""
    gone = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
    free = {"metadata": {"finalizers": None}}

    def release(vmi: KubernetesObject) -> None:
        path = path_of(BY_KIND[VMI], namespace, vmi["metadata"]["name"])
        admin.request("PATCH", path, free, content_type="application/merge-patch+json")

    with ThreadPoolExecutor(WRITERS) as writers:
        for _ in writers.map(release, admin.list(path_of(BY_KIND[VMI], namespace))[0]):
            pass
    # dependents first: then the garbage collector finds nothing to do
    for kind in ("Pod", "VirtualMachineInstanceMigration", VMI, "VirtualMachine"):
        admin.request("DELETE", path_of(BY_KIND[kind], namespace), gone)


def _settled(vm: KubernetesObject, settings: KubernetesObject, home: str) -> dict[str, Any]:
    """A VMI as it is after its boot on its home."""
    now, template = SystemClock().now(), vm["spec"]["template"]
    vmi: dict[str, Any] = {
        "apiVersion": "kubevirt.io/v1",
        "kind": VMI,
        "metadata": {
            "name": vm["metadata"]["name"],
            "namespace": vm["metadata"]["namespace"],
            "labels": {**labels_of(template), names.NODE_NAME: home},
            "finalizers": [VM_FINALIZER],
            "ownerReferences": [owner_reference(vm)],
        },
        "spec": template["spec"],
    }
    verdict = admit_instance(vmi, user=CONTROLLER, kubevirt=settings)
    assert isinstance(verdict, Admitted)
    placed = with_value(verdict.object, home, "status", "nodeName")
    scheduled = with_phase(with_guest_facts(placed), "Scheduled", now)
    (update,) = reconcile_boot(scheduled, now, BootTimes(boot=0)).writes
    assert isinstance(update, Update)
    return dict(update.object)
