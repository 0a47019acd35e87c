"""A pod as the scheduler reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any

from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import Json, KubernetesObject, at, labels_of, name_of, uid_of
from gitbot.kubernetes.phases import is_final
from gitbot.model.caches import ContentCache
from gitbot.model.cluster.resource_requests import Requests, requests_of
from gitbot.model.cluster.scheduling import Affinity, HostPort, SpreadConstraint, Toleration
from gitbot.model.text.decoding import decoding

_OWNERS = {"ReplicaSet": "apps/v1", "ReplicationController": "v1", "StatefulSet": "apps/v1"}
"""The owners whose selectors kube-scheduler spreads by (plugins/helper/spread.go)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod, decoded once: its requests, terms and current use.

    `node` is spec.nodeName ("" for a pod that waits). `finished` pods use nothing; `terminating`
    ones still use resources, ports, volumes and affinity, but do not count for topology spread.
    `volumes` are the pod's volumes as plain JSON. `estimated` marks a pod that was derived from a
    VM or VMI without a running pod. Labels are the pod's own. `new_claims` are claims, by name,
    that are created with the pod; `attachment` is the pod that must run beside it on its node.
    `unknown` says what the snapshot lacks to know the pod's demands.
    """

    name: NamespacedName
    uid: str = ""
    node: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    finished: bool = False
    terminating: bool = False
    requests: Requests = field(default_factory=Requests)
    limits: Mapping[str, int] = field(default_factory=dict)  # only if a quota may need them
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Affinity = field(default_factory=Affinity)
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    ports: tuple[HostPort, ...] = ()
    volumes: tuple[Json, ...] = ()
    images: tuple[str, ...] = ()
    containers: int = 1
    owner: tuple[str, str] = ("", "")  # kind and name of the controller, if its selector counts
    priority: int = 0
    scheduler: str = "default-scheduler"
    gates: tuple[str, ...] = ()
    device_claims: tuple[str, ...] = ()  # names of spec.resourceClaims
    estimated: bool = False
    nominated: str = ""  # the node that it waits for after preemption
    new_claims: Mapping[str, Json] = field(default_factory=dict)
    attachment: Pod | None = None
    unknown: str = ""

    def replace(self, **changed: Any) -> Pod:
        """`dataclasses.replace`, optimised for many thousands of pods."""
        copy = object.__new__(Pod)
        for put, value in zip(_PUT, _values(self), strict=True):
            put(copy, value)
        for name, value in changed.items():
            _set(copy, name, value)
        return copy

    @property
    def namespace(self) -> str:
        return self.name.namespace

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of the PersistentVolumeClaims that it mounts, including generic ephemeral ones."""
        return tuple(claim for volume in self.volumes if (claim := self.claim_of(volume)))

    @property
    def direct_claims(self) -> tuple[str, ...]:
        """Names of the claims in its own volumes, in their order."""
        named = (
            at(item, "persistentVolumeClaim", "claimName", default="") for item in self.volumes
        )
        return tuple(str(claim) for claim in named if claim)

    def claim_of(self, volume: Json) -> str:
        """The claim behind one volume; "" if there is none."""
        direct = at(volume, "persistentVolumeClaim", "claimName", default="")
        if direct:
            return str(direct)
        if volume.get("ephemeral") is None:
            return ""
        return f"{self.name.name}-{volume.get('name', '')}"

    @classmethod
    def from_object(cls, obj: KubernetesObject, *, estimated: bool = False) -> Pod:
        """Decode a v1 Pod. Raises SnapshotError if it is malformed."""
        with decoding("Pod", obj):
            return cls._decode(obj, estimated=estimated)

    @classmethod
    def _decode(cls, obj: KubernetesObject, *, estimated: bool) -> Pod:
        spec: Json = obj.get("spec") or {}
        name, labels = name_of(obj), labels_of(obj)
        of_containers = _of_containers(
            spec.get("containers"), spec.get("initContainers"), bool(spec.get("hostNetwork"))
        )
        volumes = tuple(spec.get("volumes") or ())
        return cls(
            name=name,
            uid=uid_of(obj),
            node=spec.get("nodeName") or "",
            labels=labels,
            finished=is_final(obj),
            terminating=bool(at(obj, "metadata", "deletionTimestamp", default="")),
            requests=requests_of(obj),
            node_selector=spec.get("nodeSelector") or {},
            affinity=Affinity.of(spec, namespace=name.namespace, labels=labels),
            tolerations=_tolerations(spec.get("tolerations") or ()),
            spread=_spread(spec, labels),
            ports=of_containers.ports,
            volumes=volumes,
            images=of_containers.images + _mounted(volumes) if volumes else of_containers.images,
            containers=of_containers.count,
            owner=_owner(obj),
            priority=int(spec.get("priority") or 0),
            scheduler=spec.get("schedulerName") or "default-scheduler",
            gates=_names(spec.get("schedulingGates")),
            device_claims=_names(spec.get("resourceClaims")),
            estimated=estimated,
            nominated=at(obj, "status", "nominatedNodeName", default=""),
        )


_FIELDS = tuple(item.name for item in fields(Pod))
_values = attrgetter(*_FIELDS)
_PUT = tuple(getattr(Pod, name).__set__ for name in _FIELDS)  # each writes one slot
_set = object.__setattr__

_tolerations = ContentCache(lambda items: tuple(Toleration.of(item) for item in items))


@dataclass(frozen=True, slots=True, kw_only=True)
class _OfContainers:
    ports: tuple[HostPort, ...]
    images: tuple[str, ...]
    count: int


@ContentCache  # each pod has its own list of containers, of few contents
def _of_containers(
    containers: list[Json] | None, initial: list[Json] | None, host_network: bool
) -> _OfContainers:
    """Ordinary init containers take no host ports; sidecars do."""
    every: list[Json] = [*(initial or ()), *(containers or ())]
    ports = {
        HostPort(
            ip=port.get("hostIP") or "0.0.0.0",  # noqa: S104 - Kubernetes' word for any address
            protocol=port.get("protocol") or "TCP",
            port=_host_port(port, host_network=host_network),
        )
        for container in (*(containers or ()), *filter(_is_sidecar, initial or ()))
        for port in container.get("ports") or ()
    }
    named = (str(container.get("image") or "") for container in every)
    return _OfContainers(
        ports=tuple(sorted(port for port in ports if port.port > 0)),
        images=tuple(filter(None, named)),
        count=len(every),
    )


def _is_sidecar(container: Json) -> bool:
    return container.get("restartPolicy") == "Always"


def _host_port(port: Json, *, host_network: bool) -> int:
    number = int(port.get("hostPort") or 0)
    return int(port.get("containerPort") or 0) if host_network and not number else number


def _mounted(volumes: tuple[Json, ...]) -> tuple[str, ...]:
    """The images of volumes."""
    named = (str(at(volume, "image", "reference", default="")) for volume in volumes)
    return tuple(filter(None, named))


def _spread(spec: Json, labels: Mapping[str, str]) -> tuple[SpreadConstraint, ...]:
    asked = spec.get("topologySpreadConstraints")
    return tuple(SpreadConstraint.of(item, labels) for item in asked) if asked else ()


def _names(items: list[Json] | None) -> tuple[str, ...]:
    return tuple(item.get("name", "") for item in items) if items else ()


def _owner(obj: KubernetesObject) -> tuple[str, str]:
    references: list[dict[str, Any]] = at(obj, "metadata", "ownerReferences", default=[])
    owner = next((item for item in references if item.get("controller")), None)
    if owner is None or _OWNERS.get(owner.get("kind", "")) != owner.get("apiVersion"):
        return "", ""
    return owner["kind"], owner.get("name", "")
