"""Commit statuses."""

from __future__ import annotations

from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, custom, missing
from tests.doubles.github.shapes import checks as shapes
from tests.doubles.github.state import JSON, Repository, Status

MOST = 1000  # statuses of one context on one commit
_LONGEST = 140  # characters of a description


def commit_of(call: Call, rev: str) -> tuple[Repository, str]:
    """The commit of a branch, tag or id; 422 where there is none."""
    repository = call.repository
    sha = repository.git.resolve(rev)
    if sha is None:
        raise Problem(422, f"No commit found for SHA: {rev}")
    return repository, sha


def newest(repository: Repository, sha: str) -> list[Status]:
    """The newest status of each context."""
    found = {status.context: status for status in repository.statuses if status.sha == sha}
    return [found[context] for context in sorted(found)]


def _create(call: Call) -> JSON:
    repository, sha = commit_of(call, call.parameters["sha"])
    body = call.body
    state = body.get("state")
    if state is None:
        raise missing("Status", "state")
    if state not in ("error", "failure", "pending", "success"):
        raise custom("Status", "State is not included in the list", field="state")
    description = str(body.get("description") or "")
    if len(description) > _LONGEST:
        message = f"description is too long (maximum is {_LONGEST} characters)"
        raise custom("Status", message, field="description")
    context = str(body.get("context") or "default")
    same = sum(1 for s in repository.statuses if (s.sha, s.context) == (sha, context))
    if same >= MOST:
        message = "This SHA and context has reached the maximum number of statuses."
        raise custom("Status", message)
    made = Status(
        id=call.github.new_id(),
        sha=sha,
        context=context,
        state=str(state),
        description=description,
        target_url=str(body.get("target_url") or ""),
        creator=call.principal.login,
        created=call.now,
    )
    repository.statuses.append(made)
    return shapes.status(call.links, call.state, repository, made)


def _list(call: Call) -> Answer:
    repository, sha = commit_of(call, call.parameters["ref"])
    found = [status for status in reversed(repository.statuses) if status.sha == sha]
    return call.page([shapes.status(call.links, call.state, repository, s) for s in found])


def _combined(call: Call) -> Answer:
    repository, sha = commit_of(call, call.parameters["ref"])
    found = newest(repository, sha)
    whole = shapes.combined(call.links, call.state, repository, sha, found)
    page = call.page(whole["statuses"])
    return Answer(body={**whole, "statuses": page.body}, headers=page.headers)


ROUTES = (
    route("POST", "~/statuses/{sha}", _create, "statuses:write", success=201),
    route("GET", "~/commits/{ref}/statuses", _list, "statuses:read"),
    route("GET", "~/commits/{ref}/status", _combined, "statuses:read"),
)
