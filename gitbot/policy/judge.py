"""Policies over a plan: conditions, variables, validations. Failures become findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gitbot.kubernetes.objects import Json
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.plan.plan import Move, PlacementPlan, Resilience
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.policy.evaluate import HERE, failed_by
from gitbot.policy.exemptions import covers, words
from gitbot.policy.plan_variables import PlanVariables
from gitbot.policy.policy import Action, Failed, Failure, Policy, PolicyScope, PolicySet, Verdict

MAX_AGE = 30 * 60


def no_owner(_namespace: str) -> str:
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
    owner_of: Callable[[str], str] = no_owner,
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
    (policies.runner or HERE).begin()
    for over in PolicyScope:
        for policy, subject, failed in _failed(policies, over, facts):
            for failure in failed:
                spared = _exempt(policies, policy, subject.name, failure, present)
                findings |= set(_findings(policy, subject.name, subject.intent, failure, spared))
    return Verdict(findings=tuple(sorted(findings, key=sort_key)))


def _failed(policies: PolicySet, over: PolicyScope, facts: PlanVariables) -> Iterator[Failed]:
    """Policies of the repository run under limits, those that ship with gitbot here."""
    chosen = [policy for policy in policies.policies if policy.over is over]
    own = tuple(policy for policy in chosen if policy.limited)
    yield from failed_by(
        tuple(policy for policy in chosen if not policy.limited), facts.subjects(over)
    )
    if own:
        yield from (policies.runner or HERE).failed(own, facts.subjects(over))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExemptedFailure:
    """Whether an exemption counts for a failure, and what to say about it."""

    counts: bool = False
    words: str = ""


def _exempt(
    policies: PolicySet, policy: Policy, subject: str, failure: Failure, now: int
) -> ExemptedFailure:
    """An override, else the exemption that ends last; an expired one does not count."""
    for item in policies.overrides:
        if item.override.policy == policy.name and not failure.error:
            where = f"on pull request {item.pull_request}"
            said = f"; overridden by {item.author} {where}: {item.reason}"
            return ExemptedFailure(counts=True, words=said)
    about = [item for item in policies.exemptions if covers(item, policy.name, subject)]
    if failure.error or not about:
        return ExemptedFailure()
    last = max(about, key=lambda item: (item.expires, item.name))
    return ExemptedFailure(counts=last.expires > now, words=words(last, now=now))


def _findings(
    policy: Policy, subject: str, ref: IntentRef | None, failure: Failure, spared: ExemptedFailure
) -> tuple[Finding, ...]:
    about = f"{subject}: " if subject else ""
    severities = [action.severity for action in policy.actions]
    if failure.error:
        severities = [Severity.ERROR]
    elif spared.counts:
        severities = [Severity.NOTE]
    file, line = (ref.file, ref.line) if ref else ("", 0)
    if failure.error and policy.limited and not ref:  # the error is in the repository's own policy
        file, line = policy.file, policy.line
    return tuple(
        Finding(
            code=policy.code,
            severity=severity,
            message=f"{about}{failure.message}{spared.words}",
            file=file,
            line=line,
            hint=f"policy {policy.name} in {policy.file}",
        )
        for severity in severities
    )


def worst_action(policy: Policy) -> Action:
    return min(policy.actions, key=list(Action).index)
