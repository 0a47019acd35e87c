"""Many policies as one expression: where few subjects are alike, each is asked only once.

The one expression gives a list with true for each policy that a subject passes or that does not
apply. If it gives no answer, nothing is known, and each policy is judged alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gitbot.policy.engine import (
    EvaluationError,
    ExpressionError,
    Program,
    compile_expression,
    evaluate,
)
from gitbot.policy.facts import PolicySubject
from gitbot.policy.reads import VARIABLES, project, reads
from gitbot.policy.value import NAMES, Policy

_Group = tuple[Policy, ...]


def may_fail(
    policies: _Group, subjects: Sequence[PolicySubject]
) -> Iterator[tuple[Policy, PolicySubject]]:
    """What fails, and what may: a judge must look at each again."""
    for program, group in _programs(policies):
        read = {} if program is None else reads(program)
        for subject in subjects:
            passes: Sequence[bool] = ()
            if program is not None:
                data = {name: project(subject.data[name], tree) for name, tree in read.items()}
                try:
                    passes = evaluate(program, data)
                except EvaluationError:
                    passes = ()
            if passes:
                found = zip(group, passes, strict=True)
                yield from ((policy, subject) for policy, passed in found if not passed)
            else:
                yield from ((policy, subject) for policy in group)


@lru_cache(maxsize=64)
def _programs(policies: _Group) -> tuple[tuple[Program | None, _Group], ...]:
    """Programs for these policies. None where one does not compile together with others."""
    if not policies:
        return ()
    text = "[" + ",\n".join(map(_text, policies)) + "]"
    try:
        made = compile_expression(text, names=NAMES[policies[0].over])
    except ExpressionError:
        if len(policies) == 1:
            return ((None, policies),)
        half = len(policies) // 2
        return (*_programs(policies[:half]), *_programs(policies[half:]))
    return ((made, policies),)


def _text(policy: Policy) -> str:
    """`conditions ? validations : true`. A line feed ends a comment."""
    conditions = _all(policy.conditions)
    validations = _all(tuple(item.expression for item in policy.validations))
    body = f"{conditions} ? {validations} : true"
    known: list[str] = []
    for name, program in policy.variables:
        known.append(f"'{name}': dyn(\n{program.text}\n)")
    return f"cel.bind({VARIABLES}, {{{', '.join(known)}}}, {body})" if known else body


def _all(programs: Sequence[Program]) -> str:
    return " && ".join(f"(\n{program.text}\n)" for program in programs) or "true"
