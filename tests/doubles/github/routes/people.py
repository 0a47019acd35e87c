"""Accounts and their rights, the repository, and the tokens of Apps."""

from tests.doubles.github import shapes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.core import HOUR
from tests.doubles.github.problems import Problem, no_access, not_found
from tests.doubles.github.state import JSON, App


@route("GET", "/user")
def _user(call: Call) -> JSON:
    if call.principal.kind != "user":
        raise no_access()
    return shapes.user(call.github, call.principal.login)


@route("GET", "~", "metadata:read")
def _repository(call: Call) -> JSON:
    return shapes.repository(call.github, call.repository)


@route("GET", "~/collaborators/{username}/permission", "metadata:read")
def _permission(call: Call) -> JSON:
    account = call.one_of(call.github.state.accounts, "username")
    role = call.github.role(call.repository, account["login"])
    legacy = {"triage": "read", "maintain": "write"}.get(role, role)
    return {"permission": legacy, "role_name": role}


@route("GET", "~/activity", "contents:read")
def _activities(call: Call) -> Answer:
    """Who moved which ref, the newest first; `actor` narrows it to one account."""
    actor = call.query.get("actor")
    found = [
        item for item in reversed(call.repository.activities) if actor in (None, item["actor"])
    ]
    shown = [{**item, "actor": shapes.user(call.github, item["actor"])} for item in found]
    return call.page(shown)


@route("GET", "/orgs/{org}/teams/{team_slug}/members")
def _team_members(call: Call) -> Answer:
    """Members of a team. GitHub gives no job's token the right to read them."""
    principal = call.principal
    if principal.kind != "user" and "members" not in principal.permissions:
        raise no_access()
    name = f"{call.parameters['org']}/{call.parameters['team_slug']}".lower()
    members = call.github.state.teams.get(name)
    if not members:
        raise not_found()
    return call.page([shapes.user(call.github, login) for login in sorted(members)])


def _app(call: Call) -> App:
    if call.principal.kind != "app":
        raise Problem(401, "A JSON web token could not be decoded")
    return call.github.state.apps[call.principal.app_id]


@route("GET", "/app")
def _self(call: Call) -> JSON:
    return shapes.shown(call.github, _app(call))


@route("GET", "~/installation")
def _installation(call: Call) -> JSON:
    app = _app(call)
    if app.repository != call.repository.full_name:
        raise not_found()
    return {"id": app.id, "app_id": app.id, "permissions": app.permissions}


@route("POST", "/app/installations/{installation_id}/access_tokens", success=201)
def _token(call: Call) -> JSON:
    token = call.github.app_token(_app(call))
    return {"token": token, "expires_at": shapes.time_text(call.now + HOUR)}
