"""`gitbot policy eval`: what an expression gives over plan, moves, VMs or intents, part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from gitbot.cli.shared.options import LISTED, output_option
from gitbot.cli.shared.output import document_text, shown_findings
from gitbot.cli.shared.planning_input import PlanOptions, asking_options, run_check
from gitbot.cli.shared.session import colour
from gitbot.errors import UsageError
from gitbot.model.text.wording import nearest, shortened
from gitbot.wiring import policy_runner

if TYPE_CHECKING:
    from gitbot.policy.evaluate_once import EvaluatedStep, PolicySubject
    from gitbot.workflows.check import CheckResult

_WIDE = 60  # characters of a value in a table
_OVERS = ("Plan", "Move", "Intent", "VM")


@click.command("eval")
@click.argument("expression")
@click.option(
    "--over",
    type=click.Choice(_OVERS, case_sensitive=False),
    help="Evaluate once for the plan, or for each move, intent or VM of the cluster. Without it, "
    "what the variables of the expression belong to.",
)
@click.option("--of", "subject", metavar="NAME", help="Only this VM (NAMESPACE/NAME) or intent.")
@output_option(LISTED, "table")
@asking_options
def evaluate(
    expression: str, over: str | None, subject: str | None, asked: PlanOptions, output: str
) -> int:
    """Evaluate a CEL EXPRESSION over the plan of now, and show what its parts give.

    One line for each move, VM or intent; the values of all parts for one of them (--of), and in
    JSON. Exit code 1 if it gives no answer for some of them.
    """
    program, over = _compiled(expression, over)
    result = run_check(asked, human=output in ("table", "wide"))
    if result.judged is None or result.revision is None or result.problem is None:
        click.echo(shown_findings(result.all_findings, "table", colour=colour()), nl=False)
        return 1
    found = _subjects(result, over, asked, subject)
    steps = policy_runner().tried(program, found, whole=_whole(found, output))
    outcomes = list(zip(found, steps, strict=True))
    if output == "name":
        names = [item.name for item, step in outcomes if step.value is True]
        click.echo("".join(f"{name}\n" for name in names), nl=False)
    elif output in ("json", "yaml"):
        click.echo(_document(expression, over, outcomes, output), nl=False)
    else:
        click.echo(_table(outcomes), nl=False)
    return 1 if any(step.error for _, step in outcomes) else 0


def _whole(found: Sequence[PolicySubject], output: str) -> bool:
    return output in ("json", "yaml") or len(found) == 1


def _compiled(expression: str, over: str | None) -> tuple[Any, str]:
    from gitbot.policy.evaluate_once import ExpressionError, compiled, natural  # noqa: PLC0415

    try:
        chosen = over or natural(expression, policy_runner())
        return compiled(expression, chosen, policy_runner()), chosen
    except ExpressionError as error:
        found = shortened(expression[error.offset(expression) :].strip(), 40)
        raise UsageError(
            f"the expression does not compile: line {error.line}, column {error.column}: "
            f"{error.message}",
            hint=f"it stands before `{found}`" if found else "it stands at the end",
        ) from error


def _subjects(
    result: CheckResult, over: str, asked: PlanOptions, subject: str | None
) -> Sequence[PolicySubject]:
    from gitbot.policy.evaluate_once import subjects  # noqa: PLC0415
    from gitbot.workflows.core.plan_verdict import policy_variables  # noqa: PLC0415

    assert result.judged is not None
    assert result.revision is not None
    assert result.problem is not None
    scope = asked.scope
    plan = result.judged.plan
    variables = policy_variables(result.revision, result.problem, plan, asked.now)
    every = subjects(variables, over)
    found = [
        item
        for item in every
        if scope is None
        or "vm" not in item.data
        or scope.holds(item.data["vm"]["namespace"], item.data["vm"]["labels"])
    ]
    if subject is None:
        return found
    chosen = [item for item in found if f"/{item.name}".endswith(f"/{subject}")]
    if not chosen:
        names = [item.name for item in found]
        near = nearest(subject, names)
        raise UsageError(
            f"there is no {over.lower() if over != 'VM' else over} {subject}",
            hint=f"did you mean {near}?" if near else f"there are {', '.join(names[:8]) or 'none'}",
        )
    return chosen


def _document(
    expression: str, over: str, outcomes: Sequence[tuple[PolicySubject, EvaluatedStep]], output: str
) -> str:
    from gitbot.published import PolicyEvaluation, published  # noqa: PLC0415 - keeps --help quick

    items = [{"subject": item.name, "outcome": step} for item, step in outcomes]
    fields = {"expression": expression, "over": over, "items": items}
    return document_text(published(fields, PolicyEvaluation), output)


def _table(outcomes: Sequence[tuple[PolicySubject, EvaluatedStep]]) -> str:
    from gitbot.reports import columns  # noqa: PLC0415 - keeps --help quick

    if len(outcomes) == 1:
        return columns(["PLACE", "VALUE", "EXPRESSION"], list(_rows(outcomes[0][1], 0)))
    rows = [[item.name, _shown(step)] for item, step in outcomes]
    return columns(["SUBJECT", "VALUE"], rows) or "there is nothing to evaluate it over\n"


def _rows(
    step: EvaluatedStep, depth: int, known: frozenset[str] = frozenset()
) -> Iterator[list[str]]:
    new = {name: value for name, value in step.given.items() if name not in known}
    given = ", ".join(f"{name} = {_text(value)}" for name, value in new.items())
    where = f"{step.line}:{step.column}"
    with_given = f"   with {given}" if given else ""
    yield [where, _shown(step), "  " * depth + step.expression + with_given]
    for part in step.parts:
        yield from _rows(part, depth + 1, known | step.given.keys())
    if step.left_out:
        yield ["", "", "  " * (depth + 1) + f"and {step.left_out} more rounds"]


def _shown(step: EvaluatedStep) -> str:
    return f"no answer: {step.error}" if step.error else _text(step.value)


def _text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
