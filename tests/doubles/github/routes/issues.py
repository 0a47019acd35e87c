"""Issues and the comments on issues and pull requests."""

from __future__ import annotations

from tests.doubles.github import merging
from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.events import Event
from tests.doubles.github.problems import Problem, custom, missing, no_access, not_found
from tests.doubles.github.routes.labels import existing_or_new
from tests.doubles.github.shapes import people
from tests.doubles.github.shapes import pulls as shapes
from tests.doubles.github.state import JSON, Comment, Issue, Repository

LONGEST_BODY = 65_536  # characters


def find_issue(call: Call) -> tuple[Repository, Issue]:
    """The issue or pull request of the path; 404 where there is none."""
    repository = call.repository
    issue = repository.issues.get(number_in(call, "issue_number"))
    if issue is None:
        raise not_found()
    return repository, issue


def _rights(issue: Issue) -> str:
    return "issues | pull_requests" if issue.is_pull else "issues"


def tell(
    call: Call, repository: Repository, issue: Issue, name: str, action: str, **more: JSON
) -> None:
    """Publish an event about an issue; it runs on the default branch."""
    github, login = call.github, call.principal.login
    branch = repository.default_branch
    payload = {
        "action": action,
        "issue": shapes.issue(github.links, call.state, repository, issue),
        "repository": people.repository(github.links, call.state, repository),
        "sender": people.user(github.links, github.add_account(login)),
        **more,
    }
    github.publish(
        Event(
            name=name,
            action=action,
            repository=repository.full_name,
            actor=login,
            time=call.now,
            sha=repository.git.resolve(f"refs/heads/{branch}") or "",
            ref=f"refs/heads/{branch}",
            by_job=call.principal.kind == "job",
            number=issue.number,
            payload=payload,
        )
    )


def _list(call: Call) -> Answer:
    repository, query = call.repository, call.query
    wanted = query.get("state", "open")
    labels = [name for name in query.get("labels", "").split(",") if name]
    creator = query.get("creator", "")
    found = [
        issue
        for issue in repository.issues.values()
        if wanted in ("all", issue.state)
        and set(labels) <= set(issue.labels)
        and creator in ("", issue.author)
        and (call.principal.kind == "user" or _may_see(call, issue))
    ]
    by = "updated" if query.get("sort") == "updated" else "created"
    down = query.get("direction", "desc") == "desc"
    found.sort(key=lambda issue: (getattr(issue, by), issue.number), reverse=down)
    return call.page([shapes.issue(call.links, call.state, repository, i) for i in found])


def _may_see(call: Call, issue: Issue) -> bool:
    try:
        call.needs(call.repository, _rights(issue), "read")
    except Problem:
        return False
    return True


def _get(call: Call) -> JSON:
    repository, issue = find_issue(call)
    call.needs(repository, _rights(issue), "read")
    return shapes.issue(call.links, call.state, repository, issue)


def _create(call: Call) -> JSON:
    repository, body = call.repository, call.body
    if not body.get("title"):
        raise missing("Issue", "title")
    text = _text(body.get("body"), "Issue")
    names = [
        str(name) if isinstance(name, str) else name["name"] for name in body.get("labels", ())
    ]
    number = repository.next_number()
    issue = repository.issues[number] = Issue(
        id=call.github.new_id(),
        number=number,
        title=str(body["title"]),
        body=text,
        author=call.principal.login,
        created=call.now,
        updated=call.now,
        labels=existing_or_new(call, repository, names),
    )
    tell(call, repository, issue, "issues", "opened")
    return shapes.issue(call.links, call.state, repository, issue)


def _edit(call: Call) -> JSON:
    repository, issue = find_issue(call)
    body = call.body
    if not (call.principal.kind == "user" and call.principal.login == issue.author):
        call.needs(repository, _rights(issue), "write")
    if "title" in body:
        issue.title = str(body["title"])
    if "body" in body:
        issue.body = _text(body["body"], "Issue")
    if "labels" in body:
        names = [name if isinstance(name, str) else name["name"] for name in body["labels"]]
        issue.labels = existing_or_new(call, repository, names)
    issue.updated = call.now
    if body.get("state") == "closed" and issue.state == "open":
        _close(call, repository, issue)
    elif body.get("state") == "open" and not issue.is_pull:
        issue.state, issue.closed, issue.closed_by = "open", 0, ""
    if not issue.is_pull:
        tell(call, repository, issue, "issues", "edited")
    return shapes.issue(call.links, call.state, repository, issue)


def _close(call: Call, repository: Repository, issue: Issue) -> None:
    by_job = call.principal.kind == "job"
    login = call.principal.login
    if issue.is_pull:
        merging.close(call.github, repository, repository.pulls[issue.number], login, by_job=by_job)
    else:
        issue.state, issue.closed, issue.closed_by = "closed", call.now, login


def _text(value: object, resource: str) -> str:
    text = "" if value is None else str(value)
    if len(text) > LONGEST_BODY:
        message = f"body is too long (maximum is {LONGEST_BODY} characters)"
        raise custom(resource, message, field="body")
    return text


# -- comments ---------------------------------------------------------------------------------


def _comments(call: Call) -> Answer:
    repository, issue = find_issue(call)
    call.needs(repository, _rights(issue), "read")
    found = [c for _, c in sorted(repository.comments.items()) if c.number == issue.number]
    return call.page([shapes.comment(call.links, call.state, repository, c) for c in found])


def _all_comments(call: Call) -> Answer:
    repository = call.repository
    down = call.query.get("direction") == "desc"
    by = "updated" if call.query.get("sort") == "updated" else "created"
    found = sorted(repository.comments.values(), key=lambda c: (getattr(c, by), c.id), reverse=down)
    since = call.query.get("since", "")
    shown = [shapes.comment(call.links, call.state, repository, c) for c in found]
    return call.page([item for item in shown if item["updated_at"] >= since])


def _comment(call: Call) -> JSON:
    repository, issue = find_issue(call)
    principal = call.principal
    if principal.kind == "user":  # everybody who may read may comment
        call.needs(repository, _rights(issue), "read")
    else:
        call.needs(repository, _rights(issue), "write")
    if issue.locked and call.role(repository, principal.login) in ("none", "read", "triage"):
        raise Problem(403, "Unable to create comment because issue is locked.")
    if not call.body.get("body"):
        raise missing("IssueComment", "body")
    made = Comment(
        id=call.github.new_id(),
        number=issue.number,
        author=principal.login,
        body=_text(call.body["body"], "IssueComment"),
        created=call.now,
        updated=call.now,
    )
    repository.comments[made.id] = made
    issue.updated = call.now
    shown = shapes.comment(call.links, call.state, repository, made)
    tell(call, repository, issue, "issue_comment", "created", comment=shown)
    return shown


def _find_comment(call: Call) -> tuple[Repository, Comment]:
    repository = call.repository
    found = repository.comments.get(number_in(call, "comment_id"))
    if found is None:
        raise not_found()
    return repository, found


def _get_comment(call: Call) -> JSON:
    repository, found = _find_comment(call)
    return shapes.comment(call.links, call.state, repository, found)


def _edit_comment(call: Call) -> JSON:
    repository, found = _find_comment(call)
    issue = repository.issues[found.number]
    _own_or_write(call, repository, found, issue)
    before = found.body
    found.body = _text(call.body.get("body"), "IssueComment")
    found.updated = call.now
    shown = shapes.comment(call.links, call.state, repository, found)
    changes = {"body": {"from": before}}
    tell(call, repository, issue, "issue_comment", "edited", comment=shown, changes=changes)
    return shown


def _delete_comment(call: Call) -> Answer:
    repository, found = _find_comment(call)
    issue = repository.issues[found.number]
    _own_or_write(call, repository, found, issue)
    shown = shapes.comment(call.links, call.state, repository, found)
    del repository.comments[found.id]
    tell(call, repository, issue, "issue_comment", "deleted", comment=shown)
    return Answer(code=204)


def _own_or_write(call: Call, repository: Repository, found: Comment, issue: Issue) -> None:
    principal = call.principal
    if principal.kind == "user" and principal.login == found.author:
        return
    call.needs(repository, _rights(issue), "write")
    if principal.kind != "user" and principal.login != found.author:
        raise no_access()  # an App edits its own comments only


ROUTES = (
    route("GET", "~/issues", _list, "metadata:read"),
    route("POST", "~/issues", _create, "issues:write", success=201),
    route("GET", "~/issues/comments", _all_comments, "issues | pull_requests:read"),
    route("GET", "~/issues/comments/{comment_id}", _get_comment, "issues | pull_requests:read"),
    route("PATCH", "~/issues/comments/{comment_id}", _edit_comment, "metadata:read"),
    route("DELETE", "~/issues/comments/{comment_id}", _delete_comment, "metadata:read"),
    route("GET", "~/issues/{issue_number}", _get, "metadata:read"),
    route("PATCH", "~/issues/{issue_number}", _edit, "metadata:read"),
    route("GET", "~/issues/{issue_number}/comments", _comments, "metadata:read"),
    route("POST", "~/issues/{issue_number}/comments", _comment, "metadata:read", success=201),
)
