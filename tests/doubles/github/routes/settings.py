"""What an administrator puts into Actions: secrets and branches of environments, variables.

A secret comes sealed to the environment's public key (libsodium's sealed box), as from GitHub's
own clients.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox

from tests.doubles.github.calls import Answer, Call, route
from tests.doubles.github.links import node_id
from tests.doubles.github.problems import Problem, not_found
from tests.doubles.github.state import JSON, Environment


def _environment(call: Call) -> Environment:
    found = call.repository.environments.get(call.parameters["environment_name"])
    if found is None:
        raise not_found()
    return found


def _key(call: Call) -> PrivateKey:
    """The same key whenever it is asked for."""
    seed = f"{call.repository.full_name}/{_environment(call).name}"
    return PrivateKey(hashlib.sha256(seed.encode()).digest())


def _public_key(call: Call) -> JSON:
    key = base64.b64encode(bytes(_key(call).public_key)).decode("ascii")
    return {"key_id": str(_environment(call).id), "key": key}


def _put_secret(call: Call) -> Answer:
    environment, name = _environment(call), call.parameters["secret_name"]
    if call.body.get("key_id") != str(environment.id):
        raise Problem(422, "The key_id is not that of the environment's public key")
    try:
        sealed = base64.b64decode(str(call.body.get("encrypted_value", "")), validate=True)
        opened = SealedBox(_key(call)).decrypt(sealed)
    except (binascii.Error, CryptoError, ValueError) as error:
        raise Problem(422, "Bad request - encrypted_value is not sealed to the key") from error
    known = name in environment.secrets
    environment.secrets[name] = opened.decode()
    return Answer(code=204) if known else Answer(code=201, body={})


def _add_variable(call: Call) -> Answer:
    name, value = str(call.body["name"]).upper(), str(call.body["value"])
    if name in call.repository.variables:
        raise Problem(409, f"Already exists - Variable {name} already exists")
    call.repository.variables[name] = value
    return Answer(code=201, body={})


def _add_branch(call: Call) -> JSON:
    environment = _environment(call)
    if environment.branches is None:
        raise not_found()
    name = str(call.body["name"])
    environment.branches = (*environment.branches, name)
    identity = call.github.new_id()
    return {"id": identity, "node_id": node_id("GBP", identity), "name": name, "type": "branch"}


_HERE = "~/environments/{environment_name}"
ROUTES = (
    route("GET", f"{_HERE}/secrets/public-key", _public_key, "secrets:read"),
    route("PUT", f"{_HERE}/secrets/{{secret_name}}", _put_secret, "secrets:write", success=201),
    route("POST", "~/actions/variables", _add_variable, "variables:write", success=201),
    route(
        "POST", f"{_HERE}/deployment-branch-policies", _add_branch, "administration:write"
    ),
)  # fmt: skip
