"""The placement diff on a terminal: plain text in columns, with colour on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.plan import Hold, HoldState, Move, MoveRef, NodeRef, PlacementPlan
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import counted
from gitbot.reports import escape
from gitbot.reports.ansi import Paint, Style
from gitbot.reports.conditions import Deadline
from gitbot.reports.diff import Diff, DiffState, Preview, by_reasons, is_said, wave_rows
from gitbot.reports.finding_formats import text as findings_text
from gitbot.reports.sentence import objective, short_drains, time_known
from gitbot.reports.waits import awaited, waits_of

SHOWN_REASONS = 3  # of one node; a control plane alone has ten

_COLOURS = {
    DiffState.DENIED: Style.BAD,
    DiffState.BLOCKED: Style.BAD,
    DiffState.WAITS: Style.CAREFUL,
    DiffState.WARNING: Style.CAREFUL,
    DiffState.READY: Style.GOOD,
    DiffState.LATER: Style.GOOD,
    DiffState.NOTHING: Style.GOOD,
}


def terminal(diff: Diff, *, colour: bool = False, wide: bool = False) -> str:
    """Verdict and counts first, then moves, holds with their nodes, rules, waves, commands."""
    plan = diff.plan
    paint = Paint(colour=colour)
    state = paint(escape.terminal(diff.verdict), _COLOURS[diff.state])
    taken = f"snapshot {diff.snapshot_time}"
    future = f" ({diff.snapshot_age})" if diff.from_the_future else ""
    acts = not (plan.does_nothing and diff.leads_to)
    until = f", approve before {_until(diff.deadline)}" if acts else ""
    blocks = [
        f"{escape.terminal(plan.cluster)}: {state}: {diff.counts}\n",
        f"plan {diff.digest}\n{taken}{diff.local(future + until, now=True)}\n",
        _lines(diff),
        "".join(f"{escape.terminal(line)}\n" for line in _openings(diff)),
        diff.local(findings_text(diff.said, paint), now=True),
        _moves(plan.moves, waits_of(diff), wide=wide),
        "".join(f"{escape.terminal(line)}\n" for line in short_drains(plan)),
        "".join(_hold(hold, diff, paint, wide=wide) for hold in plan.holds),
        _rules(diff, wide=wide),
        _waves(diff),
        *[_preview(preview, diff, paint) for preview in diff.previews],
        "".join(
            f"  {paint(escape.terminal(command), Style.STRONG)}\n" for command in diff.commands
        ),
    ]
    return "\n".join(block for block in blocks if block)


def brief(diff: Diff, *, colour: bool = False) -> str:
    """The verdict, then what happens and when, findings, moves and holds: at most nine lines."""
    paint = Paint(colour=colour)
    state = paint(escape.terminal(diff.verdict), _COLOURS[diff.state])
    happens = [f"{diff.happens}."] if diff.happens else []
    when = [f"{label}: {text}" for label, text in diff.lines if label in _WHEN]
    said = [f"  {line}" for line in findings_text(diff.said, Paint()).splitlines()]
    openings = [f"  {line}" for line in _openings(diff)]
    lines = [*happens, *when, *_first(openings, "openings"), *_first(said, "lines")]
    lines += [*_first(_still_broken(diff), "broken rules"), *_brief_plan(diff.plan)]
    for preview in diff.previews:
        lines += [f"preview, not approved by a merge: {preview.title}", *_brief_plan(preview.plan)]
    head = f"{escape.terminal(diff.plan.cluster)}: {state}: {diff.counts}\n"
    shown = _first(lines, "lines", _BRIEF)
    shown = [diff.local(line.replace("`", ""), now=True) for line in shown]
    return head + "".join(f"{escape.terminal(line)}\n" for line in shown)


_BRIEF, _FEW = 8, 3  # lines below the verdict, and of each part
_WHEN = ("window", "waits", "estimate")


def _openings(diff: Diff) -> tuple[str, ...]:
    """What changes in the year ahead; a plan with moves says when its own window opens."""
    return diff.openings if diff.plan.does_nothing else ()


def _still_broken(diff: Diff) -> list[str]:
    """The rules of intents that no move and no preview is about."""
    about = {move.intent.id for preview in diff.previews for move in preview.plan.moves}
    return [
        f"  {rule.intent.id} is broken: {'; '.join(rule.after_messages)}"
        for rule in diff.plan.rules
        if rule.after and rule.required and rule.intent.id not in about
    ]


def _brief_plan(plan: PlacementPlan) -> list[str]:
    moves = [
        f"  {move.vm.namespaced_name}: {move.source.node} -> {move.to.node}: {move.why}"
        for move in plan.moves
    ]
    holds = [
        f"  {hold.vm.namespaced_name} stays: {hold.reason} [{hold.code}]"
        f"{f'; {hold.hint}' if hold.hint else ''}"
        for hold in plan.holds
    ]
    return [*_first(moves, "moves"), *_first(holds, "VMs that stay")]


def _first(lines: list[str], what: str, most: int = _FEW) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"  and {len(lines) - most + 1} more {what} (-v)"]


def _lines(diff: Diff) -> str:
    """What a merge does, when and how; the deadline of moves stands above."""
    said = [
        f"{label}: {text.replace('`', '')}"
        for label, text in diff.lines
        if diff.plan.does_nothing or label != "approve before"
    ]
    happens = [f"{diff.happens}."] if diff.happens else []
    return "".join(f"{escape.terminal(line)}\n" for line in (*happens, *said))


def _until(deadline: Deadline) -> str:
    """The instant, and why where it is not the plan's own end."""
    why = f" ({deadline.why})" if deadline.why.startswith("later") else ""
    return f"{format_instant(deadline.time)}{why}"


def columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under a header in columns of equal width, as kubectl prints them; "" without rows."""
    if not rows:
        return ""
    table = [header, *[[escape.terminal(cell) or "-" for cell in row] for row in rows]]
    widths = [max(len(row[index]) for row in table) for index in range(len(header))]
    lines = [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join(lines) + "\n"


def _moves(moves: tuple[Move, ...], waits: Mapping[MoveRef, str], *, wide: bool) -> str:
    """With a column for what moves wait for, if any does."""
    header = ["WAVE", "NAMESPACE", "VM", "FROM", "TO", "CHECKS"]
    header += ["WAITS FOR"] if waits else []
    header += ["WHY"]
    more = ["SECONDS", "PIN", "REQUEST", "UID"]
    rows = [
        [
            str(move.wave + 1),
            move.vm.namespace,
            move.vm.name,
            _node(move.source),
            _node(move.to),
            _checks(move),
            *([waits.get(move.ref, "")] if waits else []),
            move.why or move.intent.id,
        ]
        + (_wide(move) if wide else [])
        for move in moves
    ]
    return columns(header + more if wide else header, rows)


def _wide(move: Move) -> list[str]:
    seconds = f"{move.estimated_seconds}{time_known(move)}"
    return [seconds, move.pin, str(move.request), move.vm.uid]


def _node(ref: NodeRef) -> str:
    return f"{ref.node} ({ref.zone})" if ref.zone else ref.node


def _checks(move: Move) -> str:
    bad = [check.name for check in move.checks if check.outcome is not Outcome.PASS]
    passed = len(move.checks) - len(bad)
    return f"{passed}/{len(move.checks)}" + (f" ({', '.join(bad)})" if bad else "")


def _hold(hold: Hold, diff: Diff, paint: Paint, *, wide: bool, said: bool = False) -> str:
    until = f" until about {format_instant(hold.until)}" if hold.state is HoldState.WAITS else ""
    style = Style.BAD if hold.state is HoldState.BLOCKED else Style.CAREFUL
    word = paint(diff.local(f"{hold.state}{until}", now=True), style)
    hint = f"; {hold.hint}" if hold.hint else ""
    vm = hold.vm.namespaced_name
    why = "as said above" if said else hold.reason
    rest = f"{vm}: {why} [{hold.code}]{'' if said else hint}"
    nodes = [
        f"  {escape.terminal(', '.join(names))}: {escape.terminal(_some(reasons, wide=wide))}\n"
        for names, reasons in by_reasons(hold)
    ]
    return f"{word}: {escape.terminal(diff.local(rest, now=True))}\n{''.join(nodes)}"


def _some(reasons: str, *, wide: bool) -> str:
    parts = reasons.split("; ")
    if wide or len(parts) <= SHOWN_REASONS:
        return reasons
    more = len(parts) - SHOWN_REASONS
    return "; ".join(parts[:SHOWN_REASONS]) + f"; and {more} more (-o wide)"


def _rules(diff: Diff, *, wide: bool) -> str:
    """Rules that are broken or change; those that hold are one line, but for `wide`."""
    told = [rule for rule in diff.plan.rules if wide or rule.before or rule.after]
    rows = [
        [
            rule.intent.id,
            "Required" if rule.required else "Preferred",
            str(rule.before),
            str(rule.after),
            "; ".join(rule.after_messages or rule.before_messages),
        ]
        for rule in told
    ]
    table = columns(["RULE", "ENFORCEMENT", "BEFORE", "AFTER", "MESSAGE"], rows)
    hold = len(diff.plan.rules) - len(told)
    if not hold:
        return table
    return f"{table}{counted(hold, 'rule')} {'holds' if hold == 1 else 'hold'} before and after\n"


def _waves(diff: Diff) -> str:
    if not diff.plan.moves:
        return ""
    header = ["WAVE", "MOVES", "ESTIMATED START", "ESTIMATED END"]
    table = columns(header, wave_rows(diff.plan, diff.outlook.zone))
    return f"{table}\n{diff.queue}\n\n{escape.terminal(objective(diff.plan))}\n"


def _preview(preview: Preview, diff: Diff, paint: Paint) -> str:
    plan = preview.plan
    head = f"preview, not approved by a merge: {escape.terminal(preview.title)}\n"
    said = [(hold, is_said(diff, hold)) for hold in plan.holds]
    holds = "".join(_hold(hold, diff, paint, wide=False, said=known) for hold, known in said)
    return head + (_moves(plan.moves, awaited(plan), wide=False) + holds or "nothing moves\n")
