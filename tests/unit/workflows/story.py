"""The customapp cluster, a repository and a forge in memory, and people who commit and merge."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gitbot.ports.forge import MergeMethod, PullRequest, PullState
from gitbot.simulation.port import SimulatedPort
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.revision_engine import RevisionEngine
from tests.doubles.customapp import customapp
from tests.doubles.forge import MemoryForge
from tests.doubles.intents import HEAD
from tests.doubles.ledger import MemoryLedgerStore
from tests.doubles.repository import MemoryRepository
from tests.doubles.timely import TimelyPort

CLUSTER = "iberia"


def configuration(more: str = "") -> str:
    """A configuration whose proposals are not delayed; mode Enforce unless `more` has a mode."""
    mode = "" if "mode:" in more else "  mode: Enforce\n"
    return f"""{HEAD}kind: Configuration
metadata: {{name: default}}
spec:
  clusters:
  - name: {CLUSTER}
    timeZone: Europe/Madrid
  proposals: {{stabilize: PT0S}}
{mode}{more}"""


@dataclass
class Story:
    """Everything in memory; time is that of the simulated cluster."""

    cluster: SimulatedCluster
    port: SimulatedPort
    repository: MemoryRepository
    forge: MemoryForge
    store: MemoryLedgerStore
    lines: list[str] = field(default_factory=list)
    name: str = CLUSTER

    @classmethod
    def begin(
        cls, *, step: int = 2, reviews_required: int = 0, settings: str = "", **files: str
    ) -> Story:
        """customapp after a step of its story, kni-worker2 open again, with a jumpbox."""
        cluster = customapp(step=step, jumpbox=True)
        cluster.cordon("kni-worker2", unschedulable=False)
        cluster.settle()
        port = TimelyPort(cluster)
        repository = MemoryRepository()
        story = cls(
            cluster=cluster,
            port=port,
            repository=repository,
            forge=MemoryForge(repository, port, reviews_required=reviews_required),
            store=MemoryLedgerStore(),
        )
        texts = {".gitbot.yaml": configuration(settings), **_paths(files)}
        repository.write_commit(
            branch="main",
            expected=None,
            files={path: text.encode() for path, text in texts.items()},
            message="start",
            time=port.now(),
        )
        return story

    @property
    def shell(self) -> RunContext:
        read_base: Callable[[str], RevisionEngine]
        read_base = base_branch(self.repository, name="main", cluster=self.name).at
        if isinstance(self.port, TimelyPort):
            self.port.read_ledger = self.store.read
            read_base = self.port.watched(read_base)
        return RunContext(
            cluster_name=self.name,
            base_branch="main",
            repository=self.repository,
            forge=self.forge,
            ledger_store=self.store,
            cluster=self.port,
            clock=self.port,
            read_base=read_base,
            progress=lambda progress: self.lines.append(progress.text),
        )

    # What people do

    def commit(self, branch: str = "main", **files: str | None) -> str:
        """A person commits files (intents by short name; None removes) on a branch."""
        self.repository.author = "ann"
        head = self.repository.resolve(branch)
        changed = {
            path: text.encode() if text is not None else None
            for path, text in _paths(files).items()
        }
        if head is None:
            main = self.repository.commit("main").id
            content: dict[str, bytes | None] = {**self.repository.read_tree(main), **changed}
            made = self.repository.write_commit(
                branch=branch,
                expected=None,
                files=content,
                message="work",
                time=self.port.now(),
                parents=(main,),
            )
        else:
            made = self.repository.write_commit(
                branch=branch, expected=head, files=changed, message="work", time=self.port.now()
            )
        self.repository.author = "gitbot"
        return made

    def open(self, branch: str = "work", **files: str | None) -> PullRequest:
        """A person opens a pull request."""
        self.commit(branch, **files)
        self.forge.account = "ann"
        pull = self.forge.open_pull(
            branch=branch, base_branch="main", title=branch, body="", labels=()
        )
        self.forge.account = "gitbot"
        return pull

    def merge(self, number: int = 0) -> PullRequest:
        """A person merges a pull request: that number, or the only open one."""
        pulls = self.pulls() if not number else (self.forge.get_pull(number),)
        (pull,) = pulls
        self.forge.account = "bob"
        merged = self.forge.merge_pull(
            pull.number, method=MergeMethod.MERGE, expected_head=pull.head
        )
        self.forge.account = "gitbot"
        return merged

    # What is there

    def pulls(self) -> tuple[PullRequest, ...]:
        return self.forge.list_pulls(state=PullState.OPEN)

    def where(self) -> dict[str, str]:
        return {
            vmi["metadata"]["name"]: vmi["status"].get("nodeName", "")
            for vmi in self.cluster.list("VirtualMachineInstance", "customapp")
        }

    def databases(self) -> list[str]:
        return sorted(node for name, node in self.where().items() if name.startswith("mssql"))

    def specs(self) -> list[Any]:
        return copy.deepcopy(
            [
                (kind, item["metadata"]["name"], item["spec"])
                for kind in ("VirtualMachine", "VirtualMachineInstance")
                for item in self.cluster.list(kind)
            ]
        )

    def writes(self) -> tuple[int, int, int, str]:
        """Changes whenever anything was written anywhere."""
        version = str(self.cluster.store.version)
        return self.store.appends, self.forge.writes, self.repository.pushes, version

    def states(self, request: str) -> list[str]:
        return [
            f"{getattr(event, 'move', 0)} {event.state}"
            for event in self.store.read().of(f"requests/{CLUSTER}/{request}.jsonl")
        ]


def _paths(files: Any) -> dict[str, Any]:
    return {
        name if "/" in name or name.startswith(".") else f"intents/{CLUSTER}/{name}.yaml": text
        for name, text in files.items()
    }
