"""Policies over a plan: conditions, variables, validations. Failures become findings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gitbot.kubernetes.objects import Json
from gitbot.model.findings import Finding, Severity, sort_key
from gitbot.model.grouping import grouped
from gitbot.model.names import IntentRef
from gitbot.model.plan import Move, PlacementPlan, Resilience
from gitbot.model.problem import PlacementProblem
from gitbot.policy.batch import binding, may_fail
from gitbot.policy.classes import Classes
from gitbot.policy.engine import Program, evaluate, evaluate_as_data
from gitbot.policy.exemptions import covers, words
from gitbot.policy.facts import PlanVariables, PolicySubject
from gitbot.policy.faults import EvaluationError, NotData
from gitbot.policy.reads import VARIABLES, Reads, project, reads, reads_together
from gitbot.policy.value import Action, Over, Policy, PolicySet, Validation, Verdict

MAX_AGE = 30 * 60
ALIKE = 8  # with fewer subjects alike than this, on average, each is asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed validation, or an evaluation that gave no answer (`error`), which denies.

    `validation` is its index; None for a match condition.
    """

    message: str
    validation: int | None = None
    error: bool = False


def nobody(_namespace: str) -> str:
    return ""


def judge(
    *,
    plan: PlacementPlan,
    problem: PlacementProblem,
    intents: Mapping[IntentRef, Json],
    policies: PolicySet,
    now: int,
    clock: int | None = None,
    snapshot_max_age: int = MAX_AGE,
    owner_of: Callable[[str], str] = nobody,
    moves: Iterable[Move] | None = None,
    resilience: Callable[[], Iterable[Resilience]] = tuple,
) -> Verdict:
    """The verdict of all policies over a plan.

    `intents` maps each intent to its spec as written. `owner_of` names the owner of a namespace,
    "" for none.

    `moves` are those of the plan to judge, all by default.

    An expression that gives no answer is an error finding, for any action of the policy. A failure
    that an exemption covers is a note.
    """
    present = now if clock is None else clock
    facts = PlanVariables(
        plan=plan,
        problem=problem,
        intents=intents,
        now=now,
        clock=present,
        snapshot_max_age=snapshot_max_age,
        owner_of=owner_of,
        moves=plan.moves if moves is None else moves,
        resilience=resilience,
    )
    findings: set[Finding] = set()
    for over in Over:
        chosen = tuple(policy for policy in policies.policies if policy.over is over)
        for policy, subject, failed in failed_by(chosen, facts.subjects(over)):
            for failure in failed:
                spared = _exempt(policies, policy, subject.name, failure, present)
                findings |= set(_findings(policy, subject.name, subject.intent, failure, spared))
    return Verdict(findings=tuple(sorted(findings, key=sort_key)))


def failed_by(
    policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
) -> Iterator[tuple[Policy, PolicySubject, tuple[Failure, ...]]]:
    """What fails. What messages read counts only for subjects that fail."""
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
    """The subjects that fail or may fail. Those that are alike for a policy are judged once."""
    classes, unlike = Classes(subjects), []
    for policy in policies:
        keys = classes.keys(policy_reads(policy, messages=False))
        first = dict(zip(reversed(keys), reversed(subjects), strict=True))
        if len(first) * ALIKE > len(subjects) > ALIKE:
            unlike.append(policy)
            continue
        passes = {key: not failures(policy, subject.data) for key, subject in first.items()}
        pairs = zip(keys, subjects, strict=True)
        yield from ((policy, subject) for key, subject in pairs if not passes[key])
    yield from may_fail(tuple(unlike), subjects)


@lru_cache(maxsize=1024)
def policy_reads(policy: Policy, *, messages: bool) -> Reads:
    """What a policy reads of a subject, with or without its messages."""
    expressions = (item.message_expression for item in policy.validations if messages)
    read = reads_together(
        (
            *policy.conditions,
            *(program for _, program in policy.variables),
            *(item.expression for item in policy.validations),
            *(program for program in expressions if program is not None),
        )
    )
    return {name: tree for name, tree in read.items() if name != VARIABLES}


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


def applies(policy: Policy, data: Mapping[str, Any]) -> bool:
    """Whether the policy's conditions hold for a subject. A condition in error counts as true."""
    try:
        return matches(policy, _Scope(policy, data))
    except EvaluationError:
        return True


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
    return text.splitlines()[0] if text else default


class _Scope:
    """The data of one subject. The policy's variables are evaluated on first use.

    Those whose values the engine does not take as data, as times, are bound inside the expression.
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
        """The engine copies all that it is given, so it gets only what the program reads."""
        read = reads(program)
        named = read.get(VARIABLES, {})
        for name in [name for name in self._open if named is None or name in named]:
            # taken out first: a variable that asks for itself is a missing key, not a loop
            if program_of := self._open.pop(name, None):  # one before may have asked for it
                self._learn(name, program_of)
        if self._texts.keys() & (self._texts if named is None else named):
            program = binding(program, tuple(self._texts.items()), tuple(self._variables))
            read = reads(program)
        data = {name: project(self._data[name], read[name]) for name in read.keys() - {VARIABLES}}
        return program, {**data, VARIABLES: self._variables}

    def _learn(self, name: str, program: Program) -> None:
        ready, data = self._ready(program)
        try:
            self._variables[name] = evaluate_as_data(ready, data)
        except NotData:
            self._texts[name] = ready.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """Whether an exemption counts for a failure, and what to say about it."""

    counts: bool = False
    words: str = ""


def _exempt(
    policies: PolicySet, policy: Policy, subject: str, failure: Failure, now: int
) -> Spared:
    """An override, else the exemption that lasts longest; an expired one does not count."""
    for item in policies.overrides:
        if item.override.policy == policy.name and not failure.error:
            where = f"on pull request {item.pull_request}"
            said = f"; overridden by {item.author} {where}: {item.reason}"
            return Spared(counts=True, words=said)
    about = [item for item in policies.exemptions if covers(item, policy.name, subject)]
    if failure.error or not about:
        return Spared()
    last = max(about, key=lambda item: (item.expires, item.name))
    return Spared(counts=last.expires > now, words=words(last, now=now))


def _findings(
    policy: Policy, subject: str, ref: IntentRef | None, failure: Failure, spared: Spared
) -> tuple[Finding, ...]:
    about = f"{subject}: " if subject else ""
    severities = [action.severity for action in policy.actions]
    if failure.error:
        severities = [Severity.ERROR]
    elif spared.counts:
        severities = [Severity.NOTE]
    return tuple(
        Finding(
            code=policy.code,
            severity=severity,
            message=f"{about}{failure.message}{spared.words}",
            file=ref.file if ref else "",
            line=ref.line if ref else 0,
            hint=f"policy {policy.name} in {policy.file}",
        )
        for severity in severities
    )


def strictest(policy: Policy) -> Action:
    return min(policy.actions, key=list(Action).index)
