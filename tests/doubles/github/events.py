"""What happened, as workflows and webhooks hear of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.doubles.github.state import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event. `sha` and `ref` are what a workflow that it starts would see.

    `by_job` says that a GITHUB_TOKEN did it; `fork` that the code comes from a fork.
    """

    name: str  # push, pull_request, issue_comment, merge_group, workflow_dispatch ...
    action: str = ""
    repository: str
    actor: str
    time: int
    sha: str = ""
    ref: str = ""
    by_job: bool = False
    fork: bool = False
    number: int = 0
    payload: JSON = field(default_factory=dict)
