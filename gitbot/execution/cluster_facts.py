"""One read of the cluster, indexed, and the marks of who created migrations and cordons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gitbot.execution.executor_types import ExecutorInput
from gitbot.kubernetes.labels import MANAGED_BY
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    condition_of,
    labels_of,
    name_of,
    uid_of,
)
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt.limits import is_running
from gitbot.model.caches import LastValueCache
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.grouping import grouped
from gitbot.model.ledger.effect_id import label_value
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.plan.constraint import Breach, Occupancy, worsened
from gitbot.model.plan.plan import Move, NodeRef
from gitbot.model.plan.problem import Limits, PlacementProblem
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.names import CORDON_LABEL

JOB_NAME = "kubevirt.io/migrationJobName"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """Instances, nodes and migrations by name, and what they say together."""

    instances: Mapping[NamespacedName, KubernetesObject]
    nodes: Mapping[str, KubernetesObject]
    migrations: Mapping[NamespacedName, KubernetesObject]
    unfinished: tuple[KubernetesObject, ...]  # migrations of all movers, sorted
    by_node: Mapping[str, tuple[NamespacedName, ...]]
    job_names: frozenset[tuple[str, str]]  # (namespace, VMIM name) in labels of launcher pods
    zone_key: str

    @classmethod
    def of(
        cls, problem: PlacementProblem, migrations: tuple[KubernetesObject, ...]
    ) -> ClusterFacts:
        placed = _placed(problem.snapshot)
        return cls(
            instances=placed.instances,
            nodes=placed.nodes,
            migrations={name_of(migration): migration for migration in migrations},
            unfinished=tuple(
                sorted((item for item in migrations if not is_final(item)), key=name_of)
            ),
            by_node=placed.by_node,
            job_names=placed.job_names,
            zone_key=problem.zone_key,
        )

    def node_of(self, vm: NamespacedName) -> str:
        return str(at(self.instances.get(vm, {}), "status", "nodeName", default=""))

    def zone_of(self, node: str) -> str:
        return labels_of(self.nodes.get(node, {})).get(self.zone_key, "")

    def as_is(self, move: Move) -> Move:
        """The move, but from the VM's current node."""
        node = self.node_of(move.vm.namespaced_name) or move.source.node
        source = NodeRef(node=node, zone=self.zone_of(node))
        return move if source == move.source else replace(move, source=source)

    def satisfies(self, node: str, move: Move) -> bool:
        labels = labels_of(self.nodes.get(node, {}))
        wanted = move.added_node_selector.items()
        matches = all(labels.get(key) == value for key, value in wanted)
        return matches and (not move.allowed_nodes or node in move.allowed_nodes)

    def holds_slot(self, migration: KubernetesObject) -> bool:
        """Whether KubeVirt counts it against its limits: by its phase, or once it has a target pod.

        One that hangs in Pending holds no slot (KubeVirt, pkg/virt-controller/watch/
        migration/migration.go, findRunningMigrations).
        """
        name = name_of(migration)
        return is_running(migration) or (name.namespace, name.name) in self.job_names

    def in_flight(self, vm: NamespacedName) -> KubernetesObject | None:
        return next((item for item in self.unfinished if vm_of(item) == vm), None)

    def schedulable(self, node: str) -> bool:
        found = self.nodes.get(node)
        return found is not None and is_ready(found) and not at(found, "spec", "unschedulable")

    def instances_on(self, node: str) -> tuple[NamespacedName, ...]:
        return self.by_node.get(node, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """What a snapshot alone says: a pass asks for it several times."""

    instances: Mapping[NamespacedName, KubernetesObject]
    nodes: Mapping[str, KubernetesObject]
    by_node: Mapping[str, tuple[NamespacedName, ...]]
    job_names: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, snapshot: ClusterSnapshot) -> _Placed:
        instances = {name_of(obj): obj for obj in snapshot.of("VirtualMachineInstance")}
        return cls(
            instances=instances,
            nodes={name_of(node).name: node for node in snapshot.of("Node")},
            by_node=grouped(
                (node, name)
                for name, instance in sorted(instances.items())
                if (node := at(instance, "status", "nodeName"))
            ),
            job_names=_job_names(snapshot),
        )


_placed = LastValueCache[ClusterSnapshot, _Placed](lambda snapshot, _last: _Placed.of(snapshot))


def vms_by_node(snapshot: ClusterSnapshot) -> Mapping[str, tuple[NamespacedName, ...]]:
    """The VMIs on each node, sorted."""
    return _placed(snapshot).by_node


def _job_names(snapshot: ClusterSnapshot) -> frozenset[tuple[str, str]]:
    return frozenset(
        (name_of(pod).namespace, str(name))
        for pod in snapshot.of("Pod")
        if (name := annotations_of(pod).get(JOB_NAME))
    )


def vm_of(migration: KubernetesObject) -> NamespacedName:
    name = str(at(migration, "spec", "vmiName", default=""))
    return NamespacedName(namespace=name_of(migration).namespace, name=name)


def is_own(migration: KubernetesObject) -> bool:
    return labels_of(migration).get(MANAGED_BY) == "gitbot"


def is_ready(node: KubernetesObject) -> bool:
    condition = condition_of(node, "Ready")
    return condition is not None and condition.get("status") == "True"


def boot_id(node: KubernetesObject) -> str:
    return str(at(node, "status", "nodeInfo", "bootID", default=""))


class Slots:
    """Free migration slots under the limits, counted over all movers. Mutable: `take` uses one."""

    def __init__(self, facts: ClusterFacts, limits: Limits, targets: Mapping[str, str]) -> None:
        """`targets`: planned targets by VMIM UID, while KubeVirt has not set one."""
        self._limits = limits
        self._facts = facts
        self.running = 0
        self._sources: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        self._zones: Counter[str] = Counter()
        for migration in facts.unfinished:
            state = at(migration, "status", "migrationState", default={})
            instance = facts.instances.get(vm_of(migration), {})
            target = (
                targets.get(uid_of(migration))
                or at(state, "targetNode")
                or _target_of(instance, uid_of(migration))
            )
            if target or is_own(migration) or facts.holds_slot(migration):
                self.take(facts.node_of(vm_of(migration)), str(target))

    def refusal(self, source: str, target: str) -> str:
        limits = self._limits
        if self.running >= limits.slots:
            verb = "migration runs" if self.running == 1 else "migrations run"
            return f"{self.running} {verb}, gitbot starts {limits.at_once}"
        if self._sources[source] >= limits.per_source_node:
            return f"{self._sources[source]} migrations leave {source}"
        if self._targets[target] >= limits.per_target_node:
            return f"{self._targets[target]} migrations go to {target}"
        for zone in self._zones_of(source, target):
            if self._zones[zone] >= limits.per_zone:
                return f"{self._zones[zone]} migrations touch zone {zone}"
        return ""

    def take(self, source: str, target: str) -> None:
        self.running += 1
        self._sources[source] += 1
        self._targets[target] += 1
        for zone in self._zones_of(source, target):
            self._zones[zone] += 1

    def _zones_of(self, source: str, target: str) -> tuple[str, ...]:
        zones = {self._facts.zone_of(node) for node in (source, target)}
        return tuple(sorted(zones - {""}))


def _target_of(instance: KubernetesObject, uid: str) -> str:
    state = at(instance, "status", "migrationState", default={})
    return str(at(state, "targetNode", default="")) if at(state, "migrationUid") == uid else ""


def new_breaches(
    problem: PlacementProblem,
    facts: ClusterFacts,
    vm: NamespacedName,
    source: str,
    follow: Mapping[NamespacedName, str] | None = None,
) -> tuple[Breach, ...]:
    """Required breaches about a VM that exist now and would not if it were still on `source`.

    The VMs that `follow` count as on their targets already.
    """
    rules = [rule for rule in problem.rules if rule.required and vm in rule.members]
    if not rules:
        return ()
    now: dict[NamespacedName, frozenset[str]] = {
        name: frozenset({node}) for name in sorted(facts.instances) if (node := facts.node_of(name))
    }
    now |= {name: frozenset({node}) for name, node in (follow or {}).items()}
    before: Occupancy = {**now, vm: frozenset({source})}
    return tuple(
        breach for rule in rules for breach in worsened(rule.breaches(before), rule.breaches(now))
    )


LEDGER = "placement.gitbot.dev/ledger"


def ledger_mark(ledger: Ledger) -> str:
    """Identity of a ledger: a digest of its first line's file and time; "" if it is empty."""
    first = next(iter(ledger.events), None)
    return "" if first is None else short_digest(f"{first.file} {first.time}", 10)


def is_of_ledger(migration: KubernetesObject, mark: str) -> bool:
    """Whether this gitbot created the migration. Versions before the mark wrote none."""
    return annotations_of(migration).get(LEDGER, mark) == mark


def mark_of(view: ExecutorInput, occurrence: OccurrenceId) -> str:
    ledger = ledger_mark(view.ledger)
    return label_value(f"{occurrence.window}.{occurrence.id}.{ledger}")


def is_marked(view: ExecutorInput, occurrence: OccurrenceId, node: KubernetesObject) -> bool:
    """Whether the node has gitbot's mark for this occurrence.

    One patch sets or removes cordon and mark: a mark alone means that a person uncordoned the node.
    """
    # versions before the mark wrote the id alone
    known = (mark_of(view, occurrence), occurrence.id)
    return labels_of(node).get(CORDON_LABEL) in known
