"""A small rack is emptied and filled again while others move, restart and break things.

Watched at every create: the caps hold over all movers, no name is created twice, nothing starts
outside its time; at the end no spec was touched and the ledger is whole.
"""

import copy
from collections import Counter
from typing import Any

import pytest

from gitbot.execution.ledger_folds import fold_nodes
from gitbot.execution.request_records import RequestState, fold_requests
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.model.ledger.events import MoveEvent
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.ports.cluster import Gate, no_gate
from gitbot.ports.forge import MergeMethod, PullState
from gitbot.published.ledger_lines import verify
from gitbot.workflows.watch import reconcile
from tests.doubles.forge import MemoryForge
from tests.doubles.intents import HEAD
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.rack import RACK, RackSize, rack
from tests.doubles.repository import MemoryRepository
from tests.doubles.timely import TimelyPort
from tests.doubles.trouble import lose_node, return_node
from tests.unit.workflows.story import Story

OPENS, CLOSES = 1_764_547_200 + 3600, 1_764_547_200 + 24 * 3600
SIZE = RackSize(nodes=24, nodes_in_rack=4, machines=200, full_percent=70, namespaces=3)
WINDOW = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack-one}}
spec:
  nodes: {{selector: {{matchLabels: {{{RACK}: r01}}}}}}
  schedule: {{start: "2025-12-01T02:00", timeZone: UTC, duration: PT22H}}
  drain:
    {{lead: PT1H, cordon: Gitbot, done: Rebooted, maxNodesAtOnce: 2, notMigratable: LeaveRunning}}
"""


class WatchedPort(TimelyPort):
    """The simulated cluster with an oracle at every create."""

    def __init__(self, cluster: Any) -> None:
        super().__init__(cluster)
        self.names: list[str] = []
        self.trouble: list[Any] = []

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        unfinished = [
            item
            for item in self.list_migrations()
            if at(item, "status", "phase") not in ("Succeeded", "Failed")
        ]
        homes = {
            (item["metadata"]["namespace"], item["metadata"]["name"]): item["status"]["nodeName"]
            for item in self.cluster.list("VirtualMachineInstance")
        }
        sources = Counter(
            homes.get((item["metadata"]["namespace"], item["spec"]["vmiName"]))
            for item in [*unfinished, migration]
        )
        assert len(unfinished) + 1 <= 4, "five in the cluster, one left for others"
        assert max(sources.values()) <= 2
        assert OPENS <= self.now() < CLOSES
        self.names.append(migration["metadata"]["name"])
        stored = super().create_migration(migration, dry_run=dry_run, gate=gate)
        if self.trouble:
            self.trouble.pop(0)(stored)
        return stored


def a_story() -> tuple[Story, WatchedPort]:
    cluster = rack(SIZE)
    port = WatchedPort(cluster)
    repository = MemoryRepository()
    story = Story(
        cluster=cluster,
        port=port,
        repository=repository,
        forge=MemoryForge(repository, port),
        store=MemoryLedgerStore(),
        name="rack",
    )
    configuration = f"""{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters: [{{name: rack, limits: {{parallel: 5, reserve: 1}}}}]
  mode: Enforce
"""
    repository.write_commit(
        branch="main",
        expected=None,
        files={
            ".gitbot.yaml": configuration.encode(),
            "intents/rack/window.yaml": WINDOW.encode(),
        },
        message="start",
        time=port.now(),
    )
    return story, port


def merge_all(story: Story) -> None:
    for pull in story.forge.list_pulls(state=PullState.OPEN):
        story.forge.account = "bob"
        story.forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)
        story.forge.account = "gitbot"


def specs(story: Story) -> dict[str, Any]:
    return {
        item["metadata"]["name"]: copy.deepcopy(item["spec"])
        for item in story.cluster.list("VirtualMachine")
    }


def nodes(story: Story) -> dict[str, str]:
    occurrence = OccurrenceId(window="rack-one", id="20251201T020000Z")
    found = fold_nodes(story.store.read(), cluster="rack", occurrence=occurrence)
    return {name: str(node.state) for name, node in found.items()}


@pytest.mark.slow
def test_a_rack_is_emptied_and_returned_through_a_storm() -> None:
    story, port = a_story()
    before = specs(story)

    def somebody_deletes_it(stored: KubernetesObject) -> None:
        name = stored["metadata"]
        story.cluster.delete("VirtualMachineInstanceMigration", name["name"], name["namespace"])

    def somebody_moves_another(stored: KubernetesObject) -> None:
        vm = next(
            item
            for item in story.cluster.list("VirtualMachineInstance")
            if item["status"]["nodeName"] == "node-020"
        )["metadata"]
        story.cluster.apply(
            [
                {
                    "apiVersion": "kubevirt.io/v1",
                    "kind": "VirtualMachineInstanceMigration",
                    "metadata": {"name": "by-hand", "namespace": vm["namespace"]},
                    "spec": {"vmiName": vm["name"]},
                }
            ]
        )

    def a_vm_restarts(stored: KubernetesObject) -> None:
        vm = next(
            item
            for item in story.cluster.list("VirtualMachineInstance")
            if item["status"]["nodeName"] == "node-002"
        )["metadata"]
        story.cluster.delete("VirtualMachineInstance", vm["name"], vm["namespace"])

    reconcile(story.shell)
    merge_all(story)
    port.trouble = [
        lambda stored: None,  # noqa: ARG005 - the first goes well
        somebody_moves_another,
        somebody_deletes_it,
        a_vm_restarts,
    ]
    story.port.sleep(OPENS - story.port.now())
    rebooted: set[str] = set()
    for _ in range(14):
        reconcile(story.shell)
        merge_all(story)
        ready = {name for name, state in nodes(story).items() if state == "ready"} - rebooted
        for name in sorted(ready):
            lose_node(story.cluster, name)
        story.port.sleep(60)
        for name in sorted(ready):
            return_node(story.cluster, name)
        story.port.sleep(60)
        rebooted |= ready
    assert not port.trouble, "every trouble came"
    assert set(nodes(story).values()) == {"returned"}, nodes(story)
    assert len(port.names) == len(set(port.names))
    assert specs(story) == before
    ledger = story.store.read()
    assert not verify(ledger.events)
    states = {name: record.state for name, record in fold_requests(ledger, "rack").items()}
    assert all(state is not RequestState.RUNNING for state in states.values()), states
    moves = [event for event in ledger.requests("rack") if isinstance(event, MoveEvent)]
    created = [move for move in moves if move.state == "created" and not move.outcome]
    assert {NamespacedName.parse(move.migration).name for move in created} <= set(port.names)
    marks = [
        item["metadata"]["name"]
        for item in story.cluster.list("Node")
        if item["spec"].get("unschedulable")
    ]
    assert marks == []
