"""What virt-api refuses in a VMI or in a VirtualMachine's template, as recorded.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks (vmi-create-admitter.go, arm64.go). Their order is the
order of the causes.
"""

from collections.abc import Callable, Iterator

from gitbot.kubernetes.labels import label_key_problems
from gitbot.kubernetes.objects import Json, KubernetesObject, at
from gitbot.kubernetes.quantities import whole
from gitbot.kubevirt.admission import Cause, invalid_value
from gitbot.kubevirt.kubevirt_object import gate, setting
from gitbot.simulation.kubevirt.instance_admission import RESERVED_LABELS, is_kubevirt

# (spec of a VMI, the path at which it is, the KubeVirt object) -> why it is refused
Rule = Callable[[Json, str, KubernetesObject], Iterator[Cause]]
_STRATEGIES = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def spec_causes(spec: Json, path: str, kubevirt: KubernetesObject) -> tuple[Cause, ...]:
    """Why this spec is refused; `path` is where it is (`spec`, `spec.template.spec`)."""
    return tuple(cause for rule in _RULES for cause in rule(spec, path, kubevirt))


def architecture_causes(spec: Json, path: str) -> Iterator[Cause]:
    """What arm64 does not have; asked of a VMI alone."""
    model = at(spec, "domain", "cpu", "model")
    if spec.get("architecture") == "arm64" and model not in (None, "", "host-passthrough"):
        text = "currently, host-passthrough is the only model supported on Arm64"
        field = f"{path}.domain.cpu.model"
        yield Cause(reason="FieldValueNotSupported", message=text, field=field)


def metadata_causes(
    metadata: Json, path: str, user: str, kubevirt: KubernetesObject
) -> Iterator[Cause]:
    """Labels that only KubeVirt's own accounts may write."""
    labels = metadata.get("labels") or {}
    if not is_kubevirt(user, kubevirt) and any(key in labels for key in RESERVED_LABELS):
        text = (
            "creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
        )
        yield Cause(reason="FieldValueNotSupported", message=text, field=f"{path}.labels")


def _memory(spec: Json, side: str) -> int:
    return whole(at(spec, "domain", "resources", side, "memory", default=0))


def _printed(amount: str) -> str:
    """As Kubernetes prints it (apimachinery, quantity.go, CanonicalizeBytes): `3000M` is `3G`."""
    if amount.endswith("i"):
        return amount
    number, suffixes = whole(amount), ["", "k", "M", "G", "T"]
    while number and not number % 1000 and len(suffixes) > 1:
        number //= 1000
        suffixes.pop(0)
    return f"{number}{suffixes[0]}"


def _hugepages(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    size = at(spec, "domain", "memory", "hugepages", "pageSize")
    if size is None:
        return
    guest = whole(at(spec, "domain", "memory", "guest", default=0))
    if (_memory(spec, "requests") or guest) % whole(size):
        field = f"{path}.domain.resources.requests.memory"
        given = _printed(at(spec, "domain", "resources", "requests", "memory", default="0"))
        text = f"is not a multiple of the page size {path}.domain.memory.hugepages.pageSize"
        yield invalid_value(field, f"{field} '{given}' {text} '{size}'")


def _cpu_pinning(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    request, limit = _memory(spec, "requests"), _memory(spec, "limits")
    pinned = at(spec, "domain", "cpu", "dedicatedCpuPlacement")
    if pinned and request and limit and request != limit:
        field, most = (f"{path}.domain.resources.{side}.memory" for side in ("requests", "limits"))
        yield invalid_value(field, f"{field} must be equal to {most}")


def _start_strategy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    if spec.get("startStrategy") == "Paused" and spec.get("livenessProbe") is not None:
        field = f"{path}.startStrategy"
        text = "should be provided.Pausing VMI with LivenessProbe is not supported"
        yield invalid_value(field, f"either {field} or {path}.livenessProbe {text}")


def _realtime(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    cpu: Json = at(spec, "domain", "cpu", default={})
    if cpu.get("realtime") is not None and at(cpu, "numa", "guestMappingPassthrough") is None:
        field = f"{path}.domain.cpu.numa.guestMappingPassthrough"
        text = f"{field} must be defined when {path}.domain.cpu.realtime is used"
        yield Cause(reason="FieldValueRequired", message=text, field=field)


def _topology_keys(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    """Kubernetes' own rules, checked before any pod is made; paths leave out `affinity`."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for index, term in enumerate(at(spec, "affinity", kind, _REQUIRED, default=[])):
            field, key = f"{path}.{kind}.{_REQUIRED}[{index}].topologyKey", term.get("topologyKey")
            if not key:
                yield invalid_value(field, f"{field}: Required value: can not be empty")
            for problem in label_key_problems(key or ""):
                yield invalid_value(field, f'{field}: Invalid value: "{key or ""}": {problem}')


def _eviction_strategy(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    strategy, field = spec.get("evictionStrategy"), f"{path}.evictionStrategy"
    if strategy is not None and strategy not in _STRATEGIES:
        yield invalid_value(field, f"{field} is set with an unrecognized option: {strategy}")


def _launch_security(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    security = at(spec, "domain", "launchSecurity", default={})
    for kind, needed in (("sev", "SEV"), ("snp", "SEV"), ("tdx", "TDX")):
        if security.get(kind) is not None and not gate(kubevirt, f"WorkloadEncryption{needed}"):
            text = f"WorkloadEncryption{needed} feature gate is not enabled in kubevirt-config"
            yield invalid_value(f"{path}.launchSecurity", text)


def _reservations(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    disks = at(spec, "domain", "devices", "disks", default=[])
    allowed = setting(kubevirt, "persistentReservationConfiguration", "enabled")
    if allowed is None:  # a gate of older releases still counts
        allowed = gate(kubevirt, "PersistentReservation")
    if any(at(disk, "lun", "reservation") for disk in disks) and not allowed:
        text = "persistent reservation is not enabled in kubevirt config"
        yield invalid_value(f"{path}.domain.devices.disks.luns.reservation", text)


def _filesystems(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    volumes = {item.get("name"): item for item in spec.get("volumes") or ()}
    for item in at(spec, "domain", "devices", "filesystems", default=[]):
        volume = volumes.get(item.get("name"), {})
        stored = volume.get("persistentVolumeClaim") or volume.get("dataVolume")
        if stored and not gate(kubevirt, "EnableVirtioFsStorageVolumes"):
            text = "virtiofs is not allowed: virtiofs feature gate is not enabled for PVC"
            yield invalid_value(f"{path}.domain.devices.filesystems", text)


def _reserved_overhead(spec: Json, path: str, kubevirt: KubernetesObject) -> Iterator[Cause]:
    asked = at(spec, "domain", "memory", "reservedOverhead")
    if asked is not None and not gate(kubevirt, "ReservedOverheadMemlock"):
        text = "Reserved overhead memlock feature gate is not enabled in kubevirt-config"
        yield invalid_value(f"{path}.domain.memory.reservedOverhead", text)


_RULES: tuple[Rule, ...] = (
    _hugepages,
    _cpu_pinning,
    _start_strategy,
    _realtime,
    _topology_keys,
    _eviction_strategy,
    _launch_security,
    _reservations,
    _filesystems,
    _reserved_overhead,
)
