"""What GitHub remembers. Times are seconds UTC (0: not yet), commits full hex ids.

Fields have GitHub's own names, and are answered as they are (`shapes.shown`) but for inner ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.doubles.github.storage import BareRepository

JSON = dict[str, Any]

ACTIONS_APP_ID = 15368  # what github.com's own App for Actions has
ROLES = ("read", "triage", "write", "maintain", "admin")
INNER = {"inner": True}  # of a field that no answer shows


@dataclass(slots=True, kw_only=True)
class App:
    """A GitHub App; its JSON Web Tokens are signed by the private key of `public_key` (PEM).

    Its one installation, on one repository, has the same number.
    """

    id: int
    slug: str
    permissions: Mapping[str, str] = field(default_factory=dict)
    public_key: str = field(default="", metadata=INNER)
    repository: str = field(default="", metadata=INNER)  # full name


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who a token speaks for.

    `kind` is `user` (a personal token), `job` (GITHUB_TOKEN), `installation`, `app` (a JSON Web
    Token) or `nobody`. `permissions` and `repository` limit jobs and installations.
    """

    kind: str
    login: str = ""
    permissions: Mapping[str, str] = field(default_factory=dict)
    expires: int = 0  # 0: never
    repository: str = ""
    app_id: int = 0


@dataclass(slots=True, kw_only=True)
class Comment:
    """A comment on the issue or pull request `number`."""

    id: int
    user: str
    body: str
    created_at: int
    updated_at: int
    number: int = field(metadata=INNER)


@dataclass(slots=True, kw_only=True)
class Issue:
    """An issue."""

    number: int
    html_url: str
    title: str
    body: str
    user: str
    state: str = "open"
    created_at: int
    updated_at: int
    closed_at: int = 0
    labels: list[JSON] = field(default_factory=list)

    def close(self, now: int) -> None:
        self.state, self.closed_at, self.updated_at = "closed", now, now


@dataclass(slots=True, kw_only=True)
class Pull(Issue):
    """A pull request. `base` is a branch, `head` and `base_sha` are commits."""

    merged_at: int = 0
    merged_by: str = ""
    merge_commit_sha: str | None = None  # open: the test merge, if there is no conflict
    base: str = field(metadata=INNER)
    base_repository: str = field(metadata=INNER)
    base_sha: str = field(metadata=INNER)
    head: str = field(metadata=INNER)
    head_branch: str = field(metadata=INNER)
    head_repository: str = field(metadata=INNER)
    pusher: str = field(metadata=INNER)  # who pushed the newest head
    auto_merge: str = field(default="", metadata=INNER)  # who switched it on
    auto_merge_method: str = field(default="merge", metadata=INNER)


@dataclass(slots=True, kw_only=True)
class Review:
    """A review. `state` is APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED."""

    id: int
    user: str
    state: str
    commit_id: str
    submitted_at: int
    number: int = field(metadata=INNER)


@dataclass(slots=True, kw_only=True)
class Status:
    """A commit status; the newest of a context counts."""

    id: int
    context: str
    state: str
    description: str
    creator: str
    updated_at: int
    target_url: str | None = None
    sha: str = field(metadata=INNER)


@dataclass(slots=True, kw_only=True)
class CheckRun:
    """One check run. `output` holds title, summary and text."""

    id: int
    name: str
    head_sha: str
    status: str
    conclusion: str | None = None
    external_id: str = ""
    details_url: str | None = None
    started_at: int
    completed_at: int = 0
    output: JSON = field(default_factory=dict)
    app_id: int = field(metadata=INNER)
    annotations: list[JSON] = field(default_factory=list, metadata=INNER)


@dataclass(slots=True, kw_only=True)
class Protection:
    """Classic protection of one branch."""

    reviews: int = 0  # approvals that a merge needs
    dismiss_stale: bool = False


@dataclass(slots=True, kw_only=True)
class Environment:
    """A deployment environment. Answers show its rules; no job waits for them here."""

    id: int
    name: str
    protection_rules: list[JSON] = field(default_factory=list)
    deployment_branch_policy: JSON | None = None
    branches: tuple[str, ...] = field(default=(), metadata=INNER)
    secrets: dict[str, str] = field(default_factory=dict, metadata=INNER)


@dataclass(slots=True, kw_only=True)
class Job:
    """One job of a run, one combination of its matrix.

    `status` is queued (also: what it needs is not done), pending (for its concurrency group),
    in_progress or completed.
    """

    id: int
    key: str  # its name in the workflow file
    name: str
    needs: list[str]
    matrix: JSON
    environment: str
    permissions: dict[str, str]
    group: str
    created: int
    status: str = "queued"
    conclusion: str | None = None
    completed: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    cancelling: bool = False  # its runner must stop it


@dataclass(slots=True, kw_only=True)
class WorkflowRun:
    """One run of a workflow. `payload` is the event as `github.event` has it."""

    id: int
    run_number: int
    event: str
    name: str
    head_sha: str
    status: str = "queued"
    conclusion: str | None = None
    pull_requests: list[JSON]
    actor: str
    ref: str = field(metadata=INNER)
    path: str = field(metadata=INNER)
    payload: JSON = field(metadata=INNER)
    inputs: JSON = field(metadata=INNER)
    trusted: bool = field(metadata=INNER)  # False: no secret and a token that only reads
    file_sha: str = field(metadata=INNER)  # the commit whose workflow file runs
    jobs: list[Job] = field(default_factory=list, metadata=INNER)


@dataclass(slots=True, kw_only=True)
class Repository:
    """Everything about one repository; its Git side is on disk."""

    id: int
    owner: str
    name: str
    git: BareRepository
    parent: str = ""
    actions_may_approve: bool = False  # "Allow GitHub Actions to create and approve pull requests"
    collaborators: dict[str, str] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    protection: dict[str, Protection] = field(default_factory=dict)
    rulesets: dict[int, JSON] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)  # at the last call of `merging.notice`
    sarifs: list[JSON] = field(default_factory=list)
    activities: list[JSON] = field(default_factory=list)  # pushes, oldest first
    queue: list[JSON] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def next_number(self) -> int:
        """Issues and pull requests share one row of numbers."""
        return 1 + max(self.issues, default=0)


@dataclass(slots=True, kw_only=True)
class State:
    """Everything that a stale read needs a copy of."""

    accounts: dict[str, JSON] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    tokens: dict[str, Principal] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    teams: dict[str, tuple[str, ...]] = field(default_factory=dict)  # org/slug: its members
    last_id: int = 1000
