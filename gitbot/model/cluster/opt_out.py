"""Opt-outs: the label by which the owner of a VM keeps gitbot away from it."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.model.ledger.request_id import MigrationRequestId, RequestId

LABEL = "placement.gitbot.dev/move"
NEVER = "never"
ONLY_REQUESTED = "only-requested"


def opted_out(labels: Mapping[str, str], request: RequestId, *, named: bool) -> str:
    """Why these labels of a VMI forbid a move for a request (by ledger id); "" if they do not.

    `named`: the request names the VM, instead of moving it out of the way. A value that is neither
    `never` nor `only-requested` counts as `never`.
    """
    value = labels.get(LABEL)
    if value is None:
        return ""
    if value == ONLY_REQUESTED:
        asked = named and isinstance(request, MigrationRequestId)
        return "" if asked else f"its label {LABEL}={value} lets only a MigrationRequest move it"
    if value == NEVER:
        return f"its label {LABEL}={value} keeps it where it is"
    return f"found the label {LABEL}={value}, expected {NEVER} or {ONLY_REQUESTED}: it stays"
