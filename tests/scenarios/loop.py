"""The whole loop for stories: a simulated cluster, a bare repository as forge, real Git.

Every request that reaches the simulated API through gitbot's port is noted, so that a story can say
what was written, and that no VirtualMachine or VirtualMachineInstance ever was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.kubernetes.objects import at, name_of
from gitbot.model.ledger.events import LedgerEvent
from gitbot.model.text.canonical import canonical_json
from gitbot.model.text.instants import format_instant
from gitbot.ports.forge import MergeMethod, PullRequest
from gitbot.published import read_plan
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.apply import ApplyResult, apply
from gitbot.workflows.check import PublishResult, publish
from gitbot.workflows.core.context import Progress, RunContext
from gitbot.workflows.propose import ProposeResult, propose
from gitbot.workflows.watch import ReconcileResult, reconcile
from tests.doubles.intents import CONFIGURATION
from tests.doubles.timely import TimelyPort

T = TypeVar("T")
READS = ("get", "list")


class NotedPort(TimelyPort):
    """The simulated port; notes every request that is not a read."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        super().__init__(cluster)
        self.writes: list[str] = []

    def call(self, verb: str, what: str, action: Callable[[], T]) -> T:
        """Note and make one request."""
        if verb not in READS:
            self.writes.append(f"{verb} {what}")
        return super().call(verb, what, action)


@dataclass(slots=True, kw_only=True)
class Loop:
    """One cluster with its repository. `lines` is what the story tells."""

    cluster: SimulatedCluster
    port: NotedPort
    forge: LocalForge
    person: GitRepository
    shell: RunContext
    specs: bytes
    lines: list[str] = field(default_factory=list)

    @classmethod
    def start(
        cls, folder: Path, cluster: SimulatedCluster, *, configuration: str = CONFIGURATION
    ) -> Loop:
        """A fresh repository for a cluster; `configuration` names it CLUSTER."""
        port = NotedPort(cluster)
        bare = folder / "placement.git"
        forge = LocalForge.create(bare, clock=port)
        person = GitRepository.clone(str(bare), folder / "alice.git", name="alice", email="a@b.c")
        person.write_commit(
            branch="main",
            expected=None,
            files={".gitbot.yaml": configuration.replace("CLUSTER", cluster.name).encode()},
            message="Start",
            time=port.now(),
        )
        repository = GitRepository.clone(str(bare), folder / "gitbot.git")
        lines: list[str] = []
        shell = RunContext(
            cluster_name=cluster.name,
            base_branch="main",
            repository=repository,
            forge=forge,
            ledger_store=GitLedgerStore(repository),
            cluster=port,
            clock=port,
            read_base=port.watched(base_branch(repository, name="main", cluster=cluster.name).at),
            progress=lambda progress: lines.append(_told(progress)),
        )
        port.read_ledger = shell.ledger_store.read
        return cls(
            cluster=cluster,
            port=port,
            forge=forge,
            person=person,
            shell=shell,
            specs=virtual_machine_specs(cluster),
            lines=lines,
        )

    def say(self, text: str) -> None:
        """One line of the story."""
        self.lines.append(text)

    # What people do

    def commit(self, files: Mapping[str, str | None], *, branch: str = "main") -> str:
        """A person commits files below intents/<cluster>/ (None removes)."""
        self.person.fetch()
        expected = self.person.resolve(branch)
        start = expected or self.person.resolve("main")
        content: dict[str, bytes | None] = {
            f"intents/{self.cluster.name}/{path}": None if text is None else text.encode()
            for path, text in files.items()
        }
        if expected is None and start is not None:
            content = {**self.person.read_tree(start), **content}
        return self.person.write_commit(
            branch=branch,
            expected=expected,
            files=content,
            message=f"Change {', '.join(sorted(files))}",
            time=self.port.now(),
            parents=(start,) if start else (),
        )

    def open(self, files: Mapping[str, str | None], *, branch: str = "work") -> PullRequest:
        """A person opens a pull request with files."""
        self.commit(files, branch=branch)
        return self.forge.acting_as("alice").open_pull(
            branch=branch, base_branch="main", title=f"{branch}", body="", labels=()
        )

    def merge(self, number: int, *, method: MergeMethod = MergeMethod.MERGE) -> PullRequest:
        """A person merges a pull request as it is."""
        pull = self.forge.get_pull(number)
        self.say(f"alice merges #{number}: {pull.title}")
        return self.forge.acting_as("alice").merge_pull(
            number, method=method, expected_head=pull.head
        )

    # What gitbot does

    def publish(self, number: int) -> PublishResult:
        """`gitbot check --pull-request N --publish`."""
        result = publish(self.shell, number=number)
        verdict = "refused" if result.check.fails() else "ready"
        plan = result.check.judged.plan if result.check.judged else None
        moves = len(plan.moves) if plan else 0
        self.say(f"check of #{number}: {verdict}, {moves} moves")
        return result

    def propose(self) -> ProposeResult:
        """`gitbot propose`."""
        result = propose(self.shell)
        self.say("gitbot propose")
        for report in result.concerns:
            number = f" #{report.pull_request}" if report.pull_request else ""
            reason = f" ({report.reason})" if report.reason else ""
            self.say(f"  {report.concern}: {report.action}{number}{reason}")
        return result

    def apply(self, *, max_runtime: int = 3600) -> ApplyResult:
        """`gitbot apply`."""
        self.say("gitbot apply")
        result = apply(self.shell, max_runtime=max_runtime)
        for waiting in result.waiting:
            until = f" until {format_instant(waiting.until)}" if waiting.until else ""
            self.say(f"  {waiting.vm} waits: {waiting.reason}{until}")
        if result.did_nothing:
            self.say("  nothing to do")
        return result

    def reconcile(self) -> ReconcileResult:
        """`gitbot reconcile`."""
        self.say("gitbot reconcile")
        result = reconcile(self.shell)
        for report in (*result.proposed.concerns, *result.proposed_after.concerns):
            if report.action not in {"unchanged", "nothing"}:
                number = f" #{report.pull_request}" if report.pull_request else ""
                self.say(f"  {report.concern}: {report.action}{number}")
        if result.did_nothing:
            self.say("  nothing to do")
        return result

    # What is looked at

    def where(self, domain: str = "") -> dict[str, str]:
        """VMI to node, of a domain or all, sorted by name."""
        return {
            str(name_of(vmi)): at(vmi, "status", "nodeName", default="-")
            for vmi in self.cluster.list("VirtualMachineInstance")
            if at(vmi, "metadata", "labels", "kubevirt.io/domain", default="") == domain
            or not domain
        }

    def planned(self, request: str) -> list[str]:
        """The VMs of the newest plan for a request, in order of the moves."""
        plans = self.shell.ledger_store.read().plans
        documents = [read_plan(data) for data in plans.values()]
        (plan,) = [
            document.plan
            for document in documents
            if any(move.request == request for move in document.plan.moves)
        ]
        return [str(move.vm.namespaced_name) for move in plan.moves]

    def events(self) -> tuple[LedgerEvent, ...]:
        """The ledger's events."""
        return self.shell.ledger_store.read().events

    def end(self) -> str:
        """The story as text; the VM and VMI specs are byte for byte those of the start."""
        kinds = sorted({write.split()[1].partition("/")[0] for write in self.port.writes})
        assert not [kind for kind in kinds if kind in {"VirtualMachine", "VirtualMachineInstance"}]
        assert virtual_machine_specs(self.cluster) == self.specs, "a VM or VMI spec changed"
        self.say(f"gitbot wrote to the cluster: {', '.join(kinds) or 'nothing'}")
        self.say("VirtualMachine and VirtualMachineInstance specs: byte-identical")
        return "\n".join(self.lines) + "\n"


def virtual_machine_specs(cluster: SimulatedCluster) -> bytes:
    """Canonical bytes of the specs of all VMs and VMIs."""
    return canonical_json(
        {
            f"{kind}/{name_of(obj)}": obj["spec"]
            for kind in ("VirtualMachine", "VirtualMachineInstance")
            for obj in cluster.list(kind)
        }
    )


def _told(progress: Progress) -> str:
    return f"  {progress.text}"
