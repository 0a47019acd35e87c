"""`gitbot apply`: what a pass says is never nothing."""

from __future__ import annotations

import pytest

from gitbot.cli.apply import show
from gitbot.workflows.apply import ApplyResult

NOTHING = "nothing to do: everything approved is done, or waits"


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ApplyResult(), [NOTHING]),
        (ApplyResult(entries=1), [NOTHING]),  # it only wrote down what others did
        (ApplyResult(entries=3, created=1, states={"succeeded": 1}), ["1 succeeded"]),
        (ApplyResult(entries=1, stop="held by hand"), ["stopped: held by hand"]),
        (ApplyResult(stop="held by hand"), [NOTHING, "stopped: held by hand"]),
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
