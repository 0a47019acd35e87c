"""Names of fields in expressions, checked before anything runs.

CEL knows the variables but not their fields: `move.form` would fail only when a move is judged. The
fields below are the published ones, so we find a misspelling when we read the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitbot.model.words import nearest

FIELDS: Mapping[str, frozenset[str]] = {
    "plan": frozenset(
        {
            "cluster",
            "moves",
            "holds",
            "rules",
            "waves",
            "limits",
            "bound",
            "minimised",
            "drains",
            "requests",
            "largestWave",
            "estimatedSeconds",
        }
    ),
    "move": frozenset(
        {
            "id",
            "request",
            "group",
            "intent",
            "vm",
            "from",
            "to",
            "allowedNodes",
            "pin",
            "addedNodeSelector",
            "memoryBytes",
            "estimatedSeconds",
            "wave",
            "why",
            "checks",
            "starts",
            "after",
            "afterReturn",
        }
    ),
    "vm": frozenset({"namespace", "name", "uid", "node", "labels", "annotations"}),
    "node": frozenset({"name", "zone", "labels", "taints", "unschedulable"}),
    "intent": frozenset({"kind", "namespace", "name", "file", "spec"}),
    "cluster": frozenset(
        {
            "name",
            "nodes",
            "vms",
            "runningMigrations",
            "snapshotAgeSeconds",
            "snapshotMaxAgeSeconds",
        }
    ),
}
_TEXTS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_ACCESS = re.compile(r"(?<![\w.\])])(plan|move|vm|node|intent|cluster)\.\??([A-Za-z_]\w*)(?!\w|\()")
_BOUND = re.compile(
    r"\b(?:all|exists|exists_one|existsOne|filter|map|bind|transformList|transformMap)"
    r"\(\s*([A-Za-z_]\w*)\s*,"
)


def unknown_field(expression: str) -> tuple[int, str, str] | None:
    """Column (from 1), message and hint of the first unknown field; None if all are known."""
    masked = _TEXTS.sub(lambda match: " " * len(match.group()), expression)
    bound = set(_BOUND.findall(masked))
    for match in _ACCESS.finditer(masked):
        variable, field = match.groups()
        if variable not in bound and field not in FIELDS[variable]:
            near = nearest(field, sorted(FIELDS[variable]))
            known = ", ".join(sorted(FIELDS[variable]))
            hint = f"did you mean {variable}.{near}?" if near else f"{variable} has {known}"
            return match.start(2) + 1, f"{variable} has no field {field}", hint
    return None
