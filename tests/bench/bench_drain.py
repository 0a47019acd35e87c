"""What a drain costs the API server: bytes that one `apply` reads until the last VM has left.

A rack behind the simulator's HTTP face, in its own time; 2 % of its nodes are drained. Once the
pass lists the cluster at every look, once it lists it once and then watches. The unit is the first
list; objects are smaller than real ones, so events weigh as much beside the list as there.
"""

import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gitbot.adapters.kubernetes import FollowedKubernetesCluster, KubernetesCluster, Transport
from gitbot.adapters.kubernetes.transport import HttpAnswer
from gitbot.ports.forge import MergeMethod, PullState
from gitbot.simulation.http import ApiServer, write_kubeconfig
from gitbot.simulation.port import SimulatedPort
from gitbot.workflows.apply import apply
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.watch import reconcile
from tests.bench.bench_carried_out import CONFIGURATION
from tests.bench.table import Figure, show
from tests.doubles.forge import MemoryForge
from tests.doubles.intents import HEAD
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.rack import RackSize, rack
from tests.doubles.repository import MemoryRepository
from tests.unit.workflows.story import Story

SIZES = (100, 250)
GOAL = 1.5  # first lists
VMS_ON_A_NODE = 6
PODS = "/api/v1/pods"


@dataclass(slots=True, kw_only=True)
class Read:
    """What one pass read. `first` are the bytes of its first look, `lists` whole lists of pods."""

    total: int = 0
    first: int = 0
    lists: int = 0
    requests: int = 0
    moved: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, size: int) -> None:
        with self.lock:
            self.total += size


class Counted(Transport):
    """A transport that counts the bodies of its answers."""

    def __init__(self, read: Read, kubeconfig: Path) -> None:
        super().__init__(kubeconfig=str(kubeconfig))
        self._counts = read

    def _send_once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *what: Any,
        stream: bool = False,
        **form: Any,
    ) -> HttpAnswer:
        answer = super()._send_once(method, path, query, *what, stream=stream, **form)
        is_whole = not stream and "spec.nodeName" not in query.get("fieldSelector", "")
        self._counts.requests += 1
        self._counts.lists += path == PODS and is_whole and "continue" not in query
        self._counts.add(len(answer.body))
        if answer.lines is None:
            return answer
        return replace(answer, lines=CountedLines(answer.lines, self._counts))  # type: ignore[arg-type]


class CountedLines:
    def __init__(self, lines: Any, read: Read) -> None:
        self._lines, self._read = lines, read

    def __iter__(self) -> Iterator[bytes]:
        for line in self._lines:
            self._read.add(len(line))
            yield line

    def cut(self) -> None:
        self._lines.cut()


class FaceClock:
    """The simulator's time. While it passes, streams get a moment of the machine's."""

    def __init__(self, face: ApiServer) -> None:
        self._face = face

    def now(self) -> int:
        with self._face.lock:
            return self._face.cluster.now()

    def sleep(self, seconds: int, /) -> None:
        with self._face.lock:
            self._face.cluster.advance(max(1, seconds))
        time.sleep(0.02)


def drained(nodes: int, drain: int, *, follow: bool) -> Read:
    """Plan and merge the maintenance of `drain` nodes, and apply it in one pass."""
    story, read = _merged(nodes, drain), Read()
    with (
        ApiServer(story.cluster) as face,
        tempfile.TemporaryDirectory() as folder,
        _shell(story, face, Path(folder), read, follow=follow) as shell,
    ):

        def looked(_: object) -> None:
            read.first = read.first or read.total

        result = apply(shell, max_runtime=36_000, on_look=looked)
        read.moved = dict(result.states).get("succeeded", 0)
    return read


@contextmanager
def _shell(
    story: Story, face: ApiServer, folder: Path, read: Read, *, follow: bool
) -> Iterator[RunContext]:
    file = write_kubeconfig(folder / "kubeconfig", server=face.url, context=story.name)
    shell = replace(story.shell, clock=FaceClock(face), executor="drain")
    transport = Counted(read, file)
    if not follow:
        with closing(KubernetesCluster(name=story.name, transport=transport)) as listing:
            yield replace(shell, cluster=listing)
        return
    cluster = FollowedKubernetesCluster(
        name=story.name,
        transport=transport,
        streaming=Counted(read, file),
        say=lambda _: None,
        at_once=False,
    )
    with closing(cluster):
        yield replace(shell, cluster=cluster, followed=cluster)


def _merged(nodes: int, drain: int) -> Story:
    size = RackSize(
        nodes=nodes,
        nodes_in_rack=5,
        machines=nodes * VMS_ON_A_NODE,
        full_percent=60,
        not_migratable_percent=0,
    )
    cluster, repository = rack(size), MemoryRepository()
    port = SimulatedPort(cluster)
    story = Story(
        cluster=cluster,
        port=port,
        repository=repository,
        forge=MemoryForge(repository, port),
        store=MemoryLedgerStore(),
        name="rack",
    )
    files = {".gitbot.yaml": CONFIGURATION, "intents/rack/window.yaml": _window(drain)}
    repository.write_commit(
        branch="main",
        expected=None,
        files={path: text.encode() for path, text in files.items()},
        message="start",
        time=port.now(),
    )
    reconcile(story.shell)
    for pull in story.forge.list_pulls(state=PullState.OPEN):
        story.forge.account = "bob"
        story.forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=pull.head)
        story.forge.account = "gitbot"
    return story


def _window(drain: int) -> str:
    names = ", ".join(f"node-{number:03}" for number in range(1, drain + 1))
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [{names}]}}
  drain: {{cordon: Gitbot, maxNodesAtOnce: {drain}}}
  returnHome: Never
"""


def figures() -> Iterator[Figure]:
    """Bytes in first lists, following beside listing, at each size."""
    for nodes in SIZES:
        drain = nodes // 50
        listing, following = (drained(nodes, drain, follow=follow) for follow in (False, True))
        lists, whole = following.total / following.first, listing.total / listing.first
        yield Figure(
            what=f"drain {drain} of {nodes} nodes ({following.moved} moves): first lists read, "
            f"{following.requests} requests instead of {listing.requests}",
            gitbot=f"{lists:.2f}",
            peer=f"{whole:.2f} (a list at each look)",
            ratio=GOAL / lists,
            goal=1.0,
        )


if __name__ == "__main__":
    show(figures())
