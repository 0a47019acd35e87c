"""A policy: compiled conditions, variables and validations, and the effect of a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from gitbot.model.ledger.events import PolicyOverridden
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import IntentRef
from gitbot.policy.cel_engine import Program


class PolicyScope(StrEnum):
    """What a policy is evaluated over: once for the plan, or for each move or intent."""

    PLAN = "Plan"
    MOVE = "Move"
    INTENT = "Intent"


class Action(StrEnum):
    """What a failed validation leads to."""

    DENY = "Deny"
    WARN = "Warn"
    AUDIT = "Audit"

    @property
    def severity(self) -> Severity:
        return _SEVERITIES[self]


_SEVERITIES = {
    Action.DENY: Severity.ERROR,
    Action.WARN: Severity.WARNING,
    Action.AUDIT: Severity.NOTE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySubject:
    """A subject to judge: its name for messages, the intent to point at, its variables."""

    name: str
    intent: IntentRef | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """One expression that must be true, and the message if it is not."""

    expression: Program
    message: str
    message_expression: Program | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One compiled policy. `variables` are in order; each may use the ones before it.

    `description` is the annotation of that name. A `limited` policy only runs in a PolicyRunner.
    """

    name: str
    file: str
    line: int
    over: PolicyScope
    actions: tuple[Action, ...]
    conditions: tuple[Program, ...]
    variables: tuple[tuple[str, Program], ...]
    validations: tuple[Validation, ...]
    description: str = ""
    limited: bool = False

    @property
    def code(self) -> str:
        return f"policy/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failed validation, or an evaluation that gave no answer (`error`), which denies.

    `validation` is its index; None for a match condition.
    """

    message: str
    validation: int | None = None
    error: bool = False


Failed = tuple[Policy, PolicySubject, tuple[Failure, ...]]


class PolicyRunner(Protocol):
    """Compiles and evaluates policies of a repository, which are untrusted."""

    def begin(self) -> None:
        """Starts the limits on time and size that all policies share."""
        ...

    def compile(self, text: str, *, names: frozenset[str], returns: str) -> Program:
        """As `compile_expression`."""
        ...

    def failed(
        self, policies: tuple[Policy, ...], subjects: Sequence[PolicySubject]
    ) -> Iterable[Failed]:
        """Failures. A policy without an answer is a Failure with `error`, of any subject."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """Subjects (patterns, none for all) that a policy lets pass before `expires`, seconds UTC."""

    name: str
    file: str
    line: int
    policy: str
    subjects: tuple[str, ...]
    reason: str
    owner: str
    expires: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    """Policies by name, exemptions, overrides. For equal names, the one read last wins.

    `runner` evaluates the limited policies.
    """

    policies: tuple[Policy, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    overrides: tuple[PolicyOverridden, ...] = ()
    runner: PolicyRunner | None = None

    def find(self, name: str) -> Policy | None:
        return next((policy for policy in self.policies if policy.name == name), None)

    def of(self, names: Iterable[str]) -> tuple[Policy, ...]:
        wanted = frozenset(names)
        return tuple(policy for policy in self.policies if policy.name in wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Findings of all policies over one plan: deny is error, warn warning, audit note."""

    findings: tuple[Finding, ...] = ()

    @property
    def denied(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.findings)
