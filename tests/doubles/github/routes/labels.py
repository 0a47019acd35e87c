"""Labels of the repository and on issues and pull requests."""

from __future__ import annotations

from collections.abc import Sequence

from tests.doubles.github import merging
from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.problems import invalid, missing, not_found
from tests.doubles.github.shapes import people, pulls
from tests.doubles.github.state import JSON, Issue, Label, Repository


def existing_or_new(call: Call, repository: Repository, names: Sequence[str]) -> list[str]:
    """The names once each; unknown labels are made, as GitHub makes them."""
    known = {name.lower(): name for name in repository.labels}
    found = []
    for name in names:
        if name.lower() not in known:
            repository.labels[name] = Label(id=call.github.new_id(), name=name)
            known[name.lower()] = name
        found.append(known[name.lower()])
    return list(dict.fromkeys(found))


def _list(call: Call) -> Answer:
    repository = call.repository
    name = repository.full_name
    return call.page(
        [people.label(call.links, name, label) for _, label in sorted(repository.labels.items())]
    )


def _find(call: Call) -> tuple[Repository, Label]:
    repository = call.repository
    wanted = call.parameters["name"].lower()
    for label in repository.labels.values():
        if label.name.lower() == wanted:
            return repository, label
    raise not_found()


def _get(call: Call) -> JSON:
    repository, label = _find(call)
    return people.label(call.links, repository.full_name, label)


def _create(call: Call) -> JSON:
    repository, body = call.repository, call.body
    name = str(body.get("name") or "")
    if not name:
        raise missing("Label", "name")
    if name.lower() in {known.lower() for known in repository.labels}:
        raise invalid("Label", "name", "already_exists")
    label = repository.labels[name] = Label(
        id=call.github.new_id(),
        name=name,
        color=str(body.get("color") or "ededed"),
        description=str(body.get("description") or ""),
    )
    return people.label(call.links, repository.full_name, label)


def _edit(call: Call) -> JSON:
    repository, label = _find(call)
    label.color = str(call.body.get("color") or label.color)
    label.description = str(call.body.get("description") or label.description)
    return people.label(call.links, repository.full_name, label)


def _delete(call: Call) -> Answer:
    repository, label = _find(call)
    del repository.labels[label.name]
    for issue in repository.issues.values():
        issue.labels = [name for name in issue.labels if name != label.name]
    return Answer(code=204)


def _issue(call: Call, level: str) -> tuple[Repository, Issue]:
    repository = call.repository
    issue = repository.issues.get(number_in(call, "issue_number"))
    if issue is None:
        raise not_found()
    rights = "issues | pull_requests" if issue.is_pull else "issues"
    call.needs(repository, rights, level)
    return repository, issue


def _on_issue(call: Call) -> Answer:
    repository, issue = _issue(call, "read")
    return call.page(pulls.labels(call.links, repository, issue.labels))


def _names(call: Call) -> list[str]:
    body = call.request.body
    listed = body if isinstance(body, list) else (body or {}).get("labels", [])
    return [name if isinstance(name, str) else str(name["name"]) for name in listed]


def _change(call: Call, repository: Repository, issue: Issue, names: list[str]) -> list[JSON]:
    before, issue.labels = issue.labels, names
    if before != names:
        issue.updated = call.now
        if issue.is_pull:
            action = "labeled" if set(names) - set(before) else "unlabeled"
            pull = repository.pulls[issue.number]
            by_job = call.principal.kind == "job"
            login = call.principal.login
            merging.tell(call.github, repository, pull, action, login, by_job=by_job)
    return pulls.labels(call.links, repository, issue.labels)


def _add(call: Call) -> list[JSON]:
    repository, issue = _issue(call, "triage")
    names = existing_or_new(call, repository, [*issue.labels, *_names(call)])
    return _change(call, repository, issue, names)


def _set(call: Call) -> list[JSON]:
    repository, issue = _issue(call, "triage")
    return _change(call, repository, issue, existing_or_new(call, repository, _names(call)))


def _clear(call: Call) -> Answer:
    repository, issue = _issue(call, "triage")
    _change(call, repository, issue, [])
    return Answer(code=204)


def _remove(call: Call) -> list[JSON]:
    repository, issue = _issue(call, "triage")
    wanted = call.parameters["name"].lower()
    kept = [name for name in issue.labels if name.lower() != wanted]
    if kept == issue.labels:
        raise not_found()
    return _change(call, repository, issue, kept)


ROUTES = (
    route("GET", "~/labels", _list, "issues | pull_requests:read"),
    route("POST", "~/labels", _create, "issues | pull_requests:write", success=201),
    route("GET", "~/labels/{name}", _get, "issues | pull_requests:read"),
    route("PATCH", "~/labels/{name}", _edit, "issues | pull_requests:write"),
    route("DELETE", "~/labels/{name}", _delete, "issues | pull_requests:write"),
    route("GET", "~/issues/{issue_number}/labels", _on_issue, "metadata:read"),
    route("POST", "~/issues/{issue_number}/labels", _add, "metadata:read"),
    route("PUT", "~/issues/{issue_number}/labels", _set, "metadata:read"),
    route("DELETE", "~/issues/{issue_number}/labels", _clear, "metadata:read"),
    route("DELETE", "~/issues/{issue_number}/labels/{name}", _remove, "metadata:read"),
)
