"""What GitLab remembers. Times are seconds UTC (0: not yet), commits full hex ids."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.doubles.github.storage import BareRepository

JSON = dict[str, Any]


class Problem(Exception):
    """An answer of 4xx; `message` is a text, several, or several by field."""

    def __init__(self, code: int, message: Any) -> None:
        super().__init__(str(message))
        self.code = code
        self.body = {"message": message}


def time_text(seconds: int) -> str | None:
    """As GitLab writes a time: with milliseconds."""
    if not seconds:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


@dataclass(slots=True, kw_only=True)
class User:
    """An account."""

    id: int
    username: str
    state: str = "active"

    @property
    def shown(self) -> JSON:
        return {
            "id": self.id,
            "username": self.username,
            "name": self.username,
            "state": self.state,
        }


@dataclass(slots=True, kw_only=True)
class Note:
    """A note of a merge request; `system` ones are GitLab's own."""

    id: int
    iid: int
    author: User
    body: str
    created_at: int
    updated_at: int
    system: bool = False

    @property
    def shown(self) -> JSON:
        return {
            "id": self.id,
            "body": self.body,
            "author": self.author.shown,
            "created_at": time_text(self.created_at),
            "updated_at": time_text(self.updated_at),
            "system": self.system,
            "noteable_type": "MergeRequest",
            "noteable_iid": self.iid,
        }


@dataclass(slots=True, kw_only=True)
class Status:
    """A commit status."""

    id: int
    sha: str
    name: str
    status: str
    description: str
    target_url: str | None
    author: User
    created_at: int

    @property
    def shown(self) -> JSON:
        return {
            "id": self.id,
            "sha": self.sha,
            "name": self.name,
            "status": self.status,
            "description": self.description,
            "target_url": self.target_url,
            "author": self.author.shown,
            "created_at": time_text(self.created_at),
        }


@dataclass(slots=True, kw_only=True)
class Issue:
    """An issue."""

    iid: int
    title: str
    description: str
    author: User
    state: str = "opened"

    @property
    def shown(self) -> JSON:
        return {
            "iid": self.iid,
            "title": self.title,
            "description": self.description,
            "author": self.author.shown,
            "state": self.state,
            "web_url": f"http://localhost/issues/{self.iid}",
        }


@dataclass(slots=True, kw_only=True)
class MergeRequest:
    """A merge request. `versions` have head and time of each push that GitLab worked on."""

    iid: int
    title: str
    description: str
    author: User
    source_branch: str
    target_branch: str
    state: str = "opened"
    labels: list[str] = field(default_factory=list)
    versions: list[tuple[str, int]] = field(default_factory=list)
    approvals: dict[str, int] = field(default_factory=dict)
    unchecked: int = 1  # looks until the check for conflicts is done
    created_at: int
    closed_at: int = 0
    merged_at: int = 0
    merge_user: User | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    source_project_id: int = 0

    @property
    def sha(self) -> str:
        return self.versions[-1][0]


@dataclass(slots=True, kw_only=True)
class Project:
    """Everything about one project; its Git side is on disk.

    `approval_rules` None is the free tier, which has none. `reset_on_push` takes approvals away
    with each push. `pusher` pushes into the folder on disk.
    """

    id: int
    path: str
    git: BareRepository
    merge_method: str = "merge"
    merge_trains_enabled: bool = False
    archived: bool = False
    approval_rules: int | None = None
    reset_on_push: bool = False
    approved_at: bool = True  # newer servers say when an approval was given
    pusher: str = "alice"
    members: dict[str, int] = field(default_factory=dict)
    protected: set[str] = field(default_factory=set)
    refs: dict[str, str] = field(default_factory=dict)
    events: list[JSON] = field(default_factory=list)
    requests: dict[int, MergeRequest] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    notes: dict[int, Note] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)

    @property
    def shown(self) -> JSON:
        return {
            "id": self.id,
            "path_with_namespace": self.path,
            "default_branch": "main",
            "archived": self.archived,
            "merge_method": self.merge_method,
            "merge_trains_enabled": self.merge_trains_enabled,
            "merge_requests_access_level": "enabled",
            "issues_access_level": "enabled",
        }
