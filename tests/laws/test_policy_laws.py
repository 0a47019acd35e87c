"""Policies judged in classes and together say what each policy says about each subject alone."""

from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitbot.policy import PolicySet, read_policies
from gitbot.policy.batch.read_set import project, reads
from gitbot.policy.cel_engine import compile_expression, evaluate, timestamp
from gitbot.policy.cel_fields import unknown_field
from gitbot.policy.errors import EvaluationError, ExpressionError
from gitbot.policy.evaluate import failed_by, failures
from gitbot.policy.policy import PolicyScope, PolicySubject
from gitbot.policy.steps import steps
from gitbot.policy.variables import names_over
from tests.controlplane.cel_expressions import expressions

EXPRESSIONS = (
    "vm.labels[?'tier'].orValue('') != 'db'", "vm.labels.tier != 'db'",
    "has(vm.labels.tier) || vm.name == 'a'", "vm.?labels.?tier.hasValue() || size(vm.labels) == 0",
    "'tier' in vm.labels && vm.labels['tier'] in ['db', 'web']", "vm[move.id] == 1",
    "move.wave > 1 && 10 / move.wave > 1", "node.taints.all(t, t != vm.name)",
    "cel.bind(vm, node, vm.taints.exists(t, t == move.id))",
    "variables.short == 'a' || variables.late > 2",
    "variables.soon > now && variables.tier.orValue('web') == 'web'",
    "variables.twice == duration('2h') || variables.late > 2", "type(move.wave) == int",
    "vm != node", "plan.moves.exists(m, m == move.id)", "{'name': move.id}.name == vm.name",
    "plan.moves == move.wave  // a comment",
)  # fmt: skip
VARIABLES = """variables:
  - {name: short, expression: vm.name}
  - {name: late, expression: move.wave}
  - {name: hour, expression: "duration('1h')"}
  - {name: soon, expression: now + variables.hour}
  - {name: twice, expression: variables.hour + variables.hour}
  - {name: tier, expression: "vm.labels[?'tier']"}
"""
KEYS = st.sampled_from(["name", "tier", "id", "wave", "labels", "taints"])
VALUES = st.recursive(
    st.sampled_from(["a", "db", 0, 1, 1.0, True, None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)
VMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["a", "b"]),
        "labels": st.dictionaries(st.sampled_from(["tier", "app"]), VALUES, max_size=2) | VALUES,
    },
)
DATA = st.fixed_dictionaries(
    {
        "vm": VMS,
        "move": st.dictionaries(KEYS, VALUES, max_size=3),
        "node": st.dictionaries(KEYS, VALUES, max_size=2),
    }
)
PLAN = {
    "plan": {"moves": ["a", "b"]},
    "source": {},
    "intent": {},
    "cluster": {},
    "now": timestamp(0),
}


def policy(number: int, expression: str, condition: str) -> str:
    return f"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: p{number}}}
spec:
  over: Move
  {VARIABLES if "variables." in expression else ""}
  matchConditions:
  - name: only
    expression: {condition!r}
  validations:
  - expression: {expression!r}
    messageExpression: "'%s'.format([move.id])"
  validationActions: [Warn]
"""


def policies() -> PolicySet:
    texts = {
        f"{number}-{other}.yaml": policy(number * 100 + other, expression, condition)
        for number, expression in enumerate(EXPRESSIONS)
        for other, condition in enumerate(("true", "vm.name != 'b'"))
    }
    found, findings = read_policies(texts)
    assert findings == ()
    return found


POLICIES = policies().policies


def answer(text: str, data: dict[str, Any], *, whole: bool) -> Any:
    program = compile_expression(text, names=names_over(PolicyScope.MOVE))
    given = (
        data
        if whole
        else {name: project(data[name], tree) for name, tree in reads(program).items()}
    )
    try:
        return evaluate(program, given)
    except EvaluationError as error:
        return str(error)


@given(st.sampled_from([text for text in EXPRESSIONS if "variables" not in text]), DATA)
def test_what_an_expression_reads_is_all_that_it_needs(text: str, data: dict[str, Any]) -> None:
    data = {**data, "plan": PLAN["plan"]}
    assert repr(answer(text, data, whole=False)) == repr(answer(text, data, whole=True))


@given(st.lists(DATA, min_size=1, max_size=24))
def test_classes_and_batches_say_what_each_alone_says(found: list[dict[str, Any]]) -> None:
    subjects = [
        PolicySubject(name=str(number), intent=None, data={**PLAN, **data})
        for number, data in enumerate(found)
    ]
    together = {
        (policy.name, subject.name): failed
        for policy, subject, failed in failed_by(POLICIES, subjects)
    }
    alone = {
        (policy.name, subject.name): failed
        for policy in POLICIES
        for subject in subjects
        if (failed := failures(policy, subject.data))
    }
    assert together == alone


SEEDS = tuple(dict.fromkeys((*EXPRESSIONS, *expressions(combined=500))))


@settings(max_examples=500)
@given(st.sampled_from(SEEDS), st.sampled_from(SEEDS), st.randoms(use_true_random=False))
def test_a_mangled_expression_is_refused_gives_no_answer_or_a_value(
    one: str, other: str, dice: Random
) -> None:
    """Nothing else comes out of the engine, whatever is written: no crash, no other exception."""
    text = list(one)
    for _ in range(dice.randrange(4)):
        at, end = sorted((dice.randrange(len(text) + 1), dice.randrange(len(text) + 1)))
        start = dice.randrange(len(other))
        text[at : min(end, at + 5)] = other[start : start + dice.randrange(9)]
    with suppress(ExpressionError):
        program = compile_expression("".join(text), names=names_over(PolicyScope.MOVE))
        assert unknown_field(program) is None or reads(program)
        data = {**PLAN, "vm": {"name": "a"}, "move": {"id": 1}, "node": {}, "variables": {}}
        with suppress(EvaluationError):
            evaluate(program, data)
        assert steps(program, data).line == 1
