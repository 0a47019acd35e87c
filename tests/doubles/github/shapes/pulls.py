"""Pull requests, issues, comments, reviews."""

from __future__ import annotations

from typing import Any

from tests.doubles.github.links import Links, node_id, time_or_none, time_text
from tests.doubles.github.shapes import people
from tests.doubles.github.state import (
    JSON,
    Comment,
    Issue,
    Label,
    Pull,
    Repository,
    Review,
    State,
)


def association(repository: Repository, login: str) -> str:
    """How somebody stands to a repository."""
    if login == repository.owner:
        return "OWNER"
    return "COLLABORATOR" if login in repository.collaborators else "NONE"


def labels(links: Links, repository: Repository, names: list[str]) -> list[JSON]:
    """The labels of an issue."""
    known = repository.labels
    return [
        people.label(links, repository.full_name, known.get(name) or Label(id=0, name=name))
        for name in names
    ]


def _side(links: Links, state: State, full_name: str, ref: str, sha: str) -> JSON:
    repository = state.repositories.get(full_name.lower())
    owner = full_name.partition("/")[0]
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": people.user(links, state.accounts[owner]),
        "repo": people.repository(links, state, repository) if repository else None,
    }


def _addresses(links: Links, repository: Repository, which: Pull) -> dict[str, str]:
    """Where everything about a pull request is."""
    name = repository.full_name
    here = links.repo(name, f"/pulls/{which.number}")
    about = links.repo(name, f"/issues/{which.number}")
    return {
        "self": here,
        "html": links.page(name, f"/pull/{which.number}"),
        "issue": about,
        "comments": f"{about}/comments",
        "review_comments": f"{here}/comments",
        "review_comment": links.repo(name, "/pulls/comments{/number}"),
        "commits": f"{here}/commits",
        "statuses": links.repo(name, f"/statuses/{which.head}"),
    }


def pull(links: Links, state: State, repository: Repository, which: Pull) -> JSON:
    """A pull request as lists carry it."""
    issue = repository.issues[which.number]
    addresses = _addresses(links, repository, which)
    page = addresses["html"]
    return {
        "url": addresses["self"],
        "id": which.id,
        "node_id": node_id("PR", which.id),
        "html_url": page,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "issue_url": addresses["issue"],
        "commits_url": addresses["commits"],
        "review_comments_url": addresses["review_comments"],
        "review_comment_url": addresses["review_comment"],
        "comments_url": addresses["comments"],
        "statuses_url": addresses["statuses"],
        "number": which.number,
        "state": issue.state,
        "locked": issue.locked,
        "title": issue.title,
        "user": people.user(links, state.accounts[issue.author]),
        "body": issue.body or None,
        # the description has them with a text here, elsewhere with null
        "labels": [
            {**label, "description": label["description"] or ""}
            for label in labels(links, repository, issue.labels)
        ],
        "milestone": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [
            people.user(links, state.accounts[login]) for login in which.requested_reviewers
        ],
        "requested_teams": [],
        "created_at": time_text(issue.created),
        "updated_at": time_text(issue.updated),
        "closed_at": time_or_none(issue.closed),
        "merged_at": time_or_none(which.merged_at),
        "merge_commit_sha": which.merge_commit or None,
        "draft": which.draft,
        "head": _side(links, state, which.head_repository, which.head_branch, which.head),
        "base": _side(links, state, repository.full_name, which.base_branch, which.base),
        "_links": {key: {"href": address} for key, address in addresses.items()},
        "author_association": association(repository, issue.author),
        "auto_merge": _auto_merge(links, state, which),
        "active_lock_reason": None,
    }


def _auto_merge(links: Links, state: State, which: Pull) -> JSON | None:
    if which.auto_merge is None:
        return None
    enabled_by = people.user(links, state.accounts[which.auto_merge["enabled_by"]])
    return {**which.auto_merge, "enabled_by": enabled_by}


def full_pull(
    links: Links, state: State, repository: Repository, which: Pull, *, mergeable_state: str
) -> JSON:
    """A pull request as its own address answers it."""
    git = repository.git
    fork_point = git.merge_base(which.base, which.head) or which.base
    files = git.changes(fork_point, which.head)
    comments = [c for c in repository.comments.values() if c.number == which.number]
    merged_by = state.accounts[which.merged_by] if which.merged_by else None
    return {
        **pull(links, state, repository, which),
        "merged": which.merged,
        "mergeable": None if which.merged else which.mergeable,
        "rebaseable": None if which.merged else which.mergeable,
        "mergeable_state": mergeable_state,
        "merged_by": people.user(links, merged_by) if merged_by else None,
        "comments": len(comments),
        "review_comments": 0,
        "maintainer_can_modify": False,
        "commits": git.count(
            include=which.head, exclude=which.base if not which.merged else fork_point
        ),
        "additions": sum(change.additions for change in files),
        "deletions": sum(change.deletions for change in files),
        "changed_files": len(files),
    }


def minimal_pull(links: Links, state: State, repository: Repository, which: Pull) -> JSON:
    """A pull request as check runs and workflow runs carry it."""

    def side(full_name: str, ref: str, sha: str) -> JSON:
        found = state.repositories.get(full_name.lower(), repository)
        short = {"id": found.id, "url": links.repo(found.full_name), "name": found.name}
        return {"ref": ref, "sha": sha, "repo": short}

    return {
        "id": which.id,
        "number": which.number,
        "url": links.repo(repository.full_name, f"/pulls/{which.number}"),
        "head": side(which.head_repository, which.head_branch, which.head),
        "base": side(repository.full_name, which.base_branch, which.base),
    }


def issue(links: Links, state: State, repository: Repository, which: Issue) -> JSON:
    """An issue, or a pull request seen as one."""
    name = repository.full_name
    here = links.repo(name, f"/issues/{which.number}")
    kind = "pull" if which.is_pull else "issues"
    page = links.page(name, f"/{kind}/{which.number}")
    closed_by = state.accounts[which.closed_by] if which.closed_by else None
    about: dict[str, Any] = {}
    if which.is_pull:
        about["pull_request"] = {
            "url": links.repo(name, f"/pulls/{which.number}"),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "merged_at": time_or_none(repository.pulls[which.number].merged_at),
        }
    return {
        "url": here,
        "repository_url": links.repo(name),
        "labels_url": f"{here}/labels{{/name}}",
        "comments_url": f"{here}/comments",
        "events_url": f"{here}/events",
        "html_url": page,
        "id": which.id,
        "node_id": node_id("I", which.id),
        "number": which.number,
        "title": which.title,
        "user": people.user(links, state.accounts[which.author]),
        "labels": labels(links, repository, which.labels),
        "state": which.state,
        "state_reason": "completed" if which.state == "closed" else None,
        "locked": which.locked,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": sum(1 for c in repository.comments.values() if c.number == which.number),
        "created_at": time_text(which.created),
        "updated_at": time_text(which.updated),
        "closed_at": time_or_none(which.closed),
        "closed_by": people.user(links, closed_by) if closed_by else None,
        "author_association": association(repository, which.author),
        "active_lock_reason": None,
        "body": which.body or None,
        **about,
    }


def comment(links: Links, state: State, repository: Repository, which: Comment) -> JSON:
    """A comment on an issue or pull request."""
    name = repository.full_name
    kind = "pull" if repository.issues[which.number].is_pull else "issues"
    page = links.page(name, f"/{kind}/{which.number}#issuecomment-{which.id}")
    return {
        "url": links.repo(name, f"/issues/comments/{which.id}"),
        "html_url": page,
        "issue_url": links.repo(name, f"/issues/{which.number}"),
        "id": which.id,
        "node_id": node_id("IC", which.id),
        "user": people.user(links, state.accounts[which.author]),
        "created_at": time_text(which.created),
        "updated_at": time_text(which.updated),
        "body": which.body,
        "author_association": association(repository, which.author),
    }


def review(links: Links, state: State, repository: Repository, which: Review) -> JSON:
    """A review."""
    name = repository.full_name
    page = links.page(name, f"/pull/{which.number}#pullrequestreview-{which.id}")
    about = links.repo(name, f"/pulls/{which.number}")
    return {
        "id": which.id,
        "node_id": node_id("PRR", which.id),
        "user": people.user(links, state.accounts[which.author]),
        "body": which.body,
        "state": which.state,
        "html_url": page,
        "pull_request_url": about,
        "author_association": association(repository, which.author),
        "_links": {"html": {"href": page}, "pull_request": {"href": about}},
        **({"submitted_at": time_text(which.submitted)} if which.state != "PENDING" else {}),
        "commit_id": which.commit,
    }
