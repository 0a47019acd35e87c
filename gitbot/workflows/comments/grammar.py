"""The grammar of `/gitbot ...`: a verb, at most one name, at most one cluster. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitbot.kubernetes.names import NamespacedName
from gitbot.published import Verb

MAX_LINE = 300  # characters of a command; a longer line is not a command
_OPENERS = ("/gitbot", "gitbot")
# names as in Kubernetes; ids as in the ledger
_NAME = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_VM = re.compile(rf"(?:vm/)?(?:({_NAME})/)?({_NAME})")
_NODE = re.compile(_NAME)
_CLUSTER = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_REQUEST = re.compile(r"(?:request|drain|return|heal)(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,252}){1,4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command. `cluster` "" means all; the other fields are set if the verb takes them.

    `why` is a person's own text on one line, for the record: printable characters only.
    """

    verb: Verb
    cluster: str = ""
    vm: NamespacedName | None = None
    request: str = ""
    node: str = ""
    policy: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseError:
    """A text addressed to gitbot that is not a command; `reason` does not quote it."""

    reason: str


def parse(body: str) -> Command | ParseError | None:
    """The command of a comment; None if it does not begin with `/gitbot`, or `gitbot VERB`.

    Only the first line is the command; further lines are for people. A namespace "" in `vm` means
    that the comment has none.
    """
    line = body.lstrip("\ufeff \t\r\n").split("\n", 1)[0].strip()
    words = line.split()
    if not words or words[0].lower() not in _OPENERS:
        return None
    is_asked = words[0].startswith("/")
    stops = is_asked and len(words) > 1 and words[1].lower() == Verb.HOLD
    if len(line) > MAX_LINE and not stops:
        return ParseError(reason=f"a command is at most {MAX_LINE} characters long")
    words, cluster = _without_cluster(words[1:])
    if cluster is None:
        return ParseError(reason="--cluster takes the name of a cluster")
    if not words:
        return Command(verb=Verb.HELP)
    verb = next((item for item in Verb if item == words[0].lower()), None)
    if verb is None:  # without the slash it may be a sentence about gitbot
        return ParseError(reason="there is no such command") if is_asked else None
    if stops:  # a person in a hurry may give the reason in the same line
        return Command(verb=verb, cluster=cluster, why=_printable(" ".join(words[1:])))
    return _with_name(verb, words[1:], cluster)


def _printable(text: str) -> str:
    """No control or bidi character, and no more than a line."""
    return "".join(letter for letter in text if letter.isprintable())[:MAX_LINE]


def _without_cluster(words: list[str]) -> tuple[list[str], str | None]:
    """The words without `--cluster NAME`; None if no valid name follows."""
    if "--cluster" not in words:
        return words, ""
    place = words.index("--cluster")
    name = words[place + 1] if place + 1 < len(words) else ""
    rest = words[:place] + words[place + 2 :]
    return rest, name if _CLUSTER.fullmatch(name) else None


def _with_name(verb: Verb, names: list[str], cluster: str) -> Command | ParseError:
    match verb, names:
        case Verb.EXPLAIN, [name] if found := _VM.fullmatch(name):
            vm = NamespacedName(namespace=found.group(1) or "", name=found.group(2))
            return Command(verb=verb, cluster=cluster, vm=vm)
        case Verb.CANCEL | Verb.STATUS, [name] if _REQUEST.fullmatch(name):
            return Command(verb=verb, cluster=cluster, request=name)
        case Verb.RETURNED, [name] if _NODE.fullmatch(name):
            return Command(verb=verb, cluster=cluster, node=name)
        case Verb.OVERRIDE, [name, _, *_] if _NODE.fullmatch(name):
            why = _printable(" ".join(names[1:]))
            return Command(verb=verb, cluster=cluster, policy=name, why=why)
        case Verb.OVERRIDE, _:
            return ParseError(reason=f"override takes a policy and a reason: {USAGE[verb]}")
        case ((Verb.EXPLAIN | Verb.CANCEL | Verb.RETURNED), _):
            return ParseError(reason=f"{verb} takes one name: {USAGE[verb]}")
        case _, []:
            return Command(verb=verb, cluster=cluster)
        case Verb.STATUS, _:
            return ParseError(reason=f"status takes the id of a request: {USAGE[verb]}")
    return ParseError(reason=f"{verb} takes no further words")


USAGE: dict[Verb, str] = {
    Verb.PLAN: "/gitbot plan",
    Verb.STATUS: "/gitbot status [REQUEST]",
    Verb.EXPLAIN: "/gitbot explain [NAMESPACE/]VM",
    Verb.HOLD: "/gitbot hold [WHY]",
    Verb.RESUME: "/gitbot resume",
    Verb.CANCEL: "/gitbot cancel REQUEST",
    Verb.APPLY: "/gitbot apply",
    Verb.RETURNED: "/gitbot returned NODE",
    Verb.OVERRIDE: "/gitbot override POLICY WHY",
    Verb.HELP: "/gitbot help",
}
MEANINGS: dict[Verb, str] = {
    Verb.PLAN: "plan this pull request again",
    Verb.STATUS: "what runs, what waits and for what, what failed",
    Verb.EXPLAIN: "where the VM could run, and why not elsewhere",
    Verb.HOLD: "stop everything, now",
    Verb.RESUME: "remove the stop flag",
    Verb.CANCEL: "end one request permanently",
    Verb.APPLY: "start a pass, on a merged pull request",
    Verb.RETURNED: "say that a node is back from its maintenance",
    Verb.OVERRIDE: "let this plan pass a policy that denies it, as its named owner",
    Verb.HELP: "this list",
}
