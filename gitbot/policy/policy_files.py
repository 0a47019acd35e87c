"""Policy files to compiled policies, with every error at its place in the file.

The shape is that of a ValidatingAdmissionPolicy (matchConditions, variables, validations,
validationActions) with `over` in place of matchConstraints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from gitbot.documents import Path, Report, envelope_is_known, read_documents, schemas
from gitbot.documents.fields import Metadata, Value, decode
from gitbot.kubernetes.labels import label_key_problems
from gitbot.model.plan.findings import Finding, Refusal, Severity, has_errors, sort_key
from gitbot.model.text.names import ApiVersion
from gitbot.policy import exemptions
from gitbot.policy.cel_engine import Program
from gitbot.policy.cel_fields import unknown_field
from gitbot.policy.errors import ExpressionError
from gitbot.policy.evaluate import HERE
from gitbot.policy.policy import (
    Action,
    Exemption,
    Policy,
    PolicyRunner,
    PolicyScope,
    PolicySet,
    Validation,
)
from gitbot.policy.source_ranges import place_in_file
from gitbot.policy.variables import OWN, names_over

KIND = "PlacementPolicy"
TEST_SUFFIX = ".test.yaml"
MOST_TEXT = 2_000_000  # characters of a repository's policies and their tests
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]*")
DESCRIPTION = "A policy over plans, moves or intents, in CEL; shaped like an admission policy."


def _identifier(text: str) -> str:
    if _IDENTIFIER.fullmatch(text) is None:
        expected = "letters, digits and _, first no digit"
        raise Refusal("value", expected, "expressions read it as variables.NAME")
    return text


def _qualified(text: str) -> str:
    if problems := label_key_problems(text):
        raise Refusal("value", "a qualified name", problems[0])
    return text


class NamedExpression(Value):
    """An expression with a name."""

    name: Annotated[str, AfterValidator(_identifier)] = Field(
        description="Name; unique in its list."
    )
    expression: str = Field(min_length=1, description="CEL.")


class MatchCondition(NamedExpression):
    """A condition with a name that may hold `-`, `.` and a prefix, as in Kubernetes."""

    name: Annotated[str, AfterValidator(_qualified)] = Field(
        description="Name, as a label's key: exclude-databases; unique in its list."
    )


class ValidationSpec(Value):
    """One expression that must be true."""

    expression: str = Field(min_length=1, description="CEL that gives true if all is well.")
    message: str = Field(default="", description="The message if it is false.")
    message_expression: str = Field(default="", description="CEL that gives the message.")


class PolicySpec(Value):
    """What a policy says."""

    over: Literal["Plan", "Move", "Intent"] = Field(
        description="Evaluated once for the plan, or for each move or intent."
    )
    match_conditions: tuple[MatchCondition, ...] = Field(
        default=(), strict=False, description="Where any of these is false, nothing is judged."
    )
    variables: tuple[NamedExpression, ...] = Field(
        default=(), strict=False, description="Values for later expressions, as variables.NAME."
    )
    validations: tuple[ValidationSpec, ...] = Field(
        strict=False, min_length=1, description="What must be true."
    )
    validation_actions: tuple[Literal["Deny", "Warn", "Audit"], ...] = Field(
        strict=False, min_length=1, description="What a failed validation is."
    )


class _PolicyFile(Value):
    api_version: ApiVersion
    kind: Literal["PlacementPolicy"]
    metadata: Metadata = Field(
        description="Name, labels, annotations; findings have the code policy/NAME."
    )
    spec: PolicySpec = Field(description="The policy.")


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
    schema = _PolicyFile.model_json_schema(by_alias=True)
    return schemas.with_schema_frame(schema, kind=KIND, description=DESCRIPTION)


def read_policies(
    files: Mapping[str, str],
    own: Mapping[str, str] | None = None,
    *,
    runner: PolicyRunner | None = None,
) -> tuple[PolicySet, tuple[Finding, ...]]:
    """All policies of the files (path to text), in the given order, and the errors in them.

    `own` are the files of a repository, after those that ship with gitbot: only the `runner`, if
    there is one, compiles and evaluates them.

    Files that end in `.test.yaml` are tests and are ignored. A policy with the name of one in an
    earlier file replaces it, so that a repository can change the shipped policies. The same name
    twice in one file is an error.
    """
    found: dict[str, Policy | Exemption] = {}
    findings: list[Finding] = []
    if runner is not None:
        runner.begin()
    given: list[tuple[str, str, PolicyRunner | None]]
    given = [(file, text, None) for file, text in files.items()]
    given += [(file, text, runner) for file, text in _bounded(own or {}, findings).items()]
    for file, text, compiles in given:
        if file.endswith(TEST_SUFFIX):
            continue
        made, more = _read_file(file, text, compiles)
        findings += more
        found |= {_id(item): item for item in made}
    ordered = [found[name] for name in sorted(found)]
    policies = PolicySet(
        policies=tuple(item for item in ordered if isinstance(item, Policy)),
        exemptions=tuple(item for item in ordered if isinstance(item, Exemption)),
        runner=runner,
    )
    return policies, tuple(sorted(findings, key=sort_key))


def _bounded(own: Mapping[str, str], findings: list[Finding]) -> Mapping[str, str]:
    """The files; none if they are too long to compile in time."""
    size = sum(map(len, own.values()))
    if size <= MOST_TEXT:
        return own
    findings.append(
        Finding(
            code="policy/too-long",
            severity=Severity.ERROR,
            message=f"found {size:,} characters in {len(own)} files of policies, expected at most "
            f"{MOST_TEXT:,}",
            file=max(own, key=lambda path: len(own[path])),
            line=1,
            hint="remove policies, or long texts in them",
        )
    )
    return {}


def _id(item: Policy | Exemption) -> str:
    return f"{type(item).__name__} {item.name}"


def pack_of(path: str) -> str:
    """The pack of a shipped file, `safety` of `gitbot:safety/quorum.yaml`."""
    folder = path.rpartition("/")[0]
    return folder.rpartition("/")[2].rpartition(":")[2]


def _read_file(
    file: str, text: str, runner: PolicyRunner | None
) -> tuple[list[Policy | Exemption], list[Finding]]:
    documents, findings = read_documents(text.encode("utf-8"), file)
    made: list[Policy | Exemption] = []
    found = [*findings]
    for document in documents:
        report = Report(document=document, file=file, room="policy")
        item = _read(report, text, runner)
        if item is not None and any(_id(item) == _id(other) for other in made):
            message = f'found "{item.name}" again, expected every name once in a file'
            report.at_value(("metadata", "name"), "duplicate", message, "rename one of them")
        found += report.findings
        if item is not None and not has_errors(tuple(report.findings)):
            made.append(item)
    return made, found


def _read(report: Report, text: str, runner: PolicyRunner | None) -> Policy | Exemption | None:
    if not envelope_is_known(report, (KIND, exemptions.KIND)):
        return None
    if report.document.value["kind"] == exemptions.KIND:
        return exemptions.read_exemption(report)
    made = decode(report, _PolicyFile, json_schema)
    return _compiled(report, made, text, runner) if made is not None else None


def _compiled(
    report: Report, made: _PolicyFile, text: str, runner: PolicyRunner | None
) -> Policy | None:
    spec = made.spec
    over = PolicyScope(spec.over)
    _names_are_unique(report, "matchConditions", spec.match_conditions)
    _names_are_unique(report, "variables", spec.variables)
    names = tuple(item.name for item in spec.variables)
    compiler = _Compiler(report, over, text, names, runner or HERE)
    conditions = [
        compiler.program(("spec", "matchConditions", index, "expression"), item.expression, "bool")
        for index, item in enumerate(spec.match_conditions)
    ]
    variables = [
        (item.name, compiler.variable(index, item)) for index, item in enumerate(spec.variables)
    ]
    validations = [
        _validation(compiler, index, item) for index, item in enumerate(spec.validations)
    ]
    if has_errors(tuple(report.findings)):
        return None
    return Policy(
        name=made.metadata.name,
        file=report.file,
        line=report.document.line,
        description=made.metadata.annotations.get("description", ""),
        over=over,
        actions=tuple(Action(action) for action in spec.validation_actions),
        conditions=tuple(item for item in conditions if item),
        variables=tuple((name, item) for name, item in variables if item),
        validations=tuple(item for item in validations if item),
        limited=runner is not None,
    )


def _names_are_unique(report: Report, field: str, items: Sequence[NamedExpression]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item.name in seen:
            message = f'found the name "{item.name}" again, expected every name once'
            report.at_value(
                ("spec", field, index, "name"), "duplicate", message, "rename one of them"
            )
        seen.add(item.name)


def _validation(compiler: _Compiler, index: int, spec: ValidationSpec) -> Validation | None:
    path: Path = ("spec", "validations", index)
    expression = compiler.program((*path, "expression"), spec.expression, "bool")
    words = None
    if spec.message_expression:
        place = (*path, "messageExpression")
        words = compiler.program(place, spec.message_expression, "string")
    if not spec.message and not spec.message_expression:
        message = "found neither message nor messageExpression, expected one of them"
        compiler.report.at_key(path, "missing-field", message, "say what is wrong and what to do")
    if expression is None:
        return None
    return Validation(expression=expression, message=spec.message, message_expression=words)


class _Compiler:
    def __init__(
        self,
        report: Report,
        over: PolicyScope,
        source: str,
        variables: tuple[str, ...],
        runner: PolicyRunner,
    ) -> None:
        self.report = report
        self.over = over
        self.source = source
        self.variables = variables
        self.runner = runner

    def variable(self, index: int, item: NamedExpression) -> Program | None:
        """A variable may use those before it."""
        known = self.variables[:index]
        before = _Compiler(self.report, self.over, self.source, known, self.runner)
        return before.program(("spec", "variables", index, "expression"), item.expression, "")

    def program(self, path: Path, text: str, returns: str) -> Program | None:
        try:
            made = self.runner.compile(text, names=names_over(self.over), returns=returns)
        except ExpressionError as error:
            self._refuse(path, text, error.offset(text), error.message)
            return None
        if wrong := unknown_field(made, self.variables):
            offset, message, hint = wrong
            self._refuse(path, text, offset, message, hint)
            return None
        return made

    def _refuse(self, path: Path, text: str, offset: int, message: str, hint: str = "") -> None:
        known = ", ".join(sorted(names_over(self.over) - {OWN}))
        hint = hint or f"over: {self.over} has {known}"
        said = f"the expression does not compile: {message}"
        self.report.at_value(path, "expression", said, hint)
        start = self.report.document.positions.values.get(path)
        if start is not None:
            line, column = place_in_file(self.source, start, text, offset)
            self.report.findings[-1] = replace(self.report.findings[-1], line=line, column=column)
