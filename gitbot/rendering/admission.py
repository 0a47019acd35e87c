"""Admission policies that make the scheduler keep a zone rule as well.

A MutatingAdmissionPolicy gives the launcher pods of a rule's VMs a required pod
anti-affinity term. Pods take their labels from the VMI, so the rule's own selector finds them.
`mismatchLabelKeys: [kubevirt.io/created-by]` excludes the VM's own pods: without it the source pod
would forbid every move inside its own zone (tried on kube-apiserver 1.36.3, kube-scheduler 1.36.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.labels import MANAGED_BY
from gitbot.kubernetes.objects import Json, KubernetesObject
from gitbot.model.ledger.effect_id import NAME_LIMIT, label_value
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.names import IntentRef
from gitbot.rendering.migration import PREFIX
from gitbot.rendering.template import as_cel, render_object

POLICY_TEMPLATE = "mutatingadmissionpolicy.json.j2"
BINDING_TEMPLATE = "mutatingadmissionpolicybinding.json.j2"
_OWN_PODS = ["kubevirt.io/created-by"]
_LAUNCHER = {"key": "kubevirt.io", "operator": "In", "values": ["virt-launcher"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRule:
    """A ZoneAntiAffinity rule with `admission: Render`: its label selector and topology key."""

    ref: IntentRef
    selector: Json
    topology_key: str


def admission_manifests(
    rule: AdmissionRule, *, templates: Mapping[str, str]
) -> tuple[KubernetesObject, KubernetesObject]:
    name = _name(rule.ref)
    labels = {MANAGED_BY: "gitbot", f"{PREFIX}rule": label_value(rule.ref.id)}
    selector = _launchers(rule.selector)
    term = {
        "labelSelector": selector,
        "topologyKey": rule.topology_key,
        "mismatchLabelKeys": _OWN_PODS,
    }
    policy = render_object(
        templates,
        POLICY_TEMPLATE,
        {
            "name": name,
            "namespace": rule.ref.namespace,
            "labels": labels,
            "annotations": {f"{PREFIX}intent": rule.ref.id},
            "selector": selector,
            "term": term,
            "present": _present(term),
        },
    )
    binding = render_object(templates, BINDING_TEMPLATE, {"name": name, "labels": labels})
    return policy, binding


def _name(ref: IntentRef) -> str:
    name = f"gitbot-{ref.namespace}-{ref.name}"
    if len(name) <= NAME_LIMIT:
        return name
    return f"{name[: NAME_LIMIT - 11].rstrip('-.')}-{short_digest(ref.id, 10)}"


def _launchers(selector: Json) -> dict[str, Any]:
    expressions = [dict(item) for item in selector.get("matchExpressions") or ()]
    labels = selector.get("matchLabels") or {}
    made: dict[str, Any] = {"matchExpressions": [*expressions, _LAUNCHER]}
    return {"matchLabels": dict(sorted(labels.items())), **made} if labels else made


def _present(term: Json) -> list[str]:
    """CEL conditions for `term` being in the pod already: a policy may run twice."""
    selector = term["labelSelector"]
    conditions = [
        f"term.topologyKey == {as_cel(term['topologyKey'])}",
        "has(term.mismatchLabelKeys)",
        f"term.mismatchLabelKeys == {as_cel(term['mismatchLabelKeys'])}",
        "has(term.labelSelector)",
        "has(term.labelSelector.matchExpressions)",
    ]
    if "matchLabels" in selector:
        labels = ", ".join(
            f"{as_cel(key)}: {as_cel(value)}" for key, value in selector["matchLabels"].items()
        )
        conditions += [
            "has(term.labelSelector.matchLabels)",
            f"term.labelSelector.matchLabels == {{{labels}}}",
        ]
    return conditions + [_has_expression(item) for item in selector["matchExpressions"]]


def _has_expression(expression: Json) -> str:
    parts = [
        f"e.key == {as_cel(expression['key'])}",
        f"e.operator == {as_cel(expression['operator'])}",
    ]
    if expression.get("values"):
        parts += ["has(e.values)", f"e.values == {as_cel(expression['values'])}"]
    return f"term.labelSelector.matchExpressions.exists(e, {' && '.join(parts)})"
