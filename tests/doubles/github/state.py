"""What GitHub remembers. Times are seconds UTC, commits full hex ids, words GitHub's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.doubles.github.storage import BareRepository

JSON = dict[str, Any]

ACTIONS_APP_ID = 15368  # what github.com's own App for Actions has
ROLES = ("none", "read", "triage", "write", "maintain", "admin")


@dataclass(slots=True, kw_only=True)
class Account:
    """A person, an organization or an App's bot. `kind` is User, Organization or Bot."""

    login: str
    id: int
    kind: str = "User"


@dataclass(slots=True, kw_only=True)
class App:
    """A GitHub App; its JSON Web Tokens are signed by the private key of `public_key` (PEM)."""

    id: int
    slug: str
    owner: str
    public_key: str = ""
    permissions: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Installation:
    """An App installed on an account, for all repositories or the named ones."""

    id: int
    app_id: int
    account: str
    repositories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who a token speaks for.

    `kind` is `user` (a personal token), `job` (GITHUB_TOKEN), `installation`, `app` (a JSON Web
    Token) or `nobody`. `permissions` limit jobs and installations; `repository` limits a job.
    """

    kind: str
    login: str = ""
    permissions: tuple[tuple[str, str], ...] = ()
    expires: int = 0  # 0: never
    repository: str = ""
    app_id: int = 0
    installation_id: int = 0
    run_id: int = 0


@dataclass(slots=True, kw_only=True)
class Label:
    """A label of a repository."""

    id: int
    name: str
    color: str = "ededed"
    description: str = ""


@dataclass(slots=True, kw_only=True)
class Comment:
    """A comment on an issue or a pull request."""

    id: int
    number: int
    author: str
    body: str
    created: int
    updated: int


@dataclass(slots=True, kw_only=True)
class Issue:
    """An issue, and the issue side of a pull request (`is_pull`)."""

    id: int
    number: int
    title: str
    body: str
    author: str
    created: int
    updated: int
    state: str = "open"
    closed: int = 0
    closed_by: str = ""
    labels: list[str] = field(default_factory=list)
    locked: bool = False
    is_pull: bool = False


@dataclass(slots=True, kw_only=True)
class Pull:
    """The other side of a pull request. `head_repository` is a full name ("" after its removal)."""

    id: int
    number: int
    head_repository: str
    head_branch: str
    head: str
    base_branch: str
    base: str
    draft: bool = False
    merged: bool = False
    merged_at: int = 0
    merged_by: str = ""
    merge_commit: str = ""  # open: the test merge; merged: what the base branch got
    mergeable: bool | None = None
    requested_reviewers: list[str] = field(default_factory=list)
    auto_merge: JSON | None = None
    queued: bool = False
    pusher: str = ""  # who pushed the newest head


@dataclass(slots=True, kw_only=True)
class Review:
    """A review. `state` is PENDING, APPROVED, CHANGES_REQUESTED, COMMENTED or DISMISSED."""

    id: int
    number: int
    author: str
    body: str
    state: str
    commit: str
    submitted: int


@dataclass(slots=True, kw_only=True)
class Status:
    """A commit status; the newest of a context counts."""

    id: int
    sha: str
    context: str
    state: str
    description: str
    target_url: str
    creator: str
    created: int


@dataclass(slots=True, kw_only=True)
class CheckSuite:
    """All check runs of one App on one commit."""

    id: int
    sha: str
    app_id: int
    branch: str
    created: int


@dataclass(slots=True, kw_only=True)
class CheckRun:
    """One check run."""

    id: int
    suite_id: int
    name: str
    sha: str
    app_id: int
    status: str
    conclusion: str | None
    external_id: str
    details_url: str
    started: int
    completed: int = 0
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[JSON] = field(default_factory=list)
    actions: list[JSON] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Protection:
    """Classic protection of one branch, as much of it as decides something here."""

    reviews: int = 0  # approvals that a merge needs
    reviews_required: bool = False
    dismiss_stale: bool = False
    code_owners: bool = False
    last_push_approval: bool = False
    contexts: tuple[str, ...] = ()
    strict: bool = False
    checks_required: bool = False
    enforce_admins: bool = False
    restrictions: JSON | None = None
    linear: bool = False
    force_pushes: bool = False
    deletions: bool = False


@dataclass(slots=True, kw_only=True)
class Environment:
    """A deployment environment and what a job in it waits for."""

    id: int
    name: str
    created: int
    wait_timer: int = 0  # minutes
    reviewers: tuple[str, ...] = ()
    protected_branches: bool = False
    branches: tuple[str, ...] | None = None  # patterns of those that may use it; None: any
    secrets: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Job:
    """One job of a run, one combination of its matrix.

    `status` is queued (also: what it needs is not done), waiting (for an environment), pending (for
    its concurrency group), in_progress or completed.
    """

    id: int
    run_id: int
    key: str  # its name in the workflow file
    name: str
    needs: tuple[str, ...] = ()
    matrix: JSON = field(default_factory=dict)
    environment: str = ""
    permissions: dict[str, str] = field(default_factory=dict)
    group: str = ""
    cancel_in_progress: bool = False
    status: str = "queued"
    conclusion: str | None = None
    created: int = 0
    started: int = 0
    completed: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    cancelling: bool = False  # somebody asked; its runner must stop it
    approved: bool = False  # by a reviewer of its environment
    log: str = ""


@dataclass(slots=True, kw_only=True)
class WorkflowRun:
    """One run of a workflow. `payload` is the event as `github.event` has it."""

    id: int
    workflow_id: int
    number: int
    event: str
    name: str
    path: str
    head_branch: str
    head_sha: str
    ref: str
    actor: str
    created: int
    updated: int
    status: str = "queued"
    conclusion: str | None = None
    group: str = ""
    cancel_in_progress: bool = False
    head_repository: str = ""
    number_of_pull: int = 0
    payload: JSON = field(default_factory=dict)
    inputs: JSON = field(default_factory=dict)
    trusted: bool = True  # False: no secret and a token that only reads
    chain: int = 0  # how many workflow_run events led here
    file_sha: str = ""  # the commit whose workflow file runs
    jobs: list[Job] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Options:
    """Settings of a repository."""

    merge_commit: bool = True
    squash: bool = True
    rebase: bool = True
    auto_merge: bool = False
    delete_branch_on_merge: bool = False
    actions_enabled: bool = True
    workflow_permissions: str = "read"  # of GITHUB_TOKEN where a workflow says nothing
    actions_may_approve: bool = False  # "Allow GitHub Actions to create and approve pull requests"
    archived: bool = False


@dataclass(slots=True, kw_only=True)
class Repository:
    """Everything about one repository; its Git side is on disk."""

    id: int
    owner: str
    name: str
    git: BareRepository
    created: int
    private: bool = False
    default_branch: str = "main"
    parent: str = ""
    options: Options = field(default_factory=Options)
    collaborators: dict[str, str] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    suites: dict[int, CheckSuite] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    protection: dict[str, Protection] = field(default_factory=dict)
    rulesets: dict[int, JSON] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    workflow_ids: dict[str, int] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    sarifs: list[JSON] = field(default_factory=list)
    queue: list[JSON] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        """`owner/name`."""
        return f"{self.owner}/{self.name}"

    def next_number(self) -> int:
        """Issues and pull requests share one row of numbers."""
        return 1 + max(self.issues, default=0)


@dataclass(slots=True, kw_only=True)
class State:
    """Everything that is copied when a read shall see the past."""

    accounts: dict[str, Account] = field(default_factory=dict)
    apps: dict[int, App] = field(default_factory=dict)
    installations: dict[int, Installation] = field(default_factory=dict)
    tokens: dict[str, Principal] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    teams: dict[str, tuple[str, ...]] = field(default_factory=dict)  # org/slug: its members
    last_id: int = 1000
