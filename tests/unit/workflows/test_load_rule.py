"""A LoadRule from measurement to pull request to move: sustained, quiet, and never on old load."""

from gitbot.simulation.port import SimulatedPort
from gitbot.workflows.apply import apply
from gitbot.workflows.propose import ProposeResult, propose
from tests.doubles.intents import HEAD
from tests.doubles.loaded import LoadedPort
from tests.unit.workflows.story import Story

COOL = f"""{HEAD}kind: LoadRule
metadata: {{name: cool}}
spec: {{above: 80, sustained: PT30M}}
"""
CONCERN = "heal-loadrule-cool"
HOT = "kni-worker6"


class LoadedStory(Story):
    """A story whose nodes are measured; at first one node is hot."""

    @property
    def loaded(self) -> LoadedPort:
        assert isinstance(self.port, LoadedPort)
        return self.port

    def measure(self, percent: int | None, *, age: int = 0) -> None:
        self.loaded.age = age
        self.loaded.cpu = None if percent is None else {HOT: percent, "kni-worker2": 5}

    def look(self) -> tuple[str, str]:
        """Propose, and return what was done about the rule, and why."""
        return said(propose(self.shell))


def said(result: ProposeResult) -> tuple[str, str]:
    found = [item for item in result.concerns if item.concern == CONCERN]
    return (found[0].action, found[0].reason) if found else ("", "")


def begin(rule: str = COOL, settings: str = "") -> LoadedStory:
    story = LoadedStory.begin(settings=settings, load=rule)
    assert isinstance(story, LoadedStory)
    port: SimulatedPort = LoadedPort(story.cluster)
    story.port = port
    story.measure(95)
    return story


def opened() -> LoadedStory:
    story = begin()
    assert story.look()[0] == "waiting"
    story.port.sleep(1800)
    assert story.look()[0] == "opened"
    return story


def test_a_node_that_stays_above_is_proposed_after_its_time() -> None:
    story = begin()
    assert story.look() == ("waiting", "seen for 0 s, proposed after 1800 s")
    story.port.sleep(1799)
    assert story.look()[0] == "waiting"
    story.measure(88)  # another value, and still above
    story.port.sleep(1)
    assert story.look()[0] == "opened"
    (pull,) = story.pulls()
    assert pull.title == "Heal cool: move 1 VM to kni-worker2"
    assert "kni-worker6: cpu 88 % (Prometheus) is above 80 %" in pull.body


def test_another_value_above_the_threshold_writes_nothing() -> None:
    story = opened()
    before = story.writes()
    story.measure(99)
    assert story.look()[0] == "unchanged"
    assert story.writes() == before


def test_a_merge_moves_one_vm_and_heals() -> None:
    story = opened()
    was = story.where()
    story.merge()
    assert apply(story.shell).states == {"succeeded": 1}
    moved = {name for name, node in story.where().items() if node != was[name]}
    assert len(moved) == 1
    assert {was[name] for name in moved} == {HOT}


def test_load_that_is_missing_or_stale_begins_anew_and_moves_nothing() -> None:
    for stale in (False, True):
        story = begin()
        story.look()
        story.port.sleep(1700)
        story.measure(95 if stale else None, age=301)
        assert story.look() == ("", "")
        story.measure(95)
        story.port.sleep(200)
        assert story.look() == ("waiting", "seen for 0 s, proposed after 1800 s")


def test_an_open_pull_request_closes_when_the_load_goes() -> None:
    for percent in (None, 80):
        story = opened()
        story.measure(percent)
        assert story.look() == ("closed", "its concern is gone")
        assert story.pulls() == ()


def test_nothing_that_can_move_is_said_with_its_reason() -> None:
    story = begin(
        COOL.replace(
            "above: 80",
            "above: 80, protected: {matchExpressions: [{key: none, operator: DoesNotExist}]}",
        )
    )
    assert story.look() == ("", "")


def test_report_proposes_nothing() -> None:
    story = begin(COOL.replace("sustained: PT30M", "heal: Report"))
    assert story.look() == ("", "")
