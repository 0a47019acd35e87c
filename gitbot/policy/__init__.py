"""Policies in CEL over plan, moves, VMs, nodes and intents; one file imports the CEL runtime."""

from gitbot.policy.exemptions import misdirected
from gitbot.policy.judge import judge
from gitbot.policy.policy import Policy, PolicyRunner, PolicyScope, PolicySet, Verdict
from gitbot.policy.policy_files import pack_of, read_policies

__all__ = [
    "Policy",
    "PolicyRunner",
    "PolicyScope",
    "PolicySet",
    "Verdict",
    "judge",
    "misdirected",
    "pack_of",
    "read_policies",
]
