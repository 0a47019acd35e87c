"""Pull requests: open, list, edit, files, commits, merge."""

from __future__ import annotations

from typing import Any

from tests.doubles.github import merging, pushes
from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.problems import Problem, custom, invalid, missing, no_access, not_found
from tests.doubles.github.shapes import git as git_shapes
from tests.doubles.github.shapes import pulls as shapes
from tests.doubles.github.state import JSON, Issue, Pull, Repository

LONGEST_BODY = 65_536  # characters of a body or comment


def find_pull(call: Call) -> tuple[Repository, Pull]:
    """The pull request of the path; 404 where there is none."""
    repository = call.repository
    pull = repository.pulls.get(number_in(call, "pull_number"))
    if pull is None:
        raise not_found()
    return repository, pull


def full(call: Call, repository: Repository, pull: Pull) -> JSON:
    """The whole of it."""
    state = merging.mergeable_state(repository, pull)
    return shapes.full_pull(call.links, call.state, repository, pull, mergeable_state=state)


def _list(call: Call) -> Answer:
    repository = call.repository
    wanted = call.query.get("state", "open")
    head, base = call.query.get("head", ""), call.query.get("base", "")
    found = []
    for number, pull in repository.pulls.items():
        owner = pull.head_repository.partition("/")[0]
        if wanted not in ("all", repository.issues[number].state):
            continue
        # a head without its owner is not taken as a filter, as GitHub does it
        if head and ":" in head and head != f"{owner}:{pull.head_branch}":
            continue
        if base and base != pull.base_branch:
            continue
        found.append(pull)
    by = call.query.get("sort", "created")
    down = call.query.get("direction", "desc" if by == "created" else "asc") == "desc"
    issues = repository.issues
    keys = {"created": "created", "updated": "updated"}
    if by in keys:
        found.sort(key=lambda p: (getattr(issues[p.number], keys[by]), p.number), reverse=down)
    else:
        found.sort(key=lambda pull: pull.number, reverse=down)
    return call.page([shapes.pull(call.links, call.state, repository, p) for p in found])


def _get(call: Call) -> JSON:
    repository, pull = find_pull(call)
    return full(call, repository, pull)


def _open(call: Call) -> JSON:
    repository, body = call.repository, call.body
    principal = call.principal
    if principal.kind != "user":  # a person who may read may ask
        call.needs(repository, "pull_requests", "write")
    if principal.kind == "job" and not repository.options.actions_may_approve:
        raise Problem(403, "GitHub Actions is not permitted to create or approve pull requests.")
    for name in ("head", "base"):
        if not body.get(name):
            raise missing("PullRequest", name)
    if not body.get("title"):
        raise missing("PullRequest", "title")
    source, branch = _head(call, repository, str(body["head"]))
    head = source.git.resolve(f"refs/heads/{branch}") if source else None
    if source is None or head is None:
        raise invalid("PullRequest", "head")
    base = repository.git.resolve(f"refs/heads/{body['base']}")
    if base is None:
        raise invalid("PullRequest", "base")
    _refuse_twice(repository, source, branch, str(body["base"]))
    if source is not repository:
        number = repository.next_number()
        repository.git.fetch(source.git, f"refs/heads/{branch}", f"refs/pull/{number}/head")
    if repository.git.count(include=head, exclude=base) == 0:
        message = (
            f"No commits between {repository.owner}:{body['base']} and {source.owner}:{branch}"
        )
        raise custom("PullRequest", message)
    pull = _make(call, repository, source, branch=branch, head=head, base=base)
    return full(call, repository, pull)


def _head(call: Call, repository: Repository, head: str) -> tuple[Repository | None, str]:
    owner, colon, branch = head.partition(":")
    if not colon:
        return repository, head
    if owner == repository.owner:
        return repository, branch
    for candidate in call.state.repositories.values():
        if candidate.owner == owner and candidate.parent == repository.full_name:
            return candidate, branch
    return None, branch


def _refuse_twice(repository: Repository, source: Repository, branch: str, base: str) -> None:
    for number, pull in repository.pulls.items():
        same = (pull.head_repository, pull.head_branch, pull.base_branch)
        if same == (source.full_name, branch, base) and repository.issues[number].state == "open":
            message = f"A pull request already exists for {source.owner}:{branch}."
            raise custom("PullRequest", message)


def _make(
    call: Call, repository: Repository, source: Repository, *, branch: str, head: str, base: str
) -> Pull:
    body = call.body
    text = str(body.get("body") or "")
    if len(text) > LONGEST_BODY:
        raise custom("PullRequest", f"body is too long (maximum is {LONGEST_BODY} characters)")
    number = repository.next_number()
    login = call.principal.login
    repository.issues[number] = Issue(
        id=call.github.new_id(),
        number=number,
        title=str(body["title"]),
        body=text,
        author=login,
        created=call.now,
        updated=call.now,
        is_pull=True,
    )
    pull = repository.pulls[number] = Pull(
        id=call.github.new_id(),
        number=number,
        head_repository=source.full_name,
        head_branch=branch,
        head=head,
        base_branch=str(body["base"]),
        base=base,
        draft=bool(body.get("draft", False)),
        pusher=login,
    )
    merging.look_at(call.github, repository, pull)
    by_job = call.principal.kind == "job"
    merging.tell(call.github, repository, pull, "opened", login, by_job=by_job)
    return pull


def _edit(call: Call) -> JSON:
    repository, pull = find_pull(call)
    body, issue = call.body, repository.issues[pull.number]
    principal = call.principal
    own = principal.kind == "user" and principal.login == issue.author
    if not own:
        call.needs(repository, "pull_requests", "write")
    by_job = principal.kind == "job"
    changed = False
    for name in ("title", "body"):
        if name in body and (body[name] or "") != getattr(issue, name):
            setattr(issue, name, str(body[name] or ""))
            changed = True
    if body.get("base") and body["base"] != pull.base_branch:
        if repository.git.resolve(f"refs/heads/{body['base']}") is None:
            raise invalid("PullRequest", "base")
        pull.base_branch, changed = str(body["base"]), True
        merging.look_at(call.github, repository, pull)
    if changed:
        issue.updated = call.now
        merging.tell(call.github, repository, pull, "edited", principal.login, by_job=by_job)
    state = body.get("state")
    if state == "closed" and issue.state == "open":
        merging.close(call.github, repository, pull, principal.login, by_job=by_job)
    elif state == "open" and issue.state == "closed":
        _reopen(call, repository, pull, issue)
    return full(call, repository, pull)


def _reopen(call: Call, repository: Repository, pull: Pull, issue: Issue) -> None:
    source = call.state.repositories.get(pull.head_repository.lower())
    head = source.git.resolve(f"refs/heads/{pull.head_branch}") if source else None
    if pull.merged or head is None:
        raise custom("PullRequest", "state cannot be changed.", field="state")
    issue.state, issue.closed, issue.closed_by, issue.updated = "open", 0, "", call.now
    pull.head = head
    merging.look_at(call.github, repository, pull)
    by_job = call.principal.kind == "job"
    login = call.principal.login
    merging.tell(call.github, repository, pull, "reopened", login, by_job=by_job)


def _merge(call: Call) -> JSON:
    repository, pull = find_pull(call)
    body = call.body
    commit = merging.merge(
        call.github,
        repository,
        pull,
        by=call.principal,
        method=str(body.get("merge_method", "merge")),
        expected=str(body.get("sha") or ""),
        title=body.get("commit_title"),
        message=body.get("commit_message"),
    )
    pushes.notice(call.github, call.principal)
    return {"sha": commit, "merged": True, "message": "Pull Request successfully merged"}


def _is_merged(call: Call) -> Answer:
    _, pull = find_pull(call)
    if not pull.merged:
        raise not_found()
    return Answer(code=204)


def _files(call: Call) -> Answer:
    repository, pull = find_pull(call)
    git, name = repository.git, repository.full_name
    start = git.merge_base(pull.base, pull.head) or pull.base
    if pull.merged:
        start = git.merge_base(f"{pull.merge_commit}^1", pull.head) or start
    changes = git.changes(start, pull.head)
    return call.page(
        [
            git_shapes.file_change(
                call.links, name, pull.head, change, git.patch(start, pull.head, change.path)
            )
            for change in changes
        ]
    )


def _commits(call: Call) -> Answer:
    repository, pull = find_pull(call)
    exclude = f"{pull.merge_commit}^1" if pull.merged else pull.base
    listed = repository.git.commits(include=pull.head, exclude=exclude)
    shown = [git_shapes.commit(call.links, repository.full_name, c) for c in reversed(listed)]
    return call.page(shown)


def _update_branch(call: Call) -> Answer:
    repository, pull = find_pull(call)
    expected = call.body.get("expected_head_sha")
    if expected and expected != pull.head:
        raise Problem(422, "expected head sha did not match current head ref.")
    git = repository.git
    if pull.head_repository != repository.full_name:
        raise no_access()
    tree = git.merged_tree(pull.head, pull.base)
    if tree is None:
        raise Problem(422, "merge conflict between base and head")
    if not git.is_ancestor(pull.base, pull.head):
        commit = git.write_commit(
            tree,
            parents=(pull.head, pull.base),
            message=f"Merge branch '{pull.base_branch}' into {pull.head_branch}",
            name=call.principal.login,
            email=f"{call.principal.login}@users.noreply.localhost",
            time=call.now,
        )
        git.set_ref(f"refs/heads/{pull.head_branch}", commit, expected=pull.head)

        pushes.notice(call.github, call.principal)
    body: dict[str, Any] = {"message": "Updating pull request branch.", "url": call.links.api}
    return Answer(code=202, body=body)


ROUTES = (
    route("GET", "~/pulls", _list, "pull_requests:read"),
    route("POST", "~/pulls", _open, "pull_requests:read", success=201),
    route("GET", "~/pulls/{pull_number}", _get, "pull_requests:read"),
    route("PATCH", "~/pulls/{pull_number}", _edit, "pull_requests:read"),
    route("GET", "~/pulls/{pull_number}/files", _files, "pull_requests:read"),
    route("GET", "~/pulls/{pull_number}/commits", _commits, "pull_requests:read"),
    route("GET", "~/pulls/{pull_number}/merge", _is_merged, "pull_requests:read"),
    route("PUT", "~/pulls/{pull_number}/merge", _merge, "contents:write"),
    route(
        "PUT", "~/pulls/{pull_number}/update-branch", _update_branch, "pull_requests:write",
        success=202,
    ),
)  # fmt: skip
