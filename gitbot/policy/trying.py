"""One expression tried over a plan, its moves, the VMs of the cluster or the intents."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.policy.engine import Program
from gitbot.policy.extents import line_and_column
from gitbot.policy.facts import PlanVariables
from gitbot.policy.failing import HERE
from gitbot.policy.faults import ExpressionError
from gitbot.policy.fields import unknown_field
from gitbot.policy.reads import reads
from gitbot.policy.steps import EvaluatedStep
from gitbot.policy.value import NAMES, OF_VM, Over, PolicyRunner, PolicySubject

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
VM = "VM"
OVERS = {**{str(over): NAMES[over] - {"variables"} for over in Over}, VM: OF_VM}


def compiled(text: str, over: str, runner: PolicyRunner = HERE) -> Program:
    """`over` is a key of OVERS. Raises ExpressionError, with line and column."""
    program = runner.compile(text, names=OVERS[over], returns="")
    if wrong := unknown_field(program):
        offset, message, hint = wrong
        line, column = line_and_column(text, offset)
        raise ExpressionError(f"{message}; {hint}", line=line, column=column)
    return program


def natural(text: str, runner: PolicyRunner = HERE) -> str:
    """What the variables that an expression reads belong to; the plan where it reads none."""
    every = frozenset().union(*OVERS.values())
    read = reads(runner.compile(text, names=every, returns="")).keys()
    if read & {"move", "node"}:
        return Over.MOVE
    if "intent" in read:
        return Over.MOVE if "vm" in read or "source" in read else Over.INTENT
    return VM if read & {"vm", "source"} else Over.PLAN


def subjects(variables: PlanVariables, over: str) -> Sequence[PolicySubject]:
    return tuple(variables.machines()) if over == VM else variables.subjects(Over(over))
