"""Reviews and requested reviewers."""

from __future__ import annotations

from tests.doubles.github import merging
from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.problems import Problem, custom, not_found
from tests.doubles.github.routes.pulls import find_pull
from tests.doubles.github.shapes import people
from tests.doubles.github.shapes import pulls as shapes
from tests.doubles.github.state import JSON, Pull, Repository, Review

_STATES = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
    "": "PENDING",
}


def _list(call: Call) -> Answer:
    repository, pull = find_pull(call)
    found = [
        review
        for _, review in sorted(repository.reviews.items())
        if review.number == pull.number
        and (review.state != "PENDING" or review.author == call.principal.login)
    ]
    return call.page([shapes.review(call.links, call.state, repository, r) for r in found])


def _create(call: Call) -> JSON:
    repository, pull = find_pull(call)
    principal = call.principal
    if principal.kind == "user":  # readers may review; only writers count
        call.needs(repository, "pull_requests", "read")
    else:
        call.needs(repository, "pull_requests", "write")
    event = str(call.body.get("event") or "")
    state = _state(call, repository, pull, event)
    commit = str(call.body.get("commit_id") or pull.head)
    made = Review(
        id=call.github.new_id(),
        number=pull.number,
        author=principal.login,
        body=str(call.body.get("body") or ""),
        state=state,
        commit=commit,
        submitted=call.now,
    )
    repository.reviews[made.id] = made
    if principal.login in pull.requested_reviewers:
        pull.requested_reviewers.remove(principal.login)
    if state != "PENDING":
        _tell(call, repository, pull, made, "submitted")
    return shapes.review(call.links, call.state, repository, made)


def _state(call: Call, repository: Repository, pull: Pull, event: str) -> str:
    principal, author = call.principal, repository.issues[pull.number].author
    if event not in _STATES:
        raise Problem(422, "Unprocessable Entity", errors=[f"Variable $event of {event}"])
    if principal.login == author and event in ("APPROVE", "REQUEST_CHANGES"):
        word = "approve" if event == "APPROVE" else "request changes on"
        raise Problem(422, "Unprocessable Entity", errors=[f"Can not {word} your own pull request"])
    if (
        event == "APPROVE"
        and principal.kind == "job"
        and not repository.options.actions_may_approve
    ):
        raise Problem(
            422,
            "Unprocessable Entity",
            errors=["GitHub Actions is not permitted to approve pull requests."],
        )
    if event in ("REQUEST_CHANGES", "COMMENT") and not call.body.get("body"):
        raise Problem(422, "Unprocessable Entity", errors=["Body can't be blank"])
    return _STATES[event]


def _tell(call: Call, repository: Repository, pull: Pull, review: Review, action: str) -> None:
    merging.tell(
        call.github,
        repository,
        pull,
        action,
        call.principal.login,
        name="pull_request_review",
        by_job=call.principal.kind == "job",
        review=shapes.review(call.links, call.state, repository, review),
    )


def _find(call: Call) -> tuple[Repository, Pull, Review]:
    repository, pull = find_pull(call)
    review = repository.reviews.get(number_in(call, "review_id"))
    if review is None or review.number != pull.number:
        raise not_found()
    return repository, pull, review


def _get(call: Call) -> JSON:
    repository, _, review = _find(call)
    return shapes.review(call.links, call.state, repository, review)


def _dismiss(call: Call) -> JSON:
    repository, pull, review = _find(call)
    call.needs(repository, "pull_requests", "write")
    if review.state not in ("APPROVED", "CHANGES_REQUESTED"):
        raise Problem(422, "Can not dismiss a review that is no approval or request for changes")
    review.state = "DISMISSED"
    _tell(call, repository, pull, review, "dismissed")
    return shapes.review(call.links, call.state, repository, review)


def _requested(call: Call) -> JSON:
    _, pull = find_pull(call)
    accounts = call.state.accounts
    users = [people.user(call.links, accounts[login]) for login in pull.requested_reviewers]
    return {"users": users, "teams": []}


def _request(call: Call) -> JSON:
    repository, pull = find_pull(call)
    author = repository.issues[pull.number].author
    for login in call.body.get("reviewers", ()):
        if login == author:
            message = "Review cannot be requested from pull request author."
            raise Problem(422, message)
        if call.role(repository, login) == "none" or login not in call.state.accounts:
            raise custom("PullRequest", f"Could not resolve to a collaborator: {login}")
        if login not in pull.requested_reviewers:
            pull.requested_reviewers.append(login)
    return shapes.pull(call.links, call.state, repository, pull)


def _withdraw(call: Call) -> JSON:
    repository, pull = find_pull(call)
    gone = set(call.body.get("reviewers", ()))
    pull.requested_reviewers = [login for login in pull.requested_reviewers if login not in gone]
    return shapes.pull(call.links, call.state, repository, pull)


_ONE = "~/pulls/{pull_number}"
ROUTES = (
    route("GET", f"{_ONE}/reviews", _list, "pull_requests:read"),
    route("POST", f"{_ONE}/reviews", _create, "metadata:read"),
    route("GET", f"{_ONE}/reviews/{{review_id}}", _get, "pull_requests:read"),
    route("PUT", f"{_ONE}/reviews/{{review_id}}/dismissals", _dismiss, "pull_requests:write"),
    route("GET", f"{_ONE}/requested_reviewers", _requested, "pull_requests:read"),
    route("POST", f"{_ONE}/requested_reviewers", _request, "pull_requests:write", success=201),
    route("DELETE", f"{_ONE}/requested_reviewers", _withdraw, "pull_requests:write"),
)
