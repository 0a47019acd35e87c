"""Code decides on enums and values: a reworded message changes no effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

GITBOT = Path(__file__).parents[2] / "gitbot"
PROSE = frozenset({"message", "reason", "title", "description", "stop"})
QUESTIONS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "find", "index"}
)
ELSEWHERE = ("simulation", "reports")  # what plays a cluster, and what only words texts
ALLOWED = {
    "adapters/git/branches.py: 'certificate' in error.message": "Git has no code for it",
    "adapters/git/branches.py: 'dubious ownership' in error.message": "Git has no code for it",
    "adapters/sandbox/policy_runner.py: failure.message.endswith(_OUT_OF_MEMORY)": (
        "the text is the CEL runtime's"
    ),
    "documents/decode_errors.py: finding.message.removeprefix('found ')": "words one sentence",
    "documents/source_text.py: error.reason == 'unexpected end of data'": "Python's codec says so",
    "policy/cases.py: case.message != message": "a policy test names the message that it expects",
    "workflows/apply/effects.py: IN_FLIGHT in error.message": "KubeVirt's webhook has no code",
    "workflows/apply/effects.py: words in error.message": "the API server has no code for a quota",
    # a status keeps nothing but its state and this line, and gitbot has no other store there
    "workflows/check/refresh.py: status.description == GIVEN": "read back from the forge",
    "workflows/ledger/anchor.py: status.description == EMPTY": "read back from the forge",
    "workflows/pulls/labels.py: status.description.startswith(CHANGED)": "read back from the forge",
    "workflows/pulls/verdicts.py: status.description.endswith(_plan_id(digest))": (
        "read back from the forge"
    ),
}


def _is_prose(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in PROSE


def decisions(tree: ast.AST) -> Iterator[ast.expr]:
    """Questions about what a text says. Whether there is one (`== ""`) is no such question."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = (left, *others)
                empty = any(isinstance(item, ast.Constant) and not item.value for item in sides)
                if any(map(_is_prose, sides)) and not empty:
                    yield node
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in QUESTIONS:
                if _is_prose(value):
                    yield node


def test_no_decision_rests_on_the_words_of_a_message() -> None:
    found = {
        f"{path.relative_to(GITBOT).as_posix()}: {ast.unparse(node)}"
        for path in sorted(GITBOT.rglob("*.py"))
        if path.relative_to(GITBOT).parts[0] not in ELSEWHERE
        for node in decisions(ast.parse(path.read_text("utf-8")))
    }
    assert found == set(ALLOWED)


def test_questions_about_words_are_found_and_others_are_not() -> None:
    asked = "x.stop.startswith(y); 'a' in x.message; x.title == y; x.reason == ''; x.name == y"
    found = {ast.unparse(node) for node in decisions(ast.parse(asked))}
    assert found == {"'a' in x.message", "x.title == y", "x.stop.startswith(y)"}
