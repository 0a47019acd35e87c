"""What goes wrong in a simulated cluster, or is done to it by others."""

from gitbot.kubernetes.objects import annotations_of, at, without
from gitbot.kubernetes.phases import FINAL_PHASES, is_final
from gitbot.kubevirt import names
from gitbot.simulation.kubevirt.reconcile_result import MIGRATION, VMI
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import key_of


def fail_next_migration(cluster: SimulatedCluster, vmi: str, namespace: str, reason: str) -> None:
    """Let the next memory copy of a VMI fail, with that reason."""
    cluster.failures.add((namespace, vmi), reason)


def evict_instance(cluster: SimulatedCluster, vmi: str, namespace: str) -> str:
    """Evict the pod in which a VMI runs, as a foreign drain does; the refusal's text or ""."""
    found = cluster.store.get(VMI, (namespace, vmi))
    node = at(found, "status", "nodeName")
    answer = ""
    for pod in cluster.store.indexed("Pod", "owner", found["metadata"]["uid"]):
        ended = at(pod, "status", "phase") in FINAL_PHASES
        if at(pod, "spec", "nodeName") == node and not ended:
            try:
                cluster.api.evict(key_of(pod), {})
            except ApiError as refusal:
                answer = refusal.message
    cluster.engine.run_ready()
    return answer


def cancel_evacuation(cluster: SimulatedCluster, vmi: str, namespace: str) -> None:
    """`virtctl evacuate-cancel`: take the eviction's mark away and end the evacuation."""
    found = cluster.store.get(VMI, (namespace, vmi))
    cluster.store.replace(without(found, "status", "evacuationNodeName"))
    for migration in cluster.list(MIGRATION, namespace):
        evacuates = names.EVACUATION in annotations_of(migration)
        if evacuates and at(migration, "spec", "vmiName") == vmi and not is_final(migration):
            cluster.api.delete(MIGRATION, key_of(migration))
    cluster.engine.run_ready()


def by_hand(cluster: SimulatedCluster, vm: str, node: str, *, name: str = "by-hand") -> None:
    """Somebody migrates a VM of the customapp to a node."""
    cluster.apply(
        [
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachineInstanceMigration",
                "metadata": {"name": name, "namespace": "customapp"},
                "spec": {"vmiName": vm, "addedNodeSelector": {"kubernetes.io/hostname": node}},
            }
        ]
    )


def restart_machine(cluster: SimulatedCluster, name: str, namespace: str) -> None:
    """Restart a VirtualMachine: its VMI is deleted and made again, with another UID."""
    cluster.delete(VMI, name, namespace)


def lose_node(cluster: SimulatedCluster, node: str) -> None:
    """The node's heartbeats end now."""
    cluster.nodes.lose(node)
    _wake(cluster, node)


def return_node(cluster: SimulatedCluster, node: str, *, rebooted: bool = True) -> None:
    """The node reports again, by default after a reboot."""
    cluster.nodes.give_back(node, rebooted=rebooted)
    _wake(cluster, node)


def _wake(cluster: SimulatedCluster, node: str) -> None:
    cluster.engine.touch(cluster.nodes, ("", node))
    cluster.engine.run_ready()
