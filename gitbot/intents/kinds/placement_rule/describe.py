"""PlacementRule as a kind: its example, selectors and healing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitbot.intents.intent import Intent
from gitbot.intents.kinds.kind import CompiledRules, Healing, Kind, Role, VmSelector
from gitbot.intents.kinds.placement_rule.check import check
from gitbot.intents.kinds.placement_rule.spec import PlacementRuleSpec

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.intents.rule_cluster import RuleCluster


def _selectors(intent: Intent, spec: PlacementRuleSpec) -> Iterator[VmSelector]:
    namespaces = (intent.ref.namespace,)
    yield VmSelector(path=("spec", "selector"), selector=spec.selector, namespaces=namespaces)


def _healing(spec: PlacementRuleSpec) -> Healing:
    return Healing(heal=spec.heal, required=spec.enforcement == "Required")


def _rules(intent: Intent, spec: PlacementRuleSpec, cluster: RuleCluster) -> CompiledRules:
    from gitbot.intents.kinds.placement_rule.compile import rules  # noqa: PLC0415 - numpy

    return rules(intent, spec, cluster)


_EXAMPLE = """\
# The full power: Kubernetes' own words over a VM selector.
apiVersion: API_VERSION
kind: PlacementRule
metadata: {name: example-web-spread, namespace: example}
spec:
  selector: {matchLabels: {app: example-web}}
  topologySpread:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: DoNotSchedule
    labelSelector: {matchLabels: {app: example-web}}
  enforcement: Preferred
  heal: Report
"""

KIND = Kind(
    name="PlacementRule",
    spec=PlacementRuleSpec,
    namespaced=True,
    role=Role.RULE,
    check=check,
    description="A standing rule in Kubernetes' own words over a VM selector.",
    example=_EXAMPLE,
    selectors=_selectors,
    healing=_healing,
    rules=_rules,
)
