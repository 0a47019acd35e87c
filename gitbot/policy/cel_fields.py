"""Checks the names of fields in expressions before anything runs.

CEL knows the variables but not their fields: `move.form` would fail only when a move is judged. The
fields below are the published ones, so gitbot finds a misspelling when it reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gitbot.model.text.wording import nearest
from gitbot.policy.cel_engine import Program
from gitbot.policy.cel_syntax import SyntaxKind, SyntaxNode, read_syntax

_PLACE = {
    "name": "the node's name",
    "zone": "its zone",
    "labels": "its labels",
    "conditions": "types of its conditions with status True, sorted",
    "taints": "its taints",
    "unschedulable": "whether it is cordoned",
    "load": 'what was measured, by metric in whole percent (`"cpuPressure" in node.load`)',
}
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "plan": {
        **dict.fromkeys(
            ("cluster", "moves", "holds", "rules", "waves", "limits", "bound", "minimised"),
            "as in the plan document",
        ),
        "drains": "as in the plan document",
        "requests": "`id` and `moves` (how many) of each request",
        "largestWave": "the most moves of a wave",
        "estimatedSeconds": "from the first start to the last end",
        "counts": "`source`, `target`, `zone` (that VMs leave), `namespace`, `owner` (of the "
        "namespace), `hour`: lists of `name` and `moves`",
        "quorums": "for each rule with a moved VM: `rule`, `members` (how many), `together` (the "
        "most that move at once), `vms` (their names)",
        "zonesAtOnce": "the most zones that VMs leave at the same time",
        "headroom": "after the plan: `targets` (`node`, memory: `freeBytes`, `allocatableBytes`); "
        "`atRiskBefore`, `atRiskAfter`: nodes whose VMs do not all find memory elsewhere if the "
        "node fails, by sums alone",
        "resilience": "for each level that the configuration names: `level`, `before`, `after` "
        "(`lost`, `vms`, `first`, `why`: losses that leave VMs without a place), `worse` (losses); "
        "at apply from now on",
    },
    "move": {
        **dict.fromkeys(
            ("id", "request", "group", "intent", "vm", "from", "to", "allowedNodes", "pin"),
            "as in `plan.moves`",
        ),
        **dict.fromkeys(
            ("addedNodeSelector", "memoryBytes", "estimatedSeconds", "wave", "why"),
            "as in `plan.moves`",
        ),
        "checks": "`name`, `outcome` (`pass`, `warn`) and `message` of each check",
        "starts": "a text; `timestamp(move.starts)` is the estimated start",
        "after": "the moves that it waits for",
        "afterReturn": "whether its target is emptied before",
    },
    "vm": {
        "namespace": "of the VMI",
        "name": "of the VMI",
        "uid": "of the VMI",
        "owner": 'the entry of `owners` that has its namespace, "" for none',
        "node": "where it runs",
        "labels": "of the VMI",
        "annotations": "of the VMI",
        "cpuModel": "its own, else that of the KubeVirt object, else `host-model`",
        "evictionStrategy": "its own, else that of the KubeVirt object, else `None`",
        "hotplugVolumes": "names of its hotplugged volumes",
    },
    "source": _PLACE,
    "node": _PLACE,
    "intent": {
        "kind": "its kind",
        "namespace": 'its namespace, "" for none',
        "name": "its name",
        "file": "where it stands",
        "spec": "as written",
        "topologyKeys": "every topologyKey in its spec",
        "labelKeys": "every label key in its spec, topology keys too",
    },
    "cluster": {
        "name": "its name",
        "nodes": "how many",
        "vms": "how many VMIs",
        "runningMigrations": "how many",
        "nodeLabelKeys": "every label key that a node carries",
        "pinnedVms": "`namespace/name` of VMs with kubernetes.io/hostname in their nodeSelector",
        "kubevirt": "`phase`, `version`, `targetVersion`, `outdatedVms`",
        "snapshotAgeSeconds": "age of the snapshot; below 0 if it is from the future",
        "snapshotMaxAgeSeconds": "`snapshotMaxAge` of the configuration",
    },
}
FIELDS: Mapping[str, frozenset[str]] = {
    name: frozenset(meanings) for name, meanings in MEANINGS.items()
}


def unknown_field(program: Program, variables: Sequence[str] = ()) -> tuple[int, str, str] | None:
    """Offset, message and hint of the first unknown field; None if all are known.

    `variables` are those of the policy that the expression may use.
    """
    fields = {**FIELDS, "variables": frozenset(variables)}
    syntax = read_syntax(program.checked)
    wrong = [
        (syntax.offsets.get(node.id, 0), variable, field)
        for node, variable, field in _fields(syntax.root, frozenset())
        if field not in fields[variable]
    ]
    if not wrong:
        return None
    offset, variable, field = min(wrong)
    text = program.text
    while offset < len(text) and not (text[offset].isalnum() or text[offset] in "_`"):
        offset += 1
    near = nearest(field, sorted(fields[variable]))
    known = ", ".join(sorted(fields[variable])) or "none here: an expression sees those above it"
    hint = f"did you mean {variable}.{near}?" if near else f"{variable} has {known}"
    return offset, f"{variable} has no field {field}", hint


def _fields(node: SyntaxNode, bound: frozenset[str]) -> Iterator[tuple[SyntaxNode, str, str]]:
    """The fields of variables that an expression uses as fields, not as keys."""
    if node.parts and node.parts[0].kind is SyntaxKind.IDENT:
        name = node.parts[0].name
        field = node.name if node.kind is SyntaxKind.SELECT else node.parts[-1].text
        as_field = node.kind is SyntaxKind.SELECT or node.name == "_?._"
        if (
            as_field
            and (name in FIELDS or name == "variables")
            and name not in bound
            and field is not None
        ):
            yield node, name, field
    if node.kind is SyntaxKind.COMPREHENSION:
        bound_inside = bound | {node.name, *node.more}
        for number, part in enumerate(node.parts):
            yield from _fields(part, bound if number < 2 else bound_inside)
        return
    for part in node.parts:
        yield from _fields(part, bound)
