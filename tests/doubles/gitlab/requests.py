"""Merge requests, notes, statuses and issues of the double, by the paths of GitLab's API."""

import re
from typing import Any

from tests.doubles.github.calls import Answer
from tests.doubles.gitlab import merging
from tests.doubles.gitlab.service import Call, route
from tests.doubles.gitlab.state import (
    JSON,
    Issue,
    MergeRequest,
    Note,
    Problem,
    Project,
    Status,
    time_text,
)

DEVELOPER = 30
_STARTS = {"pending", "running"}


def shown(project: Project, request: MergeRequest, *, status: bool = True) -> JSON:
    """A merge request; asking for one alone brings the check for conflicts on."""
    user = request.merge_user.shown if request.merge_user else None
    found: JSON = {
        "iid": request.iid,
        "title": request.title,
        "description": request.description,
        "state": request.state,
        "author": request.author.shown,
        "source_branch": request.source_branch,
        "target_branch": request.target_branch,
        "source_project_id": request.source_project_id or project.id,
        "target_project_id": project.id,
        "labels": sorted(request.labels),
        "sha": request.sha,
        "merge_commit_sha": request.merge_commit_sha,
        "squash_commit_sha": request.squash_commit_sha,
        "merge_user": user,
        "merged_by": user,
        "merged_at": time_text(request.merged_at),
        "closed_at": time_text(request.closed_at),
        "created_at": time_text(request.created_at),
        "web_url": f"http://localhost/{project.path}/-/merge_requests/{request.iid}",
    }
    if status:
        found["detailed_merge_status"] = merging.detailed_status(project, request)
    return found


def act(call: Call, request: MergeRequest, text: str) -> None:
    """Quick actions: what a line that starts with a slash does, in the writer's name."""
    if re.search(r"(?m)^/close\s*$", text):
        request.state, request.closed_at = "closed", call.now
    if re.search(r"(?m)^/approve\s*$", text):
        request.approvals[call.by.username] = call.now


def of(call: Call) -> MergeRequest:
    found = call.one_of(call.project.requests, "iid")
    assert isinstance(found, MergeRequest)
    return found


@route("GET", "~/merge_requests")
def _list(call: Call) -> Answer:
    state, branch = call.query.get("state", "all"), call.query.get("source_branch", "")
    found = [
        shown(call.project, request, status=False)
        for _, request in sorted(call.project.requests.items())
        if state in ("all", request.state) and branch in ("", request.source_branch)
    ]
    newest_first = call.query.get("sort", "desc") == "desc"
    return call.page(found[::-1] if newest_first else found)


@route("POST", "~/merge_requests")
def _create(call: Call) -> JSON:
    call.needs(DEVELOPER)
    project, body = call.project, call.body
    branch = str(body["source_branch"])
    head = project.git.refs().get(f"refs/heads/{branch}")
    if head is None:
        raise Problem(409, [f'Source branch "{branch}" does not exist'])
    for request in project.requests.values():
        if request.state == "opened" and request.source_branch == branch:
            said = (
                f"Another open merge request already exists for this source branch: !{request.iid}"
            )
            raise Problem(409, [said])
    now, number = call.now, len(project.requests) + 1
    made = MergeRequest(
        iid=number,
        title=str(body["title"]),
        description=str(body.get("description") or ""),
        author=call.by,
        source_branch=branch,
        target_branch=str(body["target_branch"]),
        versions=[(head, now)],
        created_at=now,
    )
    project.requests[number] = made
    act(call, made, made.description)
    return shown(project, made)


@route("GET", "~/merge_requests/:iid")
def _get(call: Call) -> JSON:
    return shown(call.project, of(call))


@route("PUT", "~/merge_requests/:iid")
def _edit(call: Call) -> JSON:
    request, body = of(call), call.body
    call.needs(DEVELOPER)
    request.title = str(body.get("title", request.title))
    if "description" in body:
        request.description = str(body["description"])
        act(call, request, request.description)
    if "labels" in body:
        request.labels = [name for name in str(body["labels"]).split(",") if name]
    if body.get("state_event") == "close":
        request.state, request.closed_at = "closed", call.now
    return shown(call.project, request)


@route("PUT", "~/merge_requests/:iid/merge")
def _merge(call: Call) -> JSON:
    request, squash = of(call), bool(call.body.get("squash"))
    if call.project.members[call.by.username] < DEVELOPER:
        raise Problem(401, "401 Unauthorized")
    sha = str(call.body.get("sha") or "")
    merging.merge(call.project, request, by=call.by, sha=sha, squash=squash)
    merging.finish(call.project, request, by=call.by, squash=squash, now=call.now)
    merging.notice(call.project, call.now)
    return shown(call.project, request)


@route("GET", "~/merge_requests/:iid/approvals")
def _approvals(call: Call) -> JSON:
    request, users = of(call), call.gitlab.users
    given: list[JSON] = [
        {
            "user": users[name].shown,
            **({"approved_at": time_text(when)} if call.project.approved_at else {}),
        }
        for name, when in sorted(request.approvals.items())
    ]
    return {"approved": bool(given), "approved_by": given}


@route("POST", "~/merge_requests/:iid/approve")
def _approve(call: Call) -> JSON:
    request = of(call)
    call.needs(DEVELOPER)
    if call.body.get("sha") not in (None, request.sha):
        raise Problem(409, f"SHA does not match HEAD of source branch: {request.sha}")
    if call.by.username in request.approvals:
        raise Problem(401, "401 Unauthorized")
    request.approvals[call.by.username] = now = call.now
    _note(call, request.iid, "approved this merge request", system=True, now=now)
    return _approvals(call)


@route("POST", "~/merge_requests/:iid/unapprove")
def _unapprove(call: Call) -> JSON:
    of(call).approvals.pop(call.by.username, None)
    return _approvals(call)


@route("GET", "~/merge_requests/:iid/versions")
def _versions(call: Call) -> Answer:
    made = [
        {"id": number, "head_commit_sha": head, "created_at": time_text(when)}
        for number, (head, when) in enumerate(of(call).versions, start=1)
    ]
    return call.page(made[::-1])


def _note(call: Call, iid: int, body: str, *, system: bool, now: int) -> Note:
    number = call.gitlab.new_id()
    made = Note(
        id=number, iid=iid, author=call.by, body=body, created_at=now, updated_at=now, system=system
    )
    call.project.notes[number] = made
    return made


@route("GET", "~/merge_requests/:iid/notes")
def _notes(call: Call) -> Answer:
    iid = of(call).iid
    found = [note.shown for note in call.project.notes.values() if note.iid == iid]
    return call.page(found[::-1])  # the newest first, unless asked otherwise


@route("POST", "~/merge_requests/:iid/notes")
def _say(call: Call) -> JSON:
    request, body = of(call), str(call.body["body"])
    act(call, request, body)
    return _note(call, request.iid, body, system=False, now=call.now).shown


@route("GET", "~/merge_requests/:iid/notes/:note")
def _get_note(call: Call) -> Any:
    return call.one_of(call.project.notes, "note").shown


@route("PUT", "~/merge_requests/:iid/notes/:note")
def _edit_note(call: Call) -> Any:
    note = call.one_of(call.project.notes, "note")
    if note.author is not call.by:
        raise Problem(403, "403 Forbidden")
    note.body, note.updated_at = str(call.body["body"]), call.now
    act(call, of(call), note.body)
    return note.shown


@route("DELETE", "~/merge_requests/:iid/notes/:note")
def _delete_note(call: Call) -> Answer:
    note = call.one_of(call.project.notes, "note")
    del call.project.notes[note.id]
    return Answer(code=204)


@route("GET", "~/repository/commits/:sha/statuses")
def _statuses(call: Call) -> Answer:
    """The newest of each name; a status that was begun again has a new id."""
    sha = call.parameters["sha"]
    newest = {item.name: item for item in call.project.statuses if item.sha == sha}
    return call.page([item.shown for item in newest.values()])


@route("POST", "~/statuses/:sha")
def _set_status(call: Call) -> JSON:
    call.needs(DEVELOPER)
    sha, body = call.parameters["sha"], call.body
    name, state = str(body.get("name") or body["context"]), str(body["state"])
    if state not in ("pending", "running", "success", "failed", "canceled", "skipped"):
        raise Problem(400, {"state": ["does not have a valid value"]})
    if len(str(body.get("description") or "")) > 255:
        raise Problem(400, {"description": ["is too long (maximum is 255 characters)"]})
    if call.project.git.resolve(sha) is None:
        raise Problem(404, "404 Commit Not Found")
    same = [item for item in call.project.statuses if (item.sha, item.name) == (sha, name)]
    current = next((item for item in reversed(same) if item.status in _STARTS), None)
    if current is not None and state == "pending":
        said = f"Cannot transition status via :enqueue from :{current.status}"
        raise Problem(400, f'{said} (Reason(s): Status cannot transition via "enqueue")')
    if current is None:
        current = Status(
            id=call.gitlab.new_id(), sha=sha, name=name, status=state, description="",
            target_url=None, author=call.by, created_at=call.now,
        )  # fmt: skip
        call.project.statuses.append(current)
    current.status = state
    current.description = str(body.get("description") or current.description)
    current.target_url = body.get("target_url") or current.target_url
    return current.shown


@route("GET", "~/issues")
def _issues(call: Call) -> Answer:
    author = call.query.get("author_username", "")
    found = [
        issue.shown
        for issue in call.project.issues.values()
        if author in ("", issue.author.username)
    ]
    return call.page(found[::-1])


@route("POST", "~/issues")
def _open_issue(call: Call) -> JSON:
    number = len(call.project.issues) + 1
    title, text = str(call.body["title"]), str(call.body.get("description") or "")
    made = Issue(iid=number, title=title, description=text, author=call.by)
    call.project.issues[number] = made
    return made.shown


@route("GET", "~/issues/:issue")
def _get_issue(call: Call) -> Any:
    return call.one_of(call.project.issues, "issue").shown


@route("PUT", "~/issues/:issue")
def _edit_issue(call: Call) -> Any:
    issue = call.one_of(call.project.issues, "issue")
    issue.title = str(call.body.get("title", issue.title))
    issue.description = str(call.body.get("description", issue.description))
    return issue.shown
