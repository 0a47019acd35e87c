"""What `policy eval` shows of an expression: parts, places, values, rounds of loops."""

from collections.abc import Iterator

import pytest

from gitbot.policy.cel_engine import compile_expression, timestamp
from gitbot.policy.evaluate_once import natural
from gitbot.policy.steps import EvaluatedStep, steps

NAMES = frozenset({"plan", "vm", "now", "node"})
DATA = {
    "plan": {"moves": [{"wave": number, "name": f"v{number}"} for number in range(6)]},
    "vm": {"name": "v4", "labels": {"tier": "db"}},
    "node": {},
    "now": timestamp(0),
}


def lines(step: EvaluatedStep, depth: int = 0) -> Iterator[str]:
    given = "".join(f" with {name} = {value}" for name, value in step.given.items())
    shown = step.error or step.value
    yield f"{step.line}:{step.column} {'.' * depth}{step.expression} is {shown}{given}"
    for part in step.parts:
        yield from lines(part, depth + 1)
    if step.left_out:
        yield f"and {step.left_out} more"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "(size(plan.moves) + 1) * 2 == 14",
            """\
1:1 (size(plan.moves) + 1) * 2 == 14 is True
1:1 .(size(plan.moves) + 1) * 2 is 14
1:2 ..size(plan.moves) + 1 is 7
1:2 ...size(plan.moves) is 6
1:7 ....plan.moves is [""",
        ),
        (
            "vm.labels[?'tier'].orValue('-') != 'db' ||\n  ((vm.name == 'v4)'))",
            """\
1:1 vm.labels[?'tier'].orValue('-') != 'db' || ((vm.name == 'v4)')) is False
1:1 .vm.labels[?'tier'].orValue('-') != 'db' is False
1:1 ..vm.labels[?'tier'].orValue('-') is db
1:1 ...vm.labels[?'tier'] is db
1:1 ....vm.labels is {'tier': 'db'}
2:5 .vm.name == 'v4)' is False
2:5 ..vm.name is v4
""",
        ),
        (
            "has(vm.owner) ? vm.nope : -1 in [1, 2]",
            """\
1:1 has(vm.owner) ? vm.nope : -1 in [1, 2] is False
1:1 .has(vm.owner) is False
1:17 .vm.nope is Key not found in map : "nope"
1:27 .-1 in [1, 2] is False
1:33 ..[1, 2] is [1, 2]
""",
        ),
        (
            "plan.moves.all(m, m.wave != 4)",
            """\
1:1 plan.moves.all(m, m.wave != 4) is False
1:1 .plan.moves is [
1:19 .m.wave != 4 is False with m = {'name': 'v4', 'wave': 4}
1:19 ..m.wave is 4 with m = {'name': 'v4', 'wave': 4}
1:19 .m.wave != 4 is True with m = {'name': 'v0', 'wave': 0}
1:19 ..m.wave is 0 with m = {'name': 'v0', 'wave': 0}
1:19 .m.wave != 4 is True with m = {'name': 'v1', 'wave': 1}
1:19 ..m.wave is 1 with m = {'name': 'v1', 'wave': 1}
and 3 more
""",
        ),
        (
            "cel.bind(x, vm.name, x + 'é' == 'v4é')",
            """\
1:1 cel.bind(x, vm.name, x + 'é' == 'v4é') is True
1:13 .vm.name is v4
1:22 .x + 'é' == 'v4é' is True with x = v4
1:22 ..x + 'é' is v4é with x = v4
1:22 ...x is v4 with x = v4
""",
        ),
        (
            "['a', 'b'].transformList(i, v, i > 0, v + 'x').exists(v, v == 'bx')",
            """\
1:1 ['a', 'b'].transformList(i, v, i > 0, v + 'x').exists(v, v == 'bx') is True
1:1 .['a', 'b'].transformList(i, v, i > 0, v + 'x') is ['bx']
1:1 ..['a', 'b'] is ['a', 'b']
1:32 ..i > 0 is False with i = 0 with v = a
1:32 ...i is 0 with i = 0 with v = a
1:39 ..v + 'x' is ax with i = 0 with v = a
1:39 ...v is a with i = 0 with v = a
""",
        ),
        (
            "now - duration('1h') < timestamp('2020-01-01T00:00:00Z')",
            """\
1:1 now - duration('1h') < timestamp('2020-01-01T00:00:00Z') is True
1:1 .now - duration('1h') is 1969-12-31T23:00:00Z
1:1 ..now is 1970-01-01T00:00:00Z
1:7 ..duration('1h') is 3600s
""",
        ),
    ],
)
def test_every_part_has_its_place_and_value(text: str, expected: str) -> None:
    shown = "\n".join(lines(steps(compile_expression(text, names=NAMES), DATA)))
    for line in expected.splitlines():
        assert line in shown


def test_without_the_parts_only_the_whole_is_evaluated() -> None:
    program = compile_expression("vm.name == 'v4'", names=NAMES)
    assert steps(program, DATA, whole=False) == EvaluatedStep(
        line=1, column=1, expression="vm.name == 'v4'", value=True
    )


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("size(plan.moves) == 1", "Plan"),
        ("1 == 1", "Plan"),
        ("move.wave == 0 && vm.name == ''", "Move"),
        ("node.zone == ''", "Move"),
        ("vm.name == '' && source.zone == ''", "VM"),
        ("intent.kind == ''", "Intent"),
        ("intent.kind == '' && vm.name == ''", "Move"),
    ],
)
def test_an_expression_is_over_what_its_variables_belong_to(text: str, over: str) -> None:
    assert natural(text) == over
