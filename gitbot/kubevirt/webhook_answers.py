"""Answers of an admission webhook."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitbot.kubernetes.objects import KubernetesObject

_MOST_CAUSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause in a Status: `reason` in Kubernetes' words (FieldValueRequired, ...)."""

    reason: str = ""
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Accepted, with the resulting object.

    `effects` are other objects that the webhook writes.
    """

    object: KubernetesObject = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    effects: tuple[KubernetesObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Rejected: HTTP code, Kubernetes reason ("" if the webhook gives none), message.

    `effects` are objects that the webhook writes although it refuses: an eviction leaves its mark.
    """

    code: int
    message: str
    reason: str = ""
    causes: tuple[Cause, ...] = ()
    effects: tuple[KubernetesObject, ...] = ()


WebhookAnswer = Admitted | Refused


def invalid_value(field: str, message: str) -> Cause:
    return Cause(reason="FieldValueInvalid", message=message, field=field)


def denied(
    webhook: str, code: int, text: str, *, effects: tuple[KubernetesObject, ...] = ()
) -> Refused:
    """A refusal without causes, in the API server's words."""
    message = f'admission webhook "{webhook}" denied the request: {text}'
    return Refused(code=code, message=message, effects=effects)


def invalid(webhook: str, *causes: Cause) -> Refused:
    """A refusal because of the object's content: 422, the first ten causes, and how many more.

    Source: KubeVirt, pkg/util/webhooks, ToAdmissionResponse.
    """
    told, more = causes[:_MOST_CAUSES], len(causes) - _MOST_CAUSES
    text = ", ".join(cause.message for cause in told)
    if more > 0:
        text += f", and {more} more validation errors"
    message = f'admission webhook "{webhook}" denied the request: {text}'
    return Refused(code=422, reason="Invalid", message=message, causes=told)
