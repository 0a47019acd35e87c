"""RuleCluster: the cluster that rules are compiled for, and findings that several kinds share."""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.domains import key_advice
from gitbot.documents import Path
from gitbot.intents.affinity import PodAffinityTerm
from gitbot.intents.intent import Intent
from gitbot.intents.intent_findings import error, warning
from gitbot.intents.machine_labels import machine_label_findings
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json
from gitbot.kubernetes.selectors import LabelMatcher
from gitbot.kubevirt.names import SCHEDULABLE
from gitbot.model.cluster.cluster import ADDS_NAMESPACES
from gitbot.model.cluster.scheduling import reads_labels
from gitbot.model.plan.findings import Finding


class RuleCluster:
    """The instances of a snapshot. Each topology key is checked once."""

    def __init__(self, instances: Instances) -> None:
        self.instances = instances
        self._domains, self._is_blind = instances.domains, instances.without_namespaces
        self._among = _nodes_for_vms(instances)
        self._advice: dict[str, tuple[str, ...]] = {}

    def member_findings(
        self, intent: Intent, path: Path, selector: Json, members: frozenset[NamespacedName]
    ) -> Iterator[Finding]:
        """A selector that selects nothing, or that reads labels of the wrong object."""
        if not members:
            yield warning(
                intent,
                path,
                "selects-nothing",
                f"selects no VM in namespace {intent.ref.namespace}",
                "selectors read the labels of VMIs; see kubectl get vmi --show-labels",
            )
        yield from machine_label_findings(intent, path, selector, self.instances)

    def key_findings(self, intent: Intent, path: Path, key: str) -> Iterator[Finding]:
        """A key that no node has is an error; an old key, or one on some nodes only, a warning."""
        if key not in self._advice:
            self._advice[key] = key_advice(self._domains, key, among=self._among)
        for line in self._advice[key]:
            message, _, hint = line.partition("; ")
            if line.startswith(f"{key} is deprecated"):
                yield warning(intent, path, "deprecated-topology-key", message, hint)
            elif self._domains.column(key):
                hint = "label them, or the rule does not see what runs there"
                yield warning(intent, path, "partial-topology-key", message, hint)
            else:
                hint = hint or "see the node labels"
                yield error(intent, path, "unknown-topology-key", message, hint)

    def term_findings(self, intent: Intent, path: Path, term: PodAffinityTerm) -> Iterator[Finding]:
        """What a term means here, by its topology key and its namespaceSelector."""
        yield from self.key_findings(intent, (*path, "topologyKey"), term.topology_key)
        spaces = term.namespace_selector
        if spaces and reads_labels(LabelMatcher.of(spaces.plain())) and self._is_blind:
            place = (*path, "namespaceSelector")
            words = "the files have no Namespace, so it is not known which VMs the rule is about"
            yield warning(intent, place, "unread-namespaces", words, ADDS_NAMESPACES)


def _nodes_for_vms(instances: Instances) -> frozenset[str] | None:
    """The nodes on which VMs run or could run; None if no node has the label.

    KubeVirt labels each node on which it runs, with "false" while no VM can start there. Nodes
    without the label (a control plane, for example) never get VMs, so rules may ignore them.
    """
    nodes = instances.domains.nodes.items()
    able = {name for name, node in nodes if SCHEDULABLE in node.labels}
    places = instances.occupancy().values()
    return frozenset(able.union(*places)) if able else None
