"""The answer of `gitbot explain` in columns."""

from __future__ import annotations

from collections.abc import Sequence

from gitbot.constraints.explanation import Explanation, verdict_word
from gitbot.constraints.verdicts import NodeScore, NodeVerdict
from gitbot.model.plan import Outcome
from gitbot.reports import inert

_KINDS = {"VirtualMachineInstance": "vm", "VirtualMachine": "vm", "Pod": "pod"}


def table(explanation: Explanation, *, wide: bool = False) -> str:
    """Subject, checks, one line a node (feasible ones first, best first), the prediction."""
    scores = {score.node: score for score in explanation.scores}
    verdicts = sorted(
        explanation.judgement.nodes,
        key=lambda item: (not item.ok, -_total(scores, item.node), item.node),
    )
    rows = [["NODE", "VERDICT", "SCORE", "REASONS"]]
    for verdict in verdicts:
        rows += _rows(verdict, scores.get(verdict.node), wide=wide)
    subject = f"{_KINDS[explanation.kind]}/{explanation.name.name}"
    head = f"{subject} in {explanation.name.namespace}: {_summary(explanation)}"
    checks = [
        f"  {check.outcome}  {check.name}: {check.message}"
        for check in explanation.checks
        if wide or check.outcome is not Outcome.PASS
    ]
    lines = [head, *checks, *_columns(rows)]
    return "".join(f"{inert.terminal(line)}\n" for line in lines)


def _summary(explanation: Explanation) -> str:
    feasible, nodes = explanation.judgement.feasible, explanation.judgement.nodes
    if not feasible:
        return f"none of {len(nodes)} nodes takes it"
    verb = "takes" if len(feasible) == 1 else "take"
    count = f"{len(feasible)} of {len(nodes)} nodes {verb} it"
    if len(explanation.winners) == 1:
        return f"{count}, the scheduler would choose {explanation.winners[0]}"
    tied = ", ".join(explanation.winners[:4])
    more = f" and {len(explanation.winners) - 4} more" if len(explanation.winners) > 4 else ""
    return f"{count}, the scheduler would choose one of {tied}{more} (equal scores)"


def _total(scores: dict[str, NodeScore], node: str) -> int:
    return scores[node].total if node in scores else 0


def _rows(verdict: NodeVerdict, score: NodeScore | None, *, wide: bool) -> list[list[str]]:
    word = verdict_word(ok=verdict.ok, resolvable=verdict.resolvable)
    total = str(score.total) if score is not None else "-"
    reasons = _reasons(verdict, wide=wide)
    if verdict.ok and wide and score is not None:
        reasons = [", ".join(f"{name} {value}" for name, value in sorted(score.scores.items()))]
    first, *rest = reasons or [""]
    return [[verdict.node, word, total, first], *(["", "", "", text] for text in rest)]


def _reasons(verdict: NodeVerdict, *, wide: bool) -> list[str]:
    lines = []
    for rejection in verdict.rejections:
        words = rejection.details or rejection.reasons
        lines += [f"{rejection.plugin}: {text}" for text in words]
        if wide and rejection.details:
            lines.append(f"  ({'; '.join(rejection.reasons)})")
    return lines


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join([*(row[n].ljust(widths[n]) for n in range(3)), row[3]]).rstrip() for row in rows
    ]
