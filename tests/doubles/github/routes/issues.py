"""Issues, and comments and labels on issues and pull requests."""

from tests.doubles.github import shapes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import missing, no_access, too_long
from tests.doubles.github.routes.pulls import LONGEST_BODY
from tests.doubles.github.state import JSON, Comment, Issue, Pull


def _find(call: Call, level: str) -> Issue:
    """The issue or pull request of the path, if the token has that right to it."""
    issue = call.one_of(call.repository.issues, "issue_number")
    call.needs(_rights(issue), level)
    return issue


def _rights(issue: Issue) -> str:
    return "issues | pull_requests" if isinstance(issue, Pull) else "issues"


@route("GET", "~/issues", "issues:read")
def _list(call: Call) -> Answer:
    query = call.query
    wanted = query.get("state", "open")
    labels = {name for name in query.get("labels", "").split(",") if name}
    found = [
        issue
        for issue in call.repository.issues.values()
        if wanted in ("all", issue.state) and labels <= {label["name"] for label in issue.labels}
    ]
    by = f"{query.get('sort', 'created')}_at"
    down = query.get("direction", "desc") == "desc"
    found.sort(key=lambda issue: (getattr(issue, by), issue.number), reverse=down)
    return call.page([shapes.issue(call.github, issue) for issue in found])


@route("GET", "~/issues/{issue_number}", "metadata:read")
def _get(call: Call) -> JSON:
    return shapes.issue(call.github, _find(call, "read"))


@route("POST", "~/issues", "issues:write", success=201)
def _create(call: Call) -> JSON:
    repository, body = call.repository, call.body
    if not body.get("title"):
        raise missing("Issue", "title")
    number = repository.next_number()
    issue = repository.issues[number] = Issue(
        number=number,
        html_url=f"{call.github.html}/{repository.full_name}/issues/{number}",
        title=body["title"],
        body=too_long("Issue", "body", body.get("body"), LONGEST_BODY),
        user=call.principal.login,
        created_at=call.now,
        updated_at=call.now,
        labels=[{"name": name} for name in body.get("labels", ())],
    )
    return shapes.issue(call.github, issue)


@route("PATCH", "~/issues/{issue_number}", "metadata:read")
def _edit(call: Call) -> JSON:
    issue = _find(call, "write")
    issue.title = call.body.get("title", issue.title)
    if "body" in call.body:
        issue.body = too_long("Issue", "body", call.body["body"], LONGEST_BODY)
    issue.updated_at = call.now
    if call.body.get("state") == "closed":
        issue.close(call.now)
    return shapes.issue(call.github, issue)


@route("GET", "~/issues/{issue_number}/labels", "metadata:read")
def _labels(call: Call) -> Answer:
    return call.page(_find(call, "read").labels)


@route("PUT", "~/issues/{issue_number}/labels", "metadata:read")
def _set_labels(call: Call) -> list[JSON]:
    issue = _find(call, "write")
    issue.labels = [{"name": name} for name in call.body["labels"]]
    issue.updated_at = call.now
    return issue.labels


@route("GET", "~/issues/{issue_number}/comments", "metadata:read")
def _comments(call: Call) -> Answer:
    number = _find(call, "read").number
    found = [row for row in call.repository.comments.values() if row.number == number]
    return call.page([shapes.shown(call.github, comment) for comment in found])


@route("POST", "~/issues/{issue_number}/comments", "metadata:read", success=201)
def _comment(call: Call) -> JSON:
    """A person who may read may comment; a job or an App needs the right to write."""
    by, github, repository = call.principal, call.github, call.repository
    issue = _find(call, "read" if by.kind == "user" else "write")
    if not call.body.get("body"):
        raise missing("IssueComment", "body")
    made = Comment(
        id=github.new_id(),
        number=issue.number,
        user=by.login,
        body=too_long("IssueComment", "body", call.body["body"], LONGEST_BODY),
        created_at=call.now,
        updated_at=call.now,
    )
    repository.comments[made.id] = made
    issue.updated_at = call.now
    shown = shapes.shown(github, made)
    about = {"issue": shapes.issue(github, issue), "comment": shown}
    github.publish("issue_comment", repository, by, {"action": "created", **about})
    return shown


def _own(call: Call) -> Comment:
    """The comment of the path, if the asker may change it: an App only its own."""
    by, found = call.principal, call.one_of(call.repository.comments, "comment_id")
    if by.kind != "user" or by.login != found.user:
        call.needs(_rights(call.repository.issues[found.number]), "write")
    if by.kind != "user" and by.login != found.user:
        raise no_access()
    return found


@route("GET", "~/issues/comments/{comment_id}", "issues | pull_requests:read")
def _get_comment(call: Call) -> JSON:
    found = call.one_of(call.repository.comments, "comment_id")
    return shapes.shown(call.github, found)


@route("PATCH", "~/issues/comments/{comment_id}", "metadata:read")
def _edit_comment(call: Call) -> JSON:
    found = _own(call)
    found.body = too_long("IssueComment", "body", call.body["body"], LONGEST_BODY)
    found.updated_at = call.now
    return shapes.shown(call.github, found)


@route("DELETE", "~/issues/comments/{comment_id}", "metadata:read")
def _delete_comment(call: Call) -> Answer:
    del call.repository.comments[_own(call).id]
    return Answer(code=204)
