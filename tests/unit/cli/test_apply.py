"""`gitbot apply`: what a pass says is never nothing."""

import pytest

from gitbot.cli.commands.apply import show
from gitbot.execution.executor_types import SetUnschedulable, Waiting
from gitbot.model.ledger.request_id import RequestId
from gitbot.workflows.apply import ApplyResult, NodeDone

NOTHING = "nothing to do: everything approved is done, or waits"
DRAIN = RequestId.read("drain/fw/o1")
WAITS = Waiting(request=DRAIN, move=1, vm="db/one", reason="no slot is free")


def done(node: str, did: str) -> NodeDone:
    return NodeDone(node=node, did=did)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ApplyResult(), [NOTHING]),
        (
            ApplyResult(waiting=(WAITS,)),
            [NOTHING, f"waits: db/one ({DRAIN}, move 1): no slot is free"],
        ),
        (ApplyResult(entries=1), [NOTHING]),  # it only wrote down what others did
        (ApplyResult(entries=3, created=1, states={"succeeded": 1}), ["1 succeeded"]),
        (
            ApplyResult(entries=1, nodes=(done("n1", "uncordoned"), done("n1", "returned"))),
            ["uncordoned: n1", "returned: n1"],
        ),
        (
            ApplyResult(nodes=tuple(done(f"n{number}", "draining") for number in range(10))),
            ["draining: n0, n1, n2, n3, n4, n5, n6, n7 and 2 more"],
        ),
        (ApplyResult(entries=1, stop="held by hand"), ["stopped: held by hand"]),
        (ApplyResult(stop="held by hand"), ["stopped: held by hand"]),  # what waits is not known
        (
            ApplyResult(entries=1, created=1, in_flight=1),
            ["1 running; run again to follow them"],
        ),
    ],
)
def test_what_a_pass_says(
    result: ApplyResult, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    show(result, "table")
    assert capsys.readouterr().out.splitlines() == words


@pytest.mark.parametrize(("unschedulable", "did"), [(True, "cordoned"), (False, "uncordoned")])
def test_a_cordon_has_the_word_of_what_was_done(*, unschedulable: bool, did: str) -> None:
    effect = SetUnschedulable(request=DRAIN, node="n1", unschedulable=unschedulable, labels={})
    assert NodeDone.of(effect) == done("n1", did)
