"""Policies in CEL over plan, moves, VMs, nodes and intents. Only one file knows the CEL runtime."""

from gitbot.policy.files import read_policies
from gitbot.policy.judging import judge
from gitbot.policy.value import Policy, PolicySet, Verdict

__all__ = ["Policy", "PolicySet", "Verdict", "judge", "read_policies"]
