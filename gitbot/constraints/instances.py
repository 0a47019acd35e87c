"""Running VMs of a snapshot with their launcher pods: who holds which place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitbot.constraints.domains import Domains
from gitbot.constraints.made import LastMade
from gitbot.kubevirt.names import CREATED_BY
from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.constraint import Occupancy
from gitbot.model.names import NamespacedName
from gitbot.model.node import Node
from gitbot.model.objects import KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.model.pod import FINISHED

NAMESPACE_NAME = "kubernetes.io/metadata.name"
_FINAL_PHASES = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One VM: its VMI, VM object, and launcher pods that hold a place.

    `node` is where it runs (status.nodeName). `source_pod` is the active launcher pod, None where
    the snapshot has none. `others` are further launcher pods with a node: targets of a running
    migration, or a source that has not gone yet.
    """

    name: NamespacedName
    vmi: KubernetesObject | None
    vm: KubernetesObject | None = None
    node: str = ""
    source_pod: KubernetesObject | None = None
    others: tuple[KubernetesObject, ...] = ()

    @property
    def uid(self) -> str:
        """The VMI's UID, "" where there is no VMI."""
        return uid_of(self.vmi) if self.vmi is not None else ""

    @property
    def places(self) -> frozenset[str]:
        """The nodes on which it holds a place."""
        pods = [at(pod, "spec", "nodeName", default="") for pod in self.others]
        return frozenset(node for node in (self.node, *pods) if node)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the VMI, of the VM's template where there is no VMI."""
        if self.vmi is not None:
            return labels_of(self.vmi)
        labels: Mapping[str, str] = at(
            self.vm, "spec", "template", "metadata", "labels", default={}
        )
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPod:
    """A pod on a node that is no launcher pod, and so does not move."""

    namespace: str
    labels: Mapping[str, str]
    node: str


class Instances(Mapping[NamespacedName, Instance]):
    """All VMs of a snapshot by name: every VMI, and every VM that has none."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        pods = _launchers(snapshot)
        machines = {name_of(obj): obj for obj in snapshot.of("VirtualMachine")}
        found = {
            name_of(vmi): _instance(vmi, machines.get(name_of(vmi)), pods)
            for vmi in snapshot.of("VirtualMachineInstance")
        }
        for name, vm in machines.items():
            found.setdefault(name, Instance(name=name, vmi=None, vm=vm))
        self._instances = dict(sorted(found.items()))
        self._in_namespace: dict[str, list[Instance]] = {}
        for name, item in self._instances.items():
            self._in_namespace.setdefault(name.namespace, []).append(item)
        self.kubevirt: KubernetesObject = next(iter(snapshot.of("KubeVirt")), {})
        self.nodes = {name_of(obj).name: obj for obj in snapshot.of("Node")}
        self.namespaces = {name_of(obj).name: obj for obj in snapshot.of("Namespace")}
        self.quotas = _by_namespace(snapshot.of("ResourceQuota"))
        self.claims = {
            namespace: {name_of(obj).name: obj for obj in objects}
            for namespace, objects in _by_namespace(snapshot.of("PersistentVolumeClaim")).items()
        }
        self.domains = Domains(Node.from_object(obj) for obj in snapshot.of("Node"))
        self.standing = tuple(_standing(snapshot))
        self.migrations = snapshot.of("VirtualMachineInstanceMigration")
        self.classes = ClassObjects(
            priority={name_of(obj).name: obj for obj in snapshot.of("PriorityClass")},
            runtime={name_of(obj).name: obj for obj in snapshot.of("RuntimeClass")},
        )

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> Instances:
        """The same, made once of a snapshot: nobody changes either of them."""
        return _last(snapshot)

    def __getitem__(self, name: NamespacedName) -> Instance:
        return self._instances[name]

    def __iter__(self) -> Iterator[NamespacedName]:
        return iter(self._instances)

    def __len__(self) -> int:
        return len(self._instances)

    def in_namespace(self, namespace: str) -> Sequence[Instance]:
        """The VMs of one namespace, sorted by name."""
        return self._in_namespace.get(namespace, ())

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace, its name label included."""
        return {**labels_of(self.namespaces.get(name, {})), NAMESPACE_NAME: name}

    def occupancy(self) -> Occupancy:
        """VMI to the nodes on which it holds a place; VMs that run nowhere are left out."""
        return {name: item.places for name, item in self._instances.items() if item.places}


_last = LastMade(Instances)


def _standing(snapshot: ClusterSnapshot) -> Iterator[StandingPod]:
    for pod in snapshot.of("Pod"):
        labels, node = labels_of(pod), at(pod, "spec", "nodeName", default="")
        if node and CREATED_BY not in labels and at(pod, "status", "phase") not in FINISHED:
            yield StandingPod(namespace=name_of(pod).namespace, labels=labels, node=node)


def _by_namespace(
    objects: Iterable[KubernetesObject],
) -> dict[str, tuple[KubernetesObject, ...]]:
    found: dict[str, list[KubernetesObject]] = {}
    for obj in objects:
        found.setdefault(name_of(obj).namespace, []).append(obj)
    return {namespace: tuple(items) for namespace, items in found.items()}


def _launchers(snapshot: ClusterSnapshot) -> dict[tuple[str, str], list[KubernetesObject]]:
    """(namespace, VMI UID) to launcher pods that are on a node and not finished."""
    found: dict[tuple[str, str], list[KubernetesObject]] = {}
    for pod in snapshot.of("Pod"):
        labels = labels_of(pod)
        uid = labels.get(CREATED_BY)
        if not uid or labels.get("kubevirt.io", "virt-launcher") != "virt-launcher":
            continue
        if at(pod, "status", "phase", default="") in FINISHED or not at(pod, "spec", "nodeName"):
            continue
        found.setdefault((name_of(pod).namespace, uid), []).append(pod)
    return found


def _instance(
    vmi: KubernetesObject,
    vm: KubernetesObject | None,
    launchers: Mapping[tuple[str, str], list[KubernetesObject]],
) -> Instance:
    name = name_of(vmi)
    if at(vmi, "status", "phase", default="") in _FINAL_PHASES:
        return Instance(name=name, vmi=vmi, vm=vm)
    node = str(at(vmi, "status", "nodeName", default=""))
    pods = launchers.get((name.namespace, uid_of(vmi)), [])
    ours = [pod for pod in pods if at(pod, "spec", "nodeName") == node]
    active = at(vmi, "status", "activePods", default={})
    source = next((pod for pod in ours if uid_of(pod) in active), None) or next(iter(ours), None)
    others = tuple(pod for pod in pods if pod is not source)
    return Instance(name=name, vmi=vmi, vm=vm, node=node, source_pod=source, others=others)
