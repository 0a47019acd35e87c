"""Pull requests: open, list, edit, review, merge."""

from tests.doubles.github import merging, shapes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, custom, invalid, missing, too_long
from tests.doubles.github.state import JSON, Pull, Repository, Review

LONGEST_BODY = 65_536  # characters of a body or comment
_STATES = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}


def _find(call: Call) -> Pull:
    return call.one_of(call.repository.pulls, "pull_number")


@route("GET", "~/pulls", "pull_requests:read")
def _list(call: Call) -> Answer:
    query = call.query
    wanted, head = query.get("state", "open"), query.get("head", "")
    found = [
        shapes.pull(call.github, pull)
        for pull in call.repository.pulls.values()
        if wanted in ("all", pull.state)
        and head in ("", f"{pull.head_repository.partition('/')[0]}:{pull.head_branch}")
    ]
    return call.page(found if query.get("direction") == "asc" else found[::-1])


@route("GET", "~/pulls/{pull_number}", "pull_requests:read")
def _get(call: Call) -> JSON:
    return shapes.full_pull(call.github, _find(call))


@route("POST", "~/pulls", "pull_requests:read", success=201)
def _open(call: Call) -> JSON:
    repository, body, by = call.repository, call.body, call.principal
    if by.kind != "user":  # a person who may read may open one
        call.needs("pull_requests", "write")
    if by.kind == "job" and not repository.actions_may_approve:
        raise Problem(403, "GitHub Actions is not permitted to create or approve pull requests.")
    for name in ("head", "base", "title"):
        if not body.get(name):
            raise missing("PullRequest", name)
    source, branch = _head(call, repository, body["head"])
    head = source.git.refs().get(f"refs/heads/{branch}")
    base = repository.git.refs().get(f"refs/heads/{body['base']}")
    if head is None or base is None:
        raise invalid("PullRequest", "base" if head else "head")
    _refuse_twice(repository, source, branch)
    number = repository.next_number()
    repository.git.fetch(source.git, f"refs/heads/{branch}", f"refs/pull/{number}/head")
    if repository.git.is_ancestor(head, base):
        sides = f"{repository.owner}:{body['base']} and {source.owner}:{branch}"
        raise custom("PullRequest", f"No commits between {sides}")
    pull = repository.issues[number] = repository.pulls[number] = Pull(
        number=number,
        html_url=f"{call.github.html}/{repository.full_name}/pull/{number}",
        title=body["title"],
        body=too_long("PullRequest", "body", body.get("body"), LONGEST_BODY),
        user=by.login,
        created_at=call.now,
        updated_at=call.now,
        base=body["base"],
        base_repository=repository.full_name,
        base_sha=base,
        head=head,
        head_branch=branch,
        head_repository=source.full_name,
        pusher=by.login,
    )
    merging.look_at(call.github, repository, pull)
    merging.tell(call.github, repository, pull, "opened", by)
    return shapes.full_pull(call.github, pull)


def _head(call: Call, repository: Repository, head: str) -> tuple[Repository, str]:
    """The repository and branch of a head, `owner:branch` in a fork."""
    owner, colon, branch = head.rpartition(":")
    for fork in call.github.state.repositories.values():
        if colon and fork.owner == owner and fork.parent == repository.full_name:
            return fork, branch
    if colon and owner != repository.owner:
        raise invalid("PullRequest", "head")
    return repository, branch


def _refuse_twice(repository: Repository, source: Repository, branch: str) -> None:
    for pull in repository.pulls.values():
        same = (pull.head_repository, pull.head_branch) == (source.full_name, branch)
        if same and not pull.closed_at:
            message = f"A pull request already exists for {source.owner}:{branch}."
            raise custom("PullRequest", message)


@route("PATCH", "~/pulls/{pull_number}", "pull_requests:read")
def _edit(call: Call) -> JSON:
    pull = _find(call)
    if not (call.principal.kind == "user" and call.principal.login == pull.user):
        call.needs("pull_requests", "write")
    pull.title = call.body.get("title", pull.title)
    pull.body = too_long("PullRequest", "body", call.body.get("body", pull.body), LONGEST_BODY)
    pull.updated_at = call.now
    if call.body.get("state") == "closed" and not pull.closed_at:
        pull.close(call.now)
    return shapes.full_pull(call.github, pull)


@route("PUT", "~/pulls/{pull_number}/merge", "contents:write")
def _merge(call: Call) -> JSON:
    pull, by = _find(call), call.principal
    method, expected = call.body.get("merge_method", "merge"), call.body.get("sha", "")
    merging.merge(call.github, call.repository, pull, by=by, method=method, expected=expected)
    merging.notice(call.github, call.principal)
    message = "Pull Request successfully merged"
    return {"sha": pull.merge_commit_sha, "merged": True, "message": message}


@route("GET", "~/pulls/{pull_number}/reviews", "pull_requests:read")
def _reviews(call: Call) -> Answer:
    number = _find(call).number
    found = [row for row in call.repository.reviews.values() if row.number == number]
    return call.page([shapes.shown(call.github, review) for review in found])


@route("POST", "~/pulls/{pull_number}/reviews", "metadata:read")
def _review(call: Call) -> JSON:
    """Readers may review; only writers count."""
    pull, by, event = _find(call), call.principal, call.body["event"]
    call.needs("pull_requests", "read" if by.kind == "user" else "write")
    if by.login == pull.user and event != "COMMENT":
        said = "Can not approve or request changes on your own pull request"
        raise Problem(422, "Unprocessable Entity", errors=[said])
    made = Review(
        id=call.github.new_id(),
        number=pull.number,
        user=by.login,
        state=_STATES[event],
        commit_id=call.body.get("commit_id") or pull.head,
        submitted_at=call.now,
    )
    call.repository.reviews[made.id] = made
    return shapes.shown(call.github, made)


@route("PUT", "~/pulls/{pull_number}/reviews/{review_id}/dismissals", "pull_requests:write")
def _dismiss(call: Call) -> JSON:
    review = call.one_of(call.repository.reviews, "review_id")
    review.state = "DISMISSED"
    return shapes.shown(call.github, review)
