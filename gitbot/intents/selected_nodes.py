"""Nodes that intents name or select, and targets of requests."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.moves.instances import Instances
from gitbot.documents import Path
from gitbot.intents.intent import Intent
from gitbot.intents.intent_findings import error, warning
from gitbot.intents.kinds.maintenance_window.spec import NodesSpec
from gitbot.intents.kinds.migration_request.spec import TargetSpec
from gitbot.intents.spec_fields import ZONE_KEY
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.model.plan.findings import Finding
from gitbot.model.plan.problem import Target
from gitbot.model.text.wording import first_of, nearest

_TARGET: Path = ("spec", "target")
_SHOWN = 5


def missing_node(intent: Intent, path: Path, node: str, instances: Instances) -> Iterator[Finding]:
    nodes = instances.domains.nodes
    if node not in nodes:
        near = nearest(node, sorted(nodes))
        hint = f"did you mean {near}?" if near else "see kubectl get nodes"
        yield error(intent, path, "unknown-node", f'there is no node "{node}"', hint)


def chosen_nodes(
    intent: Intent, spec: NodesSpec, instances: Instances
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """The nodes of a window in the order ByZone: by zone, then by name."""
    found = nodes_of(spec, instances)
    findings: tuple[Finding, ...] = ()
    if spec.names is not None:
        findings = tuple(
            finding
            for number, name in enumerate(spec.names)
            for finding in missing_node(intent, ("spec", "nodes", "names", number), name, instances)
        )
    elif not found:
        path: Path = ("spec", "nodes", "selector")
        hint = "see kubectl get nodes --show-labels"
        findings = (error(intent, path, "selects-nothing", "selects no node", hint),)
    return found, findings


def nodes_of(spec: NodesSpec, instances: Instances) -> tuple[str, ...]:
    """The nodes of a window that exist, by zone, then by name."""
    nodes = instances.domains.nodes
    if spec.names is not None:
        found = [name for name in spec.names if name in nodes]
    else:
        assert spec.selector is not None, "BUG: a window whose nodes nothing names"
        wanted = LabelMatcher.of(spec.selector.plain())
        found = [name for name, node in nodes.items() if wanted.matches(node.labels)]
    return tuple(sorted(found, key=lambda name: (nodes[name].zone, name)))


def target_of(spec: TargetSpec | None) -> Target:
    """The target of a request; without one, any node but the VM's own."""
    if spec is None:
        return Target()
    if spec.node is not None:
        return Target(nodes=(spec.node,))
    if spec.zone is not None:
        return Target(node_selector={ZONE_KEY: spec.zone})
    labels = dict(spec.node_selector or {})
    return Target(node_selector=labels, added=labels)


def target_errors(
    intent: Intent, spec: TargetSpec | None, instances: Instances
) -> Iterator[Finding]:
    if spec is None:
        return
    if spec.node is not None:
        yield from missing_node(intent, (*_TARGET, "node"), spec.node, instances)
    elif spec.zone is not None:
        zones = instances.domains.values(ZONE_KEY)
        if spec.zone not in zones:
            near = nearest(spec.zone, zones)
            known = ", ".join(zones) or "none"
            hint = f"did you mean {near}?" if near else f"zones here: {known}"
            message = f'no node is in zone "{spec.zone}"'
            yield error(intent, (*_TARGET, "zone"), "unknown-zone", message, hint)
    elif spec.node_selector:
        wanted = spec.node_selector.items()
        if not any(wanted <= node.labels.items() for node in instances.domains.nodes.values()):
            labels = ", ".join(f"{key}={value}" for key, value in sorted(wanted))
            path = (*_TARGET, "nodeSelector")
            yield error(intent, path, "unknown-nodes", f"no node has {labels}", "see node labels")


def already_there(
    intent: Intent, vms: tuple[NamespacedName, ...], target: Target, instances: Instances
) -> Iterator[Finding]:
    """A warning about VMs that are on a node of the target, so that the request has no move."""
    if target.anywhere:
        return
    nodes = instances.domains.nodes
    wanted = target.node_selector.items()
    there = [
        vm
        for vm in vms
        if vm in instances
        and (node := nodes.get(instances[vm].node)) is not None
        and (not target.nodes or node.name in target.nodes)
        and wanted <= node.labels.items()
    ]
    if there:
        listed = first_of([f"{vm.name} on {instances[vm].node}" for vm in there], _SHOWN)
        message = f"already where the request wants them: {listed}; it moves none of them"
        yield warning(intent, _TARGET, "already-there", message)
