"""The customapp story as a person plays it: with kubectl alone, on the HTTP face."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.contracts.kubernetes_api.conftest import Kubectl
from tests.doubles.customapp import application, cache, customapp, database

HIGH = ["kni-worker2", "kni-worker4", "kni-worker6"]
SLOW = ["kni-worker", "kni-worker3", "kni-worker5"]
DATABASES, CACHES, APPLICATIONS = (
    "kubevirt.io/domain=mssql2016",
    "app=cache",
    "kubevirt.io/domain=blackbox",
)
DRAIN = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s")
PATIENCE = 60  # real seconds until a state that does not come is a failure


@pytest.fixture
def cluster() -> SimulatedCluster:
    """Nodes only; VMs cannot move, as in the source of the story."""
    return customapp(step=0, live_migratable=False)


class Story:
    """What a person does and looks at."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    def do(self, *arguments: str) -> None:
        self._kubectl.ok(*arguments)

    def create(self, document: dict[str, Any]) -> None:
        self._kubectl.ok("create", "-f", "-", stdin=json.dumps(document))

    def apply(self, document: dict[str, Any]) -> None:
        self._kubectl.ok("apply", "-f", "-", stdin=json.dumps(document))

    def places(self, selector: str) -> list[str]:
        """Nodes of the pods that have not ended; "-" for one that waits."""
        listed = json.loads(
            self._kubectl.ok("get", "pods", "-n", "customapp", "-l", selector, "-o", "json")
        )
        return sorted(
            pod["spec"].get("nodeName", "-")
            for pod in listed["items"]
            if pod["status"]["phase"] in ("Pending", "Running")
            and "deletionTimestamp" not in pod["metadata"]
        )

    def becomes(self, selector: str, nodes: list[str]) -> None:
        self.becomes_one_of(selector, [sorted(nodes)])

    def becomes_one_of(self, selector: str, wanted: list[list[str]]) -> None:
        end = time.monotonic() + PATIENCE
        while (found := self.places(selector)) not in wanted:
            assert time.monotonic() < end, (found, wanted)
            time.sleep(0.2)

    def delete_on(self, kind: str, selector: str, node: str) -> None:
        """Delete the first object of a kind that is on a node."""
        listed = json.loads(
            self._kubectl.ok("get", kind, "-n", "customapp", "-l", selector, "-o", "json")
        )
        here = [
            item["metadata"]["name"]
            for item in listed["items"]
            if node in (item["spec"].get("nodeName"), item["status"].get("nodeName"))
        ]
        self.do("delete", kind, here[0], "-n", "customapp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Customapp:
    """The ten steps. `pause` is called after each, with its number."""

    story: Story
    pause: Callable[[int], None] = lambda _: None

    def play(self) -> str:
        """Play all steps; returns the node that two databases shared after step 2."""
        story = self.story
        story.create(database(final=False))
        story.becomes(DATABASES, HIGH)
        self.pause(1)
        story.do("drain", "kni-worker2", *DRAIN)
        crowded = self._crowded()
        self.pause(2)
        story.apply(database(final=True))  # rules act when something is scheduled, not before
        story.do("uncordon", "kni-worker2")
        assert self._crowded() == crowded
        self.pause(3)
        story.delete_on("vmi", DATABASES, crowded)
        story.becomes(DATABASES, HIGH)
        self.pause(4)
        story.create(cache())
        story.becomes(CACHES, SLOW)
        self.pause(5)
        story.create(application())
        story.becomes(APPLICATIONS, SLOW)
        self.pause(6)
        self._second_half()
        return crowded

    def _crowded(self) -> str:
        """Two databases are on one fast node, the third on the other: which is it?"""
        story, left = self.story, HIGH[1:]
        story.becomes_one_of(DATABASES, [sorted([*left, node]) for node in left])
        places = story.places(DATABASES)
        return next(node for node in left if places.count(node) == 2)

    def _second_half(self) -> None:
        story = self.story
        story.do("drain", "kni-worker", *DRAIN)  # the soft rule is missed, the hard ones are kept
        story.becomes(CACHES, ["kni-worker2", *SLOW[1:]])
        story.becomes(APPLICATIONS, ["kni-worker2", *SLOW[1:]])
        self.pause(7)
        story.do("uncordon", "kni-worker")
        story.becomes(CACHES, ["kni-worker2", *SLOW[1:]])
        self.pause(8)
        story.delete_on("pods", CACHES, "kni-worker2")
        story.becomes(CACHES, SLOW)
        story.delete_on("vmi", APPLICATIONS, "kni-worker2")
        story.becomes(APPLICATIONS, SLOW)
        self.pause(9)
        story.do("drain", "kni-worker2", *DRAIN)  # no second fast node in the zone
        story.becomes(DATABASES, ["-", "kni-worker4", "kni-worker6"])
        self.pause(10)


def test_customapp_by_hand(kubectl: Kubectl) -> None:
    assert Customapp(story=Story(kubectl)).play() == "kni-worker6"
    events = kubectl.ok("get", "events", "-n", "customapp", "--field-selector=type=Warning")
    assert "didn't match pod anti-affinity rules" in events
