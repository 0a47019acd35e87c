"""The workflows on the real API server: a local forge, real Git, gitbot's own account."""

import time
from collections.abc import Mapping
from pathlib import Path

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.model.plan.plan import Move
from gitbot.ports.forge import MergeMethod, PullRequest, PullState
from gitbot.published import read_plan
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.apply import ApplyResult, apply
from gitbot.workflows.check import PublishResult, publish
from gitbot.workflows.core.context import Progress, RunContext
from gitbot.workflows.propose import ProposeResult, propose
from gitbot.workflows.watch import ReconcileResult, reconcile

LONGEST_SLEEP = 2.0  # seconds: nothing here takes longer; each look reads migrations or more


class BriskClock(SystemClock):
    """The real time, but nobody sleeps long: migrations are over in seconds."""

    def sleep(self, seconds: int) -> None:
        """Wait, shortly."""
        time.sleep(max(0.0, min(float(seconds), LONGEST_SLEEP)))


class LiveLoop:
    """One repository for one cluster; `told` is what gitbot says while it works."""

    def __init__(
        self,
        folder: Path,
        *,
        kubeconfig: Path,
        name: str,
        configuration: str,
        clock: SystemClock | None = None,
    ) -> None:
        clock, bare = clock or BriskClock(), folder / "placement.git"
        self.name = name
        self.clock = clock
        self.told: list[str] = []
        self.forge = LocalForge.create(bare, clock=clock)
        self.person = GitRepository.clone(str(bare), folder / "ana.git", name="ana", email="a@b.c")
        self._commit("main", {".gitbot.yaml": configuration.encode()}, None)
        repository = GitRepository.clone(str(bare), folder / "gitbot.git")
        self.shell = RunContext(
            cluster_name=name,
            base_branch="main",
            repository=repository,
            forge=self.forge,
            ledger_store=GitLedgerStore(repository),
            cluster=KubernetesCluster(kubeconfig=str(kubeconfig), name=name),
            clock=clock,
            read_base=base_branch(repository, name="main", cluster=name).at,
            progress=self._tell,
        )

    def _tell(self, progress: Progress) -> None:
        self.told.append(progress.text)

    def _commit(self, branch: str, files: Mapping[str, bytes | None], expected: str | None) -> None:
        self.person.write_commit(
            branch=branch,
            expected=expected,
            files=files,
            message=f"Change {', '.join(sorted(files))}"[:200],
            time=self.clock.now(),
        )

    def push(self, files: Mapping[str, str | None]) -> None:
        """Commit files below intents/<cluster>/ to main; None takes one away."""
        self.person.fetch()
        content = {
            f"intents/{self.name}/{path}": None if text is None else text.encode()
            for path, text in files.items()
        }
        self._commit("main", content, self.person.resolve("main"))

    def open(self, path: str, text: str, *, branch: str) -> PullRequest:
        """A pull request with one file below intents/<cluster>/."""
        self.person.fetch()
        start = self.person.resolve("main")
        assert start is not None
        files = {**self.person.read_tree(start), f"intents/{self.name}/{path}": text.encode()}
        self.person.write_commit(
            branch=branch,
            expected=None,
            files=files,
            message=f"Add {path}",
            time=self.clock.now(),
            parents=(start,),
        )
        return self.forge.acting_as("ana").open_pull(
            branch=branch, base_branch="main", title=branch, body="", labels=()
        )

    def merge(self, number: int) -> None:
        """A person merges."""
        head = self.forge.get_pull(number).head
        person = self.forge.acting_as("ana")
        person.merge_pull(number, method=MergeMethod.MERGE, expected_head=head)

    def open_pulls(self) -> tuple[PullRequest, ...]:
        """The open pull requests."""
        return self.forge.list_pulls(state=PullState.OPEN)

    def propose(self) -> ProposeResult:
        """`gitbot propose`."""
        return propose(self.shell)

    def publish(self, number: int) -> PublishResult:
        """`gitbot check --pull-request N --publish`."""
        return publish(self.shell, number=number)

    def apply(self) -> ApplyResult:
        """`gitbot apply`."""
        return apply(self.shell)

    def reconcile(self) -> ReconcileResult:
        """One pass of `gitbot reconcile`."""
        return reconcile(self.shell)

    def planned(self) -> list[Move]:
        """All moves of all plans in the ledger."""
        plans = self.shell.ledger_store.read().plans
        return [move for data in plans.values() for move in read_plan(data).plan.moves]
