"""The closed grammar of `/gitbot ...`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitbot.kubernetes.names import NamespacedName
from gitbot.published import Verb
from gitbot.workflows.comments.grammar import USAGE, Command, ParseError, parse


def vm(namespace: str, name: str) -> NamespacedName:
    return NamespacedName(namespace=namespace, name=name)


COMMANDS: list[tuple[str, Command]] = [
    ("/gitbot plan", Command(verb=Verb.PLAN)),
    ("gitbot plan", Command(verb=Verb.PLAN)),
    ("  /GitBot PLAN  ", Command(verb=Verb.PLAN)),
    ("\r\n/gitbot hold\r\nthe storage is slow, see #7", Command(verb=Verb.HOLD)),
    ("/gitbot", Command(verb=Verb.HELP)),
    ("/gitbot help", Command(verb=Verb.HELP)),
    ("/gitbot resume", Command(verb=Verb.RESUME)),
    ("/gitbot apply", Command(verb=Verb.APPLY)),
    ("/gitbot status", Command(verb=Verb.STATUS)),
    ("/gitbot status request/customapp/jump",
     Command(verb=Verb.STATUS, request="request/customapp/jump")),
    ("/gitbot cancel drain/scu-firmware/20261206T210000Z",
     Command(verb=Verb.CANCEL, request="drain/scu-firmware/20261206T210000Z")),
    ("/gitbot cancel heal/a/ZoneAntiAffinity/b/0123456789ab",
     Command(verb=Verb.CANCEL, request="heal/a/ZoneAntiAffinity/b/0123456789ab")),
    ("/gitbot explain jumpbox", Command(verb=Verb.EXPLAIN, vm=vm("", "jumpbox"))),
    ("/gitbot explain vm/jumpbox", Command(verb=Verb.EXPLAIN, vm=vm("", "jumpbox"))),
    ("/gitbot explain customapp/jumpbox",
     Command(verb=Verb.EXPLAIN, vm=vm("customapp", "jumpbox"))),
    ("/gitbot returned n-5.example", Command(verb=Verb.RETURNED, node="n-5.example")),
    ("/gitbot hold --cluster prod", Command(verb=Verb.HOLD, cluster="prod")),
    ("/gitbot hold the storage is slow", Command(verb=Verb.HOLD, why="the storage is slow")),
    ("/gitbot hold \u202eslow\x07", Command(verb=Verb.HOLD, why="slow")),
    (
        f"/gitbot hold {'because ' * 50}",
        Command(verb=Verb.HOLD, why=("because " * 50)[:300]),
    ),
    (
        "/gitbot hold --cluster prod slow",
        Command(verb=Verb.HOLD, cluster="prod", why="slow"),
    ),
    ("/gitbot --cluster prod plan", Command(verb=Verb.PLAN, cluster="prod")),
]  # fmt: skip
NOTHING = ["", "   ", "please /gitbot plan", "> /gitbot plan", "/gitbotplan", "//gitbot plan",
           "gitbot is wonderful", "`/gitbot plan`", "nothing\n/gitbot plan"]  # fmt: skip
WRONG: list[tuple[str, str]] = [
    ("/gitbot destroy", "there is no such command"),
    ("/gitbot plan now", "plan takes no further words"),
    ("/gitbot hold; rm -rf /", "there is no such command"),
    ("gitbot hold on, what is this", "hold takes no further words"),
    ("/gitbot explain", "explain takes one name"),
    ("/gitbot explain a b", "explain takes one name"),
    ("/gitbot explain ../../etc", "explain takes one name"),
    ("/gitbot explain --kubeconfig=x", "explain takes one name"),
    ("/gitbot explain JUMPBOX", "explain takes one name"),
    ("/gitbot cancel jump", "cancel takes one name"),
    ("/gitbot cancel request/../x", "cancel takes one name"),
    ("/gitbot returned $(id)", "returned takes one name"),
    ("/gitbot status everything", "status takes the id"),
    ("/gitbot hold --cluster", "--cluster takes the name"),
    ("/gitbot hold --cluster -x", "--cluster takes the name"),
    ("/gitbot plan --cluster a --cluster b", "plan takes no further words"),
    (f"/gitbot {'x' * 400}", "at most 300 characters"),
]


@pytest.mark.parametrize(("body", "command"), COMMANDS)
def test_what_is_a_command(body: str, command: Command) -> None:
    assert parse(body) == command


@pytest.mark.parametrize("body", NOTHING)
def test_what_is_not_for_gitbot(body: str) -> None:
    assert parse(body) is None


@pytest.mark.parametrize(("body", "reason"), WRONG)
def test_what_is_misunderstood(body: str, reason: str) -> None:
    found = parse(body)
    assert isinstance(found, ParseError)
    assert reason in found.reason


@pytest.mark.parametrize("verb", list(Verb))
def test_the_usage_of_a_verb_without_a_name_is_a_command(verb: Verb) -> None:
    example = USAGE[verb].replace("[NAMESPACE/]VM", "db").replace("[REQUEST]", "")
    example = example.replace("REQUEST", "request/a/b").replace("NODE", "n1").replace("POLICY", "p")
    found = parse(example)
    assert isinstance(found, Command)
    assert found.verb is verb


@given(st.text(max_size=120))
def test_no_text_breaks_it_and_only_names_come_out(text: str) -> None:
    found = parse(f"/gitbot {text}")
    if isinstance(found, ParseError):
        rest = text.strip()
        assert len(rest) < 12 or rest not in found.reason
    elif found is not None:
        names = f"{found.cluster}{found.vm or ''}{found.request}{found.node}"
        assert all(item.isascii() and (item.isalnum() or item in "./_-") for item in names)
