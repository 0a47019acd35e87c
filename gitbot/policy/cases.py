"""Tests beside policies (`*.test.yaml`): what a policy must say of given variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field, ValidationError

from gitbot.documents import Document, read_documents, schemas
from gitbot.documents.decoding import Report, report_errors
from gitbot.documents.envelope import envelope_is_known
from gitbot.documents.words import nearest
from gitbot.model.findings import Finding, sort_key
from gitbot.model.instants import parse_instant
from gitbot.policy.engine import timestamp
from gitbot.policy.files import API_VERSION, TEST_SUFFIX, Value
from gitbot.policy.judging import applies, failures, strictest
from gitbot.policy.value import NAMES, Policy, PolicySet

KIND = "PlacementPolicyTest"
DESCRIPTION = "Tests of one policy: given variables, expected answer."


class CaseSpec(Value):
    """One case."""

    name: str = Field(min_length=1, description="What is stated.")
    given: dict[str, Any] = Field(description="Variables: plan, move, vm, node, intent, ...")
    expect: Literal["Pass", "Skip", "Deny", "Warn", "Audit", "Error"] = Field(
        description="Skip: a match condition is false. Error: an expression gives no answer."
    )
    message: str = Field(default="", description="The first message, where there must be one.")


class TestSpec(Value):
    """Cases of one policy."""

    __test__ = False  # not a class of pytest's

    policy: str = Field(min_length=1, description="Name of the policy.")
    cases: tuple[CaseSpec, ...] = Field(strict=False, min_length=1, description="The cases.")


class _Metadata(Value):
    name: str = Field(min_length=1, description="A name; nothing depends on it.")


class _TestFile(Value):
    api_version: Literal["placement.gitbot.dev/v1alpha1"]
    kind: Literal["PlacementPolicyTest"]
    metadata: _Metadata = Field(description="Name.")
    spec: TestSpec = Field(description="The tests.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """One case: where it stands, and what it found where it should not."""

    policy: str
    name: str
    file: str
    line: int
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the policy said what was expected."""
        return not self.problem


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
    """The JSON Schema of a policy test."""
    schema = _TestFile.model_json_schema(by_alias=True)
    return schemas.dressed(schema, kind=KIND, description=DESCRIPTION)


def run_tests(
    files: Mapping[str, str], policies: PolicySet
) -> tuple[tuple[CaseResult, ...], tuple[Finding, ...]]:
    """All cases of the `*.test.yaml` files, in order, and what is wrong with the files."""
    results: list[CaseResult] = []
    findings: list[Finding] = []
    for file, text in files.items():
        if not file.endswith(TEST_SUFFIX):
            continue
        documents, found = read_documents(text.encode("utf-8"), file)
        findings += found
        for document in documents:
            report = Report(document=document, file=file, room="policy")
            results += _run(report, document, policies)
            findings += report.findings
    return tuple(results), tuple(sorted(findings, key=sort_key))


def _run(report: Report, document: Document, policies: PolicySet) -> list[CaseResult]:
    if not envelope_is_known(report, API_VERSION, (KIND,)):
        return []
    try:
        made = _TestFile.model_validate(document.value, by_alias=True, by_name=False)
    except ValidationError as error:
        records = error.errors(include_url=False, include_input=False)
        report_errors(report, [dict(record) for record in records], json_schema)
        return []
    policy = policies.find(made.spec.policy)
    if policy is None:
        near = nearest(made.spec.policy, [policy.name for policy in policies.policies])
        hint = f"did you mean {near}?" if near else "put the policy beside its tests"
        message = f'found "{made.spec.policy}", expected the name of a policy'
        report.at_value(("spec", "policy"), "unknown-policy", message, hint)
        return []
    return [_case(report, index, case, policy) for index, case in enumerate(made.spec.cases)]


def _case(report: Report, index: int, case: CaseSpec, policy: Policy) -> CaseResult:
    line = report.document.positions.value(("spec", "cases", index)).line
    return CaseResult(
        policy=policy.name,
        name=case.name,
        file=report.file,
        line=line,
        problem=_problem(case, policy),
    )


def _problem(case: CaseSpec, policy: Policy) -> str:
    unknown = sorted(set(case.given) - NAMES[policy.over] - {"variables"})
    if unknown:
        known = ", ".join(sorted(NAMES[policy.over] - {"variables"}))
        return f"found the variable {unknown[0]}, expected {known} (over: {policy.over})"
    try:
        data = _data(case.given, policy)
    except ValueError as error:
        return f"now is no instant: {error}"
    answer, message = _answer(policy, data)
    if answer != case.expect:
        return f"found {answer}, expected {case.expect}" + (f": {message}" if message else "")
    if case.message and case.message != message:
        return f'found the message "{message}", expected "{case.message}"'
    return ""


def _data(given: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """What is not given is empty: an expression that asks for it gives no answer."""
    data = {name: given.get(name, {}) for name in NAMES[policy.over]}
    text = given.get("now", "1970-01-01T00:00:00Z")
    return {**data, "now": timestamp(parse_instant(str(text)))}


def _answer(policy: Policy, data: Mapping[str, Any]) -> tuple[str, str]:
    if not applies(policy, data):
        return "Skip", ""
    found = failures(policy, data)
    if not found:
        return "Pass", ""
    first = found[0]
    return ("Error" if first.error else str(strictest(policy))), first.message
