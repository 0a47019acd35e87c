"""Exemptions: a policy lets subjects pass, until a day, and an owner answers for it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Literal

from pydantic import Field

from gitbot.documents import Report, schemas
from gitbot.documents.fields import Instant, Metadata, Text, Value, decode
from gitbot.model.instants import format_instant
from gitbot.model.names import ApiVersion
from gitbot.policy.value import Exemption

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
    return schemas.dressed(schema, kind=KIND, description=DESCRIPTION)


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


def covers(exemption: Exemption, policy: str, subject: str) -> bool:
    """Whether it is about this subject of the policy, expired or not."""
    if exemption.policy != policy:
        return False
    return not exemption.subjects or any(
        fnmatchcase(subject, pattern) for pattern in exemption.subjects
    )


def words(exemption: Exemption, *, now: int) -> str:
    """What a report says about it, after the message of the policy."""
    until = format_instant(exemption.expires)
    if exemption.expires <= now:
        return (
            f"; exemption {exemption.name} of {exemption.owner} expired at {until} and no longer "
            "counts"
        )
    return f"; exempt until {until} by {exemption.name} of {exemption.owner}: {exemption.reason}"
