"""What makes a verdict or a prediction about a pod less than certain, in words."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.rules.domains import deprecated_in, replaced_by
from gitbot.constraints.scheduler.filters.attachment import PLUGIN as HOTPLUG
from gitbot.constraints.scheduler.filters.node_affinity import pinned_names
from gitbot.constraints.scheduler.storage import class_of, is_bound, waits_for_consumer
from gitbot.constraints.scheduler.verdicts import Judgement
from gitbot.constraints.scheduler.versions import LATER, MINOR, caveat_of
from gitbot.constraints.scheduler.world import World
from gitbot.model.cluster.cluster import ADDS_NAMESPACES
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME, AffinityTerm, reads_labels
from gitbot.model.plan.diagnosis import Check, failed, warned
from gitbot.model.text.names import LIMIT_HARD_ANTI_AFFINITY
from gitbot.model.text.wording import first_of

ALWAYS_FOUND = 100  # feasible nodes that kube-scheduler looks for at least


def pod_checks(pod: Pod, world: World, judgement: Judgement) -> Iterator[Check]:
    """The checks of any pod, in a fixed order; empty if nothing is uncertain."""
    if pod.gates:
        words = f"held by scheduling gates: {', '.join(pod.gates)}"
        yield failed("scheduling-gates", words)
    yield from _scheduler(pod, world)
    if any(item.weight and item.term.malformed for item in pod.affinity.preferred_nodes):
        yield warned(
            "preferred-term",
            "a preferred node affinity term cannot be read: kube-scheduler binds the pod "
            "only where exactly one node is feasible",
        )
    minor = world.state.facts.minor
    if caveat := caveat_of(minor):
        yield warned("kubernetes-version", caveat)
    if minor < LATER and any(_defective(term) for term in _terms(pod)):
        yield warned(
            "namespace-selector",
            "a namespaceSelector of NotIn and DoesNotExist alone reaches every namespace "
            f"in kube-scheduler {MINOR} (a defect there); the verdict follows it",
        )
    if old := deprecated_in(pod):
        words = "; ".join(f"{key} (now {replaced_by(key)})" for key in old)
        yield warned("deprecated-key", f"its terms read labels that nodes may lose: {words}")
    if (wide := _limited(pod)) and not _has_limited(world):
        words = f"if admission plugin {LIMIT_HARD_ANTI_AFFINITY} is on, it refuses the pod"
        yield warned("limited-key", f"{words}: required anti-affinity by {', '.join(wide)}")
    yield from _not_looked_at(pod, world)
    yield from _unread(pod, world)
    yield from _attachment(judgement)
    yield from _sampling(pod, world, judgement)
    yield from _preemption(pod, world, judgement)


def _scheduler(pod: Pod, world: World) -> Iterator[Check]:
    profile = world.state.facts.profiles.get(pod.scheduler)
    if profile is None:
        yield warned(
            "scheduler",
            f"scheduler {pod.scheduler} decides, not kube-scheduler's default profile: "
            "the prediction is not guaranteed",
        )
        return
    for part in profile.unjudged:
        yield warned("scheduler", f"{part}; the prediction is not guaranteed")


def _terms(pod: Pod) -> tuple[AffinityTerm, ...]:
    affinity = pod.affinity
    preferred = (weighted.term for weighted in affinity.preferred_pods)
    return (*affinity.required_pods, *affinity.required_anti, *preferred)


def _limited(pod: Pod) -> list[str]:
    """As `limited_keys`, of a decoded pod."""
    return sorted({term.topology_key for term in pod.affinity.required_anti} - {HOSTNAME})


def _has_limited(world: World) -> bool:
    """Whether the plugin is off: it would have refused one of the cluster's pods."""
    return any(_limited(pod) for node in world.nodes for pod in world.pods_on(node.name))


def _defective(term: AffinityTerm) -> bool:
    selector = term.namespace_selector
    return (
        selector is not None
        and bool(selector.requirements)
        and all(item.operator in {"NotIn", "DoesNotExist"} for item in selector.requirements)
    )


def _not_looked_at(pod: Pod, world: World) -> Iterator[Check]:
    if pod.device_claims:
        yield warned(
            "device-claims",
            f"resource claims {', '.join(pod.device_claims)} are not looked at: kube-scheduler "
            "may find fewer nodes",
        )
    storage = world.state.facts.storage
    named = ((name, storage.claim(pod, name)) for name in pod.claims)
    unbound = [name for name, claim in named if claim is not None and not is_bound(claim)]
    if unbound and not storage.room_known:
        yield warned(
            "storage-capacity",
            f"claims {', '.join(unbound)} are not bound yet, and the snapshot does not say where "
            "their storage has room; `kubectl get csidrivers,csistoragecapacities -A -o yaml` does",
        )
    for name, claim in pod.new_claims.items():
        if not waits_for_consumer(claim, storage):
            yield warned(
                "new-claim",
                f"claim {name} is created before the pod, and its class {class_of(claim) or 'none'}"
                " binds at once: the nodes that reach its volume are not known yet",
            )


def _unread(pod: Pod, world: World) -> Iterator[Check]:
    unread = world.state.facts.unread
    if "CSINode" in unread and pod.claims:
        yield warned(
            "unread",
            "the files have no CSINode: how many volumes a node attaches is not looked at; "
            "`kubectl get csinodes,volumeattachments -o yaml` adds them",
        )
    wishes = [weighted.term.namespace_selector for weighted in pod.affinity.preferred_pods]
    if "Namespace" in unread and any(map(reads_labels, wishes)):
        yield warned(
            "unread",
            "the files have no Namespace: a wish with a namespaceSelector then sees no labels; "
            f"{ADDS_NAMESPACES}",
        )


def _attachment(judgement: Judgement) -> Iterator[Check]:
    bad = [
        verdict.node
        for verdict in judgement.nodes
        if verdict.rejections and all(item.plugin == HOTPLUG for item in verdict.rejections)
    ]
    if bad:
        yield warned(
            "hotplug-node",
            "kube-scheduler does not look at the attachment pod: without a pin to a node it may "
            f"choose {first_of(bad, 4)}, where the VM waits for its hotplugged volumes",
        )


def nodes_looked_for(count: int, percentage: int = 0) -> int:
    """How many feasible nodes kube-scheduler searches for among `count` before it stops.

    `percentage` is percentageOfNodesToScore, 0 if it is not set. Source: kube-scheduler,
    schedule_one.go (numFeasibleNodesToFind).
    """
    if count < ALWAYS_FOUND:
        return count
    percent = percentage or max(50 - count // 125, 5)
    return max(count * percent // 100, ALWAYS_FOUND)


def _sampling(pod: Pod, world: World, judgement: Judgement) -> Iterator[Check]:
    profile = world.state.facts.profile(pod)
    if not profile.weights:
        return  # it takes the first feasible node that it finds: all of them have the same score
    pinned = pinned_names(pod)
    names = {node.name for node in world.nodes}
    count = len(names if pinned is None else names & pinned)
    enough, feasible = nodes_looked_for(count, profile.percentage), len(judgement.feasible)
    if feasible > enough:
        yield warned(
            "sampling",
            f"kube-scheduler stops at {enough} feasible nodes and scores those alone: the "
            f"{feasible} feasible nodes are exact, their scores are those of all of them, and "
            "which of them it looks at is chance",
        )


def _preemption(pod: Pod, world: World, judgement: Judgement) -> Iterator[Check]:
    others = [item.name for item in world.state.nominated if item.name != pod.name]
    if others:
        listed = ", ".join(map(str, others))
        yield warned("nominated-pods", f"room is kept for pods that wait for a node: {listed}")
    if judgement.feasible or judgement.whole is not None:
        return
    lower = [
        verdict.node
        for verdict in judgement.nodes
        if verdict.resolvable
        and any(other.priority < pod.priority for other in world.pods_on(verdict.node))
    ]
    if lower:
        yield warned(
            "preemption",
            "no node takes it as things are; kube-scheduler may evict pods of lower priority on "
            f"{first_of(lower, 4)}",
        )
