"""Tests of policies (`*.test.yaml`): the expected result of a policy for given variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from gitbot.documents import Report, envelope_is_known, read_documents, schemas
from gitbot.documents.fields import Value, decode
from gitbot.model.grouping import grouped
from gitbot.model.plan.findings import Finding, sort_key
from gitbot.model.text.instants import parse_instant
from gitbot.model.text.names import ApiVersion
from gitbot.model.text.wording import nearest
from gitbot.policy.cel_engine import compile_expression, timestamp
from gitbot.policy.evaluate import HERE
from gitbot.policy.judge import worst_action
from gitbot.policy.policy import (
    Failure,
    Policy,
    PolicyRunner,
    PolicySet,
    PolicySubject,
    Validation,
)
from gitbot.policy.policy_files import TEST_SUFFIX
from gitbot.policy.variables import OWN, names_over

KIND = "PlacementPolicyTest"
DESCRIPTION = "Tests of one policy: given variables, expected answer."


class CaseSpec(Value):
    """One case."""

    name: str = Field(min_length=1, description="What is stated.")
    given: dict[str, Any] = Field(description="Variables: plan, move, vm, node, intent, ...")
    expect: Literal["Pass", "Skip", "Deny", "Warn", "Audit", "Error"] = Field(
        description="Skip: a match condition is false. Error: an expression gives no answer."
    )
    message: str = Field(default="", description="The first message, if one is expected.")


class TestSpec(Value):
    """Cases of one policy."""

    __test__ = False  # pytest would collect it by its name

    policy: str = Field(min_length=1, description="Name of the policy.")
    cases: tuple[CaseSpec, ...] = Field(strict=False, min_length=1, description="The cases.")


class _Metadata(Value):
    name: str = Field(min_length=1, description="A name; nothing depends on it.")


class _TestFile(Value):
    api_version: ApiVersion
    kind: Literal["PlacementPolicyTest"]
    metadata: _Metadata = Field(description="Name.")
    spec: TestSpec = Field(description="The tests.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case: its place, what it expects, and the unexpected results.

    `failed` are the indexes of the validations that the case makes fail.
    """

    policy: str
    name: str
    file: str
    line: int
    expect: str
    message: str = ""
    problem: str = ""
    failed: tuple[int, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.problem


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
    schema = _TestFile.model_json_schema(by_alias=True)
    return schemas.with_schema_frame(schema, kind=KIND, description=DESCRIPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTests:
    """The cases of one file's document."""

    spec: TestSpec
    report: Report

    def run(self, policy: Policy, policies: PolicySet) -> list[CaseResult]:
        """Policies of a repository run in the runner of `policies`, if it has one."""
        runner = (policies.runner if policy.limited else None) or HERE
        cases = enumerate(self.spec.cases)
        return [self._case(index, case, policy, runner) for index, case in cases]

    def _case(self, index: int, case: CaseSpec, policy: Policy, runner: PolicyRunner) -> CaseResult:
        problem, failed = _outcome(case, policy, runner)
        return CaseResult(
            policy=policy.name,
            name=case.name,
            file=self.report.file,
            line=self.report.document.positions.value(("spec", "cases", index)).line,
            expect=case.expect,
            message=case.message,
            problem=problem,
            failed=failed,
        )


def read_tests(files: Mapping[str, str]) -> tuple[tuple[PolicyTests, ...], tuple[Finding, ...]]:
    """The `*.test.yaml` files, in order, and the errors in them."""
    tests: list[PolicyTests] = []
    findings: list[Finding] = []
    for file, text in files.items():
        if not file.endswith(TEST_SUFFIX):
            continue
        documents, found = read_documents(text.encode("utf-8"), file)
        findings += found
        for document in documents:
            report = Report(document=document, file=file, room="policy")
            known = envelope_is_known(report, (KIND,))
            made = decode(report, _TestFile, json_schema) if known else None
            if made is not None:
                tests.append(PolicyTests(spec=made.spec, report=report))
            findings += report.findings
    return tuple(tests), tuple(findings)


def run_tests(
    files: Mapping[str, str], policies: PolicySet
) -> tuple[tuple[CaseResult, ...], tuple[Finding, ...]]:
    """All cases of the `*.test.yaml` files, in order, and the errors in the files."""
    results: list[CaseResult] = []
    tests, findings = read_tests(files)
    unknown: list[Finding] = []
    for item in tests:
        policy = policies.find(item.spec.policy)
        if policy is not None:
            results += item.run(policy, policies)
        else:
            _unknown(item, policies)
            unknown += item.report.findings
    return tuple(results), tuple(sorted((*findings, *unknown), key=sort_key))


def _unknown(item: PolicyTests, policies: PolicySet) -> None:
    near = nearest(item.spec.policy, [policy.name for policy in policies.policies])
    hint = f"did you mean {near}?" if near else "put the policy beside its tests"
    message = f'found "{item.spec.policy}", expected the name of a policy'
    item.report.at_value(("spec", "policy"), "unknown-policy", message, hint)


def survivors(files: Mapping[str, str], policies: PolicySet) -> tuple[tuple[Policy, int], ...]:
    """The validations, by policy and index, without which every case still passes.

    Only policies with a case are tried.
    """
    by_policy = grouped((item.spec.policy, item) for item in read_tests(files)[0])
    return tuple(
        (policy, index)
        for policy in policies.policies
        if policy.name in by_policy
        for index in range(len(policy.validations))
        if not _detects_removal(by_policy[policy.name], policy, index, policies)
    )


def _detects_removal(
    tests: Iterable[PolicyTests], policy: Policy, index: int, policies: PolicySet
) -> bool:
    """Whether a case that passes fails for the policy without one of its validations."""
    left = tuple(item for number, item in enumerate(policy.validations) if number != index)
    mutant = replace(policy, validations=left)
    return any(
        before.passed and not after.passed
        for item in tests
        for before, after in zip(
            item.run(policy, policies), item.run(mutant, policies), strict=True
        )
    )


def _outcome(case: CaseSpec, policy: Policy, runner: PolicyRunner) -> tuple[str, tuple[int, ...]]:
    """What is unexpected about a case ("" for nothing), and the validations that fail."""
    unknown = sorted(set(case.given) - names_over(policy.over) - {OWN})
    if unknown:
        known = ", ".join(sorted(names_over(policy.over) - {OWN}))
        return f"found the variable {unknown[0]}, expected {known} (over: {policy.over})", ()
    try:
        data = _data(case.given, policy)
    except ValueError as error:
        return f"now is not an instant: {error}", ()
    answer, message, failed = _answer(policy, data, runner)
    if answer != case.expect:
        said = f": {message}" if message else ""
        return f"found {answer}, expected {case.expect}{said}", failed
    if case.message and case.message != message:
        return f'found the message "{message}", expected "{case.message}"', failed
    return "", failed


def _data(given: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Missing data is empty: an expression that asks for it gives no answer."""
    data = {name: given.get(name, {}) for name in names_over(policy.over)}
    text = given.get("now", "1970-01-01T00:00:00Z")
    return {**data, "now": timestamp(parse_instant(str(text)))}


def _answer(
    policy: Policy, data: Mapping[str, Any], runner: PolicyRunner
) -> tuple[str, str, tuple[int, ...]]:
    found = _failures(policy, data, runner)
    if not found:
        false = compile_expression("false", names=names_over(policy.over))
        always = replace(policy, validations=(Validation(expression=false, message="fails"),))
        return ("Pass" if _failures(always, data, runner) else "Skip"), "", ()
    first = found[0]
    failed = tuple(
        item.validation for item in found if item.validation is not None and not item.error
    )
    return ("Error" if first.error else str(worst_action(policy))), first.message, failed


def _failures(policy: Policy, data: Mapping[str, Any], runner: PolicyRunner) -> tuple[Failure, ...]:
    subject = PolicySubject(name="", intent=None, data=data)
    return tuple(each for _, _, found in runner.failed((policy,), (subject,)) for each in found)
