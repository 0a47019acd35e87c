"""Running VMs of a snapshot with their launcher pods, and the places that these take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gitbot.constraints.rules.domains import Domains
from gitbot.constraints.scheduler.cluster_facts import decoded_nodes, namespace_labels
from gitbot.constraints.scheduler.label_index import LabelIndex
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at, condition_of, labels_of, name_of, uid_of
from gitbot.kubernetes.phases import is_final
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.kubevirt.instance_types import (
    TYPE_KINDS,
    TypeCatalog,
    UnreadableType,
    expanded,
)
from gitbot.kubevirt.names import CREATED_BY
from gitbot.kubevirt.pod_defaults import ClassObjects
from gitbot.kubevirt.source_node import is_handler
from gitbot.kubevirt.state_storage import ClusterStorage, claims_by_vm
from gitbot.kubevirt.workload_updates import changes_to_come, updates_to_come
from gitbot.model.caches import LastValueCache, RowCache
from gitbot.model.cluster.cluster import STORAGE_KINDS, ClusterSnapshot
from gitbot.model.cluster.opt_out import LABEL
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import AffinityTerm
from gitbot.model.grouping import grouped
from gitbot.model.plan.constraint import Occupancy

_Launched = tuple[str, str]  # namespace and UID of the VMI that a launcher pod runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One VM: its VMI, VM object, and launcher pods that take a place.

    `node` is where it runs (status.nodeName). `source_pod` is the active launcher pod, None if the
    snapshot has none. `others` are further launcher pods with a node: targets of a running
    migration, or a source that has not ended.
    """

    name: NamespacedName
    vmi: KubernetesObject | None
    vm: KubernetesObject | None = None
    node: str = ""
    source_pod: KubernetesObject | None = None
    others: tuple[KubernetesObject, ...] = ()

    @property
    def uid(self) -> str:
        return uid_of(self.vmi) if self.vmi is not None else ""

    @property
    def places(self) -> frozenset[str]:
        if not self.others:
            return frozenset((self.node,)) if self.node else frozenset()
        pods = [at(pod, "spec", "nodeName", default="") for pod in self.others]
        return frozenset(node for node in (self.node, *pods) if node)

    @property
    def labels(self) -> Mapping[str, str]:
        if self.vmi is not None:
            return labels_of(self.vmi)
        labels: Mapping[str, str] = at(
            self.vm, "spec", "template", "metadata", "labels", default={}
        )
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPod:
    """A pod on a node that is not a launcher pod, and so does not move."""

    namespace: str
    labels: Mapping[str, str]
    node: str


class Instances(Mapping[NamespacedName, Instance]):
    """All VMs of a snapshot by name: every VMI, and every VM that has none."""

    def __init__(self, snapshot: ClusterSnapshot) -> None:
        pods = snapshot.of("Pod")
        roles = _roles((pod,) for pod in pods)
        launchers = grouped(
            (role, pod) for pod, role in zip(pods, roles, strict=True) if isinstance(role, tuple)
        )
        machines = {name_of(obj): obj for obj in snapshot.of("VirtualMachine")}
        made = _instances(
            (vmi, machines.get(name), *launchers.get((name.namespace, uid_of(vmi)), ()))
            for vmi in snapshot.of("VirtualMachineInstance")
            for name in (name_of(vmi),)
        )
        found = {item.name: item for item in made}
        for name, vm in machines.items():
            if name not in found:
                found[name] = Instance(name=name, vmi=None, vm=vm)
        self._instances, self._pods = dict(sorted(found.items())), pods
        self._occupancy: Occupancy | None = None
        self._reached: dict[LabelMatcher, frozenset[str]] = {}
        self._expanded: dict[NamespacedName, tuple[Mapping[str, Any], str]] = {}
        self.kubevirt: KubernetesObject = next(iter(snapshot.of("KubeVirt")), {})
        self.nodes = {name_of(obj).name: obj for obj in snapshot.of("Node")}
        self.namespaces = {name_of(obj).name: obj for obj in snapshot.of("Namespace")}
        self.networks = {name_of(obj): obj for obj in snapshot.of("NetworkAttachmentDefinition")}
        self.quotas = _by_namespace(snapshot.of("ResourceQuota"))
        self.claims = {
            namespace: {name_of(obj).name: obj for obj in objects}
            for namespace, objects in _by_namespace(snapshot.of("PersistentVolumeClaim")).items()
        }
        self.storage = ClusterStorage(
            kubevirt=self.kubevirt,
            classes=snapshot.of("StorageClass"),
            profiles={name_of(obj).name: obj for obj in snapshot.of("StorageProfile")},
        )
        self.types = TypeCatalog(
            types={(kind, name_of(obj)): obj for kind in TYPE_KINDS for obj in snapshot.of(kind)},
            revisions={name_of(obj): obj for obj in snapshot.of("ControllerRevision")},
        )
        self.without_namespaces = snapshot.unread("Namespace")
        self.without_storage = all(map(snapshot.unread, STORAGE_KINDS))
        self.domains = Domains(decoded_nodes((obj,) for obj in snapshot.of("Node")))
        self.standing = tuple(role for role in roles if isinstance(role, StandingPod))
        self.migrations = snapshot.of("VirtualMachineInstanceMigration")
        self.classes = ClassObjects(
            priority={name_of(obj).name: obj for obj in snapshot.of("PriorityClass")},
            runtime={name_of(obj).name: obj for obj in snapshot.of("RuntimeClass")},
        )

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> Instances:
        """The VMs of a snapshot. Repeated calls return the same object, so do not change it."""
        return _last(snapshot)

    def __getitem__(self, name: NamespacedName) -> Instance:
        return self._instances[name]

    def __iter__(self) -> Iterator[NamespacedName]:
        return iter(self._instances)

    def __len__(self) -> int:
        return len(self._instances)

    def values(self) -> ValuesView[Instance]:
        return self._instances.values()  # faster than the inherited method, which looks up each

    @cached_property
    def vmis(self) -> Mapping[NamespacedName, KubernetesObject]:
        return {name: item.vmi for name, item in self._instances.items() if item.vmi is not None}

    @cached_property
    def updates_to_come(self) -> int:
        """The VMs that KubeVirt will migrate of its own accord, as their launcher is outdated."""
        return updates_to_come(self.vmis.values(), self.kubevirt, self._migrating)

    @cached_property
    def changes_to_come(self) -> Mapping[NamespacedName, str]:
        """The VMs that KubeVirt will migrate to carry out a change, and which one, in words."""
        return changes_to_come(self.vmis.values(), self.kubevirt, self._migrating)

    @cached_property
    def _migrating(self) -> frozenset[NamespacedName]:
        """VMs with an unfinished migration object."""
        return frozenset(
            NamespacedName(
                namespace=name_of(item).namespace,
                name=str(at(item, "spec", "vmiName", default="")),
            )
            for item in self.migrations
            if not is_final(item)
        )

    def next_spec(self, instance: Instance) -> Mapping[str, Any]:
        """The spec of the VM's next VMI; the template alone if a type cannot be read."""
        return self._next(instance)[0]

    def unread_type(self, instance: Instance) -> str:
        """Why the VM's instance type or preference is not known; "" if it is, or has none."""
        return self._next(instance)[1]

    def _next(self, instance: Instance) -> tuple[Mapping[str, Any], str]:
        if instance.name not in self._expanded:
            vm = instance.vm or {}
            try:
                found = expanded(vm, self.types), ""
            except UnreadableType as error:
                found = at(vm, "spec", "template", "spec"), str(error)
            self._expanded[instance.name] = found
        return self._expanded[instance.name]

    @cached_property
    def state_claims(self) -> Mapping[NamespacedName, KubernetesObject]:
        """The claims with TPM, EFI and backup state, by VM."""
        return {
            NamespacedName(namespace=namespace, name=vm): claim
            for namespace, claims in self.claims.items()
            for vm, claim in claims_by_vm(claims.values()).items()
        }

    @cached_property
    def by_uid(self) -> Mapping[str, NamespacedName]:
        return {item.uid: name for name, item in self._instances.items() if item.uid}

    @cached_property
    def homes(self) -> Mapping[NamespacedName, str]:
        """VMI to the node where it runs; VMs that do not run are left out."""
        return {name: item.node for name, item in self._instances.items() if item.node}

    def source_pod_of(self, vm: NamespacedName) -> NamespacedName | None:
        """The name of the active launcher pod."""
        found = self._instances.get(vm)
        return name_of(found.source_pod) if found and found.source_pod is not None else None

    @cached_property
    def targets(self) -> dict[NamespacedName, Pod]:
        """The target pods that were made so far (`target_pod.target_of`)."""
        return {}

    @cached_property
    def starts(self) -> dict[NamespacedName, Pod]:
        """The pods of new starts that were made so far (`node_loss`)."""
        return {}

    @cached_property
    def handlers(self) -> Mapping[str, KubernetesObject]:
        """The virt-handler pods by node."""
        return {str(at(pod, "spec", "nodeName")): pod for pod in self._pods if is_handler(pod)}

    @cached_property
    def by_label(self) -> LabelIndex[NamespacedName]:
        return LabelIndex((name.namespace, item.labels, name) for name, item in self.items())

    @cached_property
    def by_machine_label(self) -> LabelIndex[NamespacedName]:
        """VMs by the labels of their VirtualMachine objects, which KubeVirt does not copy."""
        return LabelIndex(
            (name.namespace, labels_of(item.vm), name)
            for name, item in self.items()
            if item.vm is not None
        )

    @cached_property
    def standing_by_label(self) -> LabelIndex[str]:
        """The nodes of the standing pods."""
        return LabelIndex((pod.namespace, pod.labels, pod.node) for pod in self.standing)

    @cached_property
    def on_node(self) -> Mapping[str, Sequence[NamespacedName]]:
        """The VMs that run on each node, sorted."""
        return grouped((item.node, name) for name, item in self.items() if item.node)

    def reached(self, term: AffinityTerm) -> frozenset[str]:
        """The namespaces in which a term looks for VMs and pods."""
        wanted = term.namespace_selector
        if wanted is None:
            return term.namespaces
        if wanted not in self._reached:
            held = {*self.by_label.spaces, *self.standing_by_label.spaces}
            self._reached[wanted] = frozenset(
                space for space in held if wanted.matches(self.namespace_labels(space))
            )
        return term.namespaces | self._reached[wanted]

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        return namespace_labels(name, labels_of(self.namespaces.get(name, {})))

    def occupancy(self) -> Occupancy:
        """VMI to the nodes on which it holds a place; VMs that do not run are left out."""
        if self._occupancy is None:
            alone = {item.node: frozenset((item.node,)) for item in self.values() if item.node}
            self._occupancy = {
                name: places
                for name, item in self._instances.items()
                if (places := item.places if item.others else alone.get(item.node))
            }
        return self._occupancy


_last = LastValueCache[ClusterSnapshot, Instances](lambda snapshot, _: Instances(snapshot))


def _by_namespace(
    objects: Iterable[KubernetesObject],
) -> dict[str, tuple[KubernetesObject, ...]]:
    return grouped((name_of(obj).namespace, obj) for obj in objects)


def _role(pod: KubernetesObject) -> StandingPod | _Launched | None:
    """A pod's role for the VMs; None if it takes no place or belongs to another namespace's VMI."""
    node = (pod.get("spec") or {}).get("nodeName")
    if not node or is_final(pod):
        return None
    labels, namespace = labels_of(pod), name_of(pod).namespace
    if CREATED_BY not in labels:
        return StandingPod(namespace=namespace, labels=labels, node=node)
    launcher = labels.get("kubevirt.io", "virt-launcher") == "virt-launcher"
    return (namespace, labels[CREATED_BY]) if launcher and labels[CREATED_BY] else None


_roles = RowCache(_role)


def _instance(
    vmi: KubernetesObject, vm: KubernetesObject | None, *pods: KubernetesObject
) -> Instance:
    name = name_of(vmi)
    if is_final(vmi):
        return Instance(name=name, vmi=vmi, vm=vm)
    node = str(at(vmi, "status", "nodeName", default=""))
    if len(pods) == 1 and at(pods[0], "spec", "nodeName") == node:  # the usual case
        return Instance(name=name, vmi=vmi, vm=vm, node=node, source_pod=pods[0])
    ours = [pod for pod in pods if at(pod, "spec", "nodeName") == node]
    active = at(vmi, "status", "activePods", default={})
    source = next((pod for pod in ours if uid_of(pod) in active), None) or next(iter(ours), None)
    others = tuple(pod for pod in pods if pod is not source)
    return Instance(name=name, vmi=vmi, vm=vm, node=node, source_pod=source, others=others)


_instances = RowCache(_instance)


def bound(item: Instance) -> str:
    """Why gitbot cannot or may not migrate a VM; "" if it may."""
    if item.vmi is None:
        return "no VMI"
    condition = condition_of(item.vmi, "LiveMigratable")
    if condition is None or condition.get("status") != "True":
        reason = "unknown" if condition is None else condition.get("reason") or "False"
        return f"LiveMigratable is {reason}"
    label = item.labels.get(LABEL)
    return f"{LABEL}={label}" if label is not None else ""


def pods_that_stay(snapshot: ClusterSnapshot) -> Iterator[tuple[str, NamespacedName]]:
    """Node and name of running pods that are neither launcher pods nor pods of a DaemonSet."""
    for pod in snapshot.of("Pod"):
        node = at(pod, "spec", "nodeName", default="")
        if node and not is_final(pod) and CREATED_BY not in labels_of(pod):
            owners = at(pod, "metadata", "ownerReferences", default=())
            if not any(owner.get("kind") in ("DaemonSet", "Node") for owner in owners):
                yield node, name_of(pod)
