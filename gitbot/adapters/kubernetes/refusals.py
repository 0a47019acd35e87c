"""What an answer that is no success means, in the words of gitbot's errors."""

from __future__ import annotations

import json
from typing import NoReturn

from gitbot.adapters.kubernetes.transport import Answer
from gitbot.errors import ClusterError, ClusterForbidden, ClusterRefused
from gitbot.snapshot.resources import Resource


def refuse(answer: Answer, resource: Resource, verb: str) -> NoReturn:
    """Raise what the answer to `verb` on a resource means."""
    reason, message = _status(answer)
    what = f"{verb} {resource.plural}{'.' + resource.group if resource.group else ''}"
    if answer.status == 403 and (verb in _READS or _is_rbac(message)):
        raise ClusterForbidden(
            f"not allowed to {what}: {message}", hint=f"grant {resource.rbac_rule(verb)}"
        )
    if answer.status == 404 and verb == "list":
        raise ClusterError(
            f"the cluster does not serve {resource.kind} ({resource.api_version})",
            hint=_missing_hint(resource),
        )
    if answer.status == 429:
        raise ClusterError(f"cannot {what}: the API server is busy: {message}")
    if 400 <= answer.status < 500:
        raise ClusterRefused(
            f"cannot {what}: {message}", code=answer.status, reason=reason or "Unknown"
        )
    raise ClusterError(f"cannot {what}: answer {answer.status}: {message}")


_READS = frozenset({"get", "list"})


def _is_rbac(message: str) -> bool:
    """Whether a refusal is about rights; admission plugins and webhooks answer 403 as well."""
    return " cannot " in message and " resource " in message


def _status(answer: Answer) -> tuple[str, str]:
    """Reason and message of a Kubernetes Status, or of whatever came instead."""
    try:
        status = json.loads(answer.body)
        return str(status.get("reason") or ""), str(status.get("message") or "no message")
    except (ValueError, AttributeError):
        text = answer.body[:200].decode("utf-8", "replace")
        return "", " ".join(text.split()) or "no message"


def _missing_hint(resource: Resource) -> str:
    if resource.group.endswith("kubevirt.io"):
        return "install KubeVirt, or choose the cluster that has it"
    return "gitbot needs Kubernetes 1.30 or newer"
