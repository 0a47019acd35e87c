"""Pins in VMs' own specs, leftovers of a migration, and VMs that differ from their template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gitbot.audit.finding import AuditFinding, about_vm
from gitbot.audit.unpin import NodePin, pin_of
from gitbot.constraints.audit_placement import PlacedPod
from gitbot.constraints.moves.instances import Instance, Instances
from gitbot.constraints.rules.rule_parts import NodePart
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, at, labels_of
from gitbot.kubevirt.names import PLACEMENT_FIELDS
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.constraint import RuleConstraint
from gitbot.model.plan.findings import Severity
from gitbot.model.text.wording import first_of

_OF_INSTANCETYPE = ("nodeSelector", "schedulerName")


def pins(
    instances: Instances, rules: Sequence[RuleConstraint], pods: Sequence[PlacedPod]
) -> Iterator[AuditFinding]:
    """VMs that their own spec restricts to one node, without an intent that says so."""
    for placed in pods:
        if placed.vm is None:
            continue
        vmi = instances[placed.vm].vmi or {}
        spec: Json = vmi.get("spec") or {}
        pin = pin_of(spec)
        if pin is not None and not _declared(rules, placed.vm):
            node = _pinned_to(pin, instances)
            # a VM may run elsewhere: a node selector that changes moves no VM
            where = "keeps it on" if node == placed.node else "allows no other node than"
            yield about_vm(
                "audit/pin",
                Severity.WARNING,
                placed.vm,
                node=placed.node,
                message=f"its own spec {where} {node}: {pin.words}",
                hint="`gitbot audit --propose` takes that out of the VM's manifest; `gitbot move "
                f"vm/{placed.vm.name} -n {placed.vm.namespace} --to {node}` asks for it "
                f"once, a PlacementRule with nodeAffinity {HOSTNAME} In [{node}] for good",
            )
        left = _left_over(placed, spec)
        if left:
            yield about_vm(
                "audit/left-selector",
                Severity.NOTE,
                placed.vm,
                node=placed.node,
                message="its pod still carries the addedNodeSelector of a migration: "
                + ", ".join(f"{key}={value}" for key, value in sorted(left.items()))
                + (_UNSEEN if HOSTNAME in left else ""),
                hint=f"it has no {'other ' if HOSTNAME in left else ''}effect, and the next "
                "migration drops it",
            )


def _pinned_to(pin: NodePin, instances: Instances) -> str:
    """The node that a pin means; what it asks for if no node is called that."""
    found = (
        name for name, node in instances.nodes.items() if pin.host == labels_of(node).get(HOSTNAME)
    )
    return pin.host if pin.host in instances.nodes else next(found, pin.host)


def _declared(rules: Sequence[RuleConstraint], vm: NamespacedName) -> bool:
    """Whether a rule of an intent restricts the VM to one node, too."""
    return any(
        isinstance(part, NodePart) and vm in part.subjects and len(part.nodes) == 1
        for rule in rules
        if rule.required and vm in rule.members
        for part in rule.parts
    )


_UNSEEN = "; a descheduler with nodeFit passes it over, as no other node fits"
"""kubernetes-sigs/descheduler, pkg/descheduler/node/node.go (NodeFit): the pod's nodeSelector."""


def _left_over(placed: PlacedPod, spec: Json) -> dict[str, str]:
    """Labels that the launcher pod requires by name, but neither VMI nor KubeVirt does."""
    held: Json = at(placed.obj, "spec", "nodeSelector", default={})
    own = spec.get("nodeSelector") or {}
    return {
        key: value
        for key, value in held.items()
        if key not in own and key in (HOSTNAME, "topology.kubernetes.io/zone")
    }


def differing(instances: Instances) -> Iterator[AuditFinding]:
    """Running VMs whose placement differs from the template that they would start from."""
    for item in instances.values():
        if item.vmi is None or item.vm is None or not item.node:
            continue
        template: Json = at(item.vm, "spec", "template", "spec", default={})
        typed = at(item.vm, "spec", "instancetype") is not None
        fields = differences(template, item.vmi.get("spec") or {}, typed=typed)
        if fields:
            yield _differs(item, fields)


_SELECTORS = ("labelSelector", "namespaceSelector")


def differences(wanted: Json, found: Json, *, typed: bool = False) -> list[str]:
    """`nodeSelector {…}, not {…}` for each field of placement that differs.

    A field that the wanted spec omits, and that an instancetype or the cluster's default fills,
    does not differ.
    """
    lines = []
    for field in PLACEMENT_FIELDS:
        if wanted.get(field) == found.get(field):
            continue  # nearly always so
        asked, there = (_without_empty(spec.get(field)) or None for spec in (wanted, found))
        filled = field == "evictionStrategy" or (typed and field in _OF_INSTANCETYPE)
        if asked == there or (asked is None and filled):
            continue
        lines.append(f"{field} {_words(there)}, not {_words(asked)}")
    return lines


def _without_empty(value: Any) -> Any:
    """The value without what is empty, which asks for the same as if it were absent.

    An empty selector is kept: it selects everything, and an absent one nothing.
    """
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {key: _without_empty(item) for key, item in value.items()}
    return {
        key: item
        for key, item in made.items()
        if item not in (None, [], {}) or (item == {} and key in _SELECTORS)
    }


def _words(value: Any) -> str:
    match value:
        case None:
            return "none"
        case dict() if all(isinstance(item, str) for item in value.values()):
            return ", ".join(f"{key}={item}" for key, item in sorted(value.items()))
        case str():
            return value
    return f"{len(value)} terms" if not isinstance(value, dict) else _affinity(value)


def _affinity(value: dict[str, Any]) -> str:
    return first_of(sorted(key for key, item in value.items() if item), 3) or "none"


def _differs(item: Instance, fields: list[str]) -> AuditFinding:
    return about_vm(
        "audit/live-differs",
        Severity.WARNING,
        item.name,
        node=item.node,
        message=f"it runs with {'; '.join(fields)} as its VM asks",
        hint="the VM's own takes effect at its next start; correct whichever is wrong",
    )
