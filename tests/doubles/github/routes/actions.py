"""Workflows, runs, dispatches, environments, and what Actions may do."""

from __future__ import annotations

from typing import Any

from tests.doubles.github.actions.files import WorkflowFile, read_workflow, read_workflows
from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.events import Event
from tests.doubles.github.problems import Problem, not_found
from tests.doubles.github.shapes import actions as shapes
from tests.doubles.github.shapes import people
from tests.doubles.github.state import JSON, Environment, Repository, WorkflowRun


def _files(call: Call, repository: Repository) -> dict[int, WorkflowFile]:
    """The workflows of the default branch by their number; new ones get one."""
    commit = repository.git.resolve(f"refs/heads/{repository.default_branch}")
    found = {}
    for file in read_workflows(repository, commit) if commit else ():
        if file.path not in repository.workflow_ids:
            repository.workflow_ids[file.path] = call.github.new_id()
        found[repository.workflow_ids[file.path]] = file
    return found


def _workflows(call: Call) -> Answer:
    repository = call.repository
    files = _files(call, repository).values()
    shown = [shapes.workflow(call.links, repository, file.path, file.name) for file in files]
    return call.page(shown, wrap="workflows")


def _find_workflow(call: Call) -> tuple[Repository, WorkflowFile]:
    repository, wanted = call.repository, call.parameters["workflow_id"]
    for identity, file in _files(call, repository).items():
        if wanted in (str(identity), file.path, file.path.rpartition("/")[2]):
            return repository, file
    raise not_found()


def _workflow(call: Call) -> JSON:
    repository, file = _find_workflow(call)
    return shapes.workflow(call.links, repository, file.path, file.name)


def _dispatch(call: Call) -> Answer:
    repository, file = _find_workflow(call)
    ref = str(call.body.get("ref") or "")
    sha = repository.git.resolve(ref)
    if sha is None:
        raise Problem(422, f"No ref found for: {ref}")
    inputs = dict(call.body.get("inputs") or {})
    _check_inputs(_at(repository, file, sha), inputs)
    login = call.principal.login
    branch = f"refs/heads/{ref.removeprefix('refs/heads/')}"
    event = Event(
        name="workflow_dispatch",
        repository=repository.full_name,
        actor=login,
        time=call.now,
        sha=sha,
        ref=branch,
        by_job=call.principal.kind == "job",
        payload={
            "inputs": inputs,
            "ref": branch,
            "workflow": file.path,
            "repository": people.repository(call.links, call.state, repository),
            "sender": people.user(call.links, call.github.add_account(login)),
        },
    )
    call.github.publish(event)
    return Answer(code=204)


def _at(repository: Repository, file: WorkflowFile, sha: str) -> JSON:
    """The filters of workflow_dispatch in the file at a commit."""
    if repository.git.kind(f"{sha}:{file.path}") != "blob":
        raise not_found()
    at_ref = read_workflow(file.path, repository.git.blob(f"{sha}:{file.path}"), sha)
    if "workflow_dispatch" not in at_ref.on:
        raise Problem(422, "Workflow does not have 'workflow_dispatch' trigger")
    return at_ref.on["workflow_dispatch"]


def _check_inputs(filters: JSON, inputs: JSON) -> None:
    known = filters.get("inputs") or {}
    unexpected = sorted(set(inputs) - set(known))
    if unexpected:
        raise Problem(422, f"Unexpected inputs provided: {unexpected}")
    for name, row in known.items():
        if row.get("required") and name not in inputs and "default" not in row:
            raise Problem(422, f"Required input '{name}' not provided")
        if "default" in row:
            inputs.setdefault(name, row["default"])


def _repository_dispatch(call: Call) -> Answer:
    repository, login = call.repository, call.principal.login
    branch = repository.default_branch
    call.github.publish(
        Event(
            name="repository_dispatch",
            action=str(call.body.get("event_type", "")),
            repository=repository.full_name,
            actor=login,
            time=call.now,
            sha=repository.git.resolve(f"refs/heads/{branch}") or "",
            ref=f"refs/heads/{branch}",
            by_job=call.principal.kind == "job",
            payload={
                "action": call.body.get("event_type"),
                "branch": branch,
                "client_payload": call.body.get("client_payload") or {},
                "repository": people.repository(call.links, call.state, repository),
                "sender": people.user(call.links, call.github.add_account(login)),
            },
        )
    )
    return Answer(code=204)


def _runs(call: Call) -> Answer:
    repository, query = call.repository, call.query
    wanted = call.parameters.get("workflow_id", "")
    path = _find_workflow(call)[1].path if wanted else ""
    found = [
        run
        for _, run in sorted(repository.runs.items(), reverse=True)
        if path in ("", run.path)
        and query.get("event", run.event) == run.event
        and query.get("branch", run.head_branch) == run.head_branch
        and query.get("head_sha", run.head_sha) == run.head_sha
        and query.get("status", run.status) in (run.status, run.conclusion)
    ]
    shown = [shapes.run(call.links, call.state, repository, run) for run in found]
    return call.page(shown, wrap="workflow_runs")


def _find_run(call: Call) -> tuple[Repository, WorkflowRun]:
    repository = call.repository
    run = repository.runs.get(number_in(call, "run_id"))
    if run is None:
        raise not_found()
    return repository, run


def _run(call: Call) -> JSON:
    repository, run = _find_run(call)
    return shapes.run(call.links, call.state, repository, run)


def _jobs(call: Call) -> Answer:
    repository, run = _find_run(call)
    shown = [shapes.job(call.links, repository, run, job) for job in run.jobs]
    return call.page(shown, wrap="jobs")


def _cancel(call: Call) -> Answer:
    repository, run = _find_run(call)
    if run.status == "completed":
        raise Problem(409, "Cannot cancel a workflow run that is completed.")
    call.actions.cancel(repository, run)
    return Answer(code=202, body={})


def _permissions(call: Call) -> JSON:
    return {"enabled": call.repository.options.actions_enabled, "allowed_actions": "all"}


def _workflow_permissions(call: Call) -> JSON:
    options = call.repository.options
    return {
        "default_workflow_permissions": options.workflow_permissions,
        "can_approve_pull_request_reviews": options.actions_may_approve,
    }


def _set_workflow_permissions(call: Call) -> Answer:
    options, body = call.repository.options, call.body
    options.workflow_permissions = str(
        body.get("default_workflow_permissions", options.workflow_permissions)
    )
    options.actions_may_approve = bool(
        body.get("can_approve_pull_request_reviews", options.actions_may_approve)
    )
    return Answer(code=204)


def _environments(call: Call) -> Answer:
    repository = call.repository
    shown = [
        shapes.environment(call.links, call.state, repository, environment)
        for _, environment in sorted(repository.environments.items())
    ]
    return call.page(shown, wrap="environments")


def _environment(call: Call) -> JSON:
    repository = call.repository
    found = repository.environments.get(call.parameters["environment_name"])
    if found is None:
        raise not_found()
    return shapes.environment(call.links, call.state, repository, found)


def _put_environment(call: Call) -> JSON:
    repository, name = call.repository, call.parameters["environment_name"]
    body: dict[str, Any] = call.body
    accounts = {account.id: login for login, account in call.state.accounts.items()}
    reviewers = tuple(accounts[row["id"]] for row in body.get("reviewers") or ())
    made = repository.environments.get(name) or Environment(
        id=call.github.new_id(), name=name, created=call.now
    )
    made.wait_timer = int(body.get("wait_timer") or 0)
    made.reviewers = reviewers
    policy = body.get("deployment_branch_policy") or {}
    made.protected_branches = bool(policy.get("protected_branches"))
    made.branches = (made.branches or ()) if policy.get("custom_branch_policies") else None
    repository.environments[name] = made
    return shapes.environment(call.links, call.state, repository, made)


_ACTIONS = "~/actions"
ROUTES = (
    route("GET", f"{_ACTIONS}/workflows", _workflows, "actions:read"),
    route("GET", f"{_ACTIONS}/workflows/{{workflow_id}}", _workflow, "actions:read"),
    route("GET", f"{_ACTIONS}/workflows/{{workflow_id}}/runs", _runs, "actions:read"),
    route(
        "POST", f"{_ACTIONS}/workflows/{{workflow_id}}/dispatches", _dispatch, "actions:write",
        success=204,
    ),
    route("POST", "~/dispatches", _repository_dispatch, "contents:write", success=204),
    route("GET", f"{_ACTIONS}/runs", _runs, "actions:read"),
    route("GET", f"{_ACTIONS}/runs/{{run_id}}", _run, "actions:read"),
    route("GET", f"{_ACTIONS}/runs/{{run_id}}/jobs", _jobs, "actions:read"),
    route("POST", f"{_ACTIONS}/runs/{{run_id}}/cancel", _cancel, "actions:write", success=202),
    route("GET", f"{_ACTIONS}/permissions", _permissions, "administration:read"),
    route("GET", f"{_ACTIONS}/permissions/workflow", _workflow_permissions, "administration:read"),
    route(
        "PUT", f"{_ACTIONS}/permissions/workflow", _set_workflow_permissions,
        "administration:write", success=204,
    ),
    route("GET", "~/environments", _environments, "actions:read"),
    route("GET", "~/environments/{environment_name}", _environment, "actions:read"),
    route("PUT", "~/environments/{environment_name}", _put_environment, "administration:write"),
)  # fmt: skip
