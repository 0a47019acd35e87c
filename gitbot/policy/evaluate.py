"""Which subjects fail which policies: conditions, variables, validations, messages."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gitbot.model.grouping import grouped
from gitbot.policy.batch.combined import binding, prefilter
from gitbot.policy.batch.equivalence import Classes
from gitbot.policy.batch.read_set import Reads, project, reads, reads_together
from gitbot.policy.cel_engine import Program, compile_expression, evaluate, evaluate_as_data
from gitbot.policy.errors import EvaluationError, NotData
from gitbot.policy.policy import Failed, Failure, Policy, PolicySubject, Validation
from gitbot.policy.variables import OWN

MESSAGE = 1_000  # characters of a message
ALIKE = 8  # with fewer equal subjects than this, on average, each is evaluated


def failed_by(policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]) -> Iterator[Failed]:
    """Failures. Values that only messages read are computed only for subjects that fail."""
    found = grouped(_failing(policies, subjects))
    for policy, failing in found.items():
        said: dict[Hashable, tuple[Failure, ...]] = {}
        keys = Classes(failing).keys(policy_reads(policy, messages=True))
        for subject, key in zip(failing, keys, strict=True):
            if key not in said:
                said[key] = failures(policy, subject.data)
            if said[key]:
                yield policy, subject, said[key]


def _failing(
    policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
) -> Iterator[tuple[Policy, PolicySubject]]:
    """Subjects that fail or might fail. Subjects that are equal for a policy are judged once."""
    classes, unlike = Classes(subjects), []
    for policy in policies:
        read = policy_reads(policy, messages=False)
        if classes.at_least(read) * ALIKE > len(subjects) > ALIKE:
            unlike.append(policy)
            continue
        keys = classes.keys(read)
        first = dict(zip(reversed(keys), reversed(subjects), strict=True))
        if len(first) * ALIKE > len(subjects) > ALIKE:
            unlike.append(policy)
            continue
        fails = {key for key, subject in first.items() if failures(policy, subject.data)}
        pairs = zip(keys, subjects, strict=True) if fails else ()
        yield from ((policy, subject) for key, subject in pairs if key in fails)
    yield from prefilter(tuple(unlike), subjects)


@lru_cache(maxsize=1024)
def policy_reads(policy: Policy, *, messages: bool) -> Reads:
    """The values of a subject that a policy reads, with or without its messages."""
    return read_by((policy,), messages=messages)


def read_by(policies: Iterable[Policy], *, messages: bool) -> Reads:
    """The values of a subject that any of these policies reads."""
    read = reads_together(
        program for policy in policies for program in _programs(policy, messages=messages)
    )
    return {name: tree for name, tree in read.items() if name != OWN}


def _programs(policy: Policy, *, messages: bool) -> Iterator[Program]:
    yield from policy.conditions
    yield from (program for _, program in policy.variables)
    for item in policy.validations:
        yield item.expression
        if messages and item.message_expression is not None:
            yield item.message_expression


def failures(policy: Policy, data: Mapping[str, Any]) -> tuple[Failure, ...]:
    """How one subject fails one policy; empty if it passes or the conditions do not apply."""
    scope = _Scope(policy, data)
    try:
        if not matches(policy, scope):
            return ()
    except EvaluationError as error:
        return (Failure(message=f"a match condition gave no answer: {error}", error=True),)
    found = (_failure(number, item, scope) for number, item in enumerate(policy.validations))
    return tuple(failure for failure in found if failure is not None)


def matches(policy: Policy, scope: _Scope) -> bool:
    """False if any condition is false, even next to one in error; else raises EvaluationError."""
    errors: list[EvaluationError] = []
    for condition in policy.conditions:
        try:
            if scope.value(condition) is False:
                return False
        except EvaluationError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return True


def _failure(number: int, validation: Validation, scope: _Scope) -> Failure | None:
    try:
        if scope.value(validation.expression) is True:
            return None
    except EvaluationError as error:
        text = f"`{validation.expression.text}` gave no answer: {error}"
        return Failure(message=text, validation=number, error=True)
    return Failure(message=_message(validation, scope), validation=number)


def _message(validation: Validation, scope: _Scope) -> str:
    default = validation.message or f"`{validation.expression.text}` is false"
    if validation.message_expression is None:
        return default
    try:
        text = str(scope.value(validation.message_expression)).strip()
    except EvaluationError:
        return default
    return text[:MESSAGE].splitlines()[0] if text else default


class _Scope:
    """The data of one subject. The policy's variables are evaluated on first use.

    Variables that the engine does not take as data, such as times, are bound in the expression.
    """

    def __init__(self, policy: Policy, data: Mapping[str, Any]) -> None:
        self._data = data
        self._variables: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        self._open = dict(policy.variables)

    def value(self, program: Program) -> Any:
        program, data = self._ready(program)
        return evaluate(program, data)

    def _ready(self, program: Program) -> tuple[Program, Mapping[str, Any]]:
        """Only the variables that the program reads, because the engine copies all its input."""
        read = reads(program)
        named = read.get(OWN, {})
        for name in [name for name in self._open if named is None or name in named]:
            # Removed first: a variable that reads itself is a missing key, not an endless loop.
            if program_of := self._open.pop(name, None):  # an earlier variable may have computed it
                self._learn(name, program_of)
        if self._texts.keys() & (self._texts if named is None else named):
            program = binding(program, tuple(self._texts.items()), tuple(self._variables))
            read = reads(program)
        data = {name: project(self._data[name], read[name]) for name in read.keys() - {OWN}}
        return program, {**data, OWN: self._variables}

    def _learn(self, name: str, program: Program) -> None:
        ready, data = self._ready(program)
        try:
            self._variables[name] = evaluate_as_data(ready, data)
        except NotData:
            self._texts[name] = ready.text


class InProcessRunner:
    """A PolicyRunner in this process, limited only by the engine's own bounds."""

    def begin(self) -> None:
        pass

    def compile(self, text: str, *, names: frozenset[str], returns: str) -> Program:
        return compile_expression(text, names=names, returns=returns)

    def failed(
        self, policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
    ) -> Iterator[Failed]:
        return failed_by(policies, subjects)


HERE = InProcessRunner()
