"""What every workflow works with: the settings and all ports, as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gitbot.execution.values import CreateMigration, Replay, Terms
from gitbot.model.cluster import ClusterSnapshot
from gitbot.model.objects import KubernetesObject
from gitbot.model.plan_json import PlanDocument
from gitbot.model.problem import PlacementProblem
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import Cluster
from gitbot.ports.forge import Forge
from gitbot.ports.ledger import LedgerStore
from gitbot.ports.repository import Repository
from gitbot.ports.templates import Templates
from gitbot.settings import Settings


class Base(Protocol):
    """What the protected base branch says at one commit: the only source of terms and rules."""

    @property
    def commit(self) -> str:
        """The commit that was read."""

    @property
    def settings(self) -> Settings:
        """The configuration there."""

    def terms(self, request: str, plan: PlanDocument) -> Terms | None:
        """When and how often a planned request may run; None where its intent is not there.

        `void` is set where the intent's spec is no longer the one that the plan was made for.
        """

    def problem(self, snapshot: ClusterSnapshot, now: int) -> PlacementProblem:
        """Rules, freezes and limits over a snapshot, without goals and reservations."""

    @property
    def replay(self) -> Replay:
        """The second pair of eyes."""

    def manifest(self, effect: CreateMigration) -> KubernetesObject:
        """The VMIM of one effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One line of visible progress: what happens to which move."""

    time: int
    text: str
    request: str = ""
    vm: str = ""
    state: str = ""


def silent(progress: Progress) -> None:
    """Show nothing."""
    del progress


def never() -> bool:
    """Nobody asks to end."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """The ports of one run on one cluster. `read_base` reads the base branch at a commit.

    `several` says that the configuration has more clusters, so that statuses must name theirs.
    `interrupted` says that somebody asked to end: what is begun is written down, nothing is begun.
    """

    cluster_name: str
    base_branch: str
    repository: Repository
    forge: Forge
    ledger_store: LedgerStore
    cluster: Cluster
    clock: Clock
    templates: Templates
    read_base: Callable[[str], Base]
    progress: Callable[[Progress], None] = field(default=silent)
    several: bool = False
    interrupted: Callable[[], bool] = field(default=never)

    def say(self, text: str, *, request: str = "", vm: str = "", state: str = "") -> None:
        """Show progress."""
        now = self.clock.now()
        self.progress(Progress(time=now, text=text, request=request, vm=vm, state=state))
