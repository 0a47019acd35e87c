"""GitHub Apps: who they are, where they are installed, tokens that live an hour."""

from __future__ import annotations

from tests.doubles.github.calls import Answer, Call, number_in, route
from tests.doubles.github.links import time_text
from tests.doubles.github.problems import Problem, not_found
from tests.doubles.github.shapes import people
from tests.doubles.github.state import JSON, App, Installation, Principal

HOUR = 3600


def _app(call: Call) -> App:
    if call.principal.kind != "app":
        raise Problem(401, "A JSON web token could not be decoded")
    return call.state.apps[call.principal.app_id]


def _self(call: Call) -> JSON:
    return people.app(call.links, call.state, _app(call)) or {}


def _shape(call: Call, found: Installation) -> JSON:
    app = call.state.apps[found.app_id]
    account = call.state.accounts[found.account]
    here = f"{call.links.api}/app/installations/{found.id}"
    return {
        "id": found.id,
        "account": people.user(call.links, account),
        "access_tokens_url": f"{here}/access_tokens",
        "repositories_url": f"{call.links.api}/installation/repositories",
        "html_url": f"{call.links.html}/organizations/{found.account}/settings/installations",
        "app_id": app.id,
        "client_id": f"Iv1.{app.id:016x}",
        "app_slug": app.slug,
        "target_id": account.id,
        "target_type": account.kind,
        "permissions": dict(app.permissions),
        "events": [],
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "repository_selection": "selected" if found.repositories else "all",
        "created_at": time_text(0),
        "updated_at": time_text(0),
        "suspended_by": None,
        "suspended_at": None,
    }


def _installations(call: Call) -> Answer:
    app = _app(call)
    found = [i for _, i in sorted(call.state.installations.items()) if i.app_id == app.id]
    return call.page([_shape(call, installation) for installation in found])


def _find(call: Call) -> Installation:
    app = _app(call)
    found = call.state.installations.get(number_in(call, "installation_id"))
    if found is None or found.app_id != app.id:
        raise not_found()
    return found


def _installation(call: Call) -> JSON:
    return _shape(call, _find(call))


def _of_repository(call: Call) -> JSON:
    app = _app(call)
    name = f"{call.parameters['owner']}/{call.parameters['repo']}".lower()
    repository = call.state.repositories.get(name)
    for _, found in sorted(call.state.installations.items()):
        if repository and found.app_id == app.id and call.github.installed(found.id, repository):
            return _shape(call, found)
    raise not_found()


def _token(call: Call) -> JSON:
    found = _find(call)
    app = call.state.apps[found.app_id]
    wanted = call.body.get("permissions") or dict(app.permissions)
    for name, level in wanted.items():
        held = app.permissions.get(name, "none")
        order = ("none", "read", "write", "admin")
        if order.index(held) < order.index(level):
            raise Problem(422, "The permissions requested are not granted to this installation.")
    expires = call.now + HOUR
    principal = Principal(
        kind="installation",
        login=f"{app.slug}[bot]",
        permissions=tuple(sorted({"metadata": "read", **wanted}.items())),
        expires=expires,
        app_id=app.id,
        installation_id=found.id,
    )
    return {
        "token": call.github.new_token("ghs", principal),
        "expires_at": time_text(expires),
        "permissions": {"metadata": "read", **wanted},
        "repository_selection": "selected" if found.repositories else "all",
    }


def _repositories(call: Call) -> Answer:
    if call.principal.kind != "installation":
        raise Problem(403, "You must authenticate with an installation access token.")
    identity = call.principal.installation_id
    found = [
        people.repository(call.links, call.state, repository)
        for _, repository in sorted(call.state.repositories.items())
        if call.github.installed(identity, repository)
    ]
    return call.page(found, wrap="repositories")


ROUTES = (
    route("GET", "/app", _self),
    route("GET", "/app/installations", _installations),
    route("GET", "/app/installations/{installation_id}", _installation),
    route("POST", "/app/installations/{installation_id}/access_tokens", _token, success=201),
    route("GET", "/installation/repositories", _repositories),
    route("GET", "~/installation", _of_repository),
)
