"""Policies over a plan: conditions, variables, validations. Failures become findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitbot.kubernetes.objects import Json
from gitbot.model.findings import Finding, Severity, sort_key
from gitbot.model.names import IntentRef
from gitbot.model.plan import Move, PlacementPlan
from gitbot.model.problem import PlacementProblem
from gitbot.policy.engine import EvaluationError, Program, evaluate
from gitbot.policy.exemptions import covers, words
from gitbot.policy.facts import PlanVariables
from gitbot.policy.value import Action, Policy, PolicySet, Validation, Verdict

MAX_AGE = 30 * 60
_VARIABLE = re.compile(r"\bvariables\.\??([A-Za-z_]\w*)")


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
    )
    findings: set[Finding] = set()
    for policy in policies.policies:
        for subject, ref, data in facts.subjects(policy.over):
            for failure in failures(policy, data):
                spared = _exempt(policies, policy, subject, failure, present)
                findings |= set(_findings(policy, subject, ref, failure, spared))
    return Verdict(findings=tuple(sorted(findings, key=sort_key)))


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
    """The data of one subject. The policy's variables are evaluated on first use."""

    def __init__(self, policy: Policy, data: Mapping[str, Any]) -> None:
        self._data = {**data, "variables": {}}
        self._open = dict(policy.variables)

    def value(self, program: Program) -> Any:
        for name in _VARIABLE.findall(program.text):
            if name in self._open:
                # taken out first: a variable that asks for itself is a missing key, not a loop
                self._data["variables"][name] = self.value(self._open.pop(name))
        return evaluate(program, self._data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spared:
    """Whether an exemption counts for a failure, and what to say about it."""

    counts: bool = False
    words: str = ""


def _exempt(
    policies: PolicySet, policy: Policy, subject: str, failure: Failure, now: int
) -> Spared:
    """The exemption that lasts longest; one that expired is named and does not count."""
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
