"""The placement diff as Markdown: the one sticky comment on a pull request.

The first part has everything that a reviewer must know, the last lines say what to type next; both
are always present. Between them are the tables, the picture and the folded details. If the whole is
above GitHub's limit (65,536 characters), they are cut from the least important end. The template
comment.md.j2 puts the parts in order; a repository may have its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gitbot.errors import GitbotError
from gitbot.model.grouping import grouped
from gitbot.model.plan.diagnosis import Outcome
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.plan.plan import Hold, HoldState, Move, NodeRef, RuleState
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.model.text.wording import counted, first_of, shortened
from gitbot.reports import escape
from gitbot.reports.conditions import moment
from gitbot.reports.diff import (
    HOLD_TITLES,
    MANY,
    Diff,
    DiffState,
    Preview,
    by_reasons,
    is_said,
    wave_rows,
    what_to_do,
    why_held,
)
from gitbot.reports.markdown_parts import folded, line, table
from gitbot.reports.memory_traffic import Amount
from gitbot.reports.own_templates import (
    COMMENT,
    TemplateFault,
    TextQuestion,
    Values,
    render_text,
)
from gitbot.reports.picture import picture
from gitbot.reports.sentence import memory as _memory
from gitbot.reports.sentence import short_drains, size, time_known
from gitbot.reports.truncate import Section, fit, fit_each

LIMIT = COMMENT.most
_CELL = 401
_NAMED = 12
_OPEN_WAVES = 12
_SIGNS = {
    DiffState.DENIED: "❌",
    DiffState.BLOCKED: "❌",
    DiffState.WAITS: "⏳",
    DiffState.WARNING: "⚠️",
    DiffState.READY: "✅",
    DiffState.LATER: "✅",
    DiffState.NOTHING: "✅",
}


def marker(cluster: str) -> str:
    return f"<!-- gitbot:plan:{re.sub('[^0-9A-Za-z._]+', '-', cluster)} -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """An earlier plan that no longer holds. `time` in seconds UTC."""

    digest: str
    head: str
    time: int


def markdown(diff: Diff, *, templates: Mapping[str, str]) -> str:
    """The comment in gitbot's own words. Raises GitbotError if the template is missing or broken.

    At most `LIMIT` bytes in UTF-8, and so at most that many characters.
    """
    return worded(comment_values(diff), templates)


def worded(values: Values, templates: Mapping[str, str]) -> str:
    """The comment that gitbot's own template makes of `comment_values`. Raises GitbotError."""
    made: str | TemplateFault = TemplateFault(message="it is missing")
    if COMMENT.name in templates:
        made = render_text(TextQuestion(template=templates[COMMENT.name], values=values))
    if isinstance(made, TemplateFault):
        hint = "templates/ ships with gitbot: reinstall it, or put the file back"
        raise GitbotError(f"template {COMMENT.name} cannot be used: {made.message}", hint=hint)
    return made


def comment_values(
    diff: Diff, limit: int = LIMIT, *, notice: str = "", superseded: Iterable[Superseded] = ()
) -> Values:
    """The values of the template, in Markdown; their texts have `limit` bytes together at most.

    `notice` is a line before the counts; `superseded` are folded near the end.
    """
    first = {"marker": marker(diff.plan.cluster), "summary": summary(diff, notice=notice)}
    rest = limit - sum(len(text.encode("utf-8")) + 1 for text in first.values())
    named = list(_details(diff, tuple(superseded)))
    texts = dict.fromkeys(_PARTS, "")
    cut = fit_each((section for _, section in named), limit=rest)
    for (name, _), text in zip(named, cut, strict=True):
        texts[name] += text
    plan = diff.plan
    return {
        **first,
        **texts,
        "cluster": escape.markdown(plan.cluster),
        "digest": diff.digest,
        "verdict": line(diff.verdict),
        "moves": len(plan.moves),
        "held": sum(hold.state is HoldState.BLOCKED for hold in plan.holds),
    }


_PARTS = (
    "findings",
    "move_table",
    "memory",
    "hold_tables",
    "rules",
    "waves",
    "picture",
    "folded_moves",
    "details",
    "commands",
)


def summary(diff: Diff, *, notice: str = "") -> str:
    """Verdict, counts, digest, snapshot: the part that is never cut."""
    parts = _summary(diff)
    return "\n\n".join([parts[0], *([f"**{notice}**"] if notice else []), *parts[1:]]) + "\n\n"


def detail(diff: Diff, *, limit: int) -> str:
    return fit((section for _, section in _details(diff, ())), limit=limit)


def _details(diff: Diff, superseded: tuple[Superseded, ...]) -> Iterator[tuple[str, Section]]:
    """The sections after the summary, each with the part of the comment that it belongs to."""
    findings = [_finding_row(item, diff) for item in diff.said_locally]
    yield from _named("findings", table("", _FINDINGS, findings, 1, "finding"))
    many = len(diff.plan.moves) > MANY
    if not many:
        moves = [_move_row(move) for move in diff.plan.moves]
        yield from _named("move_table", table("", _MOVES, moves, 2, "move"))
    yield from _named("memory", _sums(diff))
    for state, title in HOLD_TITLES.items():
        rows = [_hold_row(hold, diff) for hold in diff.plan.holds if hold.state is state]
        yield from _named("hold_tables", table(title, _HOLDS, rows, 3, "hold"))
    rules = [_rule_row(rule) for rule in diff.plan.rules]
    yield from _named("rules", table("Rules", _RULES, rules, 4, "rule"))
    yield from _named("waves", _waves(diff))
    if drawn := picture(diff):
        fenced = escape.fence(drawn, "mermaid") + "\n\n"
        yield "picture", Section(head="", items=(fenced,), rank=5, noun="picture")
    if many:
        yield from _named("folded_moves", _many_moves(diff))
    yield from _named("details", _folds(diff, superseded))
    yield "commands", Section(head=_commands(diff))


def _named(name: str, sections: Iterable[Section]) -> Iterator[tuple[str, Section]]:
    return ((name, section) for section in sections)


def _folds(diff: Diff, superseded: tuple[Superseded, ...]) -> Iterator[Section]:
    yield from folded("Preflight checks", _check_items(diff.plan.moves), 9, "check")
    yield from folded("Why each node refuses", _reason_items(diff.plan.holds), 10, "reason")
    for preview in diff.previews:
        yield from folded(_preview_title(preview), _preview_items(preview, diff), 11, "line")
    openings = [f"- {line(opening)}\n" for opening in diff.openings]
    yield from folded("Openings that change in the next 12 months", openings, 11, "opening")
    texts = [escape.fence(manifest.text, "yaml") + "\n\n" for manifest in diff.manifests]
    yield from folded("Manifests", texts, 12, "manifest")
    lines = [_superseded_item(item, diff) for item in superseded]
    yield from folded("Superseded plans", lines, 13, "plan")


def _superseded_item(item: Superseded, diff: Diff) -> str:
    digest = escape.code(item.digest) if item.digest else "no plan"
    shown = moment(item.time, diff.outlook.zone)
    return f"- {digest} for {escape.code(item.head[:12])}, shown {shown}\n"


def _summary(diff: Diff) -> list[str]:
    plan = diff.plan
    state = f"{_SIGNS[diff.state]} gitbot on {escape.code(plan.cluster)}: **{line(diff.verdict)}**"
    taken = f"{moment(plan.snapshot.taken_at, diff.outlook.zone)} ({diff.snapshot_age})"
    mode = "mode Enforce" if diff.applies else _OBSERVE
    said = "\n".join(f"- **{label}**: {line(text)}" for label, text in diff.lines)
    return [
        state,
        *([f"{escape.markdown(diff.happens)}."] if diff.happens else []),
        *[f"**{escape.markdown(short)}**" for short in short_drains(plan)],
        f"**{diff.counts}**",
        f"plan {escape.code(diff.digest)} · snapshot {taken}{_report(diff)} · {mode}",
        *([said] if said else []),
    ]


def _report(diff: Diff) -> str:
    """A link to the complete report, if its address can be nothing else."""
    address = diff.report if _ADDRESS.fullmatch(diff.report) else ""
    return f" · [complete report]({address})" if address else ""


_ADDRESS = re.compile(r"https?://[0-9A-Za-z._~:/?#@!$&*+,;=%-]+")
_OBSERVE = f"**mode Observe: nothing moves until `{CONFIGURATION_FILE}` says `mode: Enforce`**"
_FINDINGS = ("severity", "where", "finding")
_MOVES = ("VM", "from", "to", "memory", "about", "why", "checks")
_HOLDS = ("VM", "reason", "what to do")
_RULES = ("rule", "enforcement", "before", "after")
_WAVES = ("wave", "moves", "estimated start", "estimated end")


def _waves(diff: Diff) -> Iterator[Section]:
    for section in table("", _WAVES, [*wave_rows(diff.plan, diff.outlook.zone)], 6, "wave"):
        if len(section.items) <= _OPEN_WAVES:
            yield replace(section, head=f"**Waves** ({diff.queue})\n\n{section.head}")
        else:
            title = f"<details><summary>{len(section.items)} waves</summary>\n\n"
            yield replace(section, head=f"{title}{section.head}", foot="\n</details>\n\n")


def _finding_row(finding: Finding, diff: Diff) -> tuple[str, ...]:
    hint = f"; {finding.hint}" if finding.hint else ""
    severity = f"**{finding.severity}**" if finding.severity is Severity.ERROR else finding.severity
    where = finding.where if finding.file else finding.code
    return (severity, escape.code(where), _cell(diff.local(f"{finding.message}{hint}")))


def _move_row(move: Move) -> tuple[str, ...]:
    why = move.why or move.intent.id
    return (
        escape.code(f"{move.vm.namespace}/{move.vm.name}"),
        _node(move.source),
        _node(move.to),
        size((move,)),
        f"{move.estimated_seconds} s{time_known(move)}",
        _cell(why),
        _checks(move),
    )


def _sums(diff: Diff) -> Iterator[Section]:
    """One sum of memory for every target; of many moves also by zone, and what leaves."""
    many = len(diff.plan.moves) > MANY
    nodes = [
        (escape.code(item.name), _sum(item.leaving), _sum(item.arriving), _memory(item.free))
        for item in diff.traffic
        if many or item.arriving.vms
    ]
    if many:
        zones = [
            (_zone(item.name), _sum(item.leaving), _sum(item.arriving), _memory(item.free))
            for item in diff.traffic_by_zone
        ]
        yield from table("Memory by zone", ("zone", *_SUMS), zones, 2, "zone")
        for section in table("", ("node", *_SUMS), nodes, 7, "node"):
            title = f"<details><summary>Memory by node ({len(nodes)})</summary>\n\n"
            yield replace(section, head=f"{title}{section.head}", foot="\n</details>\n\n")
    else:
        yield from table("Memory by target", ("node", *_SUMS), nodes, 3, "node")


_SUMS = ("leaves", "arrives", "free before")


def _sum(amount: Amount) -> str:
    return f"{counted(amount.vms, 'VM')}, {_memory(amount.memory)}" if amount.vms else "-"


def _zone(name: str) -> str:
    return escape.code(name) if name else "no zone"


def _many_moves(diff: Diff) -> Iterator[Section]:
    where = f"complete in the report{_report(diff)}" if _report(diff) else _COMPLETE
    head = f"<details><summary>{len(diff.plan.moves)} moves</summary>\n\n{where}\n\n"
    rows = [_move_row(move) for move in diff.plan.moves]
    for section in table("", _MOVES, rows, 8, "move"):
        yield replace(section, head=f"{head}{section.head}", foot="\n</details>\n\n")


_COMPLETE = "All of them, with their times: `gitbot plan -o html`."


def _node(ref: NodeRef) -> str:
    zone = f" ({escape.code(ref.zone)})" if ref.zone else ""
    return f"{escape.code(ref.node)}{zone}"


def _checks(move: Move) -> str:
    words = {Outcome.FAIL: "failed", Outcome.WARN: "warned", Outcome.PASS: "passed"}
    amounts = [
        (sum(check.outcome is outcome for check in move.checks), word)
        for outcome, word in words.items()
    ]
    return ", ".join(f"{amount} {word}" for amount, word in amounts if amount) or "none"


def _hold_row(hold: Hold, diff: Diff) -> tuple[str, ...]:
    return (
        escape.code(f"{hold.vm.namespace}/{hold.vm.name}"),
        f"{escape.code(hold.code)}: {_cell(why_held(hold, diff))}",
        _cell(what_to_do(hold)),
    )


def _rule_row(rule: RuleState) -> tuple[str, ...]:
    return (
        escape.code(rule.intent.id),
        "Required" if rule.required else "Preferred",
        _breaks(rule.before, rule.before_messages),
        _breaks(rule.after, rule.after_messages),
    )


def _breaks(amount: int, messages: tuple[str, ...]) -> str:
    if not amount:
        return "holds"
    return f"{counted(amount, 'break')}: {_cell('; '.join(messages))}"


def _check_items(moves: tuple[Move, ...]) -> list[str]:
    """Checks that warn or fail first, with their evidence; then the names of what passed."""
    loud = [
        f"- {escape.code(str(move.vm.namespaced_name))} {escape.code(check.name)} "
        f"**{check.outcome}**: {_cell(check.message)}\n"
        for move in moves
        for check in move.checks
        if check.outcome is not Outcome.PASS
    ]
    passed = grouped(
        (
            tuple(check.name for check in move.checks if check.outcome is Outcome.PASS),
            str(move.vm.namespaced_name),
        )
        for move in moves
    )
    return loud + [
        f"- passed for {_names(vms)}: {', '.join(escape.code(name) for name in names)}\n"
        for names, vms in passed.items()
        if names
    ]


def _reason_items(holds: tuple[Hold, ...]) -> list[str]:
    return [
        f"- {escape.code(str(hold.vm.namespaced_name))} on {_names(nodes)}: {_cell(reasons)}\n"
        for hold in holds
        for nodes, reasons in by_reasons(hold)
    ]


def _names(names: tuple[str, ...]) -> str:
    return first_of([escape.code(name) for name in names], _NAMED)


def _preview_title(preview: Preview) -> str:
    plan = preview.plan
    held = sum(hold.state is HoldState.BLOCKED for hold in plan.holds)
    title, moves = escape.markdown(preview.title), counted(len(plan.moves), "move")
    return f"Preview, not approved by a merge: {title} ({moves}, {held} blocked)"


def _preview_items(preview: Preview, diff: Diff) -> list[str]:
    moves = [
        f"- {escape.code(str(move.vm.namespaced_name))} from {_node(move.source)} to "
        f"{_node(move.to)}: {size((move,))}, about {move.estimated_seconds} s{time_known(move)}; "
        f"{_cell(move.why or move.intent.id)}\n"
        for move in preview.plan.moves
    ]
    holds = [
        f"- {escape.code(str(hold.vm.namespaced_name))} stays: "
        f"{'as said above' if is_said(diff, hold) else _cell(diff.local(hold.reason))}\n"
        for hold in preview.plan.holds
    ]
    return holds + moves or ["- nothing moves\n"]


def _commands(diff: Diff) -> str:
    typed = "\n".join(escape.plain(command) for command in diff.commands)
    return escape.fence(typed, "console") + "\n"


def _cell(text: str) -> str:
    return escape.markdown(shortened(text, _CELL))


def refusal(cluster: str, findings: Iterable[Finding], *, limit: int = LIMIT) -> str:
    """Marker, verdict and count first, then one line per finding, cut at the limit."""
    ordered = sorted(findings, key=sort_key)
    errors = sum(finding.severity is Severity.ERROR for finding in ordered)
    head = (
        f"{marker(cluster)}\n❌ gitbot on {escape.code(cluster)}: **nothing was planned**\n\n"
        f"**{counted(errors, 'error')}**; nothing is approved by merging this\n\n"
    )
    lines = tuple(f"- {escape.code(item.where)} {_words(item)}\n" for item in ordered)
    foot = "\n```console\ngitbot lint\n```\n"
    return fit(
        [
            Section(head=head),
            Section(head="", items=lines, rank=1, noun="finding"),
            Section(head=foot),
        ],
        limit=limit,
    )


def _words(finding: Finding) -> str:
    path = f"{finding.key_path}: " if finding.key_path else ""
    hint = f"; {finding.hint}" if finding.hint else ""
    return escape.markdown(f"{path}{finding.message}{hint}")
