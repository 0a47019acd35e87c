"""Evaluates one expression over a plan, its moves, the VMs of the cluster or the intents."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.policy.batch.read_set import reads
from gitbot.policy.cel_engine import Program
from gitbot.policy.cel_fields import unknown_field
from gitbot.policy.errors import ExpressionError
from gitbot.policy.evaluate import HERE
from gitbot.policy.plan_variables import PlanVariables
from gitbot.policy.policy import PolicyRunner, PolicyScope, PolicySubject
from gitbot.policy.source_ranges import line_and_column
from gitbot.policy.steps import EvaluatedStep
from gitbot.policy.variables import OWN, VM, names_over

__all__ = [
    "OVERS",
    "EvaluatedStep",
    "ExpressionError",
    "PlanVariables",
    "PolicySubject",
    "compiled",
    "natural",
    "subjects",
]
OVERS = (*map(str, PolicyScope), VM)


def compiled(text: str, over: str, runner: PolicyRunner = HERE) -> Program:
    """`over` is a key of OVERS. Raises ExpressionError, with line and column."""
    program = runner.compile(text, names=names_over(over) - {OWN}, returns="")
    if wrong := unknown_field(program):
        offset, message, hint = wrong
        line, column = line_and_column(text, offset)
        raise ExpressionError(f"{message}; {hint}", line=line, column=column)
    return program


def natural(text: str, runner: PolicyRunner = HERE) -> str:
    """What the variables that an expression reads belong to; the plan where it reads none."""
    every = frozenset().union(*map(names_over, OVERS)) - {OWN}
    read = reads(runner.compile(text, names=every, returns="")).keys()
    if read & {"move", "node"}:
        return PolicyScope.MOVE
    if "intent" in read:
        return PolicyScope.MOVE if "vm" in read or "source" in read else PolicyScope.INTENT
    return VM if read & {"vm", "source"} else PolicyScope.PLAN


def subjects(variables: PlanVariables, over: str) -> Sequence[PolicySubject]:
    return tuple(variables.machines()) if over == VM else variables.subjects(PolicyScope(over))
