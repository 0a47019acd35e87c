"""A pull request with a freeze names the approved moves that the freeze stops."""

import pytest

from gitbot.model.text.instants import format_instant
from gitbot.workflows.apply import apply
from gitbot.workflows.ask import status
from gitbot.workflows.check import publish
from tests.doubles.intents import HEAD, REQUEST
from tests.unit.workflows.story import Story

HOUR = 3600


def freeze(story: Story, hours: int) -> str:
    start = format_instant(story.port.now())[:16]
    times = f'\n  schedule: {{start: "{start}", timeZone: UTC, duration: PT{hours}H}}'
    return f"""{HEAD}kind: FreezeWindow
metadata: {{name: quarter}}
spec:
  namespaces: [customapp]{times if hours else ""}
"""


@pytest.mark.parametrize(
    ("deadline", "hours", "then"),
    [
        (0, 2, "the next may start at "),
        (1, 2, "there is no other time for them, so they expire once it is merged, for good"),
        (0, 0, "they wait until the freeze is removed"),
    ],
)
def test_an_approved_move_that_a_new_freeze_stops_is_named(
    deadline: int, hours: int, then: str
) -> None:
    story = Story.begin()
    ends = format_instant(story.port.now() + deadline * HOUR)
    asked = story.open(jump=REQUEST + (f'  deadline: "{ends}"\n' if deadline else ""))
    publish(story.shell, number=asked.number)
    story.port.sleep(1)
    story.merge(asked.number)
    story.port.sleep(1)
    pull = story.open("freeze", quarter=freeze(story, hours))
    result = publish(story.shell, number=pull.number).check
    (found,) = [item for item in result.all_findings if item.code == "check/freeze-stops"]
    stops = "quarter stops 1 approved move of request/customapp/jump (pull request #1): "
    assert found.message.startswith(stops + then)
    assert result.diff is not None
    assert result.diff.verdict == ("ready, with warnings" if hours else "blocked")
    assert result.fails() is not bool(hours)


def window(start: str, more: str = "") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: night}}
spec:
  nodes: {{names: [kni-worker]}}
  schedule: {{start: "{start}", timeZone: UTC, duration: PT1H{more}}}
"""


@pytest.mark.parametrize(
    ("kind", "ask"),
    [
        ("request", "gitbot move vm/jumpbox -n customapp --to kni-worker5"),
        ("window", "gitbot drain kni-worker --start TIME --for DURATION"),
    ],
)
def test_what_a_freeze_ended_says_how_to_ask_for_it_again(kind: str, ask: str) -> None:
    story = Story.begin()
    ends = format_instant(story.port.now() + HOUR)
    start = format_instant(story.port.now() + HOUR)[:16]
    asked = REQUEST + f'  deadline: "{ends}"\n' if kind == "request" else window(start)
    pull = story.open(asked=asked)
    publish(story.shell, number=pull.number)
    story.port.sleep(1)
    story.merge(pull.number)
    story.port.sleep(1)
    pull = story.open("freeze", quarter=freeze(story, 3))
    result = publish(story.shell, number=pull.number).check
    (found,) = [item for item in result.all_findings if item.code == "check/freeze-stops"]
    assert "they expire once it is merged, for good" in found.message
    assert found.hint.endswith(f"; afterwards ask again: {' '.join(ask.split()[:2])}")
    story.port.sleep(1)
    story.merge(pull.number)
    apply(story.shell)
    (ended,) = status(story.shell).requests
    assert (ended.record.outcome, ended.next_command) == ("expired", ask)


def test_a_freeze_that_stops_nothing_says_what_it_changes() -> None:
    story = Story.begin()
    pull = story.open("freeze", quarter=freeze(story, 2))
    result = publish(story.shell, number=pull.number).check
    assert result.diff is not None
    assert (result.diff.verdict, result.all_findings) == ("changes only when VMs may move", ())
