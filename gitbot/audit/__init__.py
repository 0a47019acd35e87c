"""What is broken or will break in a cluster, no matter who declared it. Only reads.

Rules of intents, required and preferred terms in the specs of VMs and pods, labels that nodes lack,
pins, VMs that differ from Git, and blockers of a drain. The scheduler's filters in `constraints`
judge the terms.
"""

from gitbot.audit.audit_cluster import audit_cluster
from gitbot.audit.broken_rules import CODE_OF_PREFERRED, CODE_OF_REQUIRED
from gitbot.audit.descheduler_policy import read_policy
from gitbot.audit.drain_blockers import Departure
from gitbot.audit.drift import uncompared
from gitbot.audit.finding import AuditFinding, of_finding
from gitbot.audit.gathered import gathering
from gitbot.audit.lost_nodes import lost_nodes
from gitbot.audit.node_load import LoadQuestion, load_findings
from gitbot.audit.other_movers import other_movers
from gitbot.audit.over_targets import over_targets
from gitbot.audit.rule_conflicts import conflict_finding, contradictions, undecided_finding
from gitbot.audit.unmet_terms import unmet_vms
from gitbot.audit.unpin import NodePin, pin_in, rule_of_pin, without_pins

__all__ = [
    "CODE_OF_PREFERRED",
    "CODE_OF_REQUIRED",
    "AuditFinding",
    "Departure",
    "LoadQuestion",
    "NodePin",
    "audit_cluster",
    "conflict_finding",
    "contradictions",
    "gathering",
    "load_findings",
    "lost_nodes",
    "of_finding",
    "other_movers",
    "over_targets",
    "pin_in",
    "read_policy",
    "rule_of_pin",
    "uncompared",
    "undecided_finding",
    "unmet_vms",
    "without_pins",
]
