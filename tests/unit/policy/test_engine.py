from typing import Any

import pytest

from gitbot.policy.cel_engine import compile_expression, evaluate, timestamp
from gitbot.policy.cel_fields import unknown_field
from gitbot.policy.errors import EvaluationError, ExpressionError

NAMES = frozenset({"plan", "vm", "now", "variables"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("size(plan.moves) == 2", True),
        ("plan.moves.exists(m, m.wave == 1)", True),
        ("vm.labels[?'a'].orValue('-')", "b"),
        ("vm.labels[?'x'].orValue('-')", "-"),
        ("vm.?nope.orValue('none')", "none"),
        ("'%d of %s'.format([plan.moves[1].wave, vm.labels.a])", "1 of b"),
        ("now - timestamp('2026-12-06T20:59:00Z') == duration('60s')", True),
        ("now.getDayOfWeek() == 0", True),
        ("sets.contains(['a', 'b'], ['a'])", True),
        ("cel.bind(x, size(plan.moves), x * x)", 4),
        ("'héllo'.size()", 5),
        ("vm.labels.a.matches('^[a-c]$')", True),
        ("math.greatest(1, 2)", 2),
    ],
)
def test_expressions_that_policies_rely_on(text: str, value: Any) -> None:
    data = {
        "plan": {"moves": [{"wave": 0}, {"wave": 1}]},
        "vm": {"labels": {"a": "b"}},
        "now": timestamp(1_796_590_800),
        "variables": {},
    }
    assert evaluate(compile_expression(text, names=NAMES), data) == value


@pytest.mark.parametrize(
    ("text", "returns", "message", "column"),
    [
        ("nope == 1", "bool", "undeclared reference to 'nope'", 1),
        ("move.id == 1", "bool", "undeclared reference to 'move.id'", 5),
        ("size(plan) ==", "bool", "Syntax error", 14),
        ("'a' + 1 == 'x'", "bool", "found no matching overload for '_+_'", 5),
        ("size(plan)", "bool", "gives int, expected bool", 1),
        ("plan.flag", "bool", "gives dyn, expected bool (compare it with a value)", 1),
        ("size(plan)", "string", "gives int, expected string", 1),
        ("(" * 60 + "1" + ")" * 60, "", "recursion limit exceeded", 1),
        ("[1.5].transformMapEntry(i, v, {v: i})", "", "Unsupported map key type: DOUBLE", 1),
        ("true && " * 15_000 + "true", "bool", "codepoint limit", 1),
    ],
)
def test_what_does_not_compile_says_where(
    text: str, returns: str, message: str, column: int
) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_expression(text, names=NAMES, returns=returns)
    assert message in error.value.message
    assert error.value.column == column


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plan.nope == 1", "Key not found in map"),
        ("1 / (size(plan.moves) - 200) == 1", "divide by zero"),
        (
            "plan.moves.all(a, plan.moves.all(b, true))",
            "budget exceeded: an evaluation may run 9,999",
        ),
        ("plan.moves == 'x' + plan.moves", "No matching overloads"),
        ("size(lists.range(1000000000000000)) == 1", "out of memory"),
        ("timestamp('soon') == now", "(?i)timestamp"),
        ("{'a': 1, 'b': 1}.transformMapEntry(k, v, {v: k}) == {}", "^insert failed: key 1 already"),
        ("[now].transformMap(i, t, t) == {}", "^a function cannot pass on a time, a type or an"),
    ],
)
def test_no_answer_is_an_error_never_a_value(text: str, message: str) -> None:
    program = compile_expression(text, names=NAMES)
    with pytest.raises(EvaluationError, match=message):
        evaluate(program, {"plan": {"moves": [0] * 200}, "now": timestamp(0)})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("move.form.node == 'x'", (5, "move has no field form", "did you mean move.from?")),
        ("true && vm.label['a'] == ''", (11, "vm has no field label", "did you mean vm.labels?")),
        ("vm.labels['move.form'] == ''", None),
        ("plan.moves.all(node, node.anything == 1)", None),
        ("plan.requests.all(r, r.whatever == 1)", None),
        ("plan.?nope.orValue(1) == 1", (6, "plan has no field nope", None)),
    ],
)
def test_misspelt_fields_are_found_before_anything_runs(
    text: str, found: tuple[int, str, str | None] | None
) -> None:
    names = NAMES | {"move", "node"}
    answer = unknown_field(compile_expression(text, names=names))
    if found is None or answer is None:
        assert answer is found
        return
    assert answer[:2] == found[:2]
    assert found[2] is None or answer[2] == found[2]


def test_an_expression_read_again_needs_no_memory() -> None:
    read = [compile_expression("vm.labels.a == 'b'", names=NAMES) for _ in range(3)]
    assert len({program.checked for program in read}) == 1
