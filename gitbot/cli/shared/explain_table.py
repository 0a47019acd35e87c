"""The answer of `gitbot explain` in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from gitbot.constraints.explanation import Explanation
from gitbot.constraints.scheduler.verdicts import NodeScore, NodeVerdict
from gitbot.model.plan.diagnosis import Check, Outcome
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import first_of
from gitbot.reports import Paint, Style, escape

if TYPE_CHECKING:
    from gitbot.workflows.check import VmVerdict

_STYLES = {
    "ok": Style.GOOD,
    "unschedulable": Style.BAD,
    "unresolvable": Style.BAD,
    "refuses": Style.BAD,
}
_MASTERS = tuple(
    f"TaintToleration: the node has taint node-role.kubernetes.io/{role}"
    for role in ("control-plane", "master")
)
_PLAIN = Paint()
_KINDS = {"VirtualMachineInstance": "vm", "VirtualMachine": "vm", "Pod": "pod"}


def _as_is(text: str, **_: object) -> str:
    return text


def table(
    explanation: Explanation,
    *,
    wide: bool = False,
    here: str = "",
    intents: VmVerdict | None = None,
    paint: Paint = _PLAIN,
    times: Callable[..., str] = _as_is,
) -> str:
    """`here` is the node on which the VM runs; `intents` is what gitbot's own intents say.

    `times` says the instants of a text in the zone of the cluster.
    """
    scores = {score.node: score for score in explanation.scores}
    verdicts = sorted(
        explanation.judgement.nodes,
        key=lambda item: (not item.ok, -_total(scores, item.node), item.node),
    )
    rows = [["NODE", "VERDICT", "SCORE", "REASONS"]]
    for verdict in verdicts:
        rows += _rows(verdict, scores.get(verdict.node), wide=wide, here=here == verdict.node)
    subject = f"{_KINDS[explanation.kind]}/{explanation.name.name}"
    said = _failed(explanation) if intents is None else []
    words: Iterable[str] = (f"cannot move: {check.message}" for check in said)
    words = _answer(explanation, intents) if intents is not None else words
    answer, summary = "; ".join(words), _summary(explanation)
    head = f"{subject} in {explanation.name.namespace}: {answer or summary}"
    checks = [
        f"  {check.outcome}  {check.name}: {check.message}"
        for check in explanation.checks
        if wide or (check.outcome is not Outcome.PASS and check not in said)
    ]
    lines = [
        paint(escape.terminal(times(head)), Style.STRONG),
        *([f"  {summary}"] if answer else []),
        *map(escape.terminal, checks),
        *(_intents(intents, paint, times) if intents else []),
        *_columns(rows if wide else _folded(rows), paint),
    ]
    return "".join(f"{line}\n" for line in lines)


def _failed(explanation: Explanation) -> list[Check]:
    """What keeps a running VM where it is; of others, the checks below the summary say it."""
    checks = explanation.checks if explanation.kind == "VirtualMachineInstance" else ()
    return [check for check in checks if check.outcome is Outcome.FAIL]


def _answer(explanation: Explanation, intents: VmVerdict) -> Iterator[str]:
    """What becomes of the VM, before what each node says about it."""
    if intents.held:
        until = format_instant(intents.until)
        yield f"{f'waits until about {until}' if intents.until else 'cannot move'}: {intents.held}"
    elif intents.to and (frozen := _frozen(intents)):
        yield frozen
        yield f"would go to {intents.to} once it is not frozen"
    elif intents.to in explanation.judgement.feasible:
        yield f"would go to {intents.to} now"
    elif intents.to:
        yield f"would go to {intents.to} after other moves"


def _folded(rows: list[list[str]]) -> list[list[str]]:
    """Nodes that refuse for the same reasons, one after the other, as one row: masters, say."""
    blocks: list[list[list[str]]] = []
    for row in rows:
        if row[0] or not blocks:
            blocks.append([row])
        else:
            blocks[-1].append(row)  # one more reason of the same node
    shown = []
    for _, same in groupby(blocks, key=lambda block: [row[block[0][1] != "ok" :] for row in block]):
        first, *others = same
        (node, *rest), *more = first
        name = first_of([node, *(block[0][0] for block in others)], 2) if others else node
        shown += [[name, *rest], *more]
    return shown


def _summary(explanation: Explanation) -> str:
    feasible, nodes = explanation.judgement.feasible, explanation.judgement.nodes
    if not feasible and any(verdict.word == "unknown" for verdict in nodes):
        return "fit unknown: the snapshot lacks what decides it"
    if not feasible:
        return f"none of {len(nodes)} nodes takes it"
    verb = "takes" if len(feasible) == 1 else "take"
    count = f"{len(feasible)} of {len(nodes)} nodes {verb} it"
    if len(explanation.winners) == 1:
        return f"{count}, the scheduler would choose {explanation.winners[0]}"
    tied = first_of(explanation.winners, 4)
    return f"{count}, the scheduler would choose one of {tied} (equal scores)"


def _total(scores: dict[str, NodeScore], node: str) -> int:
    return scores[node].total if node in scores else 0


def _frozen(verdict: VmVerdict) -> str:
    """What a freeze says that keeps the VM where it is now; "" if none does."""
    return next((row.says for row in verdict.rows if row.refuses and not row.node), "")


def _intents(verdict: VmVerdict, paint: Paint, times: Callable[..., str]) -> list[str]:
    """Apart from the scheduler's verdict: what the repository says."""
    rows = [
        [row.node or "(all)", "refuses" if row.refuses else "note", row.intent, ""]
        for row in verdict.rows
    ]
    for cells, row in zip(rows, verdict.rows, strict=True):
        cells[3] = times(f"{row.says} ({row.where})", now=None)  # a row says itself how far
    if not rows:
        return ["no intent of this repository says anything about it", ""]
    said = _columns([["NODE", "SAYS", "INTENT", "WHY"], *rows], paint)
    return ["intents of this repository:", *said, ""]


def _rows(
    verdict: NodeVerdict, score: NodeScore | None, *, wide: bool, here: bool
) -> list[list[str]]:
    word = verdict.word
    total = str(score.total) if score is not None else "-"
    reasons = _reasons(verdict, wide=wide)
    if verdict.ok and wide and score is not None:
        reasons = [", ".join(f"{name} {value}" for name, value in sorted(score.scores.items()))]
    reasons = ["runs here", *reasons] if here else reasons
    first, *rest = reasons or [""]
    return [[verdict.node, word, total, first], *(["", "", "", text] for text in rest)]


def _reasons(verdict: NodeVerdict, *, wide: bool) -> list[str]:
    lines = []
    for rejection in verdict.rejections:
        words = rejection.details or rejection.reasons
        lines += [f"{rejection.plugin}: {text}" for text in words]
        if wide and rejection.details:
            lines.append(f"  ({'; '.join(rejection.reasons)})")
    master = next((line for line in lines if any(taint in line for taint in _MASTERS)), "")
    if master and len(lines) > 1 and not wide:  # it is for no VM, so one reason is enough
        return [f"{master}; and {len(lines) - 1} more (-o wide)"]
    return lines


def _columns(rows: Sequence[Sequence[str]], paint: Paint) -> list[str]:
    shown = [[escape.terminal(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    return [_line(row, widths, paint) for row in shown]


def _line(row: Sequence[str], widths: Sequence[int], paint: Paint) -> str:
    cells = [row[n].ljust(widths[n]) for n in range(3)]
    style = _STYLES.get(row[1])
    if style is not None:
        cells[1] = paint(row[1], style) + cells[1][len(row[1]) :]
    return "  ".join([*cells, row[3]]).rstrip()
