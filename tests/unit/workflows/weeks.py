"""Weeks of a cluster in which much goes on, with gitbot at work: what it proposed and moved.

`python -m tests.unit.workflows.weeks 1` prints the figures of docs/reference/load.md.

Half an hour a step: gitbot proposes, people merge some of it, gitbot applies. Meanwhile VMs
restart, nodes are drained and come back, a descheduler evicts VMs, and a label that a rule reads
and the load of nodes come and go.
"""

import contextlib
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from gitbot.model.ledger.events import ConcernChanged, ConcernState, MoveChanged, MoveState
from gitbot.model.ledger.request_id import HealId, parse_request_id
from gitbot.simulation.kubectl_drain import drain
from gitbot.simulation.status_errors import ApiError
from gitbot.simulation.store import key_of
from gitbot.workflows.apply import apply
from gitbot.workflows.propose import propose
from tests.doubles.intents import HEAD, RULE
from tests.doubles.loaded import LoadedPort
from tests.unit.workflows.story import Story, configuration

STEP = 1800
HOUR = 3600
DAY = 24 * HOUR
WEEK = 7 * DAY
NODES = tuple(f"kni-worker{number or ''}" for number in (0, 2, 3, 4, 5, 6))
LIT = "kni-worker3"
REQUIRED = ("mssql2016", "bright")
FILES = {
    "apart": RULE,
    "bright": f"""{HEAD}kind: PlacementRule
metadata: {{name: bright, namespace: customapp}}
spec:
  selector: {{matchLabels: {{kubevirt.io/domain: jumpbox}}}}
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{{matchExpressions: [{{key: light, operator: Exists}}]}}]
""",
    "even": f"""{HEAD}kind: PlacementRule
metadata: {{name: even, namespace: customapp}}
spec:
  selector: {{matchExpressions: [{{key: kubevirt.io/domain, operator: Exists}}]}}
  antiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: kubernetes.io/hostname
      labelSelector: {{matchExpressions: [{{key: kubevirt.io/domain, operator: Exists}}]}}
  enforcement: Preferred
""",
    "cool": f"""{HEAD}kind: LoadRule
metadata: {{name: cool}}
spec: {{above: 80, sustained: PT30M}}
""",
    "cooler": f"""{HEAD}kind: LoadRule
metadata: {{name: cooler}}
spec: {{above: 70, sustained: PT1H, namespaces: [customapp]}}
""",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One VM that gitbot moved, when, and for what rule."""

    vm: str
    time: int
    rule: str

    @property
    def required(self) -> bool:
        return _required(self.rule)


@dataclass(slots=True, kw_only=True)
class Weeks:
    """The world and its dice; `period` is that of what flaps."""

    seed: int
    period: int
    story: Story = field(init=False)
    port: LoadedPort = field(init=False)
    hot: str = ""
    happened: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.story = Story.begin()
        self.story.commit(**FILES, **{".gitbot.yaml": configuration().replace("PT0S", "PT15M")})
        self.port = LoadedPort(self.story.cluster)
        self.story.port = self.port

    def run(self, seconds: int) -> None:
        dice = random.Random(self.seed)
        begin = self.port.now()
        while self.port.now() - begin < seconds:
            end = self.port.now() + STEP
            self._world(dice, self.port.now() - begin)
            propose(self.story.shell)
            for pull in self.story.pulls():
                if dice.random() < 0.5:
                    self.story.merge(pull.number)
                    self.happened["merges"] += 1
            apply(self.story.shell)
            self.port.sleep(end - self.port.now())

    def _world(self, dice: random.Random, time: int) -> None:
        cluster = self.story.cluster
        high = time % self.period < self.period // 2
        if time % self.period < STEP:
            self.hot = dice.choice(sorted(self.story.where().values()))
        self.port.cpu = {node: 90 if high and node == self.hot else 20 for node in NODES}
        if dice.random() < 0.02:
            self.port.cpu = None
            self.happened["times without load"] += 1
        for name in NODES:
            self._light(name, on=not high or name == LIT)
        if dice.random() < 0.02:
            victim = dice.choice(cluster.list("VirtualMachineInstance", "customapp"))
            cluster.delete("VirtualMachineInstance", victim["metadata"]["name"], "customapp")
            self.happened["restarts"] += 1
        if dice.random() < 0.01:
            emptied = dice.choice(NODES)
            drain(cluster, emptied, limit=300)
            cluster.cordon(emptied, unschedulable=False)
            self.happened["evacuations"] += 1
        if dice.random() < 0.1:
            self._descheduler(dice)

    def _light(self, name: str, *, on: bool) -> None:
        node = self.story.cluster.get("Node", name)
        assert node is not None
        labels = {key: text for key, text in node["metadata"]["labels"].items() if key != "light"}
        if on:
            labels["light"] = "on"
        self.story.cluster.apply([{**node, "metadata": {**node["metadata"], "labels": labels}}])

    def _descheduler(self, dice: random.Random) -> None:
        pods = [
            pod
            for pod in self.story.cluster.list("Pod", "customapp")
            if pod["status"].get("phase") == "Running"
        ]
        pod = dice.choice(pods)
        with contextlib.suppress(ApiError):  # KubeVirt refuses, and migrates instead
            self.story.cluster.api.evict(key_of(pod), {})
        self.happened["evictions"] += 1

    # What became of it

    def moves(self) -> list[Moved]:
        found = []
        for event in self.story.store.read().events:
            if isinstance(event, MoveChanged) and event.state is MoveState.SUCCEEDED:
                request = parse_request_id(event.request)
                assert isinstance(request, HealId)
                found.append(Moved(vm=event.vm_uid, time=event.time, rule=request.name))
        return found

    def opened(self) -> dict[str, list[tuple[int, bool]]]:
        """By concern: when a pull request opened, and whether the one before was merged."""
        found: dict[str, list[tuple[int, bool]]] = {}
        ended: dict[str, bool] = {}
        for event in self.story.store.read().events:
            if isinstance(event, ConcernChanged):
                concern = event.file.rpartition("/")[2].removesuffix(".jsonl")
                if event.state is ConcernState.OPENED:
                    found.setdefault(concern, []).append((event.time, ended.get(concern, False)))
                elif event.state in (ConcernState.MERGED, ConcernState.WITHDRAWN):
                    ended[concern] = event.state is ConcernState.MERGED
        return found

    def waits(self, *, required: bool) -> list[int]:
        """How long breaches stood before a pull request opened, in seconds."""
        since: dict[str, int] = {}
        found = []
        for event in self.story.store.read().events:
            if isinstance(event, ConcernChanged):
                if event.state is ConcernState.OBSERVED:
                    since[event.file] = event.time
                elif event.state is ConcernState.OPENED and _required(event.file) is required:
                    found.append(event.time - since[event.file])
        return found

    def twice(self) -> list[Moved]:
        """Moves for a wish of a VM that gitbot had moved within the cooldown."""
        last: dict[str, int] = {}
        found = []
        for move in self.moves():
            if not move.required and move.time - last.get(move.vm, 0) < DAY:
                found.append(move)
            last[move.vm] = move.time
        return found

    def crowded(self) -> list[tuple[str, int]]:
        """Concerns with two pull requests in a day, but for a Required rule after a merge."""
        return [
            (concern, second)
            for concern, times in self.opened().items()
            for (first, _), (second, merged) in pairwise(times)
            if second - first < DAY and not (merged and _required(concern))
        ]


def _required(concern: str) -> bool:
    return any(name in concern for name in REQUIRED)


PERIODS = (2 * HOUR, 7 * HOUR, 26 * HOUR)


def row(world: Weeks) -> str:
    """One line of the table in docs/reference/load.md."""
    opened, moves = world.opened(), world.moves()
    safety = sum(len(times) for concern, times in opened.items() if _required(concern))
    tidiness = sum(map(len, opened.values())) - safety
    wished = sum(not move.required for move in moves)
    return (
        f"| {world.period // HOUR} h | {world.happened['restarts']}"
        f" | {world.happened['evacuations']} | {world.happened['evictions']}"
        f" | {safety}, {tidiness} | {len(moves) - wished}, {wished}"
        f" | {len(world.crowded())} | {len(world.twice())} |"
    )


def main() -> None:
    weeks = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for period in PERIODS:
        world = Weeks(seed=period, period=period)
        world.run(weeks * WEEK)
        print(row(world), flush=True)


if __name__ == "__main__":
    main()
