"""State to the JSON that GitHub answers: the fields that gitbot, its workflows or tests read.

Names and types are those of GitHub's OpenAPI description.
"""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from tests.doubles.github.core import Core
from tests.doubles.github.state import JSON, CheckRun, Issue, Pull, Repository
from tests.doubles.github.storage import BASE


def shown(github: Core, value: Any, **more: Any) -> JSON:
    """A value by its fields, people and times as GitHub writes them."""
    found: JSON = {}
    for item in fields(value):
        said = getattr(value, item.name)
        if item.name.endswith("_at"):
            said = time_text(said) if said else None
        elif item.name in ("actor", "creator", "merged_by", "user"):
            said = user(github, said) if said else None
        if "inner" not in item.metadata:
            found[item.name] = said
    return {**found, **more}


def time_text(seconds: int) -> str:
    """RFC 3339 with Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user(github: Core, login: str) -> JSON:
    return dict(github.state.accounts[login])


def repository(github: Core, which: Repository) -> JSON:
    return {
        "id": which.id,
        "name": which.name,
        "full_name": which.full_name,
        "owner": user(github, which.owner),
        "default_branch": BASE.removeprefix("refs/heads/"),
        "archived": False,
        "has_issues": True,
    }


def pull(github: Core, which: Pull) -> JSON:
    """A pull request as lists carry it."""

    def side(full_name: str, ref: str, sha: str) -> JSON:
        label = f"{full_name.partition('/')[0]}:{ref}"
        repo = repository(github, github.repository(full_name))
        return {"label": label, "ref": ref, "sha": sha, "repo": repo}

    head = side(which.head_repository, which.head_branch, which.head)
    base = side(which.base_repository, which.base, which.base_sha)
    whole = shown(github, which, head=head, base=base)
    return {name: said for name, said in whole.items() if name != "merged_by"}


def full_pull(github: Core, which: Pull) -> JSON:
    """A pull request as its own address answers it."""
    merged_by = user(github, which.merged_by) if which.merged_by else None
    return {**pull(github, which), "merged": bool(which.merged_at), "merged_by": merged_by}


def issue(github: Core, which: Issue) -> JSON:
    """An issue, or a pull request seen as one."""
    whole = shown(github, which)
    known = {item.name: whole[item.name] for item in fields(Issue)}
    is_pull = {"pull_request": {"html_url": which.html_url}} if isinstance(which, Pull) else {}
    return {**known, **is_pull}


def check_run(github: Core, which: CheckRun) -> JSON:
    count = {"annotations_count": len(which.annotations)}
    app = github.state.apps[which.app_id]
    return shown(github, which, output={**which.output, **count}, app=shown(github, app))
