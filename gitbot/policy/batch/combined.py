"""Compiles several policies into one CEL expression, to evaluate each distinct subject once.

The expression returns a list with true for each policy that a subject passes or that does not apply
to it. If it returns no value, nothing is known, and each policy is judged alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from gitbot.policy.batch.read_set import project, reads
from gitbot.policy.cel_engine import Program, compile_expression, evaluate
from gitbot.policy.errors import EvaluationError, ExpressionError
from gitbot.policy.policy import Policy, PolicySubject
from gitbot.policy.variables import OWN, names_over

_Group = tuple[Policy, ...]


def prefilter(
    policies: _Group, subjects: Sequence[PolicySubject]
) -> Iterator[tuple[Policy, PolicySubject]]:
    """Pairs of policy and subject that fail, or might; the caller must evaluate each in full."""
    for program, group in _programs(policies):
        read = {} if program is None else reads(program)
        for subject in subjects:
            passes: Sequence[bool] = ()
            if program is not None:
                trees = [item for item in read.items() if item[0] != OWN]
                data = {name: project(subject.data[name], tree) for name, tree in trees}
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
    """Programs for these policies. None if one does not compile together with others."""
    if not policies:
        return ()
    text = "[" + ",\n".join(map(_text, policies)) + "]"
    try:
        made = compile_expression(text, names=names_over(policies[0].over))
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
    texts: dict[str, str] = {}
    for name, program in policy.variables:  # each may read those before it
        read = reads(program).get(OWN, {})
        used = [(each, text) for each, text in texts.items() if read is None or each in read]
        texts[name] = _bound(used, (), program.text)
    return _bound(texts.items(), (), body)


@lru_cache(maxsize=1024)
def binding(
    program: Program, texts: tuple[tuple[str, str], ...], known: tuple[str, ...]
) -> Program:
    """The program with variables computed inside it, besides those that are `known` as data."""
    try:
        return compile_expression(_bound(texts, known, program.text), names=program.names)
    except ExpressionError as error:
        raise EvaluationError(f"with its variables it does not compile: {error}") from error


def _bound(texts: Iterable[tuple[str, str]], known: Iterable[str], body: str) -> str:
    made = [f"'{name}': dyn(\n{text}\n)" for name, text in texts]
    made += [f"'{name}': {OWN}.{name}" for name in known]
    return f"cel.bind({OWN}, {{{', '.join(made)}}},\n{body}\n)" if made else body


def _all(programs: Sequence[Program]) -> str:
    return " && ".join(f"(\n{program.text}\n)" for program in programs) or "true"
