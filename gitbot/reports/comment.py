"""The placement diff as Markdown: the one sticky comment on a pull request.

The first part says all that a reviewer must know, the last lines what to type next; both are
always there. Between them the tables, the picture and the folded details, cut from the end of the
least important where the whole would be above what GitHub takes (65,536 characters).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gitbot.model.findings import Finding, Severity
from gitbot.model.instants import format_instant
from gitbot.model.manifest import Manifest
from gitbot.model.plan import Hold, Move, NodeRef, Outcome, RuleState
from gitbot.reports import inert
from gitbot.reports.diff import Diff, DiffState, Preview, by_reasons, counted, what_to_do
from gitbot.reports.fit import Section, fit
from gitbot.reports.picture import picture

LIMIT = 65_536
_CELL = 400
_NAMED = 12
_OPEN_WAVES = 12
_SIGNS = {
    DiffState.DENIED: "❌",
    DiffState.BLOCKED: "❌",
    DiffState.WARNING: "⚠️",
    DiffState.READY: "✅",
    DiffState.NOTHING: "✅",
}


def marker(cluster: str) -> str:
    """The hidden first line by which the comment is found again."""
    return f"<!-- gitbot:plan:{re.sub('[^0-9A-Za-z._]+', '-', cluster)} -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A plan that was shown before and no longer holds. `time` in seconds UTC."""

    digest: str
    head: str
    time: int


def markdown(
    diff: Diff, *, limit: int = LIMIT, notice: str = "", superseded: Iterable[Superseded] = ()
) -> str:
    """The comment, at most `limit` bytes in UTF-8, so never more characters than that.

    `notice` is a line of our own before the counts; `superseded` are folded near the end.
    """
    head = f"{marker(diff.plan.cluster)}\n{summary(diff, notice=notice)}"
    return fit([Section(head=head), *_details(diff, tuple(superseded))], limit=limit)


def summary(diff: Diff, *, notice: str = "") -> str:
    """Verdict, counts, digest, snapshot: what is never cut."""
    parts = _summary(diff)
    return "\n\n".join([parts[0], *([f"**{notice}**"] if notice else []), *parts[1:]]) + "\n\n"


def detail(diff: Diff, *, limit: int) -> str:
    """What follows the summary, at most `limit` bytes."""
    return fit(_details(diff, ()), limit=limit)


def _details(diff: Diff, superseded: tuple[Superseded, ...]) -> Iterator[Section]:
    yield from _table("", _FINDINGS, [_finding_row(item) for item in diff.said], 1, "finding")
    yield from _table("", _MOVES, [_move_row(move) for move in diff.plan.moves], 2, "move")
    for title, asked in (("Blocked", True), ("Stay where they are", False)):
        rows = [_hold_row(hold) for hold in diff.plan.holds if hold.asked is asked]
        yield from _table(title, _HOLDS, rows, 3, "hold")
    yield from _table("Rules", _RULES, [_rule_row(rule) for rule in diff.plan.rules], 4, "rule")
    yield from _waves(diff)
    if drawn := picture(diff):
        yield Section(head="", items=(_fence("mermaid", drawn),), rank=6, noun="picture")
    yield from _folded("Preflight checks", _check_items(diff.plan.moves), 7, "check")
    yield from _folded("Why each node refuses", _reason_items(diff.plan.holds), 8, "reason")
    for preview in diff.previews:
        yield from _folded(_preview_title(preview), _preview_items(preview), 9, "line")
    yield from _folded("Manifests", _manifest_items(diff.manifests), 10, "manifest")
    lines = [_superseded_item(item) for item in superseded]
    yield from _folded("Superseded plans", lines, 11, "plan")
    yield Section(head=_commands(diff))


def _superseded_item(item: Superseded) -> str:
    digest = inert.code(item.digest) if item.digest else "no plan"
    return f"- {digest} for {inert.code(item.head[:12])}, shown {format_instant(item.time)}\n"


def _summary(diff: Diff) -> list[str]:
    plan = diff.plan
    state = f"{_SIGNS[diff.state]} gitbot on {inert.code(plan.cluster)}: **{diff.state}**"
    expires = format_instant(diff.expires_at)
    taken = f"{format_instant(plan.snapshot.taken_at)} ({diff.snapshot_age})"
    return [
        state,
        f"**{diff.counts}**{_duration(diff)}",
        f"plan {inert.code(diff.digest)} · snapshot {taken} · approve before {expires}",
    ]


def _duration(diff: Diff) -> str:
    if not diff.plan.waves:
        return ""
    starts = min(wave.starts for wave in diff.plan.waves)
    ends = max(wave.ends for wave in diff.plan.waves)
    return (
        f", {counted(len(diff.plan.waves), 'wave')}, estimated {format_instant(starts)} to "
        f"{format_instant(ends)} at {diff.bandwidth // 2**20} MiB/s a migration"
    )


_FINDINGS = ("severity", "where", "finding")
_MOVES = ("VM", "from", "to", "why", "checks")
_HOLDS = ("VM", "reason", "what to do")
_RULES = ("rule", "enforcement", "before", "after")
_WAVES = ("wave", "moves", "estimated start", "estimated end")


def _table(
    title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]], rank: int, noun: str
) -> Iterator[Section]:
    if not rows:
        return
    heading = f"**{title}**\n\n" if title else ""
    ruler = "|".join(["---"] * len(columns))
    yield Section(
        head=f"{heading}| {' | '.join(columns)} |\n|{ruler}|\n",
        items=tuple(f"| {' | '.join(row)} |\n" for row in rows),
        foot="\n",
        rank=rank,
        noun=noun,
    )


def _waves(diff: Diff) -> Iterator[Section]:
    """The waves, folded where they are many."""
    for section in _table("", _WAVES, _wave_rows(diff), 5, "wave"):
        if len(section.items) <= _OPEN_WAVES:
            yield replace(section, head=f"**Waves** ({diff.queue})\n\n{section.head}")
        else:
            title = f"<details><summary>{len(section.items)} waves</summary>\n\n"
            yield replace(section, head=f"{title}{section.head}", foot="\n</details>\n\n")


def _folded(title: str, items: list[str], rank: int, noun: str) -> Iterator[Section]:
    if not items:
        return
    yield Section(
        head=f"<details><summary>{title}</summary>\n\n",
        items=tuple(items),
        foot="\n</details>\n\n",
        rank=rank,
        noun=noun,
    )


def _finding_row(finding: Finding) -> tuple[str, ...]:
    hint = f"; {finding.hint}" if finding.hint else ""
    severity = f"**{finding.severity}**" if finding.severity is Severity.ERROR else finding.severity
    where = finding.where if finding.file else finding.code
    return (severity, inert.code(where), _cell(f"{finding.message}{hint}"))


def _move_row(move: Move) -> tuple[str, ...]:
    why = move.why or move.intent.id
    return (
        inert.code(f"{move.vm.namespace}/{move.vm.name}"),
        _node(move.source),
        _node(move.to),
        _cell(why),
        _checks(move),
    )


def _node(ref: NodeRef) -> str:
    zone = f" ({inert.code(ref.zone)})" if ref.zone else ""
    return f"{inert.code(ref.node)}{zone}"


def _checks(move: Move) -> str:
    words = {Outcome.FAIL: "failed", Outcome.WARN: "warned", Outcome.PASS: "passed"}
    amounts = [
        (sum(check.outcome is outcome for check in move.checks), word)
        for outcome, word in words.items()
    ]
    return ", ".join(f"{amount} {word}" for amount, word in amounts if amount) or "none"


def _hold_row(hold: Hold) -> tuple[str, ...]:
    return (
        inert.code(f"{hold.vm.namespace}/{hold.vm.name}"),
        f"{inert.code(hold.code)}: {_cell(hold.reason)}",
        _cell(what_to_do(hold)),
    )


def _rule_row(rule: RuleState) -> tuple[str, ...]:
    return (
        inert.code(rule.intent.id),
        "Required" if rule.required else "Preferred",
        _breaks(rule.before, rule.before_messages),
        _breaks(rule.after, rule.after_messages),
    )


def _breaks(amount: int, messages: tuple[str, ...]) -> str:
    if not amount:
        return "holds"
    return f"{counted(amount, 'break')}: {_cell('; '.join(messages))}"


def _wave_rows(diff: Diff) -> list[tuple[str, ...]]:
    moves = diff.plan.moves
    return [
        (
            str(wave.index + 1),
            str(sum(move.wave == wave.index for move in moves)),
            format_instant(wave.starts),
            format_instant(wave.ends),
        )
        for wave in diff.plan.waves
    ]


def _check_items(moves: tuple[Move, ...]) -> list[str]:
    """What warns or fails first, with its evidence; then the names of what passed."""
    loud = [
        f"- {inert.code(str(move.vm.namespaced_name))} {inert.code(check.name)} "
        f"**{check.outcome}**: {_cell(check.message)}\n"
        for move in moves
        for check in move.checks
        if check.outcome is not Outcome.PASS
    ]
    passed: dict[tuple[str, ...], list[str]] = {}
    for move in moves:
        names = tuple(check.name for check in move.checks if check.outcome is Outcome.PASS)
        passed.setdefault(names, []).append(str(move.vm.namespaced_name))
    return loud + [
        f"- passed for {_names(tuple(vms))}: {', '.join(inert.code(name) for name in names)}\n"
        for names, vms in passed.items()
        if names
    ]


def _reason_items(holds: tuple[Hold, ...]) -> list[str]:
    return [
        f"- {inert.code(str(hold.vm.namespaced_name))} on {_names(nodes)}: {_cell(reasons)}\n"
        for hold in holds
        for nodes, reasons in by_reasons(hold)
    ]


def _names(names: tuple[str, ...]) -> str:
    shown = ", ".join(inert.code(name) for name in names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def _preview_title(preview: Preview) -> str:
    plan = preview.plan
    held = sum(hold.asked for hold in plan.holds)
    title = inert.markdown(preview.title)
    return f"Preview, not approved by a merge: {title} ({len(plan.moves)} moves, {held} blocked)"


def _preview_items(preview: Preview) -> list[str]:
    moves = [
        f"- {inert.code(str(move.vm.namespaced_name))} from {_node(move.source)} to "
        f"{_node(move.to)}: {_cell(move.why or move.intent.id)}\n"
        for move in preview.plan.moves
    ]
    holds = [
        f"- {inert.code(str(hold.vm.namespaced_name))} stays: {_cell(hold.reason)}\n"
        for hold in preview.plan.holds
    ]
    return holds + moves or ["- nothing moves\n"]


def _manifest_items(manifests: tuple[Manifest, ...]) -> list[str]:
    return [_fence("yaml", manifest.text) for manifest in manifests]


def _fence(language: str, content: str) -> str:
    runs = re.findall("`+", content)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}{language}\n{inert.lines(content.rstrip())}\n{fence}\n\n"


def _commands(diff: Diff) -> str:
    typed = "\n".join(inert.plain(command) for command in diff.commands)
    return _fence("console", typed).rstrip() + "\n"


def _cell(text: str) -> str:
    cut = text if len(text) <= _CELL else f"{text[:_CELL]}…"
    return inert.markdown(cut)
