"""The findings of a replay, each at the line of the intent that a move came from."""

from __future__ import annotations

from gitbot.model.findings import Finding, Severity
from gitbot.model.plan import Move


def finding(code: str, move: Move, message: str, *, hint: str = "") -> Finding:
    """An error of one move; the code is `constraints/<code>`."""
    return Finding(
        code=f"constraints/{code}",
        severity=Severity.ERROR,
        message=f"move {move.id} of {move.vm.namespaced_name} from {move.source.node} to "
        f"{move.to.node}: {message}",
        file=move.intent.file,
        line=move.intent.line,
        hint=hint,
    )
