"""The customapp story as a person plays it: with kubectl alone, on the HTTP face."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from gitbot.simulation.cluster import SimulatedCluster
from gitbot.simulation.scenes import application, cache, customapp, database
from tests.contracts.kubernetes_api.conftest import Kubectl

HIGH = ["kni-worker2", "kni-worker4", "kni-worker6"]
SLOW = ["kni-worker", "kni-worker3", "kni-worker5"]
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
        end = time.monotonic() + PATIENCE
        while self.places(selector) != sorted(nodes):
            assert time.monotonic() < end, (self.places(selector), nodes)
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


def test_customapp_by_hand(kubectl: Kubectl) -> None:
    story = Story(kubectl)
    databases, caches, applications = (
        "kubevirt.io/domain=mssql2016",
        "app=cache",
        "kubevirt.io/domain=blackbox",
    )
    story.create(database(final=False))  # 1
    story.becomes(databases, HIGH)
    story.do("drain", "kni-worker2", *DRAIN)  # 2
    story.becomes(databases, ["kni-worker4", "kni-worker6", "kni-worker6"])
    story.apply(database(final=True))  # 3: rules act when something is scheduled, not before
    story.do("uncordon", "kni-worker2")
    story.becomes(databases, ["kni-worker4", "kni-worker6", "kni-worker6"])
    story.delete_on("vmi", databases, "kni-worker6")  # 4
    story.becomes(databases, HIGH)
    story.create(cache())  # 5
    story.becomes(caches, SLOW)
    story.create(application())  # 6
    story.becomes(applications, SLOW)
    story.do("drain", "kni-worker", *DRAIN)  # 7: the soft rule is missed, the hard ones are kept
    story.becomes(caches, ["kni-worker2", *SLOW[1:]])
    story.becomes(applications, ["kni-worker2", *SLOW[1:]])
    story.do("uncordon", "kni-worker")  # 8
    story.becomes(caches, ["kni-worker2", *SLOW[1:]])
    story.delete_on("pods", caches, "kni-worker2")  # 9
    story.becomes(caches, SLOW)
    story.delete_on("vmi", applications, "kni-worker2")
    story.becomes(applications, SLOW)
    story.do("drain", "kni-worker2", *DRAIN)  # 10: no second fast node in the zone
    story.becomes(databases, ["-", "kni-worker4", "kni-worker6"])
    events = kubectl.ok("get", "events", "-n", "customapp", "--field-selector=type=Warning")
    assert "didn't match pod anti-affinity rules" in events
