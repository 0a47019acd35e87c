"""Statuses, check suites and check runs."""

from __future__ import annotations

from urllib.parse import quote

from tests.doubles.github.links import Links, node_id, time_or_none, time_text
from tests.doubles.github.shapes import git, people
from tests.doubles.github.shapes.pulls import minimal_pull
from tests.doubles.github.state import JSON, CheckRun, CheckSuite, Repository, State, Status


def simple_status(links: Links, state: State, repository: Repository, which: Status) -> JSON:
    """A status as the combined one carries it."""
    account = state.accounts[which.creator]
    return {
        "url": links.repo(repository.full_name, f"/statuses/{which.sha}"),
        "avatar_url": f"{links.html}/avatars/u/{account.id}",
        "id": which.id,
        "node_id": node_id("SC", which.id),
        "state": which.state,
        "description": which.description or None,
        "target_url": which.target_url or None,
        "context": which.context,
        "created_at": time_text(which.created),
        "updated_at": time_text(which.created),
    }


def status(links: Links, state: State, repository: Repository, which: Status) -> JSON:
    """A status."""
    creator = people.user(links, state.accounts[which.creator])
    return {**simple_status(links, state, repository, which), "creator": creator}


def combined(
    links: Links, state: State, repository: Repository, sha: str, newest: list[Status]
) -> JSON:
    """The newest status of each context; failure wins, then pending."""
    words = {item.state for item in newest}
    word = "pending" if "pending" in words or not newest else "success"
    if words & {"failure", "error"}:
        word = "failure"
    name = repository.full_name
    return {
        "state": word,
        "statuses": [simple_status(links, state, repository, item) for item in newest],
        "sha": sha,
        "total_count": len(newest),
        "repository": people.minimal_repository(links, state, repository),
        "commit_url": links.repo(name, f"/commits/{sha}"),
        "url": links.repo(name, f"/commits/{sha}/status"),
    }


def check_run(links: Links, state: State, repository: Repository, which: CheckRun) -> JSON:
    """A check run."""
    name = repository.full_name
    here = links.repo(name, f"/check-runs/{which.id}")
    page = links.page(name, f"/runs/{which.id}")
    pulls = [
        minimal_pull(links, state, repository, pull)
        for _, pull in sorted(repository.pulls.items())
        if pull.head == which.sha and repository.issues[pull.number].state == "open"
    ]
    return {
        "id": which.id,
        "head_sha": which.sha,
        "node_id": node_id("CR", which.id),
        "external_id": which.external_id,
        "url": here,
        "html_url": page,
        "details_url": which.details_url or page,
        "status": which.status,
        "conclusion": which.conclusion,
        "started_at": time_or_none(which.started),
        "completed_at": time_or_none(which.completed),
        "output": {
            "title": which.title,
            "summary": which.summary,
            "text": which.text,
            "annotations_count": len(which.annotations),
            "annotations_url": f"{here}/annotations",
        },
        "name": which.name,
        "check_suite": {"id": which.suite_id},
        "app": people.app(links, state, state.apps.get(which.app_id)),
        "pull_requests": pulls,
    }


def annotation(links: Links, repository: Repository, run: CheckRun, which: JSON) -> JSON:
    """One annotation of a check run."""
    path = quote(str(which["path"]))
    return {
        "path": which["path"],
        "blob_href": links.page(repository.full_name, f"/blob/{run.sha}/{path}"),
        "start_line": which["start_line"],
        "end_line": which["end_line"],
        "start_column": which.get("start_column"),
        "end_column": which.get("end_column"),
        "annotation_level": which["annotation_level"],
        "title": which.get("title"),
        "message": which["message"],
        "raw_details": which.get("raw_details"),
    }


def check_suite(links: Links, state: State, repository: Repository, which: CheckSuite) -> JSON:
    """A check suite; its state follows from its runs."""
    runs = [run for run in repository.check_runs.values() if run.suite_id == which.id]
    done = bool(runs) and all(run.status == "completed" for run in runs)
    good = all(run.conclusion in ("success", "neutral", "skipped") for run in runs)
    here = links.repo(repository.full_name, f"/check-suites/{which.id}")
    return {
        "id": which.id,
        "node_id": node_id("CS", which.id),
        "head_branch": which.branch or None,
        "head_sha": which.sha,
        "status": "completed" if done else ("in_progress" if runs else "queued"),
        "conclusion": ("success" if good else "failure") if done else None,
        "url": here,
        "before": None,
        "after": which.sha,
        "pull_requests": [],
        "app": people.app(links, state, state.apps.get(which.app_id)),
        "created_at": time_text(which.created),
        "updated_at": time_text(which.created),
        "head_commit": git.simple_commit(repository.git.commit(which.sha)),
        "repository": people.minimal_repository(links, state, repository),
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{here}/check-runs",
    }
