"""A wall clock that steps back in the middle of a pass."""

from itertools import pairwise
from typing import Any

import pytest

from gitbot.workflows.apply import apply
from gitbot.workflows.apply.run import ASK_FORGE
from gitbot.workflows.apply.waiting import LOOK_ANYWAY, POLL
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW


def test_a_clock_that_steps_back_delays_no_look_and_no_question_to_the_forge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    stage.cluster.seconds = 300
    slept = [0]
    looks: list[int] = []
    asked: list[int] = []
    sleep, list_pulls = stage.clock.sleep, stage.forge.list_pulls

    def step_back(seconds: int) -> None:
        sleep(seconds)
        slept[0] += seconds
        if len(looks) == 3 and stage.clock.present > NOW:
            stage.clock.present -= 3600
            stage.cluster._courses[stage.cluster.creates()[0]].started -= 3600

    def ask(**wanted: Any) -> Any:
        asked.append(slept[0])
        return list_pulls(**wanted)

    monkeypatch.setattr(stage.clock, "sleep", step_back)
    monkeypatch.setattr(stage.forge, "list_pulls", ask)
    apply(stage.shell, on_look=lambda _: looks.append(slept[0]))
    for moments, longest in ((looks, LOOK_ANYWAY + POLL), (asked, ASK_FORGE + LOOK_ANYWAY + POLL)):
        assert max(b - a for a, b in pairwise(moments)) <= longest
