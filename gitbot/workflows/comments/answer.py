"""Answers one comment: checks its author, parses it, carries it out once, and replies.

The event is only a hint: author, text and rights are read from the forge. Nothing here writes to
the cluster; the pass that is started afterwards does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from gitbot.errors import GitbotError
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.ports.forge import Comment, Forge
from gitbot.published import CommandOutcome, Verb
from gitbot.reports import cut_markdown, escape
from gitbot.workflows.ask import StatusResult
from gitbot.workflows.comments.grammar import MEANINGS, USAGE, Command, ParseError, parse
from gitbot.workflows.comments.verbs import CommandReply, do
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.pulls.statuses import own_comment

MAX_AGE = 86_400  # seconds after which a comment is too old to obey
MAX_ANSWER = 60_000  # characters of an answer's text
_CUT = "\n\nCut here: the command line has all."


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """How to print values as plain text, line by line."""

    status: Callable[[StatusResult], str]
    explain: Callable[[ClusterSnapshot, NamespacedName], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentResult:
    """The result of one comment. `start_pass`: the caller should start a pass now."""

    number: int
    comment: int
    outcome: CommandOutcome
    verb: str = ""
    text: str = ""
    start_pass: bool = False


def answer(
    shells: tuple[RunContext, ...], *, number: int, comment: int, texts: Texts
) -> CommentResult:
    """Read, judge and carry out one comment on a pull request or issue; answer it once.

    `shells` has one for each cluster, at least one. Raises GitbotError if the forge or the ledger
    cannot be read; the failure of a command is part of its answer.
    """
    forge = shells[0].forge
    said = forge.get_comment(number, comment)
    command = parse(said.body)
    result = CommentResult(number=number, comment=comment, outcome=CommandOutcome.IGNORED)
    if command is None or said.author == forge.bot:
        return result
    if own_comment(forge, number, marker(f"answer:{comment}")):
        return result
    refusal = _refusal(forge, said, now=shells[0].clock.now())
    if refusal:
        slug = re.sub("[^0-9A-Za-z]+", "-", said.author)
        _say(forge, number, f"refused:{slug}", refusal)
        return replace(result, outcome=CommandOutcome.REFUSED, text=refusal)
    if isinstance(command, ParseError):
        text = f"{command.reason}.\n\n{help_text()}"
        _say(forge, number, "help", text)
        return replace(result, outcome=CommandOutcome.MISUNDERSTOOD, text=text)
    result = replace(result, verb=str(command.verb))
    chosen = [item for item in shells if command.cluster in ("", item.cluster_name)]
    if not chosen:
        known = ", ".join(escape.code(item.cluster_name) for item in shells)
        text = f"there is no cluster {escape.code(command.cluster)}, but {known}"
        _say(forge, number, f"answer:{comment}", text)
        return replace(result, outcome=CommandOutcome.FAILED, text=text)
    done = [_do(shell, command, said, number, texts=texts) for shell in chosen]
    text = "\n\n".join(
        _part(shell, item, several=len(shells) > 1)
        for shell, item in zip(chosen, done, strict=True)
    )
    whole = help_text() if command.verb is Verb.HELP else cut_markdown(text, MAX_ANSWER, _CUT)
    _say(forge, number, f"answer:{comment}", whole)
    # a stop succeeds only on all clusters
    enough = all if command.verb in (Verb.HOLD, Verb.CANCEL) else any
    outcome = CommandOutcome.DONE if enough(item.ok for item in done) else CommandOutcome.FAILED
    start = any(item.start_pass for item in done)
    return replace(result, outcome=outcome, text=whole, start_pass=start)


def help_text() -> str:
    rows = [f"| `{USAGE[verb]}` | {MEANINGS[verb]} |" for verb in Verb]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    return (
        f"{table}\n\nIn the first line of a comment, by people who may write to this repository. "
        "With several clusters, `--cluster NAME` picks one.\n"
    )


def _refusal(forge: Forge, said: Comment, *, now: int) -> str:
    """Why gitbot does not obey the comment; "" if it does."""
    if not forge.can_write(said.author):
        return (
            f"{escape.code(said.author)} may not tell gitbot what to do here: that needs the right "
            "to write to this repository"
        )
    if said.edited:
        return "an edited comment is not obeyed: write a new one"
    if now - said.time > MAX_AGE:
        return "the comment is more than a day old: write it again"
    return ""


def _do(
    shell: RunContext, command: Command, said: Comment, number: int, *, texts: Texts
) -> CommandReply:
    try:
        return do(
            shell,
            command,
            by=said.author,
            said_at=said.time,
            number=number,
            status=texts.status,
            explain=texts.explain,
        )
    except GitbotError as error:
        return CommandReply(ok=False, text=f"not done: {escape.markdown(str(error))}")


def _part(shell: RunContext, done: CommandReply, *, several: bool) -> str:
    head = f"**{escape.markdown(shell.cluster_name)}**: " if several else ""
    fenced = f"\n\n{escape.fence(done.lines, 'text')}" if done.lines else ""
    return f"{head}{done.text}{fenced}"


def marker(about: str) -> str:
    return f"<!-- gitbot:{about} -->"


def _say(forge: Forge, number: int, about: str, text: str) -> None:
    mark = marker(about)
    forge.upsert_comment(number, marker=mark, body=f"{mark}\n{text}\n")
