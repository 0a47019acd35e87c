"""Exemptions: until a day, a policy lets subjects pass, and an owner is responsible for that."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from gitbot.documents import Report, read_documents, schemas, value_at
from gitbot.documents.fields import Instant, Metadata, Text, Value, decode
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.text.instants import format_instant
from gitbot.model.text.names import CONFIGURATION_FILE, ApiVersion
from gitbot.model.text.wording import nearest
from gitbot.policy.policy import Exemption, PolicyScope, PolicySet

KIND = "PlacementPolicyExemption"
DESCRIPTION = (
    "Lets subjects of one policy pass, until a day, for a reason that an owner answers for."
)


class ExemptionSpec(Value):
    """What is exempt from which policy, why, and how long."""

    policy: str = Field(min_length=1, description="Name of the policy.")
    subjects: tuple[Text, ...] = Field(
        default=(),
        strict=False,
        description="`namespace/name` of VMs, ids of intents; `*` matches any letters. "
        "Absent: whatever the policy judges.",
    )
    reason: Text = Field(description="Why it may break the policy.")
    owner: Text = Field(description="Who answers for it: an account or a team.")
    expires: Instant = Field(description="When it ends.")


class _ExemptionFile(Value):
    api_version: ApiVersion
    kind: Literal["PlacementPolicyExemption"]
    metadata: Metadata = Field(description="Name, labels, annotations.")
    spec: ExemptionSpec = Field(description="The exemption.")


@lru_cache(maxsize=1)
def json_schema() -> dict[str, Any]:
    schema = _ExemptionFile.model_json_schema(by_alias=True)
    return schemas.with_schema_frame(schema, kind=KIND, description=DESCRIPTION)


def read_exemption(report: Report) -> Exemption | None:
    made = decode(report, _ExemptionFile, json_schema)
    if made is None:
        return None
    spec = made.spec
    return Exemption(
        name=made.metadata.name,
        file=report.file,
        line=report.document.line,
        policy=spec.policy,
        subjects=spec.subjects,
        reason=spec.reason,
        owner=spec.owner,
        expires=spec.expires,
    )


def misdirected(policies: PolicySet, configuration: bytes) -> tuple[Finding, ...]:
    """Exemptions and overrides without effect: of policies not in force, or of no subject.

    Only an exemption of an unknown policy is an error; the others make nothing less strict.
    """
    found = [finding for item in policies.exemptions for finding in _about(item, policies)]
    documents, _ = read_documents(configuration, CONFIGURATION_FILE)
    for document in documents[:1]:
        report = Report(document=document, file=CONFIGURATION_FILE, room="policy")
        for index, item in enumerate(value_at(document.value, ("spec", "overrides")) or ()):
            path = ("spec", "overrides", index, "policy")
            if policies.find(item["policy"]) is None:
                report.warn(path, "unknown-policy", *_unknown(item["policy"], policies))
        found += report.findings
    return tuple(sorted(found, key=sort_key))


def _about(item: Exemption, policies: PolicySet) -> Iterator[Finding]:
    policy = policies.find(item.policy)
    if policy is None:
        code, severity = "policy/unknown-policy", Severity.ERROR
        said, hint = _unknown(item.policy, policies)
    elif policy.over is PolicyScope.PLAN and item.subjects and not covers(item, item.policy, ""):
        code, severity, hint = "policy/exempts-nothing", Severity.WARNING, "remove subjects"
        said = f"found subjects, but {item.policy} judges the plan as one; expected none"
    else:
        return
    said = f"exemption {item.name}: {said}"
    yield Finding(
        code=code, severity=severity, message=said, file=item.file, line=item.line, hint=hint
    )


def _unknown(name: str, policies: PolicySet) -> tuple[str, str]:
    """The problem, and its fix."""
    near = nearest(name, [policy.name for policy in policies.policies])
    hint = f"did you mean {near}?" if near else "see gitbot policy list"
    return f'found the policy "{name}", expected the name of a policy in force', hint


def covers(exemption: Exemption, policy: str, subject: str) -> bool:
    """Whether it is about this subject of the policy, expired or not."""
    if exemption.policy != policy:
        return False
    return not exemption.subjects or any(
        fnmatchcase(subject, pattern) for pattern in exemption.subjects
    )


def words(exemption: Exemption, *, now: int) -> str:
    """Text of a report about it, after the message of the policy."""
    until = format_instant(exemption.expires)
    if exemption.expires <= now:
        return (
            f"; exemption {exemption.name} of {exemption.owner} expired at {until} and no longer "
            "counts"
        )
    return f"; exempt until {until} by {exemption.name} of {exemption.owner}: {exemption.reason}"
