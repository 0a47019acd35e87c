"""Workflows, runs, jobs, environments."""

from __future__ import annotations

from urllib.parse import quote

from tests.doubles.github.links import Links, node_id, time_or_none, time_text
from tests.doubles.github.shapes import git, people
from tests.doubles.github.shapes.pulls import minimal_pull
from tests.doubles.github.state import JSON, Environment, Job, Repository, State, WorkflowRun


def workflow(links: Links, repository: Repository, path: str, name: str) -> JSON:
    """A workflow."""
    full_name = repository.full_name
    identity = repository.workflow_ids[path]
    return {
        "id": identity,
        "node_id": node_id("W", identity),
        "name": name,
        "path": path,
        "state": "active",
        "created_at": time_text(repository.created),
        "updated_at": time_text(repository.created),
        "url": links.repo(full_name, f"/actions/workflows/{identity}"),
        "html_url": links.page(full_name, f"/blob/{repository.default_branch}/{path}"),
        "badge_url": links.page(full_name, f"/workflows/{quote(name)}/badge.svg"),
    }


def run(links: Links, state: State, repository: Repository, which: WorkflowRun) -> JSON:
    """A run of a workflow. Pull requests of forks are left out, as GitHub does it."""
    name = repository.full_name
    here = links.repo(name, f"/actions/runs/{which.id}")
    head = state.repositories.get(which.head_repository.lower(), repository)
    pull = repository.pulls.get(which.number_of_pull)
    own = pull is not None and pull.head_repository == name
    actor = people.user(links, state.accounts[which.actor])
    known = repository.git.kind(which.head_sha) == "commit"
    return {
        "id": which.id,
        "name": which.name,
        "node_id": node_id("WFR", which.id),
        "check_suite_id": which.id,
        "check_suite_node_id": node_id("CS", which.id),
        "head_branch": which.head_branch,
        "head_sha": which.head_sha,
        "path": which.path,
        "display_title": which.name,
        "run_number": which.number,
        "run_attempt": 1,
        "event": which.event,
        "status": which.status,
        "conclusion": which.conclusion,
        "workflow_id": which.workflow_id,
        "url": here,
        "html_url": links.page(name, f"/actions/runs/{which.id}"),
        "pull_requests": [minimal_pull(links, state, repository, pull)] if own and pull else [],
        "created_at": time_text(which.created),
        "updated_at": time_text(which.updated),
        "run_started_at": time_text(which.created),
        "actor": actor,
        "triggering_actor": actor,
        "jobs_url": f"{here}/jobs",
        "logs_url": f"{here}/logs",
        "check_suite_url": links.repo(name, f"/check-suites/{which.id}"),
        "artifacts_url": f"{here}/artifacts",
        "cancel_url": f"{here}/cancel",
        "rerun_url": f"{here}/rerun",
        "previous_attempt_url": None,
        "workflow_url": links.repo(name, f"/actions/workflows/{which.workflow_id}"),
        "head_commit": git.simple_commit(repository.git.commit(which.head_sha)) if known else None,
        "repository": people.minimal_repository(links, state, repository),
        "head_repository": people.minimal_repository(links, state, head),
        "referenced_workflows": [],
    }


def job(links: Links, repository: Repository, which: WorkflowRun, row: Job) -> JSON:
    """A job of a run."""
    name = repository.full_name
    here = links.repo(name, f"/actions/jobs/{row.id}")
    return {
        "id": row.id,
        "run_id": which.id,
        "workflow_name": which.name,
        "head_branch": which.head_branch,
        "run_url": links.repo(name, f"/actions/runs/{which.id}"),
        "run_attempt": 1,
        "node_id": node_id("J", row.id),
        "head_sha": which.head_sha,
        "url": here,
        "html_url": links.page(name, f"/actions/runs/{which.id}/job/{row.id}"),
        "status": row.status,
        "conclusion": row.conclusion,
        "created_at": time_text(row.created),
        "started_at": time_text(row.started or row.created),
        "completed_at": time_or_none(row.completed),
        "name": row.name,
        "steps": [],
        "check_run_url": links.repo(name, f"/check-runs/{row.id}"),
        "labels": ["ubuntu-latest"],
        "runner_id": None,
        "runner_name": None,
        "runner_group_id": None,
        "runner_group_name": None,
    }


def environment(links: Links, state: State, repository: Repository, which: Environment) -> JSON:
    """A deployment environment with what protects it."""
    name = repository.full_name
    rules: list[JSON] = []
    if which.wait_timer:
        identity = which.id + 1_000_000
        rules.append(
            {
                "id": identity,
                "node_id": node_id("GA", identity),
                "type": "wait_timer",
                "wait_timer": which.wait_timer,
            }
        )
    if which.reviewers:
        identity = which.id + 2_000_000
        reviewers = [
            {"type": "User", "reviewer": people.user(links, state.accounts[login])}
            for login in which.reviewers
        ]
        rules.append(
            {
                "id": identity,
                "node_id": node_id("GA", identity),
                "type": "required_reviewers",
                "prevent_self_review": False,
                "reviewers": reviewers,
            }
        )
    custom = which.branches is not None
    policy = {"protected_branches": which.protected_branches, "custom_branch_policies": custom}
    return {
        "id": which.id,
        "node_id": node_id("EN", which.id),
        "name": which.name,
        "url": links.repo(name, f"/environments/{quote(which.name, safe='')}"),
        "html_url": links.page(name, f"/deployments/activity_log?environments_filter={which.name}"),
        "created_at": time_text(which.created),
        "updated_at": time_text(which.created),
        "protection_rules": rules,
        "deployment_branch_policy": policy if custom or which.protected_branches else None,
    }
