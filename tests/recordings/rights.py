"""Who may do what: KubeVirt's ClusterRoles, as far as requests about virtual machines go.

Source: KubeVirt 1.9.0, pkg/virt-operator/resource/generate/rbac/cluster.go. The recorder ran no
kube-controller-manager, so nothing is aggregated: Kubernetes' own `edit` and `view` are empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gitbot.simulation.http.routes import Route
from gitbot.simulation.status_errors import ApiError

_READ = frozenset({"get", "list", "watch"})
_WRITE = frozenset({"create", "update", "patch", "delete"})
_ALL = _READ | _WRITE | {"deletecollection"}
_MACHINES = (
    "virtualmachines",
    "virtualmachineinstances",
    "virtualmachineinstancepresets",
    "virtualmachineinstancereplicasets",
)
_MIGRATIONS = "virtualmachineinstancemigrations"
_ROLES: Mapping[str, Mapping[str, frozenset[str]]] = {
    "kubevirt.io:migrate": {_MIGRATIONS: _ALL},
    "kubevirt.io:admin": {**dict.fromkeys(_MACHINES, _ALL), _MIGRATIONS: _READ},
    "kubevirt.io:edit": {**dict.fromkeys(_MACHINES, _READ | _WRITE), _MIGRATIONS: _READ},
    "kubevirt.io:view": {**dict.fromkeys(_MACHINES, _READ), _MIGRATIONS: _READ},
}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get"}
_FREE = ("system:masters",)
_OF_KUBEVIRT = re.compile(r"system:serviceaccount:kubevirt:kubevirt-\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user with roles; `unlimited` for administrators and KubeVirt's own accounts."""

    name: str
    roles: tuple[str, ...] = ()
    unlimited: bool = False

    @classmethod
    def of(cls, text: str) -> Account:
        """Read `name (ClusterRole a)`, `name (ClusterRoles a, b)`, `name (system:masters)`."""
        name, _, rest = text.partition(" (")
        listed = rest.rstrip(")").removeprefix("ClusterRoles ").removeprefix("ClusterRole ")
        roles = tuple(part.strip() for part in listed.split(",") if part.strip())
        unlimited = any(role in _FREE for role in roles) or bool(_OF_KUBEVIRT.fullmatch(name))
        return cls(name=name, roles=roles, unlimited=unlimited)

    def check(self, method: str, route: Route) -> None:
        """Raise 403 where no role allows the request."""
        verb = _VERBS[method] if route.name or method != "GET" else "list"
        resource = route.resource
        asked = f"{resource.plural}/{route.subresource}" if route.subresource else resource.plural
        if self.unlimited or any(
            verb in _ROLES.get(role, {}).get(asked, ()) for role in self.roles
        ):
            return
        named = f'{resource.qualified} "{route.name}"' if route.name else resource.qualified
        place = f' in the namespace "{route.namespace}"' if route.namespace else ""
        group = {"group": resource.group} if resource.group else {}
        name = {"name": route.name} if route.name else {}
        raise ApiError(
            f'{named} is forbidden: User "{self.name}" cannot {verb} resource "{asked}" in API '
            f'group "{resource.group}"{place}',
            code=403,
            reason="Forbidden",
            details={**name, **group, "kind": resource.plural},
        )
