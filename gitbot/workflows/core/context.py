"""RunContext: the settings and all ports of a workflow, as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitbot.errors import RepositoryError
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.planner import make_plan
from gitbot.ports.clock import Clock
from gitbot.ports.cluster import Cluster, FollowedCluster
from gitbot.ports.forge import Forge, PullRequest, PullState
from gitbot.ports.ledger import LedgerCounts, LedgerStore
from gitbot.ports.notices import Notifier
from gitbot.ports.repository import Repository
from gitbot.reports import Diff
from gitbot.reports.own_templates import TemplateFault, TextQuestion
from gitbot.settings import HealthGateSettings
from gitbot.workflows.core.revision_engine import RevisionEngine

PLANNING_TIMEOUT = 300  # seconds for one pull request or concern: all others wait meanwhile
ANSWER_TIMEOUT = 60  # seconds for a plan that a person waits for

PlanOf = Callable[[PlacementProblem], PlacementPlan]
"""As `RunContext.plan`: raises LimitExceeded if it takes too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One line of visible progress: what happens to which move."""

    time: int
    text: str
    request: RequestId | None = None
    vm: str = ""
    state: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)  # more about a move, for a log


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """The ports of one run on one cluster. `read_base` reads the base branch at a commit.

    `keep_report` stores the complete report of a plan under a name, and returns its address.
    `at_hand`: its account is at hand, and need not be the one that applies.
    `several`: the configuration has more clusters, so statuses must name theirs. `interrupted`: a
    signal asked the run to end; it records what it started, and starts nothing more. `executor` is
    this process's name in the ledger; `seconds` never steps back. `ledger_name` distinguishes this
    repository's ledger from others on the same cluster; `clusters` are all names of the
    configuration; `zone` is the cluster's IANA time zone. `reading` reads and `planning` plans
    untrusted heads, `plan_apart` plans concerns (see `plan`), `render` renders templates of the
    repository; None: this process, without a limit.
    `followed` is `cluster`, if its snapshots are not lists of their own. `events_written` has the
    keys of Kubernetes Events that need no second request. `health` says why a gate is closed.
    `pulls_seen` are the pull requests that were open when `open_pulls` asked last.
    `source` is the address where people see the files of {commit}; "" if there is none.
    `called` says whether the forge has called since it was asked last; None: no forge can call.
    """

    cluster_name: str
    base_branch: str
    repository: Repository
    forge: Forge
    ledger_store: LedgerStore
    cluster: Cluster
    clock: Clock
    read_base: Callable[[str], RevisionEngine]
    progress: Callable[[Progress], None] | None = None
    onlooker: PlanningProgress = NO_PROGRESS
    several: bool = False
    at_hand: bool = False
    keep_report: Callable[[str, Diff], str] | None = None
    interrupted: Callable[[], bool] = field(default=lambda: False)
    executor: str = ""
    ledger_name: str = "ledger"
    clusters: tuple[str, ...] = ()
    zone: str = "UTC"
    source: str = ""
    seconds: Callable[[], float] | None = None
    planning: Callable[..., Any] | None = None
    reading: Callable[..., Any] | None = None
    plan_apart: Callable[[PlacementProblem, Callable[[], bool], int], PlacementPlan] | None = None
    render: Callable[[TextQuestion], str | TemplateFault] | None = None
    followed: FollowedCluster | None = None
    notifier: Notifier | None = None
    health: Callable[[HealthGateSettings], str] | None = None
    called: Callable[[], bool] | None = None
    events_written: set[str] = field(default_factory=set)
    ledger_counts: LedgerCounts = field(default_factory=LedgerCounts)
    pulls_seen: list[PullRequest] = field(default_factory=list)

    def timer(self) -> float:
        """Seconds from an arbitrary start, to measure durations."""
        return self.clock.now() if self.seconds is None else self.seconds()

    def plan(self, problem: PlacementProblem, seconds: int = PLANNING_TIMEOUT) -> PlacementPlan:
        """Raises LimitExceeded if it takes longer, UserInterrupt if the run is to end meanwhile."""
        if self.plan_apart is None:
            return make_plan(problem)
        return self.plan_apart(problem, self.interrupted, seconds)

    def plan_soon(self, problem: PlacementProblem) -> PlacementPlan:
        """As `plan`, for a person who waits."""
        return self.plan(problem, ANSWER_TIMEOUT)

    def open_pulls(self) -> tuple[PullRequest, ...]:
        """All open pull requests, asked now."""
        pulls = self.forge.list_pulls(state=PullState.OPEN)
        self.pulls_seen[:] = pulls
        return pulls

    def own_pulls(self) -> tuple[PullRequest, ...]:
        """The bot's open pull requests, of all clusters."""
        return tuple(pull for pull in self.open_pulls() if pull.author == self.forge.bot)

    def with_report_link(self, name: str, diff: Diff) -> Diff:
        """The diff with the address of its complete report, if one is stored."""
        if self.keep_report is None:
            return diff
        return replace(diff, report=self.keep_report(name, diff))

    def say(
        self,
        text: str,
        *,
        request: RequestId | None = None,
        vm: str = "",
        state: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> None:
        if self.progress is not None:
            now, more = self.clock.now(), facts or {}
            self.progress(
                Progress(time=now, text=text, request=request, vm=vm, state=state, facts=more)
            )


def base_head(shell: RunContext) -> str:
    head = shell.repository.resolve(shell.base_branch)
    if head is None:
        raise RepositoryError(f"there is no branch {shell.base_branch}")
    return head


def status_name(shell: RunContext, context: str) -> str:
    """The context of a status, with the cluster's name if there are several clusters."""
    return f"{context} ({shell.cluster_name})" if shell.several else context
