"""Nothing starts outside its allowed time: the witness sees every create, and does not sleep."""

import pytest

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.workflows.apply import apply
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD
from tests.doubles.timely import TimelyPort, untimely
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_maintenance import LEAD, START, wait_until, window

FREEZE = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: all}}\nspec: {{}}\n"


def created() -> tuple[Story, KubernetesObject]:
    """A drain whose first move was created as soon as its lead began."""
    story = Story.begin(step=1, window=window(", cordon: Gitbot"))
    reconcile(story.shell)
    story.merge()
    apply(story.shell)
    wait_until(story, START - LEAD)
    reconcile(story.shell)
    (stored,) = story.cluster.list("VirtualMachineInstanceMigration")
    return story, stored


def wrong(story: Story, stored: KubernetesObject) -> str:
    assert isinstance(story.port, TimelyPort)
    assert story.port.base is not None
    return untimely(stored, story.store.read(), story.port.base, {})


def test_every_create_of_a_drain_was_witnessed() -> None:
    story, _ = created()
    assert isinstance(story.port, TimelyPort)
    assert story.port.witnessed == 1


@pytest.mark.parametrize(
    ("shift", "said"),
    [(0, ""), (-LEAD, "allowed is"), (4 * 3600 + LEAD, "allowed is")],
)
def test_a_create_outside_its_time_is_seen(shift: int, said: str) -> None:
    story, stored = created()
    at = parse_instant(stored["metadata"]["creationTimestamp"]) + shift
    moved = {**stored, "metadata": {**stored["metadata"], "creationTimestamp": format_instant(at)}}
    assert said in wrong(story, moved)
    assert bool(wrong(story, moved)) == bool(said)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{}", "in FreezeWindow all"),
        ("{namespaces: [customapp]}", "in FreezeWindow all"),
        ("{namespaces: [other]}", ""),
        ("{selector: {matchLabels: {nobody: here}}}", ""),
        ('{schedule: {start: "2025-12-02T04:00", timeZone: UTC, duration: PT1H}}', ""),
    ],
)
def test_a_create_in_a_freeze_is_seen(spec: str, said: str) -> None:
    story, stored = created()
    story.commit(freeze=FREEZE.replace("{}", spec))
    reconcile(story.shell)
    found = wrong(story, stored)
    assert said in found
    assert bool(found) == bool(said)


def test_a_create_that_the_ledger_does_not_announce_is_seen() -> None:
    story, stored = created()
    stranger = {**stored, "metadata": {**stored["metadata"], "name": "gitbot-nobody"}}
    assert "does not announce it" in wrong(story, stranger)
