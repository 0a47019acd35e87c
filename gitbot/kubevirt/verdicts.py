"""What an admission webhook answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitbot.kubevirt.reconcile import Write
from gitbot.model.objects import KubernetesObject

_MOST_CAUSES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause in a Status: `reason` in Kubernetes' words (FieldValueRequired, ...)."""

    reason: str = ""
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Let in, as the object that it became; `effects` are writes of the webhook on others."""

    object: KubernetesObject = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    effects: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Kept out: HTTP code, Kubernetes reason ("" where the webhook gives none), message.

    `effects` are writes that the webhook makes although it refuses: an eviction leaves its mark.
    """

    code: int
    message: str
    reason: str = ""
    causes: tuple[Cause, ...] = ()
    effects: tuple[Write, ...] = ()


Verdict = Admitted | Refused


def denied(webhook: str, code: int, text: str, *, effects: tuple[Write, ...] = ()) -> Refused:
    """A refusal without causes, as the API server words it."""
    message = f'admission webhook "{webhook}" denied the request: {text}'
    return Refused(code=code, message=message, effects=effects)


def invalid(webhook: str, *causes: Cause) -> Refused:
    """A refusal of what the object says: 422 with the first ten causes and the number of others.

    Source: KubeVirt 1.9.0, pkg/util/webhooks, ToAdmissionResponse.
    """
    told, more = causes[:_MOST_CAUSES], len(causes) - _MOST_CAUSES
    text = ", ".join(cause.message for cause in told)
    if more > 0:
        text += f", and {more} more validation errors"
    message = f'admission webhook "{webhook}" denied the request: {text}'
    return Refused(code=422, reason="Invalid", message=message, causes=told)
