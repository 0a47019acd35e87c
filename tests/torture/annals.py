"""What a history plays on: a small cluster, a repository, a forge, a ledger, and the reviewer."""

import copy
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.cluster import Gate, no_gate
from gitbot.ports.forge import PullRequest, PullState
from gitbot.simulation.building import namespace
from gitbot.simulation.scenes import NAMESPACE, jumpbox_machine
from gitbot.simulation.simulated_cluster import SimulatedCluster
from tests.doubles.customapp import customapp
from tests.doubles.forge import MemoryForge
from tests.doubles.intents import HEAD
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.repository import MemoryRepository
from tests.doubles.timely import TimelyPort
from tests.torture.history import Act, History
from tests.torture.reviewer import TAKEN, Reviewer
from tests.unit.workflows.story import CLUSTER, Story, configuration

VMS = ("jumpbox", "toolbox")
TARGETS = ("kni-worker2", "kni-worker3", "kni-worker4", "kni-worker5")
PEOPLE = ("bob", "carol", "ann", "dave")  # ann opens the pull requests, dave may only read
REQUESTS = ("one", "two")
SPACES = (NAMESPACE, "tools")  # each request has its own, and a folder that acts there alone
PATHS = {
    f"request/{space}/{name}": f"intents/{CLUSTER}/{name}/request.yaml"
    for space, name in zip(SPACES, REQUESTS, strict=True)
}
OTHERS = tuple(f"intents/{CLUSTER}/{name}/other.yaml" for name in REQUESTS)
PLATFORM = f"intents/{CLUSTER}/all/name.yaml"  # may act everywhere
NAMES = tuple(f"intents/{CLUSTER}/{name}/name.yaml" for name in REQUESTS)
OWNERS = f"  owners:\n  - {{paths: [intents/{CLUSTER}/all], namespaces: ['*']}}\n" + "".join(
    f"  - {{paths: [intents/{CLUSTER}/{name}], namespaces: [{space}]}}\n"
    for space, name in zip(SPACES, REQUESTS, strict=True)
)


@lru_cache(maxsize=1)
def _scene() -> SimulatedCluster:
    cluster = customapp(step=0, jumpbox=True)
    second = jumpbox_machine()
    named = {**second["metadata"], "name": VMS[1], "namespace": SPACES[1]}
    cluster.apply([namespace(SPACES[1]), {**second, "metadata": named}])
    cluster.apply([namespace("gitbot")])  # for the anchor of the ledger
    cluster.settle()
    return cluster


class WatchedPort(TimelyPort):
    """Tells the reviewer of every migration that is created."""

    reviewer: Reviewer | None = None

    def create_migration(
        self, migration: KubernetesObject, *, dry_run: bool = False, gate: Gate = no_gate
    ) -> KubernetesObject:
        stored = super().create_migration(migration, dry_run=dry_run, gate=gate)
        if self.reviewer is not None and not dry_run:
            self.reviewer.created(stored)
        return stored


def text_of(request: int, target: int) -> str:
    return f"""{HEAD}kind: MigrationRequest
metadata: {{name: {REQUESTS[request]}, namespace: {SPACES[request]}}}
spec:
  vms: {{names: [{VMS[request]}]}}
  target: {{node: {TARGETS[target]}}}
  reason: Maintenance
"""


def named(space: str) -> bytes:
    """A freeze that is over, under the one name that all files of names want."""
    return f"""{HEAD}kind: FreezeWindow
metadata: {{name: {TAKEN}}}
spec:
  namespaces: [{space}]
  schedule: {{start: "2020-01-01T00:00", timeZone: UTC, duration: PT1H}}
""".encode()


@dataclass(eq=False)
class Annals:
    """The state of a history as it goes on."""

    history: History
    story: Story = field(init=False)
    reviewer: Reviewer = field(init=False)
    acts: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)
    heads: dict[str, str] = field(default_factory=dict)  # of deleted branches
    lost: str = ""  # the base before it was rewritten
    whole: Ledger = field(default_factory=Ledger)  # before somebody wrote to it

    def __post_init__(self) -> None:
        port = WatchedPort(copy.deepcopy(_scene()))
        repository = MemoryRepository()
        forge = MemoryForge(repository, port, reviews_required=self.history.reviews)
        forge.readers.add("dave")
        repository.write_commit(
            branch="main",
            expected=None,
            files={".gitbot.yaml": configuration(OWNERS).encode()},
            message="start",
            time=port.now(),
        )
        repository.branches["release"] = repository.commit("main").id
        self.story = Story(
            cluster=port.cluster,
            port=port,
            repository=repository,
            forge=forge,
            store=MemoryLedgerStore(),
        )
        self.reviewer = Reviewer(
            required=self.history.reviews, repository=repository, paths=PATHS, platform=PLATFORM
        )
        port.reviewer = self.reviewer

    # What is there

    @property
    def repository(self) -> MemoryRepository:
        return self.story.repository

    def branch(self, act: Act) -> str:
        return f"work-{act.branch}"

    def pull(self, act: Act) -> PullRequest | None:
        pulls = [item for item in self.story.forge.list_pulls() if item.branch == self.branch(act)]
        return self.story.forge.get_pull(pulls[-1].number) if pulls else None

    def open_pull(self, act: Act) -> PullRequest | None:
        pull = self.pull(act)
        return pull if pull is not None and pull.state is PullState.OPEN else None

    def write(self, branch: str, start: str, files: Mapping[str, bytes | None]) -> None:
        """A commit on top of another, whatever the branch was."""
        tree = {**self.repository.read_tree(start), **files}
        self.repository.branches[branch] = self.repository.add_commit(
            {path: data for path, data in tree.items() if data is not None},
            parents=(self.repository.commit(start).id,),
            message="a person's",
            time=self.story.port.now(),
        )

    def request(self, act: Act) -> dict[str, bytes | None]:
        path = list(PATHS.values())[act.request]
        return {path: text_of(act.request, act.target).encode()}
