"""ZoneAntiAffinity as a kind: its example, selectors, healing and admission policy."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from gitbot.intents.intent import Intent
from gitbot.intents.intent_findings import error
from gitbot.intents.kinds.kind import CompiledRules, EnforcedTerm, Healing, Kind, Role, VmSelector
from gitbot.intents.kinds.zone_anti_affinity.check import check
from gitbot.intents.kinds.zone_anti_affinity.spec import ZoneAntiAffinitySpec
from gitbot.model.cluster.scheduling import HOSTNAME
from gitbot.model.plan.findings import Finding
from gitbot.model.text.names import LIMIT_HARD_ANTI_AFFINITY

if TYPE_CHECKING:  # constraints load numpy
    from gitbot.intents.rule_cluster import RuleCluster


def _selectors(intent: Intent, spec: ZoneAntiAffinitySpec) -> Iterator[VmSelector]:
    namespaces = (intent.ref.namespace,)
    yield VmSelector(path=("spec", "selector"), selector=spec.selector, namespaces=namespaces)


def _healing(spec: ZoneAntiAffinitySpec) -> Healing:
    return Healing(heal=spec.heal, required=spec.enforcement == "Required")


def _admission(spec: ZoneAntiAffinitySpec) -> EnforcedTerm | None:
    if spec.admission != "Render":
        return None
    return EnforcedTerm(selector=spec.selector.plain(), topology_key=spec.topology_key)


def _refusals(
    intent: Intent, spec: ZoneAntiAffinitySpec, plugins: Collection[str]
) -> Iterator[Finding]:
    limited = LIMIT_HARD_ANTI_AFFINITY in plugins
    if limited and spec.admission == "Render" and spec.topology_key != HOSTNAME:
        yield error(
            intent,
            ("spec", "admission"),
            "admission-plugin",
            f"the admission plugin {LIMIT_HARD_ANTI_AFFINITY} will refuse required anti-affinity "
            f"by {spec.topology_key}: it allows {HOSTNAME} only",
            "write admission: None, or disable the plugin in the API server",
        )


def _rules(intent: Intent, spec: ZoneAntiAffinitySpec, cluster: RuleCluster) -> CompiledRules:
    from gitbot.intents.kinds.zone_anti_affinity.compile import rules  # noqa: PLC0415 - numpy

    return rules(intent, spec, cluster)


_EXAMPLE = """\
# A standing rule: at most one of these VMs in a zone. gitbot finds breaches and proposes the
# fewest moves that heal them; with `admission: Render` the scheduler keeps the rule too.
apiVersion: API_VERSION
kind: ZoneAntiAffinity
metadata: {name: example-db, namespace: example}
spec:
  selector: {matchLabels: {app: example-db}}
  maxPerDomain: 1
  enforcement: Required             # or Preferred
  heal: Report                      # Propose opens a pull request; Report only says so
"""

KIND = Kind(
    name="ZoneAntiAffinity",
    spec=ZoneAntiAffinitySpec,
    namespaced=True,
    role=Role.RULE,
    check=check,
    description="A standing rule: at most N of the selected VMs in one zone.",
    example=_EXAMPLE,
    selectors=_selectors,
    healing=_healing,
    admission=_admission,
    rules=_rules,
    refusals=_refusals,
)
