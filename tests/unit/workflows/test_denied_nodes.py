"""Nodes without VMs wait for their turn: they do not begin once a policy denies their plan."""

from dataclasses import replace

import pytest

from gitbot.execution.executor_types import Approval, Approved
from gitbot.policy import read_policies
from gitbot.workflows.apply import apply
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW
from tests.unit.policy.test_judging import policy
from tests.unit.workflows.test_cancelled_drains import (
    DRAIN,
    a_stage,
    a_stage_with_a_node_to_come,
    is_cordoned,
    states,
    uncordon,
)


def with_policy(stage: Stage, expression: str) -> Stage:
    policies, findings = read_policies({"p.yaml": policy("Plan", expression)})
    assert findings == ()
    stage.base = replace(stage.base, revision=replace(stage.base.revision, policies=policies))
    return stage


@pytest.mark.parametrize(
    ("expression", "nodes", "cordoned"),
    [
        ("false", {"a": "returned"}, False),
        ("plan.moves.size() > 1", {"a": "returned", "b": "ready"}, True),
    ],
)
def test_a_node_does_not_begin_when_a_policy_denies_its_plan_whose_moves_have_ended(
    expression: str, nodes: dict[str, str], cordoned: bool
) -> None:
    stage = with_policy(a_stage_with_a_node_to_come(), expression)
    uncordon(stage, "a")
    apply(stage.shell)
    assert (states(stage), is_cordoned(stage, "b")) == (nodes, cordoned)


def test_it_begins_when_the_policy_has_gone() -> None:
    stage = with_policy(a_stage_with_a_node_to_come(), "false")
    uncordon(stage, "a")
    apply(stage.shell)
    apply(with_policy(stage, "true").shell)
    assert states(stage) == {"a": "returned", "b": "ready"}


@pytest.mark.parametrize(
    ("expression", "moves", "paused", "expected"),
    [
        ("true", 0, "", ""),
        ("false", 0, "", "policy/"),
        ("true", 0, "nobody knows", "nobody knows"),
        ("false", 1, "", ""),  # its groups are denied
    ],
)
def test_what_pauses_a_drain(expression: str, moves: int, paused: str, expected: str) -> None:
    stage = with_policy(a_stage("one"), expression)
    plan = a_plan(*[a_move("one", "a", "c", request=DRAIN)][:moves])
    drain = Approved(
        id=DRAIN,
        approval=Approval(digest="d", pull_request=1),
        moves=plan.moves,
        terms=stage.base.terms_by_request[DRAIN].replace(paused=paused),
        plan=plan,
    )
    seen, ledger = stage.cluster.snapshot(), stage.store.read()
    view = stage.base.view(seen, ledger, (drain,), now=NOW, stop="")
    assert view.approved[0].terms.paused[: len(expected) or None] == expected
    assert len(view.denied) == moves
