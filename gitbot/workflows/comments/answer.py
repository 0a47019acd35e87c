"""Answer one comment: who said it, may they, what does it mean, do it once, say what came of it.

The event is a hint only: author, text and rights are read from the forge. Nothing here reaches the
cluster; what has to be done there is left to the pass that is started then.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from gitbot.errors import GitbotError
from gitbot.execution.values import Replay
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.names import NamespacedName
from gitbot.ports.forge import Comment, Forge, is_marked
from gitbot.reports import inert
from gitbot.workflows.comments.grammar import (
    MEANINGS,
    Command,
    Misunderstood,
    Verb,
    parse,
    usage,
)
from gitbot.workflows.comments.verbs import Done, do
from gitbot.workflows.shell import Shell
from gitbot.workflows.status import StatusResult

MAX_AGE = 86_400  # seconds after which a comment is no order any more
MAX_ANSWER = 60_000  # characters of an answer's text


class Outcome(StrEnum):
    """What became of a comment."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"  # no right, too old, edited
    MISUNDERSTOOD = "misunderstood"
    IGNORED = "ignored"  # not for gitbot, its own, or answered before


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """How values are said in plain text, line by line."""

    status: Callable[[StatusResult], str]
    explain: Callable[[ClusterSnapshot, NamespacedName], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentResult:
    """What became of one comment. `start_pass`: somebody should start a pass now."""

    number: int
    comment: int
    outcome: Outcome
    verb: str = ""
    text: str = ""
    start_pass: bool = False


def answer(
    shells: tuple[Shell, ...], *, number: int, comment: int, texts: Texts, replay: Replay
) -> CommentResult:
    """Read, judge and carry out one comment on a pull request or issue; answer it once.

    `shells` are those of all clusters, at least one. Raises GitbotError where the forge or the
    ledger cannot be read; what a command itself cannot do is in its answer.
    """
    forge = shells[0].forge
    said = forge.get_comment(number, comment)
    command = parse(said.body)
    result = CommentResult(number=number, comment=comment, outcome=Outcome.IGNORED)
    if command is None or said.author == forge.bot or _is_answered(forge, number, comment):
        return result
    refusal = _refusal(forge, said, now=shells[0].clock.now())
    if refusal:
        _say(forge, number, f"refused:{_slug(said.author)}", refusal)
        return _as(result, Outcome.REFUSED, refusal)
    if isinstance(command, Misunderstood):
        text = f"{command.reason}.\n\n{help_text()}"
        _say(forge, number, "help", text)
        return _as(result, Outcome.MISUNDERSTOOD, text)
    chosen = [item for item in shells if command.cluster in ("", item.cluster_name)]
    if not chosen:
        known = ", ".join(inert.code(item.cluster_name) for item in shells)
        text = f"there is no cluster {inert.code(command.cluster)}, but {known}"
        _say(forge, number, f"answer:{comment}", text)
        return _as(result, Outcome.FAILED, text, command)
    done = [_do(shell, command, said, number, texts=texts, replay=replay) for shell in chosen]
    text = "\n\n".join(
        _part(shell, item, several=len(shells) > 1)
        for shell, item in zip(chosen, done, strict=True)
    )
    whole = help_text() if command.verb is Verb.HELP else _cut(text)
    _say(forge, number, f"answer:{comment}", whole)
    enough = all if command.verb in (Verb.HOLD, Verb.CANCEL) else any  # a stop is whole or failed
    outcome = Outcome.DONE if enough(item.ok for item in done) else Outcome.FAILED
    start = any(item.start_pass for item in done)
    return _as(result, outcome, whole, command, start_pass=start)


def help_text() -> str:
    """All commands with their meanings."""
    rows = [f"| `{usage(verb)}` | {MEANINGS[verb]} |" for verb in Verb]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    return (
        f"{table}\n\nIn the first line of a comment, by people who may write to this repository. "
        "With several clusters, `--cluster NAME` picks one.\n"
    )


def _is_answered(forge: Forge, number: int, comment: int) -> bool:
    mark = marker(f"answer:{comment}")
    return any(
        is_marked(item.body, mark) and item.author == forge.bot
        for item in forge.list_comments(number)
    )


def _refusal(forge: Forge, said: Comment, *, now: int) -> str:
    """Why what was said is not obeyed; "" where it is."""
    if not forge.can_write(said.author):
        return (
            f"{inert.code(said.author)} may not tell gitbot what to do here: that needs the right "
            "to write to this repository"
        )
    if said.edited:
        return "an edited comment is not obeyed: write a new one"
    if now - said.time > MAX_AGE:
        return "this was said more than a day ago: say it again"
    return ""


def _do(
    shell: Shell, command: Command, said: Comment, number: int, *, texts: Texts, replay: Replay
) -> Done:
    try:
        return do(
            shell,
            command,
            by=said.author,
            said_at=said.time,
            number=number,
            status=texts.status,
            explain=texts.explain,
            replay=replay,
        )
    except GitbotError as error:
        return Done(ok=False, text=f"not done: {inert.markdown(str(error))}")


def _part(shell: Shell, done: Done, *, several: bool) -> str:
    head = f"**{inert.markdown(shell.cluster_name)}**: " if several else ""
    fenced = f"\n\n{_fence(done.lines)}" if done.lines else ""
    return f"{head}{done.text}{fenced}"


def _fence(text: str) -> str:
    runs = re.findall("`+", text)
    fence = "`" * max(3, 1 + max(map(len, runs), default=0))
    return f"{fence}text\n{inert.lines(text.rstrip())}\n{fence}"


def _cut(text: str) -> str:
    if len(text) <= MAX_ANSWER:
        return text
    return f"{text[:MAX_ANSWER].rpartition(chr(10))[0]}\n```\n\nCut here: the command line has all."


def marker(about: str) -> str:
    """The hidden line by which an answer is found again."""
    return f"<!-- gitbot:{about} -->"


def _slug(author: str) -> str:
    return re.sub("[^0-9A-Za-z]+", "-", author)


def _say(forge: Forge, number: int, about: str, text: str) -> None:
    mark = marker(about)
    forge.upsert_comment(number, marker=mark, body=f"{mark}\n{text}\n")


def _as(
    result: CommentResult,
    outcome: Outcome,
    text: str,
    command: Command | None = None,
    *,
    start_pass: bool = False,
) -> CommentResult:
    return CommentResult(
        number=result.number,
        comment=result.comment,
        outcome=outcome,
        verb=str(command.verb) if command else "",
        text=text,
        start_pass=start_pass,
    )
