"""The reference page of one policy, made from its file and its cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.policy.cases import CaseResult
from gitbot.policy.cel_engine import EXTENSIONS, REGEX
from gitbot.policy.cel_fields import MEANINGS
from gitbot.policy.library import LIBRARIES
from gitbot.policy.policy import Policy, PolicyScope
from gitbot.policy.variables import VARIABLES

_OVER = {"Plan": "once for the plan", "Move": "for each move", "Intent": "for each intent"}
_MEANING = {
    "Deny": "an error: the plan is refused",
    "Warn": "a warning",
    "Audit": "a note",
}


def page(policy: Policy, cases: Iterable[CaseResult]) -> str:
    return "\n".join(_lines(policy, tuple(case for case in cases if case.policy == policy.name)))


def variables_page() -> str:
    """The page of variables, their fields, and the functions besides CEL's own."""
    return "\n".join(_variables())


def _variables() -> Iterator[str]:
    yield "# What expressions of policies see\n"
    yield "| variable | over | what it is |\n|---|---|---|"
    for name, variable in VARIABLES.items():
        over = ", ".join(str(item) for item in PolicyScope if item in variable.over)
        yield f"| `{name}` | {over} | {variable.what} |"
    for name, meanings in MEANINGS.items():
        yield f"\n## {name}\n\n| field | meaning |\n|---|---|"
        yield from (f"| `{name}.{field}` | {_cell(text)} |" for field, text in meanings.items())
    yield "\n## Functions\n"
    yield "CEL's own functions and macros, and these of the extensions that are on:\n"
    yield from (f"- `{name}`: {functions}" for name, functions in EXTENSIONS.items())
    yield "\nAnd those of Kubernetes' own libraries, by the same names:\n"
    for library, overloads in {**LIBRARIES, "regex": REGEX}.items():
        functions = sorted({f"`{form.function}`" for form in overloads})
        yield f"- {library}: {', '.join(functions)}"
    yield ""


def _lines(policy: Policy, cases: tuple[CaseResult, ...]) -> Iterator[str]:
    yield f"# {policy.code}\n"
    if policy.description:
        yield f"{policy.description}\n"
    meanings = "; ".join(f"`{action}`, {_MEANING[action]}" for action in policy.actions)
    yield f"Evaluated {_OVER[policy.over]}. A failure is {meanings}.\n"
    if policy.conditions:
        yield "It applies where this holds:\n"
        yield from (f"- `{item.text}`" for item in policy.conditions)
        yield ""
    if policy.variables:
        yield "Its variables:\n"
        yield from (f"- `variables.{name}` is `{item.text}`" for name, item in policy.variables)
        yield ""
    yield "What must be true:\n"
    yield from (f"- `{item.expression.text}`" for item in policy.validations)
    if cases:
        yield "\n## Cases\n\n| case | result | message |\n|---|---|---|"
        yield from (f"| {case.name} | {case.expect} | {_cell(case.message)} |" for case in cases)
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
