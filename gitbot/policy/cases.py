"""Tests beside policies (`*.test.yaml`): the expected result of a policy for given variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from gitbot.documents import Report, envelope_is_known, read_documents, schemas
from gitbot.documents.fields import Value, decode
from gitbot.model.findings import Finding, sort_key
from gitbot.model.instants import parse_instant
from gitbot.model.words import nearest
from gitbot.policy.engine import timestamp
from gitbot.policy.files import TEST_SUFFIX
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
    message: str = Field(default="", description="The first message, if one is expected.")


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
    """One case: its place, and the unexpected results."""

    policy: str
    name: str
    file: str
    line: int
    problem: str = ""

    @property
    def passed(self) -> bool:
        return not self.problem


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
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
            results += _run(report, policies)
            findings += report.findings
    return tuple(results), tuple(sorted(findings, key=sort_key))


def _run(report: Report, policies: PolicySet) -> list[CaseResult]:
    if not envelope_is_known(report, (KIND,)):
        return []
    made = decode(report, _TestFile, json_schema)
    if made is None:
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
        return f"now is not an instant: {error}"
    answer, message = _answer(policy, data)
    if answer != case.expect:
        return f"found {answer}, expected {case.expect}" + (f": {message}" if message else "")
    if case.message and case.message != message:
        return f'found the message "{message}", expected "{case.message}"'
    return ""


def _data(given: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Missing data is empty: an expression that asks for it gives no answer."""
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
