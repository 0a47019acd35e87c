"""One expression tried over a plan, its moves, the VMs of the cluster or the intents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitbot.policy.engine import Program, compile_expression
from gitbot.policy.extents import line_and_column
from gitbot.policy.facts import PlanVariables
from gitbot.policy.faults import ExpressionError
from gitbot.policy.fields import unknown_field
from gitbot.policy.reads import reads
from gitbot.policy.steps import EvaluatedStep, steps
from gitbot.policy.value import NAMES, OF_VM, Over, PolicySubject

__all__ = [
    "OVERS",
    "EvaluatedStep",
    "ExpressionError",
    "PlanVariables",
    "PolicySubject",
    "compiled",
    "natural",
    "subjects",
    "tried",
]
VM = "VM"
OVERS = {**{str(over): NAMES[over] - {"variables"} for over in Over}, VM: OF_VM}


def compiled(text: str, over: str) -> Program:
    """`over` is a key of OVERS. Raises ExpressionError, with line and column."""
    program = compile_expression(text, names=OVERS[over])
    if wrong := unknown_field(program):
        offset, message, hint = wrong
        line, column = line_and_column(text, offset)
        raise ExpressionError(f"{message}; {hint}", line=line, column=column)
    return program


def natural(text: str) -> str:
    """What the variables that an expression reads belong to; the plan where it reads none."""
    read = reads(compile_expression(text, names=frozenset().union(*OVERS.values()))).keys()
    if read & {"move", "node"}:
        return Over.MOVE
    if "intent" in read:
        return Over.MOVE if "vm" in read or "source" in read else Over.INTENT
    return VM if read & {"vm", "source"} else Over.PLAN


def subjects(variables: PlanVariables, over: str) -> Sequence[PolicySubject]:
    return tuple(variables.machines()) if over == VM else variables.subjects(Over(over))


def tried(
    program: Program, found: Sequence[PolicySubject], *, whole: bool
) -> Iterator[tuple[PolicySubject, EvaluatedStep]]:
    """`whole`: with the values of all parts."""
    yield from ((subject, steps(program, subject.data, whole=whole)) for subject in found)
