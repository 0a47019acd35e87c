"""Policies grown at random until they exceed a budget: each passes, fails or denies in time."""

import json
import time
from collections.abc import Iterator
from random import Random

import pytest

from gitbot.adapters.sandbox.policy_runner import LimitedPolicyRunner
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.problem import PlacementProblem
from gitbot.policy import judge, read_policies
from tests.controlplane.cel_expressions import expressions
from tests.unit.policy.test_judging import INTENTS, SNAPSHOT
from tests.unit.reports.plans import PLAN, STARTS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
SECONDS = 1  # of processor time for a question
OVERHEAD = 20  # seconds of wall time for starting, reading and waiting on a busy machine
GROWN = (
    "lists.range(9999).map(i, X)", "lists.range(99999999).map(i, X)",
    "lists.range(5000).all(i, [X].exists(j, j == Y))",
    "lists.range(3000).map(i, lists.range(3).map(j, X))", "cel.bind(q, X, [q, q, q, q, q])",
    "[X, Y, X]", "[X, Y].flatten().distinct()", "string(X) + 'a'", "(X) == (Y)",
    "'%s%s'.format([X, Y])",
    "(string(X) + 'a'.replace('', 'bbbbbbbbbbbbbbbb').replace('', 'cccccc')).matches('(a|b|c)*$')",
)  # fmt: skip
POLICY = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: grown}
spec:
  over: Plan
  validations: [{expression: EXPRESSION, message: refused}]
  validationActions: [Audit]
"""


def grown(number: int) -> Iterator[str]:
    dice, seeds = Random(number), tuple(expressions(combined=300))
    for _ in range(number):
        text = dice.choice(seeds)
        for _ in range(dice.randrange(1, 5)):
            text = dice.choice(GROWN).replace("X", text).replace("Y", dice.choice(seeds))
        yield f"dyn({text}) != dyn('x')"


@pytest.fixture
def runner() -> Iterator[LimitedPolicyRunner]:
    made = LimitedPolicyRunner(seconds=SECONDS)
    yield made
    made.close()


def test_whatever_is_written_there_is_an_answer_in_time(runner: LimitedPolicyRunner) -> None:
    problem = PlacementProblem(cluster="iberia", now=STARTS, snapshot=SNAPSHOT)
    answers, limits = 0, set()
    for text in grown(150):
        began = time.monotonic()
        own = {"p.yaml": POLICY.replace("EXPRESSION", json.dumps(text))}
        policies, refused = read_policies({}, own, runner=runner)
        if not refused:
            found = judge(
                plan=PLAN, problem=problem, policies=policies, intents=INTENTS, now=STARTS
            ).findings
            answers += 1
            errors = [item.message for item in found if item.severity is Severity.ERROR]
            limits |= {
                limit
                for limit in ("out of memory", "processor time", "loop steps")
                if any(limit in message for message in errors)
            }
        assert time.monotonic() - began < SECONDS + OVERHEAD, text
    assert answers > 50
    assert limits == {"out of memory", "processor time", "loop steps"}
