"""What virt-api refuses in the access credentials of a guest.

Source: KubeVirt 1.9.0, vmi-create-admitter.go, validateAccessCredentials, in its order.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value

_CLOUD_INIT = (("noCloud", "cloudInitNoCloud"), ("configDrive", "cloudInitConfigDrive"))
_KINDS = ("sshPublicKey", "userPassword")


def access_credentials(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Each is of one kind, from one source, and comes to the guest one way."""
    volumes = list(spec.get("volumes") or ())
    present = {kind for _, kind in _CLOUD_INIT for item in volumes if item.get(kind) is not None}
    for index, credential in enumerate(spec.get("accessCredentials") or ()):
        field = f"{path}.accessCredentials[{index}]"
        if credential.get("sshPublicKey") is not None:
            yield from _keys(credential["sshPublicKey"], field, present)
        if credential.get("userPassword") is not None:
            where, password = f"{field}.userPassword", credential["userPassword"]
            ways = at(password, "propagationMethod", "qemuGuestAgent") is not None
            yield from _counts(password, field, where, int(ways))
        if sum(credential.get(kind) is not None for kind in _KINDS) != 1:
            text = "must have exactly one access credential type set"
            yield invalid_value(field, f"{field} {text}")


def _keys(keys: Json, field: str, present: set[str]) -> Iterator[Cause]:
    where, ways = f"{field}.sshPublicKey", 0
    methods: Json = keys.get("propagationMethod") or {}
    for method, kind in _CLOUD_INIT:
        if methods.get(method) is None:
            continue
        ways += 1
        if kind not in present:
            text = f"requires a {method} volume to exist when the {method} propagationMethod is"
            yield invalid_value(f"{where}.propagationMethod", f"{field} {text} in use.")
    agent = methods.get("qemuGuestAgent")
    if agent is not None:
        ways += 1
        if not agent.get("users"):
            text = "requires at least one user to be present in the users list"
            named = f"{where}.propagationMethod.qemuGuestAgent.users"
            yield invalid_value(named, f"{field} {text}")
    yield from _counts(keys, field, where, ways)


def _counts(credential: Json, field: str, where: str, ways: int) -> Iterator[Cause]:
    if at(credential, "source", "secret") is None:
        yield invalid_value(f"{where}.source", f"{field} must have exactly one source set")
    if ways != 1:
        text = f"{field} must have exactly one propagationMethod set"
        yield invalid_value(f"{where}.propagationMethod", text)
