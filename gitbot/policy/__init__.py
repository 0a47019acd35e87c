"""Policies in CEL over plan, moves, VMs, nodes and intents. Only one file knows the CEL runtime."""

from gitbot.policy.exemptions import misdirected
from gitbot.policy.files import pack_of, read_policies
from gitbot.policy.judging import judge
from gitbot.policy.value import Over, Policy, PolicyRunner, PolicySet, Verdict

__all__ = [
    "Over",
    "Policy",
    "PolicyRunner",
    "PolicySet",
    "Verdict",
    "judge",
    "misdirected",
    "pack_of",
    "read_policies",
]
