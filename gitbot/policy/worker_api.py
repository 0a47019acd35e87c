"""Only what a PolicyRunner in another process needs, so that it starts in a tenth of a second.

The room's own `__init__` imports the readers of YAML and of snapshots, too.
"""

from gitbot.policy.batch.read_set import project, reads
from gitbot.policy.cel_engine import Program, compile_expression
from gitbot.policy.errors import ExpressionError
from gitbot.policy.evaluate import failed_by, read_by
from gitbot.policy.policy import Failed, Failure, Policy, PolicyRunner, PolicySubject
from gitbot.policy.steps import EvaluatedStep, steps

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
