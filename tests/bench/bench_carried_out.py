"""How true estimates are: random rolling maintenances, planned, merged and really carried out.

The whole program runs on the simulated cluster with its virtual clock: propose, merge, apply, with
its polling and queues. Nodes are rebooted when gitbot says that they are ready. We compare the
time from the first start to the last end of a migration, as planned and as it was.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gitbot.kubernetes.objects import KubernetesObject, at, labels_of
from gitbot.model.text.instants import parse_instant
from gitbot.ports.forge import MergeMethod, PullState
from gitbot.published import read_plan
from gitbot.simulation.port import MIGRATION, SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings
from gitbot.workflows.watch import reconcile
from tests.bench.table import Figure, show
from tests.doubles.forge import MemoryForge
from tests.doubles.intents import HEAD
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.rack import RACK, RackSize, rack
from tests.doubles.repository import MemoryRepository
from tests.doubles.trouble import lose_node, return_node
from tests.unit.workflows.story import Story

MIB = 1024**2
ROUNDS = 600
NODES = RackSize(nodes=12, nodes_in_rack=4, machines=72, namespaces=3, not_migratable_percent=0)
CONFIGURATION = f"""{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters: [{{name: rack, timeZone: UTC}}]
  proposals: {{stabilize: PT0S}}
  mode: Enforce
"""
STATE = "placement.gitbot.dev/state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """One draw: the cluster's seed, how full it is, and what its window asks for."""

    seed: int
    full: int
    lanes: int
    reboot: int
    label: str = RACK  # which all nodes of the window have

    @classmethod
    def draw(cls, seed: int) -> Maintenance:
        dice = random.Random(seed)
        return cls(
            seed=seed,
            full=dice.choice((50, 60, 70)),
            lanes=dice.choice((1, 2, 4)),
            reboot=dice.choice((300, 600)),
        )

    @property
    def window(self) -> str:
        return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{selector: {{matchExpressions: [{{key: {self.label}, operator: Exists}}]}}}}
  drain:
    cordon: Gitbot
    done: Rebooted
    reboot: PT{self.reboot}S
    maxNodesAtOnce: {self.lanes}
  returnHome: Never
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Seconds from the first start to the last end, as planned first and as it was."""

    moves: int
    planned: int
    real: int
    plans: int
    failed: int

    @classmethod
    def of(
        cls, plans: Iterable[bytes], migrations: Sequence[KubernetesObject], *, merged: int
    ) -> Outcome:
        """What became of the largest plan, and of those that had to follow it."""
        first = max((read_plan(data).plan for data in plans), key=lambda plan: len(plan.moves))
        starts = min(move.starts for move in first.moves)
        ends = max(move.starts + move.estimated_seconds for move in first.moves)
        spans = [_span(item) for item in migrations]
        return cls(
            moves=len(migrations),
            planned=ends - starts,
            real=max(end for _, end in spans) - min(start for start, _ in spans),
            plans=merged,
            failed=sum(at(item, "status", "phase") != "Succeeded" for item in migrations),
        )

    @property
    def error(self) -> float:
        """By how much the plan was wrong; positive if it took longer than planned."""
        return self.real / self.planned - 1


class RebootingPort(SimulatedPort):
    """While time passes, somebody reboots each node that is ready for its maintenance."""

    def __init__(self, cluster: SimulatedCluster, *, reboot: int) -> None:
        super().__init__(cluster)
        self._reboot = reboot
        self._begun: set[str] = set()
        self._returned: set[str] = set()

    def sleep(self, seconds: int) -> None:
        for _ in range(seconds):
            super().sleep(1)
            for node in self.cluster.list("Node"):
                name = node["metadata"]["name"]
                if labels_of(node).get(STATE) == "ready" and name not in self._begun:
                    self._begun.add(name)
                    lose_node(self.cluster, name)
                    back = partial(self._back, name)
                    self.cluster.at(self.now() + self._reboot, back)

    def _back(self, node: str) -> None:
        return_node(self.cluster, node)
        self._returned.add(node)

    @property
    def all_back(self) -> bool:
        """Whether every node was rebooted and is back."""
        return len(self._returned) == len(self.cluster.list("Node"))


def carried_out(case: Maintenance, size: RackSize = NODES) -> Outcome:
    """Plan it, merge it, and pass after pass until nothing is left to do."""
    story, port = _begun(case, replace(size, full_percent=case.full))
    plans = 0
    for _ in range(ROUNDS):
        result = reconcile(story.shell)
        pulls = story.forge.list_pulls(state=PullState.OPEN)
        for pull in pulls:
            plans += 1
            story.forge.account = "bob"
            story.forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)
            story.forge.account = "gitbot"
        if result.did_nothing and not pulls and port.all_back:
            break
        story.port.sleep(60)
    documents = story.store.read().plans.values()
    return Outcome.of(documents, story.cluster.list(MIGRATION), merged=plans)


def _begun(case: Maintenance, size: RackSize) -> tuple[Story, RebootingPort]:
    cluster = rack(size, seed=case.seed, dials=SimulationSettings(bandwidth=64 * MIB))
    repository = MemoryRepository()
    port = RebootingPort(cluster, reboot=case.reboot)
    story = Story(
        cluster=cluster,
        port=port,
        repository=repository,
        forge=MemoryForge(repository, port),
        store=MemoryLedgerStore(),
        name="rack",
    )
    files = {".gitbot.yaml": CONFIGURATION, "intents/rack/window.yaml": case.window}
    repository.write_commit(
        branch="main",
        expected=None,
        files={path: text.encode() for path, text in files.items()},
        message="start",
        time=port.now(),
    )
    return story, port


def _span(migration: KubernetesObject) -> tuple[int, int]:
    """When a migration was created, and when it ended."""
    passed = at(migration, "status", "phaseTransitionTimestamps", default=[])
    ended = max(parse_instant(item["phaseTransitionTimestamp"]) for item in passed)
    return parse_instant(migration["metadata"]["creationTimestamp"]), ended


def figures(seeds: int = 2) -> Iterator[Figure]:
    """The error of each maintenance, and of all of them."""
    errors = []
    for seed in range(seeds):
        case = Maintenance.draw(seed)
        found = carried_out(case)
        errors.append(found.error)
        what = f"{case.full}% full, {case.lanes} nodes at once, reboot {case.reboot} s"
        yield Figure(
            what=f"{what}: {found.moves} moves of {found.plans} plans, {found.failed} failed",
            gitbot=f"{found.planned} s",
            peer=f"{found.real} s really ({found.error:+.1%})",
            ratio=found.real / found.planned,
        )
    yield Figure(
        what=f"{seeds} random maintenances: mean and largest error of the estimated time",
        gitbot=f"{statistics.mean(map(abs, errors)):.1%}",
        peer=f"{max(errors, key=abs):+.1%} at most",
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6)
    show(figures(parser.parse_args().seeds))


if __name__ == "__main__":
    main()
