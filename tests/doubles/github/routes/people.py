"""Who asks, who may do what, the repository itself, the limits."""

from __future__ import annotations

from typing import Any

from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, no_access, not_found
from tests.doubles.github.shapes import people as shapes
from tests.doubles.github.state import JSON, ROLES


def _root(call: Call) -> JSON:
    return {
        "current_user_url": f"{call.links.api}/user",
        "rate_limit_url": f"{call.links.api}/rate_limit",
    }


def _meta(_: Call) -> JSON:
    return {"verifiable_password_authentication": False, "installed_version": "3.19.0"}


def _user(call: Call) -> JSON:
    if call.principal.kind != "user":
        if call.principal.kind == "nobody":
            raise Problem(401, "Requires authentication")
        raise Problem(403, "Resource not accessible by integration")
    account = call.state.accounts[call.principal.login]
    return shapes.public_user(call.links, account, now=call.github.clock.now())


def _named_user(call: Call) -> JSON:
    account = call.state.accounts.get(call.parameters["username"])
    if account is None:
        raise not_found()
    return shapes.public_user(call.links, account, now=call.now)


def _rate_limit(call: Call) -> JSON:
    limits = call.github.limits
    token = call.request.token or "anonymous"
    used, reset = limits.present(token, call.now)
    core = {
        "limit": limits.limit,
        "used": used,
        "remaining": max(0, limits.limit - used),
        "reset": reset,
    }
    return {"resources": {"core": core, "search": core, "graphql": core}, "rate": core}


def _repository(call: Call) -> JSON:
    repository = call.repository
    role = call.role(repository, call.principal.login)
    if call.principal.kind in ("job", "installation"):
        held = dict(call.principal.permissions)
        role = "write" if held.get("contents") == "write" else "read"
    return shapes.repository(call.links, call.state, repository, role=role, full=True)


def _permission(call: Call) -> JSON:
    repository = call.repository
    login = call.parameters["username"]
    account = call.state.accounts.get(login)
    if account is None:
        raise not_found()
    role = call.role(repository, login)
    rank = ROLES.index(role)
    legacy = {"triage": "read", "maintain": "write"}.get(role, role)
    names = ("pull", "triage", "push", "maintain", "admin")
    user = {
        **shapes.user(call.links, account),
        "permissions": {name: rank >= place for place, name in enumerate(names, start=1)},
        "role_name": role,
    }
    return {"permission": legacy, "role_name": role, "user": user}


def _is_collaborator(call: Call) -> Answer:
    login = call.parameters["username"]
    repository = call.repository
    if login != repository.owner and login not in repository.collaborators:
        raise not_found()
    return Answer(code=204)


def _collaborators(call: Call) -> Any:
    repository = call.repository
    found = []
    for login, role in sorted(repository.collaborators.items()):
        rank = ROLES.index(role)
        names = ("pull", "triage", "push", "maintain", "admin")
        found.append(
            {
                **shapes.user(call.links, call.state.accounts[login]),
                "permissions": {n: rank >= place for place, n in enumerate(names, start=1)},
                "role_name": role,
            }
        )
    return call.page(found)


def _team_members(call: Call) -> Answer:
    """Members of a team. A job's token can have no right to an organization's teams."""
    principal = call.principal
    held = dict(principal.permissions)
    if principal.kind == "job" or (principal.kind == "installation" and "members" not in held):
        raise no_access()
    name = f"{call.parameters['org']}/{call.parameters['team_slug']}".lower()
    members = call.state.teams.get(name)
    if members is None:
        raise not_found()
    accounts = call.state.accounts
    return call.page([shapes.user(call.links, accounts[login]) for login in sorted(members)])


ROUTES = (
    route("GET", "/", _root),
    route("GET", "/meta", _meta),
    route("GET", "/rate_limit", _rate_limit),
    route("GET", "/user", _user),
    route("GET", "/users/{username}", _named_user),
    route("GET", "/orgs/{org}/teams/{team_slug}/members", _team_members),
    route("GET", "~", _repository, "metadata:read"),
    route("GET", "~/collaborators", _collaborators, "metadata:read"),
    route("GET", "~/collaborators/{username}", _is_collaborator, "metadata:read"),
    route("GET", "~/collaborators/{username}/permission", _permission, "metadata:read"),
)
