"""What a PolicyRunner in another process needs, and nothing more: it starts in a tenth of a second.

The face of the room imports the readers of YAML and of snapshots too.
"""

from gitbot.policy.engine import Program, compile_expression
from gitbot.policy.failing import failed_by, read_by
from gitbot.policy.faults import ExpressionError
from gitbot.policy.reads import project, reads
from gitbot.policy.steps import EvaluatedStep, steps
from gitbot.policy.value import Failed, Failure, Policy, PolicyRunner, PolicySubject

__all__ = [
    "EvaluatedStep",
    "ExpressionError",
    "Failed",
    "Failure",
    "Policy",
    "PolicyRunner",
    "PolicySubject",
    "Program",
    "compile_expression",
    "failed_by",
    "project",
    "read_by",
    "reads",
    "steps",
]
