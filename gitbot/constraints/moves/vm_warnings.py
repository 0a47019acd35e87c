"""Warnings for people about a VM before it moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.rules.domains import domain_words
from gitbot.constraints.scheduler.filters.inter_pod_affinity import matches_incoming
from gitbot.constraints.scheduler.filters.quota import quotas_of
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import at
from gitbot.kubevirt.admission import run_strategy_causes
from gitbot.kubevirt.network_devices import networks_of
from gitbot.kubevirt.preflight import preflight
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.diagnosis import Check, failed, passed, warned


def vm_checks(
    instances: Instances, instance: Instance, pod: Pod, added: Mapping[str, str], world: World
) -> list[Check]:
    return [
        *_migration(instances, instance, added),
        *_quota(instances, pod, world),
        *_own_pod(instance, pod, world),
        *_estimated(pod),
    ]


def _migration(
    instances: Instances, instance: Instance, added: Mapping[str, str]
) -> Iterator[Check]:
    if instance.vmi is None or not instance.node:
        yield from _start(instances, instance, added)
        return
    own = () if instance.source_pod is None else (instance.source_pod,)
    yield from preflight(
        instance.vmi,
        kubevirt=instances.kubevirt,
        migrations=instances.migrations,
        source_pod=instance.source_pod,
        source_node=instances.nodes.get(instance.node),
        added_node_selector=added,
        pods=(*own, *instance.others),
        updates=instances.updates_to_come,
        change=instances.changes_to_come.get(instance.name, ""),
        classes=instances.classes,
    )


def _start(instances: Instances, instance: Instance, added: Mapping[str, str]) -> Iterator[Check]:
    yield warned("running", "it does not run: this is where it starts")
    causes = run_strategy_causes(instance.vm, instances.kubevirt) if instance.vm else ()
    for cause in causes:
        message = f"KubeVirt refuses it: {cause.field}: {cause.message}"
        yield failed("run-strategy", message)
    spec = at(instance.vm or instance.vmi or {}, "spec", default={})
    spec = at(spec, "template", "spec", default=spec)
    if refusal := instances.classes.refusal(spec):
        yield failed("priority-class", refusal)
    attached = networks_of(spec, instance.name.namespace)
    if names := sorted({str(name) for name in attached if name not in instances.networks}):
        yield warned(
            "networks",
            f"a network may need a device that only its NetworkAttachmentDefinition names: "
            f"{', '.join(names)}; fewer nodes may be feasible; `kubectl get "
            "network-attachment-definitions -A -o yaml` adds those that exist",
        )
    if added:
        pairs = ", ".join(f"{key}={value}" for key, value in sorted(added.items()))
        yield failed(
            "selector",
            f"addedNodeSelector {pairs} is left out: a VM that does not run has no "
            "migration; this is where it starts",
        )


def _quota(instances: Instances, pod: Pod, world: World) -> Iterator[Check]:
    objects = instances.quotas.get(pod.namespace, ())
    quotas = quotas_of(objects, world.pods_in(pod.namespace)) if objects else ()
    refusals = [text for quota in quotas if (text := quota.refusal([pod]))]
    for text in refusals:
        yield failed("quota", text)
    if quotas and not refusals:
        yield passed("quota", "the quotas have room for it")


def _own_pod(instance: Instance, pod: Pod, world: World) -> Iterator[Check]:
    """Anti-affinity against the VM's own running pod: a frequent error in zone rules."""
    if instance.source_pod is None:
        return
    own = Pod.from_object(instance.source_pod)
    node = world.node(instance.node)
    for term in pod.affinity.required_anti:
        value = node.labels.get(term.topology_key) if node is not None else None
        if term.topology_key == HOSTNAME or value is None:
            continue
        if matches_incoming(term, own, world.state):
            yield warned(
                "own-pod",
                "its own running pod matches its anti-affinity, so no node of "
                f"{domain_words(term.topology_key, value)} takes the target; mismatchLabelKeys: "
                "[kubevirt.io/created-by] in the term would exempt it",
            )


def _estimated(pod: Pod) -> Iterator[Check]:
    if pod.estimated:
        yield warned("estimate", "no running pod to look at: requests are estimated from the VM")
