"""Classes of pods for which all nodes give the same answers, except for room."""

from __future__ import annotations

from collections.abc import Hashable

from gitbot.constraints.scheduler.filters import resources, volume_restrictions
from gitbot.constraints.scheduler.scores import spread_score, storage_score
from gitbot.constraints.scheduler.world import World
from gitbot.kubevirt.names import CREATED_BY
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME


def class_of(world: World, pod: Pod) -> Hashable | None:
    """Pods with an equal key share masks and scores; only room differs.

    None if the pod's terms, volumes or Services depend on other pods. KubeVirt's own term does not
    count: it keeps a VM's two pods apart, so it is about the node that the VM leaves.
    """
    state, affinity = world.state, pod.affinity
    if not world.needs_only_room(pod) or affinity.required_pods:
        return None
    if affinity.preferred_pods or spread_score.concerns(state, pod):
        return None
    if storage_score.concerns(state, pod):
        return None
    disks = volume_restrictions.prepare(state, pod)
    if disks is not None and (disks.whole() is not None or not disks.idle):
        return None
    own = (CREATED_BY, pod.labels.get(CREATED_BY, ""))
    spaces = state.facts.labels_of_namespace(pod.namespace)
    told = [entry.term for entry, _ in state.anti.matching(pod.namespace, pod.labels, spaces)]
    for term in (*told, *affinity.required_anti):
        if term.selector.one_label != own or term.topology_key != HOSTNAME:
            return None
    if next(state.scoring.matching(pod.namespace, pod.labels, spaces), None) is not None:
        return None
    requests = pod.requests
    return (
        world.open_to(pod).tobytes(),
        pod.scheduler,
        resources.asked_of(requests),
        (requests.scored_cpu, requests.scored_memory),
        affinity.preferred_nodes,
        pod.tolerations,
        pod.images,
    )
