"""Branches, classic protection as it is shown, and rulesets."""

from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem
from tests.doubles.github.protection import active_rules
from tests.doubles.github.state import JSON


@route("GET", "~/branches/{branch}", "metadata:read")
def _branch(call: Call) -> JSON:
    repository, name = call.repository, call.parameters["branch"]
    sha = repository.git.refs().get(f"refs/heads/{name}")
    if sha is None:
        raise Problem(404, "Branch not found")
    classic = name in repository.protection
    return {
        "name": name,
        "commit": {"sha": sha},
        "protected": classic or bool(active_rules(repository, name)),
        "protection": {"enabled": classic},
    }


@route("GET", "~/commits/{ref}", "contents:read")
def _commit(call: Call) -> JSON:
    """As much as says whose signature it has: Git verifies it by the accounts' signing keys."""
    sha = call.repository.git.resolve(call.parameters["ref"])
    if sha is None:
        raise Problem(422, f"No commit found for SHA: {call.parameters['ref']}")
    reason = call.repository.git.verified(sha, call.github.signing_keys)
    verification = {"verified": reason == "valid", "reason": reason}
    return {"sha": sha, "commit": {"verification": verification}}


@route("GET", "~/branches/{branch}/protection", "administration:read")
def _protection(call: Call) -> JSON:
    classic = call.repository.protection.get(call.parameters["branch"])
    if classic is None:
        raise Problem(404, "Branch not protected")
    reviews = {
        "dismiss_stale_reviews": classic.dismiss_stale,
        "required_approving_review_count": classic.reviews,
    }
    return {"required_pull_request_reviews": reviews} if classic.reviews else {}


@route("GET", "~/rules/branches/{branch}", "metadata:read")
def _rules(call: Call) -> Answer:
    return call.page(active_rules(call.repository, call.parameters["branch"]))


@route("POST", "~/rulesets", "administration:write", success=201)
def _add_ruleset(call: Call) -> JSON:
    number = call.github.new_id()
    call.repository.rulesets[number] = dict(call.body)
    return {"id": number, **call.body}
