"""Actions for people and workflows: dispatches, environments, secrets, variables.

A secret comes sealed to the environment's public key (libsodium's sealed box), as from GitHub's
own clients.
"""

import base64
import hashlib
import zlib

from nacl.public import PrivateKey, SealedBox

from tests.doubles.github import shapes
from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.problems import Problem, not_found
from tests.doubles.github.state import JSON, Environment
from tests.doubles.github.storage import BASE
from tests.doubles.github.workflows import FOLDER, WorkflowFile, read_workflow

_WORKFLOW = "~/actions/workflows/{workflow_id}"
_ENVIRONMENT = "~/environments/{environment_name}"


def _workflow_at(call: Call, sha: str) -> WorkflowFile:
    """The workflow of the path at a commit, by its number or the name of its file."""
    for path in call.repository.git.files(sha):
        names = (str(_number(path)), path.removeprefix(FOLDER))
        if path.startswith(FOLDER) and call.parameters["workflow_id"] in names:
            return read_workflow(call.repository, sha, path)
    raise not_found()


def _number(path: str) -> int:
    return zlib.crc32(path.encode())


@route("GET", _WORKFLOW, "actions:read")
def _workflow(call: Call) -> JSON:
    file = _workflow_at(call, call.repository.refs[BASE])
    return {
        "id": _number(file.path),
        "name": file.content["name"],
        "path": file.path,
        "state": "active",
    }


@route("POST", f"{_WORKFLOW}/dispatches", "actions:write", success=204)
def _dispatch(call: Call) -> Answer:
    repository, ref = call.repository, call.body["ref"].removeprefix("refs/heads/")
    sha = repository.git.resolve(ref)
    if sha is None:
        raise Problem(422, f"No ref found for: {ref}")
    file = _workflow_at(call, sha)
    if "workflow_dispatch" not in file.on:
        raise Problem(422, "Workflow does not have 'workflow_dispatch' trigger")
    known = file.on["workflow_dispatch"].get("inputs", {})
    inputs = {name: row["default"] for name, row in known.items() if "default" in row}
    inputs |= call.body.get("inputs") or {}
    if not set(inputs) <= set(known):
        raise Problem(422, f"Unexpected inputs provided: {sorted(set(inputs) - set(known))}")
    branch = f"refs/heads/{ref}"
    payload = {"inputs": inputs, "ref": branch, "workflow": file.path}
    github, by = call.github, call.principal
    github.publish("workflow_dispatch", repository, by, payload, sha=sha, ref=branch)
    return Answer(code=204)


@route("GET", "~/actions/permissions/workflow", "administration:read")
def _workflow_permissions(call: Call) -> JSON:
    may = call.repository.actions_may_approve
    return {"default_workflow_permissions": "read", "can_approve_pull_request_reviews": may}


@route("POST", "~/actions/variables", "variables:write", success=201)
def _add_variable(call: Call) -> JSON:
    call.repository.variables[call.body["name"].upper()] = call.body["value"]
    return {}


@route("GET", "~/environments", "actions:read")
def _environments(call: Call) -> Answer:
    repository = call.repository
    found = [row for _, row in sorted(repository.environments.items())]
    shown = [shapes.shown(call.github, row) for row in found]
    return call.page(shown, wrap="environments")


def _find(call: Call) -> Environment:
    return call.one_of(call.repository.environments, "environment_name")


@route("PUT", _ENVIRONMENT, "administration:write")
def _put_environment(call: Call) -> JSON:
    repository, name = call.repository, call.parameters["environment_name"]
    made = repository.environments.setdefault(name, Environment(id=call.github.new_id(), name=name))
    made.deployment_branch_policy = call.body.get("deployment_branch_policy")
    return shapes.shown(call.github, made)


@route("POST", f"{_ENVIRONMENT}/deployment-branch-policies", "administration:write")
def _add_branch(call: Call) -> JSON:
    environment = _find(call)
    environment.branches = (*environment.branches, call.body["name"])
    return {"id": call.github.new_id(), "name": call.body["name"]}


def _key(call: Call) -> PrivateKey:
    """The same key whenever it is asked for."""
    seed = f"{call.repository.full_name}/{_find(call).name}"
    return PrivateKey(hashlib.sha256(seed.encode()).digest())


@route("GET", f"{_ENVIRONMENT}/secrets/public-key", "secrets:read")
def _public_key(call: Call) -> JSON:
    key = base64.b64encode(bytes(_key(call).public_key)).decode("ascii")
    return {"key_id": str(_find(call).id), "key": key}


@route("PUT", f"{_ENVIRONMENT}/secrets/{{secret_name}}", "secrets:write", success=201)
def _put_secret(call: Call) -> JSON:
    sealed = base64.b64decode(call.body["encrypted_value"], validate=True)
    opened = SealedBox(_key(call)).decrypt(sealed)
    _find(call).secrets[call.parameters["secret_name"]] = opened.decode()
    return {}
